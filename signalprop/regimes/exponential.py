"""Complex weights beyond the critical regime: uniform, supercritical, linear and superlinear laws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from signalprop._logs import from_logs
from signalprop.regimes._products import Floats, log_rising, phi, widths_and_depths


def uniform_rnn(n: ArrayLike, k: ArrayLike, *, log: bool = False) -> Any:
    r"""Subcritical, critical and the beginning of the supercritical regime in one formula, complex weights.

    .. math:: Q \approx e^{-B}\frac{\sinh A}{A},\qquad A = \frac{(k+1)(k+2)}{2n},\quad B = \frac{(k+1)(k+2)(2k+3)}{12 n^2}

    Relative error -k^4/(12 n^3) for k >> sqrt(n) (measured, and the next term of the exponent): below 0.1 % for
    k <= n^{2/3} at n = 10^6, but e^{-0.08} at k = n^{3/4} for every n. It is uniform for k = o(n^{3/4}), not for all k = o(n).
    Status P, in that range.

    Examples
    --------
    >>> float(uniform_rnn(10**6, 1000, log=True)).__round__(5)  # exact: 0.04140
    0.0414
    """
    widths, k_ = widths_and_depths(n, k)
    a = (k_ + 1) * (k_ + 2) / (2.0 * widths)
    b = (k_ + 1) * (k_ + 2) * (2 * k_ + 3) / (12.0 * widths**2)
    small = a < 1e-4
    safe = np.where(small, 1.0, a)
    log_sinhc = np.where(small, a**2 / 6.0, safe + np.log(-np.expm1(-2.0 * safe) / (2.0 * safe)))
    return from_logs(log_sinhc - b, log)


def supercritical_lru(n: ArrayLike, t: ArrayLike, *, log: bool = False) -> Any:
    r"""Supercritical sublinear law of the paper for S, complex weights, taken literally.

    .. math:: S \approx \frac{n^2}{t^3}\, e^{t^2/2n}

    The exponent really continues with -t^3/(6 n^2) + t^4/(12 n^3) - ..., so the literal law needs
    sqrt(n) << t << n^{2/3}: relative error about -3n/t^2 + t^3/(6 n^2). At n = 10^6 it crosses the exact value near t = 7600
    and is off by a factor e^{0.11} at t = 10^4, e^{4.36} at 3 10^4 and e^{158.6} at 10^5, where `linear_lru` is within 0.1 %.
    Status P, as a limit (arXiv:2605.05113).

    Raises
    ------
    ValueError
        t < 1: the law is singular at 0.

    Examples
    --------
    >>> float(supercritical_lru(10**6, 10**5, log=True)).__round__(2)
    4993.09
    """
    widths, t_ = widths_and_depths(n, t, "t", 1)
    return from_logs(2.0 * np.log(widths) - 3.0 * np.log(t_) + t_**2 / (2.0 * widths), log)


def linear_rnn(n: ArrayLike, k: ArrayLike, *, log: bool = False) -> Any:
    r"""Linear regime k ~ c n, and everything from k >> sqrt(n) on, complex weights.

    .. math:: Q \approx \frac{(1+c)^{3/2}}{c^2 n}\, e^{n\varphi(c)},\qquad \varphi(c) = (1+c)\log(1+c) - c,\quad c = k/n

    Domain k >> sqrt(n). Relative error (law/exact - 1) to first order 3/k - 1/(n+k) + 1/(12n) - 1/(12(n+k)), plus e^{-k^2/n} from
    the neglected falling factorial: 3/k while k << n, and 1/(12n), Stirling's, for k >> n. Status P.

    Raises
    ------
    ValueError
        k < 1: the law is singular at 0.

    Examples
    --------
    >>> float(linear_rnn(1000, 1000, log=True)).__round__(3)
    380.426
    """
    widths, k_ = widths_and_depths(n, k, "k", 1)
    return from_logs(_linear(widths, k_), log)


def linear_lru(n: ArrayLike, t: ArrayLike, *, log: bool = False) -> Any:
    r"""Linear regime of S, complex weights: Q (1+c)/c with Q from `linear_rnn` and c = t/n.

    The terms of S are geometric near its end with ratio 1 + c. Domain t >> sqrt(n); relative error that of
    `linear_rnn` less (n/t^2)(3+c)/(1+c): -3n/t^2 while sqrt(n) << t << n (n = 10^6: -3 % at t = 10^4, -0.3 % at 3 10^4,
    -0.03 % at 10^5). Status P.

    Raises
    ------
    ValueError
        t < 1.

    Examples
    --------
    >>> float(linear_lru(10**6, 10**5, log=True)).__round__(2)
    4834.53
    """
    widths, t_ = widths_and_depths(n, t, "t", 1)
    return from_logs(_linear(widths, t_) + np.log1p(t_ / widths) - np.log(t_ / widths), log)


def superlinear_rnn(n: ArrayLike, k: ArrayLike, *, log: bool = False) -> Any:
    r"""Superlinear law of Q, complex weights, k >> n.

    .. math:: Q = \frac{(n+k+1)!}{(n-1)!\,(k+1)(k+2)\,n^{k+1}}

    Exact for k + 1 >= n, where the falling factorial of the closed form vanishes; below, it leaves out a share e^{-2A},
    A ~ k^2/(2n), so its error is below 1 % for k >= 2.2 sqrt(n). Status P.

    Examples
    --------
    >>> superlinear_rnn([2, 1], [3, 6]).round(9)
    array([  2.25, 720.  ])
    """
    widths, k_ = widths_and_depths(n, k)
    return from_logs(_rising_part(widths, k_), log)


def superlinear_lru(n: ArrayLike, t: ArrayLike, *, log: bool = False) -> Any:
    """Superlinear law of S, complex weights, t >> n: the last term alone, S ~ Q_{n,t}; relative error -n/(n+t). Status P.

    Examples
    --------
    >>> float(superlinear_lru(1, 6)).__round__(9)
    720.0
    """
    widths, t_ = widths_and_depths(n, t, "t")
    return from_logs(_rising_part(widths, t_), log)


def _linear(n: Floats, k: Floats) -> Floats:
    c = k / n
    return 1.5 * np.log1p(c) - 2.0 * np.log(c) - np.log(n) + n * phi(c)


def _rising_part(n: Floats, k: Floats) -> Floats:
    return log_rising(n, k + 2.0) + np.log(n) - np.log((k + 1.0) * (k + 2.0))
