r"""Which of T/sqrt(n) and T/n makes curves of several widths one curve.

With a curve y_n(T) per width, drawn against x = T/n^p, the residual is the root mean square distance of the points of each
width from the curve of each other width, straight between points in log x, where both have some. Logarithms of energies go
through asinh first, so that large ones count by their ratio; what is left is divided by the spread of all points. Points count
by the inverse of their squared standard error: a mean of few draws that differ much says little.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
POWERS = {"T/sqrt(n)": 0.5, "T/n": 1.0}
_FLAT = 0.3  # of asinh of a logarithm: a factor of 1.35 of energy
_CLEAR = 1.5  # ratio of residuals
_SURE = 0.05  # of the spread: no point counts for more than one of this error


@dataclass(frozen=True)
class Collapse:
    """How well each of the two makes one curve.

    Attributes
    ----------
    residuals
        By ``"T/sqrt(n)"`` and ``"T/n"``: 0 for curves that agree, about 1 for curves that have nothing in common; None where
        no two curves overlap.
    better
        One of these names; ``"flat"`` where no energy changes enough to tell; ``"neither"`` where the residuals are within a
        factor of 1.5.
    """

    residuals: Mapping[str, float | None]
    better: str


def collapse(curves: Mapping[int, tuple[Floats, Floats, Floats]]) -> Collapse:
    """The verdict on curves by width: horizons; values, (horizons, statistics); their standard errors, of the same shape."""
    values = {n: np.arcsinh(y) for n, (_, y, _) in curves.items()}
    errors = {n: error / np.sqrt(1.0 + y * y) for n, (_, y, error) in curves.items()}
    spread = np.std(np.concatenate(list(values.values())), axis=0)
    found = {
        name: _residual({n: (np.log(curves[n][0]) - power * math.log(n), values[n], errors[n]) for n in curves}, spread)
        for name, power in POWERS.items()
    }
    if float(spread.max()) < _FLAT:
        return Collapse(found, "flat")
    known = sorted((value, name) for name, value in found.items() if value is not None)
    clear = len(known) == len(POWERS) and known[1][0] > _CLEAR * known[0][0]
    return Collapse(found, known[0][1] if clear else "neither")


def _residual(curves: Mapping[int, tuple[Floats, Floats, Floats]], spread: Floats) -> float | None:
    total = weights = 0.0
    for n, (x, y, error) in curves.items():
        for other, (x_other, y_other, error_other) in curves.items():
            inside = (x >= x_other[0]) & (x <= x_other[-1])
            if other != n and inside.any():
                line, its_error = (
                    np.stack([np.interp(x[inside], x_other, column) for column in one.T], axis=1)
                    for one in (y_other, error_other)
                )
                scale = np.maximum(spread, 1e-12)
                weight = 1.0 / ((error[inside] ** 2 + its_error**2) / scale**2 + _SURE**2)
                total += float(np.sum(weight * ((y[inside] - line) / scale) ** 2))
                weights += float(np.sum(weight))
    return math.sqrt(total / weights) if weights else None
