r"""What is certain about the spectral radius of a matrix: an interval, from its zeros and from norms of its powers.

A computed eigenvalue says nothing about its own error, which has no bound for matrices far from normal: HiPPO-LegS
of size 256 has its eigenvalues on the diagonal, and a solver that is not told so is off by 8 %. So

.. math:: \max_j\bigl(|\mathrm{tr}\,A^m|/N\bigr)^{1/m} \le \rho(A) \le \lVert A^m\rVert_2^{1/m},\qquad m = 2^j,

with the rounding of each squaring bounded and carried along, and discs around computed eigenvalues as large as the
condition of their eigenvectors requires. Zeros come first: the matrix falls into its strongly
connected parts, and a part that is one number, or has one entry per row and column, is exact. Status P.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

UNIT = 2.0**-53
SQUARINGS = 56
CLOSE = 1e-9  # width in log at which an interval is not refined further
_BY_SINGULAR_VALUES = 300


class Radius(NamedTuple):
    """An interval that holds the natural logarithm of a spectral radius; -inf is a radius of zero."""

    log_low: float
    log_high: float

    @property
    def below_one(self) -> bool | None:
        """Whether the radius is below one; None if the interval does not say."""
        if self.log_high < 0.0:
            return True
        return False if self.log_low >= 0.0 else None

    @property
    def known(self) -> bool:
        """Whether six digits of the radius are sure."""
        return math.exp(self.log_high) - math.exp(self.log_low) <= 1e-6 * math.exp(self.log_high)

    @property
    def value(self) -> float:
        """The radius.

        Raises
        ------
        ValueError
            It is known to fewer than six digits.
        """
        if not self.known:
            raise ValueError(
                f"float64 cannot tell the spectral radius of this matrix to six digits, only that it is {self}: its "
                "powers lose their digits; if A is triangular or orthogonal by construction, say so by Triangular or "
                "ScaledUnitary."
            )
        return (math.exp(self.log_low) + math.exp(self.log_high)) / 2.0

    def __str__(self) -> str:
        low, high = f"{math.exp(self.log_low):.12g}", f"{math.exp(self.log_high):.12g}"
        if low != high:
            return f"between {low} and {high}"
        gap = math.expm1(self.log_high - self.log_low)
        return f"{low} to within {gap:.0e}" if gap > 0.0 else low


def exact(log_modulus: float) -> Radius:
    """The interval of a radius that is known."""
    return Radius(log_modulus, log_modulus)


def of_moduli(values: NDArray[Any]) -> Radius:
    """Largest modulus of known eigenvalues; the modulus of a complex number is rounded, that of a real one is not."""
    largest = float(np.abs(values).max())
    log = math.log(largest) if largest else -math.inf
    slack = 4.0 * UNIT if np.iscomplexobj(values) else 0.0
    return Radius(log - slack, log + slack)


def enclose(matrix: NDArray[Any], *, only_side_of_one: bool = False) -> Radius:
    """Interval of the spectral radius; `only_side_of_one` stops as soon as that is decided."""
    low = high = -math.inf
    for part in _strong_parts(matrix):
        found = _of_part(matrix[np.ix_(part, part)], only_side_of_one)
        low, high = max(low, found.log_low), max(high, found.log_high)
    return Radius(low, high)


def _strong_parts(matrix: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Index sets of the diagonal blocks of the block triangular form that the zeros of the matrix allow."""
    size = len(matrix)
    pattern = matrix != 0.0
    if pattern.all() or size == 1:
        return [np.arange(size)]
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(csr_array(pattern), directed=True, connection="strong")
    order = np.argsort(label, kind="stable")
    return np.split(order, np.searchsorted(label[order], np.arange(1, count)))


def _of_part(block: NDArray[Any], only_side_of_one: bool) -> Radius:
    size = len(block)
    if size == 1:
        return of_moduli(block)
    occupied = block != 0.0
    if (occupied.sum(axis=0) == 1).all() and (occupied.sum(axis=1) == 1).all():
        # One cycle: the eigenvalues are the roots of z^size = product of the entries.
        logs = np.log(np.abs(block[occupied]))
        slack = 4.0 * UNIT * (math.fsum(abs(logs)) + (size if np.iscomplexobj(block) else 0)) / size
        return Radius(math.fsum(logs) / size - slack, math.fsum(logs) / size + slack)
    low, high = -math.inf, math.inf
    # Powers decide far from one at the cost of a few products; discs are narrower.
    routes = (_squarings, _by_eigenvectors) if only_side_of_one else (_by_eigenvectors, _squarings)
    for lower, upper in chain.from_iterable(route(block) for route in routes):
        low, high = max(low, lower), min(high, upper)
        if only_side_of_one and (high < 0.0 or low > 0.0):
            break
        if high - low < CLOSE:
            break
    return Radius(min(low, high), high)


def _by_eigenvectors(block: NDArray[Any]) -> Iterator[tuple[float, float]]:
    """Bounds of log rho from ``A V = V D + R``: each eigenvalue lies within ||V^-1 R|| of one of D (Bauer and Fike), and where
    such discs overlap, together they hold as many eigenvalues as centres.
    """
    try:
        values, V = np.linalg.eig(block)
        singular = np.linalg.svd(V, compute_uv=False)
    except np.linalg.LinAlgError:
        return
    size, frobenius = len(block), float(np.linalg.norm(V))
    smallest = float(singular[-1]) - 4.0 * size * UNIT * float(singular[0])
    if smallest <= 0.0:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        residual, norm = float(np.linalg.norm(block @ V - V * values)), float(np.linalg.norm(block))
    if not math.isfinite(residual + norm):  # entries near the end of float64: this route says nothing
        return
    reach = (residual + 2.0 * (size + 4.0) * UNIT * norm * frobenius) / smallest
    moduli = np.abs(values)
    together = np.zeros(size, bool)
    together[moduli.argmax()] = True
    for _ in range(size):
        near = (np.abs(values[:, None] - values[together]) <= 2.0 * reach).any(axis=1)
        if (near == together).all():
            break
        together = near
    lower, upper = float(moduli[together].min()) - reach, float(moduli.max()) + reach
    yield math.log(lower) if lower > 0.0 else -math.inf, math.log(upper)


def _squarings(block: NDArray[Any]) -> Iterator[tuple[float, float]]:
    """Bounds of log rho from ``A^m = 2^e (X + E)`` with ||E||_2 <= error, m = 1, 2, 4, .."""
    size = len(block)
    rounding = (4.0 if np.iscomplexobj(block) else 1.0) * 1.01 * size * UNIT
    exponent = math.frexp(float(np.abs(block).max()))[1]
    X, error = np.ldexp(1.0, -exponent) * block, 0.0
    for step in range(SQUARINGS):
        norm, power = _norm(X), 2.0**step
        shrink = math.frexp(norm)[1] if norm > 0.0 else 0
        X, norm, error, exponent = X * 2.0**-shrink, norm * 2.0**-shrink, error * 2.0**-shrink, exponent + shrink
        scale = math.log(2.0) * (exponent / power)
        upper = math.log(norm + error) / power + scale if norm + error > 0.0 else -math.inf
        square, mass = X @ X, float(np.sum(np.abs(X) ** 2))
        # Third powers too: where eigenvalues come as cube roots, no trace of a power of two tells them from zero.
        traces = (
            (1, abs(np.trace(X)) - rounding * np.abs(np.diag(X)).sum(), error),
            (3, abs(np.sum(X.T * square)) - 2.0 * rounding * mass * norm, error * (3.0 * norm * norm + 4.0 * error)),
        )
        lower = max(
            math.log(low) / (times * power) + scale if (low := trace / size - off) > 0.0 else -math.inf
            for times, trace, off in traces
        )
        yield lower, upper
        if error > norm / 4.0:
            return
        error = 2.0 * norm * error + error * error + rounding * mass + 1e-300
        X, exponent = square, 2 * exponent


def _norm(X: NDArray[Any]) -> float:
    """An upper bound of ||X||_2, tight to rounding for small matrices and to about N^(1/16) for large ones."""
    size = len(X)
    if size <= _BY_SINGULAR_VALUES:
        return float(np.linalg.norm(X, 2)) * (1.0 + 4.0 * size * UNIT)
    top = float(np.abs(X).max())
    if top == 0.0:
        return 0.0
    gram = (X / top).conj().T @ (X / top)
    gram /= (trace := float(np.trace(gram).real))
    for _ in range(2):
        gram = gram @ gram
    root = math.pow(float(np.linalg.norm(gram)), 0.125)
    return top * math.sqrt(trace) * root * (1.0 + 8.0 * size * UNIT)
