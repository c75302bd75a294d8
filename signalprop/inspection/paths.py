"""How energy falls from step to step, on a logarithmic grid, and when it has fallen by e and by 100."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BY_E, BY_HUNDRED = 1.0, math.log(100.0)


@dataclass(frozen=True)
class EnergyPath:
    """What is left of an energy, the squared length of a state or a gradient, after so many steps.

    Attributes
    ----------
    steps
        1, 2, .., then about four per octave.
    log_energy
        Natural logarithm of the energy over that at step 0, at these steps.
    by_e, by_hundred
        The first step at which no more than 1/e, than 1/100 is left; None where that has not happened by the `reach`.
    grown
        The first step at which it is a hundred times what it was; None where that does not happen.
    reach
        The last step that was looked at; no more is known beyond.
    """

    steps: NDArray[np.int64]
    log_energy: Floats
    by_e: int | None
    by_hundred: int | None
    grown: int | None
    reach: int

    def log_at(self, step: int) -> float:
        """The logarithm at any step: between grid points a straight line in log step, beyond the grid one in steps."""
        k, y = self.steps.astype(np.float64), self.log_energy
        if step <= k[0]:
            return float(y[0] * step / k[0])
        if step > k[-1]:
            slope = (y[-1] - y[-2]) / (k[-1] - k[-2]) if len(k) > 1 else y[-1] / k[-1]
            return float(y[-1] + slope * (step - k[-1]))
        right = int(np.searchsorted(k, step))
        if k[right] == step:
            return float(y[right])
        share = (step - k[right - 1]) / (k[right] - k[right - 1])
        return float(y[right - 1] + share * (y[right] - y[right - 1])) if right else float(y[0])


def log_grid(last: int) -> NDArray[np.int64]:
    """1, .., 8, 10, 12, 14, 16, 20, .. and the last step."""
    marks = [k for k in (1, 2, 3) if k <= last]
    octave = 1
    while 4 * octave <= last:
        marks += [k * octave for k in (4, 5, 6, 7) if k * octave <= last]
        octave *= 2
    return np.array(sorted({*marks, last}), dtype=np.int64)


def path_of(log_energy: Callable[[Floats], Floats], reach: int) -> EnergyPath:
    """The path of a formula for any step; crossings by bisection on whole steps."""
    steps = log_grid(reach)
    values = np.asarray(log_energy(steps.astype(np.float64)), dtype=np.float64)

    def first(wanted: Callable[[float], bool]) -> int | None:
        hits = np.flatnonzero([wanted(float(value)) for value in values])
        if not hits.size:
            return None
        low, high = (int(steps[hits[0] - 1]) if hits[0] else 0), int(steps[hits[0]])
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if wanted(float(log_energy(np.array([float(middle)]))[0])) else (middle, high)
        return high

    return EnergyPath(
        steps,
        values,
        first(lambda value: value <= -BY_E),
        first(lambda value: value <= -BY_HUNDRED),
        first(lambda value: value >= BY_HUNDRED),
        reach,
    )
