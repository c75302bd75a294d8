"""The file of results of a benchmark that trains: appended as trainings finish, so that a run can be broken off and resumed."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from signalprop._provenance import installed_version, provenance

DIGITS = 6
Row = Mapping[str, Any]


class Results:
    """Rows of a CSV file, one or several for each training, with a JSON file beside it that says how they came about.

    `keys` are the columns that identify a training, which is finished if it has a row for which `finished` is true; rows of
    others, cut off while being written, are dropped and the training runs again.
    """

    def __init__(
        self,
        path: Path,
        keys: Sequence[str],
        columns: Sequence[str],
        settings: Mapping[str, Any],
        *,
        libraries: Sequence[str] = ("torch",),
        finished: Callable[[Row], bool] = lambda row: True,
    ) -> None:
        self.path, self.about = path, path.with_suffix(".json")
        self._keys, self._columns, self._settings, self._libraries = keys, columns, settings, libraries
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text() if path.exists() else ""
        rows = list(csv.DictReader(text[: text.rfind("\n") + 1].splitlines()))
        if text:
            self._check_settings()
        whole = {self._key(row) for row in rows if finished(row)}
        self.done: dict[tuple[str, ...], list[Row]] = {}
        for row in rows:
            if self._key(row) in whole:
                self.done.setdefault(self._key(row), []).append(row)
        kept = [row for row in rows if self._key(row) in whole]
        if not text.endswith("\n") or len(kept) < len(rows):
            self._write_anew(kept)
        if not text:  # the two files are made together, also where results are only printed
            self.write_origin("none yet")

    def __contains__(self, cell: Any) -> bool:
        return self._key(vars(cell)) in self.done

    def __getitem__(self, cell: Any) -> list[Row]:
        return self.done[self._key(vars(cell))]

    def append(self, cell: Any, rows: Sequence[Row]) -> None:
        """Add the rows of one finished training; columns that they lack are those of the cell."""
        whole = [{name: _text(value) for name, value in {**vars(cell), **row}.items()} for row in rows]
        with self.path.open("a", newline="") as file:
            csv.DictWriter(file, self._columns, lineterminator="\n").writerows(whole)
        self.done[self._key(vars(cell))] = list(whole)

    def frame(self) -> pd.DataFrame:
        """All rows as a table."""
        return pd.read_csv(self.path)

    def write_origin(self, mode: str, more: Mapping[str, Any] | None = None) -> None:
        """The JSON file: settings, versions, revision, and `more`."""
        facts = provenance()
        facts["libraries"] |= {name: installed_version(name) for name in self._libraries}
        about = {"results": self.path.name, "mode": mode, "trainings": len(self.done), "settings": self._settings}
        self.about.write_text(json.dumps({**about, **(more or {}), **facts}, indent=2) + "\n")

    def _check_settings(self) -> None:
        if not self.about.exists():
            raise ValueError(f"{self.path} has no {self.about.name} beside it; move it away or restore that file.")
        if json.loads(self.about.read_text())["settings"] != json.loads(json.dumps(self._settings)):
            raise ValueError(
                f"{self.path} holds trainings with other settings than these; choose another file with --output or move it away."
            )

    def _write_anew(self, rows: Sequence[Row]) -> None:
        temporary = self.path.with_suffix(".tmp")
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, self._columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        temporary.replace(self.path)

    def _key(self, row: Row) -> tuple[str, ...]:
        return tuple(_text(row[name]) for name in self._keys)


def _text(value: object) -> str:
    """Numbers to `DIGITS` digits, also those of a log that are texts already; None is an empty field."""
    if value is None:
        return ""
    if isinstance(value, float) or (isinstance(value, str) and "." in value):
        return f"{float(value):.{DIGITS}g}"
    return str(value)
