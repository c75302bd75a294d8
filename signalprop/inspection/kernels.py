r"""Numbers of a square kernel W: its scale, its spectrum, its singular values, and how fast its powers grow.

With squared singular values s_i^2 of mean g^2 = ||W||_F^2/n, v is their variance over the square of their mean: 0 for an
orthogonal W, about 1 for a Gaussian one. W then holds a signal as long as a Gaussian matrix of width n/v does, as far as its
singular values decide. Status H. Departure from normality by Henrici: sqrt(1 - sum \|lambda_i\|^2/||W||_F^2), 0 for a normal
W.

Powers are exact but for rounding: W^(2^j) by squaring, scaled at each step so that nothing leaves the floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import finite_array, finite_number, square_matrix, whole_number
from signalprop.inspection.paths import BY_E, BY_HUNDRED, EnergyPath

Floats = NDArray[np.float64]
MOST_FOR_EIGENVALUES = 1024  # width; beyond, all eigenvalues take minutes
MOST_STEPS = 10**6
_KEPT = 4 * 10**8  # bytes of powers that are kept at a time
_GONE, _HUGE = -math.log(1e6), math.log(1e6)


@dataclass(frozen=True)
class Kernel:
    """One square kernel.

    Attributes
    ----------
    part
        Which it is: ``"forget gate"``.
    width
        n.
    scale
        g = ||W||_F/sqrt(n): 1 for Glorot's and for orthogonal matrices.
    largest
        The largest singular value.
    spread
        v, the variance of the squared singular values over the square of their mean.
    radius
        The largest modulus of an eigenvalue; None for more than 1024 units, and where eigenvalues were not wanted.
    departure
        From normality, 0 to 1; None where `radius` is.
    """

    part: str
    width: int
    scale: float
    largest: float
    spread: float
    radius: float | None
    departure: float | None

    @property
    def effective_width(self) -> float:
        """n/v: the width of a Gaussian matrix that holds a signal as long; infinite where all singular values are equal."""
        return self.width / self.spread if self.spread > 1e-9 else math.inf


def kernel_numbers(W: Floats, part: str, eigenvalues: bool = True) -> Kernel:
    """The numbers of one kernel; O(n^3), of which the eigenvalues are most."""
    n = len(W)
    energy = float(np.sum(np.abs(W) ** 2))
    if energy == 0.0:
        return Kernel(part, n, 0.0, 0.0, 0.0, 0.0, 0.0)
    squares = np.linalg.svd(W / math.sqrt(energy / n), compute_uv=False) ** 2  # of mean 1
    radius = departure = None
    if eigenvalues and n <= MOST_FOR_EIGENVALUES:
        moduli = np.abs(np.linalg.eigvals(W))
        radius = float(moduli.max())
        departure = math.sqrt(max(1.0 - float(np.sum(moduli**2)) / energy, 0.0))
    g = math.sqrt(energy / n)
    return Kernel(part, n, g, g * math.sqrt(float(squares[0])), float(np.var(squares)), radius, departure)


def power_energy(W: ArrayLike, reach: int, source: ArrayLike | None = None, log_slope: float = 0.0) -> EnergyPath:
    r"""||W^k M||_F^2/||M||_F^2 for k = 1 .. reach on a logarithmic grid: what is left of an isotropic state or gradient.

    Parameters
    ----------
    W
        Square, real or complex.
    reach
        The last step, 1 to 1e6. The path ends before where less than 1e-6 is left, or more than 1e6 there.
    source
        M, (n, m): the input kernel, for what is left of an input; the identity where it is left out.
    log_slope
        Added per step: log E phi'^2 of a nonlinearity.

    Returns
    -------
    EnergyPath
        Crossings between grid points by bisection with smaller powers, exact where the path is monotone in between, and where
        these powers fit into 400 MB; else to the next grid point.

    Raises
    ------
    ValueError
        A W that is not square, a source of another height or of zeros, numbers that are not finite or out of range.

    Notes
    -----
    Status P, but for rounding and for `log_slope`. Cost: four products of n x n matrices per doubling of the step.

    Examples
    --------
    >>> power_energy([[0.0, 0.9], [-0.9, 0.0]], 1000).by_hundred
    22
    """
    matrix = square_matrix(W, "W")
    start = None if source is None else finite_array(source, "source", 2)
    if start is not None and (len(start) != len(matrix) or not start.any()):
        raise ValueError(f"source must have {len(matrix)} rows, like W, and not be zero, got shape {start.shape}.")
    steps = whole_number(reach, "reach", 1, MOST_STEPS)
    return _Powers(matrix, start, finite_number(log_slope, "log_slope")).path(steps)


class _Powers:
    def __init__(self, W: Floats, source: Floats | None, log_slope: float) -> None:
        self.n, self.log_slope = len(W), log_slope
        self.source = None if source is None else _scaled(source, 0.0)[0]
        self.start = math.log(self.n) if source is None else 0.0
        self.kept = max(3, _KEPT // (W.itemsize * self.n**2))
        self.squares: dict[int, tuple[Floats, float]] = {0: _scaled(W, 0.0)}

    def path(self, reach: int) -> EnergyPath:
        """Walk up the grid, and look into the interval where a threshold is crossed first."""
        steps: list[int] = []
        values: list[float] = []
        wanted: dict[str, Callable[[float], bool]] = {
            "by_e": lambda value: value <= -BY_E,
            "by_hundred": lambda value: value <= -BY_HUNDRED,
            "grown": lambda value: value >= BY_HUNDRED,
        }
        found: dict[str, int | None] = dict.fromkeys(wanted)
        before: tuple[int, tuple[Floats, float] | None] = (0, None)
        for k, power in self._grid(reach):
            value = self._log_energy(power, k)
            for name, crossed in wanted.items():
                if found[name] is None and crossed(value):
                    found[name] = self._between(*before, k, crossed)
            steps.append(k)
            values.append(value)
            before = (k, power)
            if not _GONE <= value <= _HUGE:
                break
        return EnergyPath(
            np.array(steps), np.array(values), found["by_e"], found["by_hundred"], found["grown"], steps[-1]
        )

    def _grid(self, reach: int) -> Iterator[tuple[int, tuple[Floats, float]]]:
        for j in range(reach.bit_length()):
            whole = self._square(j)
            yield 1 << j, whole
            marks = {3: (1,), 5: (2,), 6: (1,), 7: (1, 2)}
            for mark in (3,) if j == 1 else (5, 6, 7) if j > 1 else ():
                k = mark << (j - 1 if mark == 3 else j - 2)
                if k <= reach:
                    power = whole
                    for below in marks[mark]:
                        power = _product(power, self._square(j - below))
                    yield k, power

    def _square(self, j: int) -> tuple[Floats, float]:
        if j not in self.squares:
            self.squares[j] = _product(self.squares[j - 1], self.squares[j - 1])
            self.squares.pop(j - self.kept, None)
        return self.squares[j]

    def _between(
        self, low: int, power: tuple[Floats, float] | None, high: int, crossed: Callable[[float], bool]
    ) -> int:
        """The first step after `low` and up to `high` at which the energy has crossed."""
        for j in range((high - low).bit_length() - 1, -1, -1):
            if low + (1 << j) < high and j in self.squares:
                trial = self.squares[j] if power is None else _product(power, self.squares[j])
                if not crossed(self._log_energy(trial, low + (1 << j))):
                    low, power = low + (1 << j), trial
        return low + 1 if 0 in self.squares else high

    def _log_energy(self, power: tuple[Floats, float], k: int) -> float:
        matrix, log = power
        reached = matrix if self.source is None else matrix @ self.source
        energy = float(np.sum(np.abs(reached) ** 2))
        return -math.inf if energy == 0.0 else math.log(energy) + 2.0 * log - self.start + k * self.log_slope


def _product(left: tuple[Floats, float], right: tuple[Floats, float]) -> tuple[Floats, float]:
    return _scaled(left[0] @ right[0], left[1] + right[1])


def _scaled(matrix: Floats, log: float) -> tuple[Floats, float]:
    """The matrix at norm 1, and the logarithm of its norm added to `log`."""
    top = float(np.abs(matrix).max())
    if top == 0.0:
        return matrix, -math.inf
    even = matrix / top  # whose squares stay within the floats
    size = float(np.linalg.norm(even))
    return even / size, log + math.log(top) + math.log(size)
