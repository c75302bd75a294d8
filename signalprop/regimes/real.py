"""Laws special to real weights: the two-term law, its second term alone, the second threshold, the first correction."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import mpmath
import numpy as np
from numpy.typing import ArrayLike

from signalprop import energy
from signalprop._checks import whole_number
from signalprop._logs import from_logs
from signalprop._search import first_true
from signalprop.regimes._products import Floats, log_rising, widths_and_depths
from signalprop.regimes.critical import ratios

LARGEST_EXCESS_C = 25.0


def two_term_rnn(n: ArrayLike, k: ArrayLike, *, log: bool = False) -> Any:
    r"""Two-term law for real weights, uniform in c = k/sqrt(n).

    .. math:: Q^R_{n,k} \approx Q^C_{n,k} + \frac{1}{2k+1}\prod_{j=0}^{k}\left(1+\frac{2j}{n}\right)

    The second term grows like exp(k^2/n)/(2k), twice the exponent of the complex energy; it takes over near
    c^2 = log n + 2 log(2/c), see `second_threshold`.

    Parameters
    ----------
    n, k
        Width and depth, whole numbers or arrays of them, broadcast.
    log
        Return the natural logarithm.

    Raises
    ------
    ValueError
        n < 1, k < 0, or values that are not whole.

    Notes
    -----
    Status H, within 4 % of the exact value for n >= 1000 and k >= sqrt(n)/2, up to 12 % at n = 100. In the first few steps the
    second term is too large by about 1/(2k+1); at k = 0 only Q^C = 1 is counted.

    Examples
    --------
    >>> float(two_term_rnn(2500, 250)) / 1e7  # exact: 3.5271
    3.4...
    """
    widths, k_ = widths_and_depths(n, k)
    first = energy.rnn_energy(widths, k_, "complex", log=True)
    return from_logs(np.logaddexp(first, _second_term(widths, k_)), log)


def two_term_lru(n: ArrayLike, t: ArrayLike, *, log: bool = False) -> Any:
    """Sum over k <= t of `two_term_rnn`: S for real weights (H).

    Relative error within 4.5 % for n >= 1000 and t >= 2 sqrt(n), 6 % at t = sqrt(n), n = 1000 (the first steps are overcounted).
    One pass over k <= max t; t up to 10^7.

    Examples
    --------
    >>> float(two_term_lru(2500, 250, log=True)).__round__(2)  # exact: 19.21
    19.19
    """
    widths, t_ = widths_and_depths(n, t, "t")
    whole_number(int(t_.max(initial=0)), "t", 0, 10**7, "Use regimes.dominant_lru.")
    out = np.empty(t_.shape)
    for width in np.unique(widths):
        chosen = widths == width
        path = np.logaddexp.accumulate(two_term_rnn(width, np.arange(int(t_[chosen].max()) + 1), log=True))
        out[chosen] = path[t_[chosen].astype(np.int64)]
    return from_logs(out, log)


def dominant_rnn(n: ArrayLike, k: ArrayLike, *, log: bool = False) -> Any:
    r"""Real weights past the second threshold, k >> sqrt(n log n), linear and superlinear regimes included.

    .. math:: Q^R_{n,k} \approx \frac{1}{2k+1}\prod_{j=0}^{k}\left(1+\frac{2j}{n}\right)

    Relative error -n/(2k^2) (measured: -2.2 % at k = 5 sqrt(n), -0.80 % at 8 sqrt(n), -0.05 % at k = n = 1000). Status H.

    Examples
    --------
    >>> float(dominant_rnn(1000, 1000, log=True)).__round__(3)
    640.866
    """
    widths, k_ = widths_and_depths(n, k, smallest=1)
    return from_logs(_second_term(widths, k_), log)


def dominant_lru(n: ArrayLike, t: ArrayLike, *, log: bool = False) -> Any:
    r"""S for real weights past the second threshold: `dominant_rnn` times (1 + 2c)/(2c), c = t/n.

    The terms of S are geometric near its end with ratio 1 + 2c. Relative error about -3n/(2t^2): -6 % at
    t = 5 sqrt(n), -2.2 % at 8 sqrt(n). Status H.

    Examples
    --------
    >>> float(dominant_lru(2500, 250, log=True)).__round__(2)  # exact: 19.21
    19.15
    """
    widths, t_ = widths_and_depths(n, t, "t", 1)
    ratio = 2.0 * t_ / widths
    return from_logs(_second_term(widths, t_) + np.log1p(ratio) - np.log(ratio), log)


def second_threshold(n: int) -> int:
    """Smallest depth k >= 1 from which the second term of `two_term_rnn` is at least as large as the first; ~ sqrt(n log n).

    Beyond it the energy of real weights leaves that of complex weights behind, with twice the exponent (H, like the
    law). k/sqrt(n log n) is 0.97 at n = 10^4, 0.96 at 10^6.

    Examples
    --------
    >>> second_threshold(10**6)
    3565
    """
    width = whole_number(n, "n", 1, 10**18)

    def taken_over(k: int) -> bool:
        return bool(dominant_rnn(width, k, log=True) >= energy.rnn_energy(width, k, "complex", log=True))

    # The second term starts at (1 + 2/n)/3, falls like 1/(2k), and rises from k ~ sqrt(n)/2 on.
    low = max(1, math.isqrt(width) // 2)
    if taken_over(low):
        return low
    return first_true(taken_over, low)


def real_excess(c: ArrayLike) -> Any:
    r"""Limit of sqrt(n) (Q^R/Q^C - 1) for n -> infinity at k = c sqrt(n).

    With x = c^2, J_0 = (2/x) sinh(x/2), J_1 = (e^{x/2} - J_0)/x, it is E(c) = T(c)/J_0 with

    .. math:: T = -\tfrac32 c J_0 + \tfrac{c^3}{2}\int_0^1 s(1-s)e^{x(s-1/2)}ds + \frac1c\Big[\tfrac12 e^{x} + \tfrac12 e^{x/2}
              - e^{-x/2} - \cosh\tfrac x2 + J_0 - \tfrac12 J_1 + \int_0^1\Big(\psi(w) - \frac{J_1}{2w^2}\Big)dw\Big],

    .. math:: \psi(w) = \tfrac12 e^{x(w + w^2/2 - 1/2)}\int_0^{1-w}\Big[\frac{1+3w}{w(1+w)^2(1-w)}
              + \frac{(1-3w^2)\,s}{w^2(1-w^2)^2}\Big]e^{xs}\,ds.

    The first integral is the a = b part of the sum over partitions with its n^{-1/2} correction, e^x/(2c) the term a = k+1,
    psi the terms with (a-b)/(k+1) -> w. E(c) = c^3/4 + O(c^5).

    Parameters
    ----------
    c
        k/sqrt(n), 0 <= c <= 25.

    Returns
    -------
    float64
        Same shape as `c`; relative error below 1e-9 (tested against quadrature at 60 digits).

    Notes
    -----
    Status V, derived from the closed form and confirmed against exact energies: at n = 3.6e7 they
    give 0.033555, 0.334526, 6.8996 at c = 0.5, 1, 2 for limits 0.033562, 0.334610, 6.9052.

    Examples
    --------
    >>> [round(float(real_excess(c)), 4) for c in (0.5, 1.0, 2.0)]
    [0.0336, 0.3346, 6.9052]
    """
    values = ratios(c)
    if values.size and values.max() > LARGEST_EXCESS_C:
        raise ValueError(f"c must be at most 25 here, got {values.max():g}; past c ~ sqrt(log n) use two_term_rnn.")
    out = np.empty(values.shape)
    small = values < 0.6
    out[small] = _small_excess()(values[small] ** 2) * values[small] ** 3 / 4.0 if small.any() else 0.0
    out[~small] = [_excess(float(one)) for one in values[~small]]
    return out[()]


def corrected_critical_rnn(n: ArrayLike, k: ArrayLike, *, log: bool = False) -> Any:
    """Critical law of real weights with its first correction: Q^C (1 + E(c)/sqrt(n)), E from `real_excess`.

    Status V, as for `real_excess`. Good below the second threshold: relative error under 1 % for c <= 1.5 from n = 1000
    on, c <= 2 from n = 10^4 on.

    Examples
    --------
    >>> float(corrected_critical_rnn(10**4, 100)), float(energy.rnn_energy(10**4, 100, "real"))
    (1.046..., 1.046...)
    """
    widths, k_ = widths_and_depths(n, k)
    excess = real_excess(k_ / np.sqrt(widths))
    return from_logs(energy.rnn_energy(widths, k_, "complex", log=True) + np.log1p(excess / np.sqrt(widths)), log)


def _second_term(n: Floats, k: Floats) -> Floats:
    """Log of prod_{j<=k}(1 + 2j/n)/(2k+1); -inf at k = 0."""
    value = log_rising(0.5 * n, k + 1.0) - np.log(2.0 * k + 1.0)
    return np.where(k > 0, value, -np.inf)


def _outer_kernel(w: Any, flat: Any, slope: Any) -> Any:
    """The bracket of psi, with the integrals of e^{xs} and of s e^{xs} over 0..1-w done."""
    return (1 + 3 * w) / (w * (1 + w) ** 2 * (1 - w)) * flat + (1 - 3 * w**2) / (w**2 * (1 - w**2) ** 2) * slope


@cache
def _small_excess() -> Any:
    """E(c)/(c^3/4) as a polynomial in c^2 on [0, 0.36], through ten values at 60 digits."""
    nodes = 0.18 * (1.0 + np.cos(np.pi * (np.arange(10) + 0.5) / 10))
    values = [_excess_at_high_precision(math.sqrt(x)) / (math.sqrt(x) ** 3 / 4.0) for x in nodes]
    return np.polynomial.Chebyshev.fit(nodes, values, 9, domain=[0.0, 0.36])


def _excess_at_high_precision(c: float) -> float:
    # Terms of order 1/c and 1/c^3 cancel down to c^3.
    with mpmath.workdps(60):
        c_, x = mpmath.mpf(c), mpmath.mpf(c) ** 2
        half = mpmath.exp(x / 2)
        j0 = 2 / x * mpmath.sinh(x / 2)
        j1 = (half - j0) / x

        def psi_less_pole(w: Any) -> Any:
            flat = mpmath.expm1(x * (1 - w)) / x
            slope = ((1 - w) * mpmath.exp(x * (1 - w)) - flat) / x
            kernel = _outer_kernel(w, flat, slope)
            return mpmath.exp(x * (w + w**2 / 2 - mpmath.mpf(1) / 2)) / 2 * kernel - j1 / (2 * w**2)

        diagonal = mpmath.quadgl(lambda s: s * (1 - s) * mpmath.exp(x * (s - mpmath.mpf(1) / 2)), [0, 1])
        rest = mpmath.quadgl(psi_less_pole, [0, 0.25, 0.5, 0.75, 1])
        inside = mpmath.exp(x) / 2 + half / 2 - 1 / half - mpmath.cosh(x / 2) + j0 - j1 / 2 + rest
        return float((-3 * c_ * j0 / 2 + c_**3 / 2 * diagonal + inside / c_) / j0)


def _excess(c: float) -> float:
    """The formula of `real_excess` in float64 with everything divided by e^x, 80 Gauss nodes; for c >= 0.6."""
    x = c * c
    nodes, weights = np.polynomial.legendre.leggauss(80)
    w, weights = 0.5 * (1.0 + nodes), 0.5 * weights
    down = math.exp(-0.5 * x)  # e^{-x/2}
    j0 = (down - down**3) / x  # times e^{-x}
    j1 = (down - j0) / x
    flat = -np.expm1(-x * (1.0 - w)) / x  # times e^{-x(1-w)}
    slope = ((1.0 - w) - flat) / x
    kernel = _outer_kernel(w, flat, slope)
    psi = 0.5 * np.exp(0.5 * x * (w**2 - 1.0)) * kernel
    rest = float(np.sum(weights * (psi - j1 / (2.0 * w**2))))
    diagonal = float(np.sum(weights * w * (1.0 - w) * np.exp(x * (w - 1.5))))
    inside = 0.5 + 0.5 * down - down**3 - 0.5 * (down + down**3) + j0 - 0.5 * j1 + rest
    return (-1.5 * c * j0 + 0.5 * c**3 * diagonal + inside / c) / j0
