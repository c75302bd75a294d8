"""Limit laws of the energies at k = c sqrt(n): what the exact values are compared with in the critical regime."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from signalprop import energy
from signalprop._checks import whole_numbers
from signalprop.fields import Field, as_field


def critical_rnn(c: ArrayLike, field: str = "complex") -> Any:
    r"""Limit of Q_{n,k} for n -> infinity at k = c sqrt(n).

    .. math:: q(c) = \frac{2}{c^2}\sinh\frac{c^2}{2}\ \text{(complex, real)},\qquad
              \frac{4}{c^2}\sinh\frac{c^2}{4}\ \text{(quaternion)}

    Parameters
    ----------
    c
        k/sqrt(n), finite and >= 0; q(0) = 1.
    field
        Number system of the weights. Real weights share the complex limit (status P), but not uniformly in c: see
        `two_term_rnn`.

    Returns
    -------
    float64
        Same shape as `c`.

    Raises
    ------
    ValueError
        c negative, infinite or NaN.
    OverflowError
        c above 37 (53 for quaternion weights), where q(c) exceeds float64.

    Notes
    -----
    Status P, arXiv:2605.05113. Relative error against the exact complex value O(n^{-1/2}) at fixed c.

    Examples
    --------
    >>> float(critical_rnn(2.0)).__round__(4)
    1.8134
    """
    width = 2.0 if as_field(field) is Field.QUATERNION else 1.0
    a = _ratios(c) ** 2 / (2.0 * width)
    if a.size and a.max() > 709.0:
        worst, largest = math.sqrt(2.0 * width * float(a.max())), math.sqrt(1418.0 * width)
        raise OverflowError(f"the limit at c = {worst:.6g} exceeds float64; the largest c is {largest:.1f}.")
    safe = np.where(a > 0.0, a, 1.0)
    return np.where(a > 0.0, np.sinh(safe) / safe, 1.0)[()]


def critical_lru(c: ArrayLike, field: str = "complex") -> Any:
    r"""Limit of S_{n,t}/sqrt(n) for n -> infinity at t = c sqrt(n).

    .. math:: I(c) = \int_0^c q(x)\,dx = \sqrt{\tfrac{\pi}{2}}\left[\mathrm{erfi}\tfrac{c}{\sqrt2}
              + \mathrm{erf}\tfrac{c}{\sqrt2}\right] - \frac{2}{c}\sinh\frac{c^2}{2}

    for complex and real weights; quaternion weights behave like complex ones at width 2n, I_H(c) = sqrt(2) I(c/sqrt 2).

    Parameters, returns and errors as for `critical_rnn`; I(0) = 0.

    Notes
    -----
    Status P, arXiv:2605.05113. Below c = 0.05 the Taylor series c + c^5/120 + c^9/17280 is used, because the closed
    form subtracts nearly equal numbers.

    Examples
    --------
    >>> float(critical_lru(2.0)).__round__(4)
    2.2983
    """
    stretch = math.sqrt(2.0) if as_field(field) is Field.QUATERNION else 1.0
    x = _ratios(c) / stretch
    if x.size and x.max() > 37.0:
        raise OverflowError(
            f"the limit at c = {float(x.max()) * stretch:.6g} exceeds float64; the largest c is {37.0 * stretch:.1f}."
        )
    safe = np.where(x < 0.05, 1.0, x)
    u = safe / math.sqrt(2.0)
    closed = math.sqrt(math.pi / 2.0) * (special.erfi(u) + special.erf(u)) - (2.0 / safe) * np.sinh(0.5 * safe**2)
    return (stretch * np.where(x < 0.05, x + x**5 / 120.0 + x**9 / 17280.0, closed))[()]


def two_term_rnn(n: ArrayLike, k: ArrayLike, *, log: bool = False) -> Any:
    r"""Two-term law for real weights, uniform in c = k/sqrt(n).

    .. math:: Q^R_{n,k} \approx Q^C_{n,k} + \frac{1}{2k+1}\prod_{j=0}^{k}\left(1+\frac{2j}{n}\right)

    The second term grows like exp(k^2/n)/(2k), twice the exponent of the complex energy; it takes over near
    c^2 = log n + 2 log(2/c).

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
    Status H: within 4 % of the exact value for n >= 1000 and every c tried, up to 12 % at n = 100. For k -> 0 the second
    term tends to 1 instead of 0, so the law is meant for k >= 1 and counts Q^C only at k = 0.

    Examples
    --------
    >>> float(two_term_rnn(2500, 250)) / 1e7  # exact: 3.5271
    3.4...
    """
    widths, depths = np.broadcast_arrays(whole_numbers(n, "n", 1), whole_numbers(k, "k", 0))
    first = energy.rnn_energy(widths, depths, "complex", log=True)
    # prod (1 + 2j/n) = (2/n)^{k+1} Gamma(n/2 + k + 1)/Gamma(n/2), without the cancellation of log-gammas at n >> k.
    half = 0.5 * widths
    product = _log_rising(half, depths + 1.0)
    second = np.where(depths > 0, product - np.log(2.0 * depths + 1.0), -np.inf)
    total = np.logaddexp(first, second)
    if log:
        return total[()]
    if total.size and total.max() > 709.0:
        raise OverflowError(f"the energy e^{float(total.max()):.6g} is outside the range of float64; use log=True.")
    return np.exp(total)[()]


def _log_rising(z: NDArray[np.float64], m: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log of z(z+1)..(z+m-1)/z^m = log Gamma(z+m) - log Gamma(z) - m log z, to about 1e-13 relative for z >= 1/2."""
    x = m / z
    large = np.maximum(z, 20.0)

    def tail(w: NDArray[np.float64]) -> NDArray[np.float64]:
        return 1.0 / (12.0 * w) - 1.0 / (360.0 * w**3) + 1.0 / (1260.0 * w**5)

    ratio = m / large
    phi = np.where(
        ratio < 1e-2,
        ratio**2 * (0.5 - ratio * (1 / 6 - ratio * (1 / 12 - ratio * (1 / 20 - ratio / 30)))),
        (1 + ratio) * np.log1p(ratio) - ratio,
    )
    stirling = large * phi - 0.5 * np.log1p(ratio) + tail(large + m) - tail(large)
    direct = (
        special.gammaln(np.minimum(z, 20.0) + m)
        - special.gammaln(np.minimum(z, 20.0))
        - m * np.log(np.minimum(z, 20.0))
    )
    return np.where(z >= 20.0, stirling, np.where(x == 0, 0.0, direct))


def _ratios(c: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(c, dtype=np.float64)
    broken = ~np.isfinite(values) | (values < 0.0)
    if broken.any():
        raise ValueError(f"c = k/sqrt(n) must be finite and at least 0, got {values[broken].flat[0]}.")
    return values
