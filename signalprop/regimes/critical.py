"""Critical regime, k = c sqrt(n) with c fixed: the limits of Q and of S/sqrt(n)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

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
        Number system of the weights. Real weights share the complex limit, but not uniformly in c: see
        `real_excess` and `two_term_rnn`.

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
    Status P for complex weights (arXiv:2605.05113); V for real and quaternion weights, as a consequence of the closed form.
    Relative error at fixed c: O(n^{-1/2}), for complex weights less than 0.1 % at n = 10^4 and c <= 1, 0.03 % at c = 5, n = 10^8.

    Examples
    --------
    >>> float(critical_rnn(2.0)).__round__(4)
    1.8134
    """
    width = 2.0 if as_field(field) is Field.QUATERNION else 1.0
    a = ratios(c) ** 2 / (2.0 * width)
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
    Status as for `critical_rnn`. Below c = 0.05 the Taylor series c + c^5/120 + c^9/17280 is used, because the closed
    form subtracts nearly equal numbers.

    Examples
    --------
    >>> float(critical_lru(2.0)).__round__(4)
    2.2983
    """
    stretch = math.sqrt(2.0) if as_field(field) is Field.QUATERNION else 1.0
    x = ratios(c) / stretch
    if x.size and x.max() > 37.0:
        raise OverflowError(
            f"the limit at c = {float(x.max()) * stretch:.6g} exceeds float64; the largest c is {37.0 * stretch:.1f}."
        )
    safe = np.where(x < 0.05, 1.0, x)
    u = safe / math.sqrt(2.0)
    closed = math.sqrt(math.pi / 2.0) * (special.erfi(u) + special.erf(u)) - (2.0 / safe) * np.sinh(0.5 * safe**2)
    return (stretch * np.where(x < 0.05, x + x**5 / 120.0 + x**9 / 17280.0, closed))[()]


def ratios(c: ArrayLike) -> NDArray[np.float64]:
    """C = k/sqrt(n) as checked float64: finite and at least 0."""
    given = np.asarray(c)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"c = k/sqrt(n) must be a real number or an array of them, got {c!r}.")
    values = given.astype(np.float64)
    broken = ~(np.isfinite(values) & (values >= 0.0) & (values < 1e150))
    if broken.any():
        raise ValueError(f"c = k/sqrt(n) must be finite and at least 0, got {values[broken].flat[0]}.")
    return values
