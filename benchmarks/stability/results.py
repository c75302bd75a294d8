"""The file of results: the log of one finished training after the other, so that a run can be broken off and resumed."""

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd

from signalprop._provenance import installed_version, provenance
from signalprop.training.log import columns

KEYS = ("variant", "depth", "seed", "steps")
MAX_DEPTH = 6
DIGITS = 6
COLUMNS = (*KEYS, *columns([str(block) for block in range(1, MAX_DEPTH + 1)]))


class Results:
    """Rows of a CSV file, with a JSON file beside it that says how they came about."""

    def __init__(self, path: Path, settings: dict[str, Any]) -> None:
        self.path, self.settings = path, settings
        self.about = path.with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        self.done: set[tuple[str, ...]] = set()
        if path.exists() and path.read_text():
            self._check_settings()
        self._keep_finished()

    def __contains__(self, cell: Any) -> bool:
        return _key(vars(cell)) in self.done

    def append(self, cell: Any, rows: list[dict[str, Any]]) -> None:
        """Add the log of one finished training."""
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, COLUMNS, lineterminator="\n").writerows(_short(row) for row in rows)
        self.done.add(_key(vars(cell)))

    def frame(self) -> pd.DataFrame:
        """All rows as a table."""
        return pd.read_csv(self.path)

    def write_origin(self, mode: str, more: dict[str, Any]) -> None:
        """The JSON file: settings, versions, revision, and `more`."""
        facts = provenance()
        facts["libraries"]["torch"] = installed_version("torch")
        about = {
            "results": self.path.name,
            "mode": mode,
            "trainings": len(self.done),
            "settings": self.settings,
            **more,
            **facts,
        }
        self.about.write_text(json.dumps(about, indent=2) + "\n")

    def _check_settings(self) -> None:
        if not self.about.exists():
            raise ValueError(f"{self.path} has no {self.about.name} beside it; move it away or restore that file.")
        if json.loads(self.about.read_text())["settings"] != json.loads(json.dumps(self.settings)):
            raise ValueError(
                f"{self.path} holds trainings with other settings than these; choose another file with --output or move it away."
            )

    def _keep_finished(self) -> None:
        """Drop the rows of a training that was cut off while being written; it runs again."""
        text = self.path.read_text() if self.path.exists() else ""
        rows = list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))
        self.done = {_key(row) for row in rows if row["step"] == row["steps"]}
        kept = [row for row in rows if _key(row) in self.done]
        if text and len(kept) == len(rows) and text.endswith("\n"):
            return
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept)
        temporary.replace(self.path)


def _short(row: dict[str, Any]) -> dict[str, str]:
    """Numbers to `DIGITS` digits."""
    return {name: f"{float(value):.{DIGITS}g}" if "." in str(value) else str(value) for name, value in row.items()}


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in KEYS)
