"""Subcritical regime, k = o(sqrt n): infinite width and its first correction, every field."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from signalprop._checks import positive_float
from signalprop._logs import from_logs
from signalprop.fields import Field, as_field, by_field
from signalprop.regimes._products import Floats, widths_and_depths


def infinite_width_rnn(n: ArrayLike, k: ArrayLike, *, scale: float = 1.0, log: bool = False) -> Any:
    """Q = 1, whatever n and k: what Glorot scaling promises for n -> infinity at k = o(sqrt n); g^{2k} with weights scaled by g.

    Relative error at k = c sqrt(n) tends to that of 1 against q(c): below 1 % for c <= 0.65 from n = 10^4 on (complex, real).
    Status P for complex weights, V for real and quaternion ones.

    Examples
    --------
    >>> float(infinite_width_rnn(100, 3)), round(float(infinite_width_rnn(100, 3, scale=0.5)), 9)
    (1.0, 0.015625)
    """
    _, depths = widths_and_depths(n, k)
    return from_logs(2.0 * math.log(positive_float(scale, "scale")) * depths, log)


def infinite_width_lru(n: ArrayLike, t: ArrayLike, *, scale: float = 1.0, log: bool = False) -> Any:
    """S = t + 1 for n -> infinity at t = o(sqrt n): error below 1 % for t <= sqrt(n) from n = 10^4 on (complex, real).

    With weights scaled by g it is the sum of g^{2j}, j = 0..t.

    Status P for complex weights, V for real and quaternion ones.

    Examples
    --------
    >>> float(infinite_width_lru(100, 3)), round(float(infinite_width_lru(100, 1, scale=0.5)), 9)
    (4.0, 1.25)
    """
    _, times = widths_and_depths(n, t, "t")
    rate = 2.0 * math.log(positive_float(scale, "scale"))
    if rate == 0.0:
        return from_logs(np.log1p(times), log)
    return from_logs(np.vectorize(_log_geometric, otypes=[np.float64])(times, rate), log)


def _log_geometric(t: float, rate: float) -> float:
    """Log of sum_{j<=t} e^{rate j}, a geometric sum from its largest term."""
    return max(0.0, rate * t) + math.log(math.expm1(-abs(rate) * (t + 1)) / math.expm1(-abs(rate)))


def subcritical_rnn(n: ArrayLike, k: ArrayLike, field: str = "real", *, log: bool = False) -> Any:
    r"""First correction to infinite width.

    .. math:: Q \approx 1 + \frac{a_2(k)}{n^2},\qquad a_2 = \binom{k+2}{4}\ \text{(complex)},\quad
              \binom{k+2}{4} + \left\lfloor\tfrac{(k-1)(k+1)(2k-1)}{8}\right\rfloor\ \text{(real)}

    and a quarter of the real coefficient for quaternion weights. Status P for complex weights, V for real and quaternion
    ones (`symbolic.expansion`). Relative error below 0.1 % for k <= sqrt(n), n >= 1000 (complex); Q - 1 itself within 2 % for
    3 <= k <= n^{1/3} in every field.

    Examples
    --------
    >>> float(subcritical_rnn(1000, 4, "real"))
    1.000028
    """
    kind = as_field(field)
    widths, k_ = widths_and_depths(n, k)
    return from_logs(np.log1p(_second_order(k_, kind) / widths**2), log)


def subcritical_lru(n: ArrayLike, t: ArrayLike, field: str = "real", *, log: bool = False) -> Any:
    r"""First correction to S = t + 1: the sum over k <= t of `subcritical_rnn`; (t+1) + binom(t+3, 5)/n^2 for complex weights.

    Status and errors as for `subcritical_rnn`; S - (t+1) itself within 2 % for 3 <= t <= n^{1/3}.

    Examples
    --------
    >>> float(subcritical_lru(1000, 4, "complex"))
    5.000021
    """
    kind = as_field(field)
    widths, t_ = widths_and_depths(n, t, "t")
    complex_part = (t_ + 3) * (t_ + 2) * (t_ + 1) * t_ * (t_ - 1) / 120.0
    cubes = t_**2 * (t_ + 1) ** 2 / 2 - t_ * (t_ + 1) * (2 * t_ + 1) / 6 - t_ * (t_ + 1) + (t_ + 1)
    real = complex_part + (cubes - (np.floor(t_ / 2) + 1)) / 8.0
    total = by_field(kind, real=real, complex=complex_part, quaternion=real / 4.0)
    return from_logs(np.log(t_ + 1.0 + total / widths**2), log)


def _second_order(k: Floats, kind: Field) -> Floats:
    complex_part = (k + 2) * (k + 1) * k * (k - 1) / 24.0
    # (k-1)(k+1)(2k-1) is 1 mod 8 for even k and 0 mod 8 for odd k.
    real: Floats = complex_part + ((k - 1) * (k + 1) * (2 * k - 1) - (k % 2 == 0)) / 8.0
    return by_field(kind, real=real, complex=complex_part, quaternion=real / 4.0)
