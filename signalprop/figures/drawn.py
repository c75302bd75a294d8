"""The files of one figure; drawn again, they change only if their numbers or the drawing did.

A sum in another order, or another processor, moves the last digits of a float. Numbers are written to nine digits, those that
agree with the written ones to `WITHIN` stay as written, and the picture is drawn from the numbers as they stand in the file. A
column of differences, which are rounding noise where they are nearly 0, has a bound of its own, ``NOISE`` of the figure's module.
The origin (versions, machine, revision) belongs to the other three files and is renewed with them. A file that cannot be read,
as after a full disk, is written anew.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signalprop._files import read_json, read_text, replace

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WITHIN = 1e-6  # relative
ZERO = 1e-14  # what is less than this is 0 but for rounding
DIGITS = 9
LARGEST = 1 << 30  # bytes of a table


class Drawn:
    """``NAME.csv``, ``.png``, ``.svg`` and ``.json`` in a directory; call `numbers`, `picture` and `origin` in this order."""

    def __init__(self, directory: Path, name: str, noise: Mapping[str, float] | None = None) -> None:
        self._noise = noise or {}
        self._path = {ending: directory / f"{name}.{ending}" for ending in ("csv", "png", "svg", "json")}
        self._changed = False

    def numbers(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Write the numbers unless the file has them; returns them as they stand in the file."""
        path = self._path["csv"]
        text = frame.to_csv(index=False, float_format=f"%.{DIGITS}g")
        found = _read(text)
        try:
            written = _read(read_text(path, LARGEST))
        except (FileNotFoundError, ValueError):
            written = None
        if written is not None and same(written, found, self._noise):
            return written
        self._write("csv", text.encode())
        return found

    def picture(self, figure: Figure) -> None:
        """Write the picture as PNG and SVG."""
        for ending in ("png", "svg"):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=ending, metadata={"Date": None} if ending == "svg" else None)
            self._write(ending, buffer.getvalue())

    def origin(self, about: dict[str, Any], facts: dict[str, Any]) -> None:
        """Write what the figure is and, if anything of it is new, where it comes from."""
        path = self._path["json"]
        plain = json.loads(json.dumps(about))
        if not self._changed and path.exists():
            try:
                known = read_json(path)
            except ValueError:
                known = None
            if known is not None and {name: known[name] for name in known if name not in facts} == plain:
                return
        self._write("json", (json.dumps({**plain, **facts}, indent=2) + "\n").encode())

    def _write(self, ending: str, content: bytes) -> None:
        self._changed |= write(self._path[ending], content)


def write(path: Path, content: bytes) -> bool:
    """Write a file unless it has this content; whether it was written."""
    if path.exists() and path.read_bytes() == content:
        return False
    replace(path, content)
    return True


def same(old: pd.DataFrame, new: pd.DataFrame, noise: Mapping[str, float] | None = None) -> bool:
    """Whether two tables have the same columns and rows, their floats within `WITHIN`, or `noise` of the column."""
    if list(old.columns) != list(new.columns) or len(old) != len(new):
        return False
    for name in old.columns:
        a, b = old[name], new[name]
        if "f" in (a.dtype.kind, b.dtype.kind) and {a.dtype.kind, b.dtype.kind} <= {"f", "i"}:
            near = (noise or {}).get(name, ZERO)
            if not np.allclose(a.to_numpy(float), b.to_numpy(float), rtol=WITHIN, atol=near, equal_nan=True):
                return False
        elif not a.equals(b):
            return False
    return True


def _read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))
