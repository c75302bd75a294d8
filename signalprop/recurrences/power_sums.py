r"""Closed forms behind the mean energy of one mode: sums over the powers of lambda = e^{L + i theta}, without cancellation.

A mode is z_t = lambda z_{t-1} + b u_t. With zero start and unit white inputs E|z_t|^2 = |b|^2 sum_{k<t} e^{2Lk}; with
AR(1) inputs, E u_t u_s = rho^|t-s|, the terms of the double sum over k and l fold into one sum over k. Moduli come as
logarithms L, because 1 - |lambda|^2 = -expm1(2L) keeps its digits where |lambda| is next to one. Status P, all of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import broadcast, real_array
from signalprop.recurrences.laws import checked_phase

Floats = NDArray[np.float64]
BLOCK = 1 << 20  # numbers in one block of (time, mode)
LOG_ZERO = -1.0e4  # log-modulus of lambda = 0: its exponential is exactly 0 in float64, times 0 it is still 0
LOG_LARGEST = 350.0  # log-modulus up to which |lambda|^2 is a float64


def geometric_sum(log_modulus: ArrayLike, t: ArrayLike) -> Floats:
    """``sum_{k<t} e^{2 L k}``; the arguments broadcast, infinite where float64 ends.

    Examples
    --------
    >>> geometric_sum(np.log(0.5), [0, 1, 2]).round(12)
    array([0.  , 1.  , 1.25])
    """
    rate, steps = np.broadcast_arrays(2.0 * np.asarray(log_modulus, np.float64), np.asarray(t, np.float64))
    flat = rate == 0.0
    safe = np.where(flat, -1.0, rate)
    with np.errstate(over="ignore"):
        total = np.expm1(steps * safe) / np.expm1(safe)
    return np.where(flat, steps, total)


def lagged_power(log_modulus: Floats, phase: Floats, rho: float, k: Floats) -> NDArray[np.complex128]:
    r"""``conj(lambda)^k (lambda^{k+1} - rho^{k+1})/(lambda - rho)``, smooth through ``lambda = rho``; arguments broadcast.

    It is ``sum_{j<=k} conj(lambda)^k lambda^j rho^{k-j}``: what earlier inputs, remembered by the input itself, add.
    """
    value = np.exp(log_modulus + 1j * phase)
    modulus = np.exp(log_modulus)
    larger = modulus >= abs(rho)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(larger, rho / value, value / rho)
        log_ratio, gap = _log_of(ratio)
        whole = np.where(gap == 0.0, k + 1.0, complex_expm1((k + 1.0) * log_ratio) / np.where(gap == 0.0, 1.0, gap))
        # The lead is lambda^k or rho^k, whichever of the two is larger.
        sign = 1.0 if rho >= 0.0 else np.where(k % 2 == 0, 1.0, -1.0)
        log_rho = math.log(abs(rho)) if rho else LOG_ZERO
        lead = np.where(
            larger, np.exp(2.0 * k * log_modulus), sign * np.exp(k * (log_modulus + log_rho) - 1j * k * phase)
        )
    product: NDArray[np.complex128] = lead * whole
    return product


def energy_increments(log_modulus: Floats, phase: Floats, rho: float, k: Floats) -> Floats:
    """``E|z_{k+1}|^2 - E|z_k|^2`` of a mode with b = 1 started from zero, inputs AR(1) with correlation `rho`.

    Examples
    --------
    >>> energy_increments(np.log(0.5), 0.0, 0.5, np.arange(3)).round(12)      # 1; then (1/4 + 1/4 + 1/4); ...
    array([1.    , 0.75  , 0.3125])
    """
    return np.asarray(2.0 * lagged_power(log_modulus, phase, rho, k).real - np.exp(2.0 * k * log_modulus))


def poisson_kernel(r: ArrayLike, theta: ArrayLike) -> Any:
    r"""Poisson kernel :math:`(1-r^2)/(1-2r\cos\theta+r^2)`, -1 < r < 1.

    The stationary energy of a plane that turns by `theta` and shrinks by gamma, driven by AR(1) inputs of correlation
    rho, is this many times its energy under white inputs, with r = rho gamma. Status P.

    Raises
    ------
    ValueError
        r outside (-1, 1), theta not finite, shapes that do not broadcast.

    Examples
    --------
    >>> poisson_kernel(0.5, [0.0, np.pi])
    array([3.        , 0.33333333])
    """
    radius, angle = broadcast({"r": _inside_disc(r), "theta": real_array(theta, "theta", None)})
    angle = np.where(radius < 0.0, angle + np.pi, angle)
    size = np.abs(radius)
    return (1.0 - size) * (1.0 + size) / ((1.0 - size) ** 2 + 4.0 * size * np.sin(angle / 2.0) ** 2)


def poisson_mean(r: ArrayLike, max_phase: float) -> Any:
    r"""Mean of `poisson_kernel` over theta uniform in (0, max_phase), 0 < max_phase <= 2 pi.

    .. math:: \frac2\varphi\arctan\Bigl(\frac{1+r}{1-r}\tan\frac\varphi2\Bigr),\quad \varphi<\pi

    and 1 for every r at a full circle. There the angles within 1-r of zero carry the mean: that of a few random angles is
    typically near (1-r^2)/(1+r^2) instead. Status P.

    Raises
    ------
    ValueError
        r outside (-1, 1), `max_phase` outside (0, 2 pi], or NaN.

    Examples
    --------
    >>> poisson_mean(0.99 * np.array([0.5, 0.9, 0.99]), np.pi / 100).round(2)
    array([ 2.96, 16.94, 63.77])
    """
    radius, phase = _inside_disc(r), checked_phase(max_phase)
    # arctan2 follows the angle through phi = pi.
    half = max(phase, 1e-150) / 2.0  # a smaller one changes no digit, and half of the smallest float is zero
    return np.arctan2((1.0 + radius) * math.sin(half), (1.0 - radius) * math.cos(half)) / half


def _inside_disc(r: ArrayLike) -> Floats:
    radius = real_array(r, "r", None, finite=False)
    outside = ~(np.abs(radius) < 1.0)
    if outside.any():
        raise ValueError(f"r must lie strictly between -1 and 1, got {radius[outside].flat[0]}.")
    return radius


def _log_of(ratio: NDArray[np.complex128]) -> tuple[NDArray[np.complex128], NDArray[np.complex128]]:
    """Logarithm of `ratio`, and ratio - 1; the logarithm keeps its relative accuracy next to one."""
    gap = ratio - 1.0
    near = np.abs(gap) < 0.5
    a, b = np.where(near, gap.real, 0.0), np.where(near, gap.imag, 0.0)
    size = np.maximum(np.abs(ratio), math.exp(-700.0))
    log_size = np.where(near, 0.5 * np.log1p(2.0 * a + a * a + b * b), np.log(size))
    return log_size + 1j * np.angle(ratio), gap


def complex_expm1(z: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """``e^z - 1`` for complex z with real part at most about zero."""
    half = np.sin(z.imag / 2.0)
    return np.expm1(z.real) * np.cos(z.imag) - 2.0 * half * half + 1j * np.exp(z.real) * np.sin(z.imag)
