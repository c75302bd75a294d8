"""The file of results: one row per finished training, appended as it finishes, so that a run can be broken off and resumed."""

import csv
import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd

from benchmarks.initialization.training import OUTCOMES, SETTINGS, Cell
from signalprop._provenance import installed_version, provenance

KEYS = tuple(field.name for field in fields(Cell))
COLUMNS = (*KEYS, *OUTCOMES)
DIGITS = 6


class Results:
    """Rows of a CSV file, with a JSON file beside it that says how they came about."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about = path.with_suffix(".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or not path.read_text():
            path.write_text(",".join(COLUMNS) + "\n")
        else:
            self._check_settings()
            _drop_torn_line(path)
        self.done = {_key(row): row for row in self.rows()}

    def rows(self) -> Iterable[dict[str, str]]:
        """Rows as text."""
        with self.path.open(newline="") as file:
            yield from csv.DictReader(file)

    def frame(self) -> pd.DataFrame:
        """All rows as a table."""
        return pd.read_csv(self.path)

    def __contains__(self, cell: Cell) -> bool:
        return _key(asdict(cell)) in self.done

    def __getitem__(self, cell: Cell) -> dict[str, str]:
        return self.done[_key(asdict(cell))]

    def append(self, cell: Cell, outcome: dict[str, float | None]) -> None:
        """Add one finished training."""
        row = {name: _text(value) for name, value in (asdict(cell) | outcome).items()}
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, COLUMNS, lineterminator="\n").writerow(row)
        self.done[_key(row)] = row

    def write_origin(self, mode: str) -> None:
        """The JSON file: settings, versions, revision."""
        facts = provenance()
        facts["libraries"] |= {name: installed_version(name) for name in ("torch", "scikit-learn")}
        about = {"results": self.path.name, "mode": mode, "trainings": len(self.done), "settings": SETTINGS, **facts}
        self.about.write_text(json.dumps(about, indent=2) + "\n")

    def _check_settings(self) -> None:
        if not self.about.exists():
            raise ValueError(f"{self.path} has no {self.about.name} beside it; move it away or restore that file.")
        if json.loads(self.about.read_text())["settings"] != SETTINGS:
            raise ValueError(
                f"{self.path} holds trainings with other settings than these; choose another file with --output or move it away."
            )


def _drop_torn_line(path: Path) -> None:
    """Remove a last line that was cut off while being written; its training runs again."""
    text = path.read_text()
    if not text.endswith("\n"):
        path.write_text(text[: text.rfind("\n") + 1])


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else str(value)


def _key(row: dict[str, object]) -> tuple[str, ...]:
    return tuple(_text(row[name]) for name in KEYS)
