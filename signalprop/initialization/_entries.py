"""Standard deviation of the entries of a recurrent kernel, from its shape, its number type and what the user asked for.

What the initializers of every framework share; no framework is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

from signalprop._checks import positive_float, shown
from signalprop.fields import Field, choices, one_of
from signalprop.initialization._asked import Asked, steps_of
from signalprop.initialization.scale import safe_scale

FIELD_OF_DTYPE = {
    "float16": Field.REAL,
    "bfloat16": Field.REAL,
    "float32": Field.REAL,
    "float64": Field.REAL,
    "complex64": Field.COMPLEX,
    "complex128": Field.COMPLEX,
}
MOST_GATES = 4  # of an LSTM; a taller kernel is probably not a stack of square gates


class ScaleOptions(TypedDict, total=False):
    """The options of `safe_scale` that an initializer hands on; its defaults hold for what is left out."""

    criterion: str
    model: str
    tolerance: float
    quantile: float
    bound: float


class EntryScale:
    """One request for a scale, answered for kernels of any width: each width and field is worked out once."""

    def __init__(self, horizon: int | None, scale: float | None, options: ScaleOptions) -> None:
        if (horizon is None) == (scale is None):
            raise ValueError(
                "give either horizon, the number of steps the signal should survive, or scale, the factor g itself, "
                f"got horizon={shown(horizon)} and scale={shown(scale)}."
            )
        for name in options:
            one_of(name, ScaleOptions.__annotations__, "an option of the scale")
        if scale is not None and options:
            raise ValueError(
                f"scale={scale!r} leaves nothing for {choices(options)} to decide; give scale alone, or horizon instead of it."
            )
        Asked.of(**options)
        self.horizon = None if horizon is None else steps_of(horizon)
        self.options = options
        self.given = None if scale is None else positive_float(scale, "scale")
        self.found: dict[tuple[int, Field], float] = {}

    def std(self, shape: Sequence[int], dtype: str, *, name: str = "the kernel", wide: bool = False) -> float:
        """g/sqrt(n), the root of E|w|^2; `wide` also allows gates side by side along the last axis.

        `name` is what a refusal calls the kernel.
        """
        if dtype not in FIELD_OF_DTYPE:
            raise ValueError(f"{name} must have the dtype {choices(FIELD_OF_DTYPE)}, got {dtype}.")
        n = block_width(shape, name=name, wide=wide)
        return self._scale(n, FIELD_OF_DTYPE[dtype]) / math.sqrt(n)

    def _scale(self, n: int, field: Field) -> float:
        if self.given is not None:
            return self.given
        if (n, field) not in self.found:
            assert self.horizon is not None  # by __init__
            self.found[n, field] = safe_scale(n, self.horizon, field, **self.options).scale
        return self.found[n, field]


def block_width(shape: Sequence[int], *, name: str = "the kernel", wide: bool = False) -> int:
    """Width n of a kernel (n, n), or of 2 to `MOST_GATES` gates stacked as (gates * n, n); with `wide` also as (n, gates * n)."""
    rows, columns = shape if len(shape) == 2 else (0, 0)
    if wide and rows < columns:
        rows, columns = columns, rows
    if columns < 1 or rows < 1 or rows % columns != 0:
        stacks = "(gates * n, n) or (n, gates * n)" if wide else "(gates * n, n)"
        raise ValueError(
            f"{name} must have shape (n, n), or {stacks} where square gates are stacked, got shape {tuple(shape)}."
        )
    if rows > MOST_GATES * columns:
        raise ValueError(
            f"{name} of shape {tuple(shape)} would be {rows // columns} square gates, and a cell has at most {MOST_GATES}; no "
            "scale is known for kernels that are not square, such as those of an LSTM with proj_size."
        )
    return columns
