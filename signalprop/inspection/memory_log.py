"""The file of `watch`: rows of CSV, whole lines only, which a training that goes on can go on with."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from pathlib import Path

from signalprop._files import read_text, replace
from signalprop.inspection.rows import COLUMNS, Row, as_text, from_text

LARGEST = 1 << 30  # bytes


class MemoryLog:
    """Rows on disk; each step is there when `append` returns.

    Parameters
    ----------
    path
        Of the file; its folder must exist.
    start
        Steps that are taken already: rows of this step and of later ones are dropped, for they are made again. None: the file
        must have no rows.

    Raises
    ------
    OSError
        A folder that does not exist, or a file that cannot be read or written.
    ValueError
        A file with rows where none were expected, or with something else in it.
    """

    def __init__(self, path: Path, start: int | None) -> None:
        if not path.parent.is_dir():
            raise FileNotFoundError(f"path must be in a folder that exists, got {path}; make {path.parent} first.")
        self.path = path
        held = _held(path) if os.path.lexists(path) else []
        if held and start is None:
            last = max(row["step"] for row in held)
            raise ValueError(
                f"{path} has rows up to step {last} of an earlier training: pass start=, the number of steps already taken, to "
                "go on with it (rows from there on are dropped), name another path, or remove the file."
            )
        self.rows: list[Row] = [row for row in held if row["step"] < (start or 0)]
        replace(path, _lines([dict(zip(COLUMNS, COLUMNS, strict=True)), *self.rows]))

    def append(self, rows: list[Row]) -> None:
        """Add the rows of a step."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.path, flags)
        with open(descriptor, "ab") as file:
            file.write(_lines(rows))
            file.flush()
            os.fsync(descriptor)
        self.rows += rows


def _lines(rows: Iterable[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([as_text(row[name]) for name in COLUMNS] for row in rows)
    return text.getvalue().encode()


def _held(path: Path) -> list[Row]:
    """The whole lines of a file of this kind; what follows the last line end was being written in a crash."""
    text = read_text(path, LARGEST)
    lines = text[: text.rfind("\n") + 1]
    if not text:
        return []
    table = csv.reader(io.StringIO(lines, newline=""))
    foreign = ValueError(f"{path} is not a file that watch has written; name another path.")
    if tuple(next(table, ())) != COLUMNS:
        raise foreign
    try:
        return [{name: from_text(name, one) for name, one in zip(COLUMNS, line, strict=True)} for line in table]
    except (ValueError, csv.Error):
        raise foreign from None
