"""Critical regime, k = c sqrt(n) with c fixed: the limits of Q and of S/sqrt(n)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import real_array
from signalprop._logs import from_logs
from signalprop.fields import as_field, by_field

LARGEST_C = 1e6


def critical_rnn(c: ArrayLike, field: str = "real", *, log: bool = False) -> Any:
    r"""Limit of Q_{n,k} for n -> infinity at k = c sqrt(n).

    .. math:: q(c) = \frac{2}{c^2}\sinh\frac{c^2}{2}\ \text{(complex, real)},\qquad
              \frac{4}{c^2}\sinh\frac{c^2}{4}\ \text{(quaternion)}

    Parameters
    ----------
    c
        k/sqrt(n), 0 <= c <= 1e6; q(0) = 1.
    field
        Number system of the weights. Real weights share the complex limit, but not uniformly in c: see
        `real_excess` and `two_term_rnn`.
    log
        Return the natural logarithm.

    Returns
    -------
    float64
        Same shape as `c`.

    Raises
    ------
    ValueError
        c negative, too large, infinite or NaN.
    OverflowError
        c above 37 (53 for quaternion weights) without ``log``, where q(c) exceeds float64.

    Notes
    -----
    Status P for complex weights (arXiv:2605.05113); V for real and quaternion weights, as a consequence of the closed form.
    Relative error (law/exact - 1) at fixed c, complex weights, to first order in n^{-1/2} (elementary expansion of the closed
    form): [c^3/6 - (3/c)((c^2/2) coth(c^2/2) - 1)]/sqrt(n); at n = 10^4 that is -0.08 % at c = 1, +13.9 % at c = 5. For real
    weights it is larger by -E(c)/sqrt(n), E the `real_excess`; for quaternion weights of the same order (verified: below 0.1 %
    at n = 10^7, c <= 4).

    Examples
    --------
    >>> float(critical_rnn(2.0)).__round__(4)
    1.8134
    """
    width = by_field(as_field(field), real=1.0, complex=1.0, quaternion=2.0)
    a = ratios(c) ** 2 / (2.0 * width)
    safe = np.where(a < 1e-4, 1.0, a)
    log_sinhc = np.where(a < 1e-4, a**2 / 6.0, safe + np.log(-np.expm1(-2.0 * safe) / (2.0 * safe)))
    return from_logs(log_sinhc, log, "the limit")


def critical_lru(c: ArrayLike, field: str = "real", *, log: bool = False) -> Any:
    r"""Limit of S_{n,t}/sqrt(n) for n -> infinity at t = c sqrt(n).

    .. math:: I(c) = \int_0^c q(x)\,dx = \sqrt{\tfrac{\pi}{2}}\left[\mathrm{erfi}\tfrac{c}{\sqrt2}
              + \mathrm{erf}\tfrac{c}{\sqrt2}\right] - \frac{2}{c}\sinh\frac{c^2}{2}

    for complex and real weights; quaternion weights behave like complex ones at width 2n, I_H(c) = sqrt(2) I(c/sqrt 2).

    Parameters, returns and errors as for `critical_rnn`; I(0) = 0 (-inf as a log).

    Notes
    -----
    Status as for `critical_rnn`. Relative error of order n^{-1/2} at fixed c: the sum S exceeds the integral by half of its first
    and last terms, (1 + q(c))/(2 sqrt(n)); measured for complex weights at n = 10^4: -9 % at c = 0.1, -1 % at c = 1, +9.6 % at
    c = 5, a tenth of that at n = 10^6.

    erfi is computed as e^{u^2} times Dawson's function, so that nothing overflows. Below c = 0.05 the Taylor series
    c + c^5/120 + c^9/17280 is used, because the closed form subtracts nearly equal numbers.

    Examples
    --------
    >>> float(critical_lru(2.0)).__round__(4)
    2.2983
    """
    from scipy import special

    stretch = math.sqrt(by_field(as_field(field), real=1.0, complex=1.0, quaternion=2.0))
    x = ratios(c) / stretch
    safe = np.where(x < 0.05, 1.0, x)
    u = safe / math.sqrt(2.0)
    down = np.exp(-(u**2))
    bracket = (
        math.sqrt(2.0) * special.dawsn(u)
        - 1.0 / safe
        + down * (math.sqrt(math.pi / 2.0) * special.erf(u) + down / safe)
    )
    # For large c the first two terms cancel down to 1/c^3.
    tail = 1.0 / safe**3 * (1.0 + 3.0 / safe**2 * (1.0 + 5.0 / safe**2 * (1.0 + 7.0 / safe**2)))
    closed = u**2 + np.log(np.where(safe > 1e3, tail, bracket))
    with np.errstate(divide="ignore"):
        series = np.log(x + x**5 / 120.0 + x**9 / 17280.0)
    return from_logs(np.where(x < 0.05, series, closed) + math.log(stretch), log, "the limit")


def ratios(c: ArrayLike) -> NDArray[np.float64]:
    """Ratios c = k/sqrt(n) as checked float64: finite and at least 0."""
    values = real_array(c, "c", None, finite=False, empty=True)
    broken = ~(np.isfinite(values) & (values >= 0.0) & (values <= LARGEST_C))
    if broken.any():
        raise ValueError(f"c = k/sqrt(n) must be finite, at least 0 and at most 1e6, got {values[broken].flat[0]}.")
    return values
