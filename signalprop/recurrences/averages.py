"""Mean energies over the initial law of a layer: in closed form, or by quadrature or draws with an error."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import chain
from typing import NamedTuple

import numpy as np

from signalprop._checks import flag, real_number, seed_of, shown, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop._streams import child_seeds
from signalprop.fields import one_of
from signalprop.recurrences import laws
from signalprop.recurrences.arguments import (
    CORRELATED_MODE_SECONDS,
    MODE_SECONDS,
    MULTIPLICATION_SECONDS,
    STEP_SECONDS,
    check_numbers,
    horizon_of,
)
from signalprop.recurrences.lti import LinearRecurrence
from signalprop.recurrences.paths import step_seconds
from signalprop.recurrences.power_sums import Floats, geometric_sum
from signalprop.recurrences.state_space import normal_modes_of, s4, s4d_lin


class Average(NamedTuple):
    """A mean over the initial law, step by step, and its error: 0 for a closed form, else an estimate."""

    energy: Floats
    error: Floats


def lru_average(
    horizon: int, *, r_min: float = laws.MODULI[0], r_max: float = laws.MODULI[1], normalized: bool = True
) -> Average:
    r"""Mean energy of one unit of the diagonal LRU over its ring, white inputs of unit energy ((B R B*)_ii = 1).

    With s = \|lambda\|^2 uniform in [a, b] = [r_min^2, r_max^2] and E s^k = (b^{k+1} - a^{k+1})/((k+1)(b-a)):

    .. math:: E\sum_{k<t}s^k = \sum_{k<t}E s^k,\qquad E(1-s^t) = 1 - E s^t

    without and with the normaliser. Status P, no error.

    Raises
    ------
    ValueError
        Radii out of range.

    Examples
    --------
    >>> lru_average(2, normalized=False).energy                  # 0, 1, 1 + 1/2
    array([0. , 1. , 1.5])
    """
    low, high = laws.checked_moduli(r_min, r_max)
    powers = np.arange(1.0, horizon_of(horizon) + 2.0)  # k + 1
    moments = high ** (2.0 * (powers - 1.0))
    if low < high:
        share = (1.0 - low / high) * (1.0 + low / high)  # (b - a)/b
        shrink = math.log1p(-share) if share < 1.0 else -math.inf
        moments *= -np.expm1(powers * shrink) / (powers * share)
    energy = 1.0 - moments if flag(normalized, "normalized") else np.concatenate([[0.0], np.cumsum(moments[:-1])])
    return Average(energy, np.zeros_like(energy))


def lru_average_limit(r_min: float, r_max: float) -> float:
    r"""Limit of the mean energy of one unit without the normaliser.

    .. math:: \frac{1}{b-a}\log\frac{1-a}{1-b},\qquad a = r_{min}^2,\; b = r_{max}^2

    Status P. With the normaliser the limit is 1.

    Raises
    ------
    ValueError
        r_max = 1, where the mean has no limit (it grows like log t), or radii out of range.

    Examples
    --------
    >>> round(lru_average_limit(0.9, 0.999), 4)
    24.2253
    """
    low, high = laws.checked_moduli(r_min, r_max)
    if high == 1.0:
        raise ValueError(
            f"r_max must be below 1 here, got {shown(r_max)}: at 1 the mean energy without the normalizer grows like log t."
        )
    lost, width = (1.0 - high) * (1.0 + high), (high - low) * (high + low)
    return math.log1p(width / lost) / width if width else 1.0 / lost


def rotrnn_average(
    horizon: int,
    *,
    gamma: float | None = None,
    gamma_min: float = laws.GAMMAS[0],
    gamma_max: float = laws.GAMMAS[1],
    gamma_range: tuple[float, float] | None = None,
    max_phase: float = laws.MAX_PHASE,
    correlation: float = 0.0,
) -> Average:
    r"""Mean energy of one RotRNN head of even size from zero start, over angles in (0, max_phase) and the law of gamma.

    At one gamma, in closed form: the increments are :math:`\gamma^{2k} + 2\sum_{m\le k}\gamma^{2k-m}\rho^m\,
    \overline{\cos m\theta}`, with :math:`\overline{\cos m\theta} = \sin(m\varphi)/(m\varphi)`; the limit is
    `poisson_mean` at rho gamma. Over gamma = exp(-exp(g)), g uniform: Gauss-Legendre quadrature; the error is the change
    from half as many nodes. Status P.

    Parameters
    ----------
    gamma
        One value; None averages over g from its value at gamma_min to that at gamma_max.
    gamma_min, gamma_max
        As in `rotrnn`; `gamma_range`, both as one pair, is an older spelling.

    Raises
    ------
    ValueError
        gamma, gamma_min, gamma_max, `max_phase` or `correlation` out of range.

    Examples
    --------
    >>> rotrnn_average(3, gamma=0.9).energy.round(12)
    array([0.      , 0.19    , 0.3439  , 0.468559])
    """
    steps = horizon_of(horizon)
    phase, rho = laws.checked_phase(max_phase), laws.checked_correlation(correlation)
    low, high = laws.gamma_rates(*laws.gamma_ends(gamma_min, gamma_max, gamma_range))
    if gamma is not None:
        if not 0.0 < real_number(gamma, "gamma") < 1.0:
            raise ValueError(f"gamma must lie strictly between 0 and 1, got {shown(gamma)}.")
        energy = _rotating_head(steps, math.log(gamma), phase, rho)
        return Average(energy, np.zeros_like(energy))
    seconds = steps * (MODE_SECONDS if rho == 0.0 else CORRELATED_MODE_SECONDS)
    return _quadrature(lambda g: _rotating_head(steps, -math.exp(g), phase, rho), low, high, 64, seconds)


def state_space_average(
    kind: str, state_size: int, horizon: int, *, dt_range: tuple[float, float] = laws.TIME_STEPS, nodes: int = 64
) -> Average:
    r"""Mean energy over time steps log-uniform in `dt_range`, white unit inputs; for s5 also over B, per input.

    One channel of ``"s4"`` or ``"s4d_lin"``, or ``"s5"`` with one input (its energy is proportional to their number).
    Gauss-Legendre quadrature in log dt; the error is the change from half as many nodes. Status P, up to that error.

    Raises
    ------
    ValueError
        An unknown kind, an odd state size for s4d_lin and s5, an invalid range.

    Examples
    --------
    >>> mean = state_space_average("s4d_lin", 8, 100)
    >>> bool((mean.error <= 1e-6 * mean.energy).all())
    True
    """
    chosen, steps = one_of(kind, STATE_SPACES, "kind"), horizon_of(horizon)
    low, high = laws.checked_time_steps(dt_range)
    points = whole_number(nodes, "nodes", 2, 4096)
    size = whole_number(state_size, "state_size", 1, 10**6)
    path, seconds = _PATHS[chosen](size, steps)
    return _quadrature(path, low, high, points, seconds)


def drawn_average(draw: Callable[[int], LinearRecurrence], horizon: int, *, draws: int, seed: int = 0) -> Average:
    """Mean of the exact paths of `draws` layers ``draw(seed)``, with the standard error over draws.

    Examples
    --------
    >>> from signalprop import recurrences
    >>> mean = drawn_average(lambda seed: recurrences.lru(32, 8, seed=seed), 10, draws=20)
    >>> mean.energy.shape, mean.error.shape
    ((11,), (11,))
    """
    count, root = whole_number(draws, "draws", 2, 10**7), seed_of(seed)
    seeds = child_seeds(root, "drawn average", count=count)
    if not callable(draw):
        raise ValueError(f"draw must be a function from a seed to a recurrence, got {shown(draw)}.")
    steps = horizon_of(horizon)
    check_numbers(count * (steps + 1), "the paths of all draws")
    first = _drawn(draw(seeds[0]))
    each = _LAYER_SECONDS + steps * step_seconds(first.A, first.input_size)
    refuse_beyond_bounds(f"an average over {count} draws", seconds=count * each, instead="Take fewer steps or draws.")
    paths = np.array([layer.energy(steps) for layer in chain([first], (_drawn(draw(one)) for one in seeds[1:]))])
    return Average(paths.mean(axis=0), paths.std(axis=0, ddof=1) / math.sqrt(count))


_LAYER_SECONDS = 2e-4  # to make a small layer and ask it


def _drawn(layer: LinearRecurrence) -> LinearRecurrence:
    if not isinstance(layer, LinearRecurrence):
        raise ValueError(f"draw must give a LinearRecurrence, got {shown(layer)}.")
    return layer


Path = Callable[[float], Floats]  # the energies at a time step e^x


def _s4_path(state_size: int, steps: int) -> tuple[Path, float]:
    made = MULTIPLICATION_SECONDS * float(state_size) ** 3
    seconds = made + steps * (STEP_SECONDS + 2.0 * MULTIPLICATION_SECONDS * state_size**2)
    return lambda log_dt: s4(state_size, dt=math.exp(log_dt)).energy(steps), seconds


def _s4d_lin_path(state_size: int, steps: int) -> tuple[Path, float]:
    seconds = STEP_SECONDS + MODE_SECONDS * steps * state_size
    return lambda log_dt: s4d_lin(state_size, dt=math.exp(log_dt)).energy(steps), seconds


def _s5_path(state_size: int, steps: int) -> tuple[Path, float]:
    values, _ = normal_modes_of(state_size)
    times = np.arange(steps + 1)[:, None]

    def path(log_dt: float) -> Floats:
        dt = math.exp(log_dt)
        held = abs(np.expm1(dt * values) / values) ** 2 / state_size
        return np.asarray(geometric_sum(-0.5 * dt, times)[:, 0] * held.sum())

    return path, STEP_SECONDS + MODE_SECONDS * (steps + state_size)


_PATHS = {"s4": _s4_path, "s4d_lin": _s4d_lin_path, "s5": _s5_path}  # and the seconds that one path takes
STATE_SPACES = tuple(_PATHS)


def _rotating_head(steps: int, log_gamma: float, phase: float, rho: float) -> Floats:
    lost = -math.expm1(2.0 * log_gamma)
    if rho == 0.0:
        return np.asarray(-np.expm1(2.0 * log_gamma * np.arange(steps + 1)))
    k = np.arange(steps, dtype=np.float64)
    rises = np.exp(2.0 * log_gamma * k)
    # c_k = gamma^2 c_{k-1} + (rho gamma)^k mean cos(k theta)
    terms = (rho * math.exp(log_gamma)) ** k * np.sinc(k * phase / math.pi)
    meeting, shrink = 0.0, math.exp(2.0 * log_gamma)
    for i in range(1, steps):
        meeting = shrink * meeting + terms[i]
        rises[i] += 2.0 * meeting
    return lost * np.concatenate([[0.0], np.cumsum(rises)])


def _quadrature(path: Path, low: float, high: float, nodes: int, seconds: float) -> Average:
    """Mean of path(x) over x uniform in (low, high), with the change from half as many nodes; a path takes `seconds`."""
    refuse_beyond_bounds(
        f"an average over {nodes} nodes", seconds=1.5 * nodes * seconds, instead="Take fewer steps, states or nodes."
    )

    def rule(count: int) -> Floats:
        points, weights = np.polynomial.legendre.leggauss(count)
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        total = np.zeros(1)
        for point, weight in zip(points, weights, strict=True):
            total = total + weight / 2.0 * path(middle + half * float(point))
        return total

    fine = rule(nodes)
    return Average(fine, abs(fine - rule(nodes // 2)))
