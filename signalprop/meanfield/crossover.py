r"""From sqrt(n) to n: how far draws of a layer at chi = 1 spread when inputs drive it weakly.

In one W, two stretches of m steps that a gradient takes at different times use the same weights. Without drive they add up in
phase, and the horizon is of the order of sqrt(n). With fresh inputs the slopes at the two times differ, and what the stretches
have in common falls off as (chi_0/chi)^{2m}, where

.. math:: \chi_0=g^2(\mathrm E\,\phi')^2,\qquad \chi=g^2\,\mathrm E\,\phi'^2=1,\qquad \lambda=-\log\chi_0 .

Pairs of stretches of m steps fit into T steps in (T-m)^2 ways, each with the weight 2/n^2. Against the variance of fresh weights,
R T/n, this is

.. math:: x=\frac{2}{RnT_e}\int_0^{T_e}(T_e-m)^2e^{-2\lambda m}\,dm,\qquad T_e=T+\frac b{1-V'},

which is 2 T^2/(3 R n) for lambda T << 1, as for a linear recurrence, and T/(R lambda n) beyond. States are made by the same
matrices, with a memory of 1/(1-V') steps: counting begins before the gradient does. Where x is large, the middle of the draws
stops widening against fresh weights:

.. math:: \frac{\text{half the distance from 16 to 84 \%}}{\text{standard deviation for fresh weights}}
   = \sqrt{1+\frac{ax}{(1+(ax/x_0)^p)^{1/p}}} .

Status H. Pairs are counted in the manner of the linear recurrence, without a proof; a, b, x_0, p are fitted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import broadcast, whole_numbers
from signalprop.meanfield.activations import Activation, as_activation
from signalprop.meanfield.fixed_points import checked_input, edge_of_chaos
from signalprop.meanfield.gradients import gradient_law
from signalprop.meanfield.gradients import horizon as driven_horizon
from signalprop.meanfield.quadrature import gaussian_mean

Floats = NDArray[np.float64]
SHARE, MEMORY, LARGEST, POWER = 0.43, 3.6, 2.6, 2.8  # a, b, x_0, p
_LONGEST = 10**15


def spread_ratio(n: ArrayLike, horizon: ArrayLike, activation: Any, input_std: ArrayLike) -> Floats:
    r"""How much further draws of one W spread than `gradient_law` says, at chi = 1.

    Half the distance from the 16 % to the 84 % quantile of the log-energy of a gradient, over the standard deviation of the law;
    formula in the text above this function.

    Parameters
    ----------
    n
        Width, 1 to 1e18.
    horizon
        T, 0 to 1e15 steps.
    activation
        Odd and saturating, such as ``"tanh"``.
    input_std
        s, of the fresh inputs of each step, above 0. Arrays broadcast.

    Returns
    -------
    float64 array
        Between 1 and 1.9.

    Raises
    ------
    ValueError
        Another activation; no inputs; arguments outside of their ranges.

    Notes
    -----
    Status H. Fitted to tanh, n = 64 to 1024, s = .003 to 2, T = 4 to 2n, with quantiles in ``benchmarks/crossover``.
    Error of the ratio, root mean square over T and n <= 256, 300 to 750 draws each: 16, 12, 9, 7, 6, 4, 5 % at s = .003,
    .01, .03, .1, .3, 1, 2, at most 32 %. n = 512, 192 draws with a noise of 8 %: 29, 16, 12, 9, 14, 4, 7 %.

    Weakly driven wide layers are where it fails. At s <= .01 it is too narrow for T between sqrt(n) and 4 sqrt(n): by 20 to 27 %
    at n = 256, 35 % at n = 512, and 46 % at n = 1024 (48 draws, noise of 18 %); from T = n on it is too wide, at T = 2n and
    s = .003 by 1.7 times at n = 512 and 2.5 times at n = 1024. Not fitted, 300 draws: erf and hardtanh, n = 64 at s = .03 and
    n = 128 at s = .1 and .3, T = 8, 32, 128: -15 to 36 %, within 18 % for s >= .1. Outside of these ranges nothing was measured.

    It is a law of the middle of the draws. Their lower tail is long where drive is weak (s = .1, n = 256, T = 362: 5, 50,
    95 % at -19.1, -2.6, 3.2) and their standard deviation goes on growing with T. The median lies below that of
    `gradient_law` by up to 2.5 for s = .003, 1.8 for .01, 1.0 for .03, 0.9 for .1, and less than its noise for s >= .3.

    Examples
    --------
    >>> spread_ratio(256, 96, "tanh", [0.03, 0.1, 1.0]).round(2)
    array([1.71, 1.32, 1.02])
    """
    phi = as_activation(activation)
    steps = whole_numbers(horizon, "horizon", 0, _LONGEST).astype(np.float64)
    widths, s, steps = _checked(n, input_std, steps)
    _, ratio = _law_and_ratio(phi, widths, np.maximum(steps, 1.0), s, _times(phi, s))
    return np.where(steps > 0.0, ratio, 1.0)


def crossover_horizon(n: ArrayLike, activation: Any, input_std: ArrayLike) -> Floats:
    """Steps over which a layer at chi = 1 carries gradients at any drive: the first T at which their spread is 1.

    Spread is half the distance from the 16 % to the 84 % quantile of the log-energy. Near `horizon`, of the order of n,
    where inputs drive the layer, and shorter where they are weak.

    Parameters
    ----------
    n, activation, input_std
        As in `spread_ratio`; the arrays broadcast.

    Returns
    -------
    float64 array
        Whole numbers of steps.

    Raises
    ------
    ValueError
        As for `spread_ratio`.

    Notes
    -----
    Status H, by `spread_ratio`. Against the steps at which drawn tanh layers have a spread of 1, n = 64 to 512: within 25 % for
    s >= .03. Below, too long for wide layers: 1.5 times for s = .01 at n = 256 and 512; 1.5, 1.9 and 2.3 times for s = .003 at
    n = 256, 512, 1024. What is drawn at s = .003 grows like sqrt(n): 10, 13, 18, 27, 41 steps at n = 64, 128, .., 1024, where
    this function has 8, 15, 27, 51, 97.

    Examples
    --------
    >>> crossover_horizon([256, 1024], "tanh", [[0.01], [0.1], [1.0]])
    array([[ 32., 117.],
           [ 52., 201.],
           [ 37., 148.]])
    """
    phi = as_activation(activation)
    widths, s, _ = _checked(n, input_std, np.ones(()))
    times = _times(phi, s)
    low, high = np.zeros_like(widths), np.minimum(np.ceil(10.0 * times.driven * widths + 10.0), float(_LONGEST))
    while (high - low > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        std, ratio = _law_and_ratio(phi, widths, np.maximum(middle, 1.0), s, times)
        wide = std * ratio >= 1.0
        open_ = high - low > 1.0  # others would go on from their answer of 1 to 0 steps
        low, high = np.where(open_ & ~wide, middle, low), np.where(open_ & wide, middle, high)
    return np.asarray(high)


class _Times(NamedTuple):
    """At chi = 1: lambda, the memory 1/(1 - V'), g, and the horizon of `horizon` over n."""

    decay: Floats
    memory: Floats
    scale: Floats
    driven: Floats


def _checked(n: ArrayLike, input_std: ArrayLike, steps: Floats) -> list[Floats]:
    widths, s = whole_numbers(n, "n", 1).astype(np.float64), checked_input(input_std)
    return broadcast({"n": widths, "input_std": s, "horizon": steps})


def _times(phi: Activation, input_std: Floats) -> _Times:
    s, back = np.unique(input_std, return_inverse=True)  # few of them meet many widths and horizons
    driven = driven_horizon(1, phi, s)  # which refuses what the law does not hold for
    edge = edge_of_chaos(phi, s)
    slope = gaussian_mean(phi.slope, edge.variance, kinks=phi.kinks)
    carried = gaussian_mean(lambda x: phi.value(x) * phi.slope(x) * x, edge.variance, kinks=phi.kinks)
    memory = 1.0 / np.maximum(1.0 - edge.scale**2 * carried / edge.variance, 1e-15)
    found = (-np.log(edge.scale**2 * slope**2), memory, edge.scale, driven)
    return _Times(*(one[back.reshape(-1)].reshape(input_std.shape) for one in found))


def _law_and_ratio(phi: Activation, n: Floats, steps: Floats, s: Floats, times: _Times) -> tuple[Floats, Floats]:
    """Standard deviation for fresh weights after 1 step or more, and how much further one W spreads."""
    std = gradient_law(n, steps, times.scale, phi, s).std
    rate = n * std**2 / steps
    span = steps + MEMORY * times.memory
    x = SHARE * 2.0 * span**2 / (rate * n) * _pairs(2.0 * times.decay * span)
    return std, np.sqrt(1.0 + x / (1.0 + (x / LARGEST) ** POWER) ** (1.0 / POWER))


def _pairs(u: Floats) -> Floats:
    """Integral of (1 - y)^2 e^{-u y} over y from 0 to 1: 1/3 at u = 0, 1/u beyond."""
    v = np.maximum(u, 1e-2)
    closed = 1.0 / v - 2.0 / v**2 - 2.0 * np.expm1(-v) / v**3
    return np.where(u < 1e-2, 1.0 / 3.0 - u / 12.0 + u**2 / 60.0, closed)
