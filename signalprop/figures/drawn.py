"""The files of one figure; drawn again, they change only if their numbers or the drawing did.

A sum in another order, or another processor, moves the last digits of a float. Numbers are written to six digits, those that
agree with the written ones to `WITHIN` stay as written, and the picture is drawn from the numbers as they stand in the file. A
column of differences, which are rounding noise where they are nearly 0, has a bound of its own, `noise` of the figure's record.
The origin (versions, machine, revision) belongs to the other three files and is renewed with them. A file that cannot be read,
as after a full disk, is written anew.

The files are small: a table of more than `LARGEST` bytes is compressed, a PNG has a palette of 256 colours, coordinates of an
SVG have two decimals.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from signalprop._files import read_json, replace, require_regular

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DIGITS = 6
WITHIN = 2e-5  # relative: two units of the last digit
ZERO = 1e-14  # what is less than this is 0 but for rounding
LARGEST = 100_000  # bytes of a table that is not compressed
TABLES = ("csv", "csv.gz")


class Drawn:
    """``NAME.csv`` or ``NAME.csv.gz``, ``.png``, ``.svg``, ``.json``; call `numbers`, `picture` and `origin` in this order."""

    def __init__(self, directory: Path, name: str, noise: Mapping[str, float] | None = None) -> None:
        self._noise = noise or {}
        self._path = {ending: directory / f"{name}.{ending}" for ending in (*TABLES, "png", "svg", "json")}
        self._changed = False

    def numbers(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Write the numbers unless a file has them; returns them as they stand in the file."""
        text = frame.to_csv(index=False, float_format=f"%.{DIGITS}g", lineterminator="\n")
        found = pd.read_csv(io.StringIO(text))
        written = self._written()
        if written is not None and same(written, found, self._noise):
            return written
        ending, other = TABLES if len(text) <= LARGEST else TABLES[::-1]
        self._write(ending, text.encode() if ending == "csv" else gzip.compress(text.encode(), mtime=0))
        self._path[other].unlink(missing_ok=True)
        return found

    def picture(self, figure: Figure) -> None:
        """Write the picture as PNG and SVG."""
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png")
        self._write("png", few_colours(buffer))
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        self._write("svg", two_decimals(text.getvalue()).encode())

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

    def _written(self) -> pd.DataFrame | None:
        """The table that is there, if there is one and it can be read."""
        paths = [self._path[ending] for ending in TABLES if self._path[ending].exists()]
        if len(paths) != 1:
            return None
        try:
            require_regular(paths[0])
            return pd.read_csv(paths[0])
        except (OSError, EOFError, ValueError, zlib.error):  # the middle two: cut off, or no table
            return None

    def _write(self, ending: str, content: bytes) -> None:
        self._changed |= write(self._path[ending], content)


def table_of(directory: Path, name: str) -> Path:
    """The file with the numbers of a figure."""
    return next((path for end in TABLES if (path := directory / f"{name}.{end}").exists()), directory / f"{name}.csv")


def few_colours(png: io.BytesIO) -> bytes:
    """The picture with a palette of 256 colours: a third of the size, for lines and words on white."""
    from PIL import Image

    buffer = io.BytesIO()
    image = Image.open(png).convert("RGB").quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    image.save(buffer, "png", optimize=True)
    return buffer.getvalue()


def two_decimals(svg: str) -> str:
    """Coordinates to a hundredth of a point."""
    return re.sub(
        r"(?<=[\s\"(,-])\d+\.\d{3,}(?=[\s\"),])", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), svg
    )


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
