r"""How far draws of one recurrence scatter: the relative variance of the energy ||W^k x||^2 over draws of W.

.. math:: v_{n,k} = \frac{\mathrm{Var}\,\lVert W^kx\rVert^2}{(\mathrm E\,\lVert W^kx\rVert^2)^2}

It sets the error of a sample mean: the mean of N draws has a relative standard error of exactly sqrt(v/N). For
complex weights it is a sum of non-negative terms at any n and k, and near k = c sqrt(n) it tends to g(c)/sqrt(n)
(`critical_variance`): the energy of one draw concentrates, but only like n^{-1/4}.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, assert_never

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from signalprop import energy, exact
from signalprop._checks import flag, positive_float, shown, whole_number
from signalprop.fields import Field, as_field

Floats = NDArray[np.float64]
MAX_SUM_K = 400  # the sum over partitions takes k^3/6 terms, a quarter of a second here; beyond, its limit is used
_SERIES_C = 0.02  # below, three terms in 1/n have twelve digits
_CRITICAL_SERIES_C = 0.3
_CRITICAL_SERIES = (1.0, 1 / 3, 3 / 20, 61 / 1260, 67 / 5670, 5717 / 2494800, 13163 / 35380800, 36077 / 681080400)
_LARGEST_C = 12.0
_LIMIT_C = 3.0  # beyond, the limit is off by more than a tenth at k = 400


def relative_variance(n: int, k: int, field: str = "real", *, log: bool = False) -> Any:
    r"""Relative variance over draws of W of the energy ||W^k x||^2 of one unit vector x.

    Parameters
    ----------
    n, k
        Width, 1 <= n <= 1e18; depth k >= 0, up to 400 or 3 sqrt(n) for complex weights, up to 12 for real and quaternion ones.
    field
        ``"complex"``, ``"real"`` or ``"quaternion"``.
    log
        Return the natural logarithm (-inf for k = 0).

    Returns
    -------
    float64

    Raises
    ------
    ValueError
        Arguments outside these ranges, in which the value is below e^600.

    Notes
    -----
    Complex, k <= 400: the sum over partitions of `exact.energy_variance` in floating point, all of whose terms are non-negative
    (V), or for k < 0.02 sqrt(n) its expansion k/n + k(k-1)(2k+5)/(6n^2) + .. Past k = 400 its limit g(c)/sqrt(n) at
    c = k/sqrt(n) (H: within 0.2 % for c <= 1.5, 2 % at c = 2, 14 % at c = 3). Real and quaternion: loop
    equations (P).

    Examples
    --------
    >>> float(relative_variance(100, 1, "real"))  # chi-square: 2/n
    0.02
    >>> round(float(relative_variance(2500, 50, "complex")) * 50, 3)
    1.561
    """
    kind = as_field(field)
    width = whole_number(n, "n", 1, 10**18, "Use exact.energy_variance, which has no bound on n.")
    match kind:
        case Field.COMPLEX:
            farthest = max(MAX_SUM_K, math.floor(_LIMIT_C * math.sqrt(width)))
            beyond = "There the relative variance is about c e^(c^2)/(4 sqrt(n)), c = k/sqrt(n)."
        case Field.REAL | Field.QUATERNION:
            farthest, beyond = exact.MAX_LOOP_K, exact.BEYOND_LOOPS
        case _:
            assert_never(kind)
    depth = whole_number(k, "k", 0, farthest, beyond)
    value = log_relative_variance(width, depth, kind)
    return np.float64(value) if flag(log, "log") else np.exp(value)


@lru_cache(maxsize=4096)
def log_relative_variance(n: int, k: int, field: Field) -> float:
    """`relative_variance` by its log, for checked arguments."""
    if k == 0:
        return -math.inf
    match field:
        case Field.REAL | Field.QUATERNION:
            ratio = exact.energy_variance(n, k, field) / exact.rnn_energy(n, k, field) ** 2
            return math.log(ratio.numerator) - math.log(ratio.denominator)
        case Field.COMPLEX:
            return _log_complex(n, k)
        case _:
            assert_never(field)


def _log_complex(n: int, k: int) -> float:
    if k < _SERIES_C * math.sqrt(n):
        terms = (k, k * (k - 1) * (2 * k + 5) / 6, k * (k - 1) * (9 * k**3 + 24 * k**2 - k - 46) / 60)
        return math.log(sum(term / float(n) ** power for power, term in enumerate(terms, 1)))
    if k > MAX_SUM_K:
        return _log_critical_variance(k / math.sqrt(n)) - 0.5 * math.log(n)
    from signalprop.energy._fourth_moment import log_fourth_moment_kernel

    log_square = 2.0 * float(energy.rnn_energy(n, k, Field.COMPLEX, log=True))
    log_ratio = float(log_fourth_moment_kernel(float(n), k)) - log_square
    return log_ratio if log_ratio > 40.0 else math.log(math.expm1(log_ratio))


def critical_variance(c: float) -> float:
    r"""g(c), the limit of sqrt(n) times the relative variance of complex weights at k = c sqrt(n).

    .. math:: g(c) = c + \tfrac{c^3}3 + \tfrac{3c^5}{20} + \tfrac{61c^7}{1260} + \dots

    Status H, the leading order of the sum over partitions, as an integral. For real and quaternion weights the first
    correction in 1/n is 2/beta times as large (k <= 8), and so is the variance of the log-energy.

    Raises
    ------
    ValueError
        A c that is not positive and finite, or above 12, where g is e^140.

    Examples
    --------
    >>> [round(critical_variance(c), 5) for c in (0.5, 1.0, 2.0)]
    [0.54676, 1.54629, 32.67937]
    """
    ratio = positive_float(c, "c")
    if ratio > _LARGEST_C:
        raise ValueError(f"c must be at most {_LARGEST_C:g}, got {shown(c)}; there g(c) is close to c exp(c^2)/4.")
    return math.exp(_log_critical_variance(ratio))


@lru_cache(maxsize=4096)
def _log_critical_variance(c: float) -> float:
    if c <= _CRITICAL_SERIES_C:
        return math.log(sum(a * c ** (2 * i + 1) for i, a in enumerate(_CRITICAL_SERIES)))
    s = c * c
    if c > _LARGEST_C:
        return s + math.log(c / 4.0)
    # The integral X(s) of the energy squared, times e^{-2s}; g = X/(c S^2) with S = sinh(s/2)/(s/2).
    log_root = 0.5 * s + math.log(-math.expm1(-s) / s)
    return math.log(_critical_integral(s)) + 2.0 * s - math.log(c) - 2.0 * log_root


def _critical_integral(s: float) -> float:
    nodes, weights = leggauss(64)
    nodes, weights = 0.5 * (nodes + 1.0), 0.5 * weights
    alpha = nodes
    hooks = -(1.0 + 2.0 * alpha + 2.0 * alpha**2 / 3.0) * np.exp(s * (2.0 * alpha - 3.0))
    hooks += 2.0 / (2.0 - nodes) ** 2 * np.exp(-2.0 * s * nodes)
    total = float(weights @ hooks)
    for start in (0.0, 1.0):
        for d, weight in zip(start + nodes, weights, strict=True):
            longest = min(d, 2.0 - d)
            e = longest * nodes[:, None]
            length = 1.0 - 0.5 * e - 0.5 * d
            alpha = 0.5 * d + length * nodes[None, :]
            inner = 2.0 * e**2 * (12.0 * alpha**2 - d**2) * np.exp(s * (2.0 * alpha - 3.0) + 0.25 * s * (d**2 - e**2))
            inner *= length / (d**4 * (1.0 - 0.25 * (d + e) ** 2) * (1.0 - 0.25 * (d - e) ** 2))
            part = longest * float(weights @ inner @ weights)
            if d < 1.0:
                alpha = 0.5 * d + (1.0 - d) * nodes
                part -= (
                    float(weights @ ((alpha**2 - 0.25 * d**2) * np.exp(s * (2.0 * alpha - 3.0))))
                    * 8.0
                    / (d * (1.0 + d))
                )
            total += weight * part
    return total
