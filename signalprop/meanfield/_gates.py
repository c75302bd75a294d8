"""What gated cells share: moments of gates per unit, and gradients as a rank-one recursion over units."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import array_between, broadcast, whole_number

Floats = NDArray[np.float64]
MAX_UNITS, MAX_HORIZON = 10_000, 10**6
LARGEST_BIAS = 100.0
LARGEST_RULE = 4_000_000  # points of one rule over several units
_REACH = 8.5  # of the Gaussian, in standard deviations


@dataclass(frozen=True, slots=True)
class GatedGradient:
    """Second moments of a gradient through a gated cell, by step.

    Attributes
    ----------
    log_energy
        Natural logarithm of the mean energy of the gradient over the energy that it starts with (an LSTM: half of it in the
        cell, half in its output), for t = 0, .., horizon; shape
        (horizon + 1,). Energy is ||dh||^2 for a GRU and ||dc||^2 + ||dh||^2 for an LSTM.
    state_energy
        Mean over units of E h^2 where the states have settled, for inputs that are independent from gate to gate. Few input
        features move all gates of a unit together, and then states are larger, most where biases hold a long memory:
        `lstm_gradient` has measured errors.
    """

    log_energy: Floats
    state_energy: float


def checked_biases(biases: dict[str, Any]) -> dict[str, Floats]:
    """One bias for each unit and gate: numbers, or arrays of as many entries as there are units."""
    arrays = {}
    for name, value in biases.items():
        array = array_between(value, name, -LARGEST_BIAS, LARGEST_BIAS)
        if array.ndim > 1 or array.size > MAX_UNITS:
            raise ValueError(f"{name} must be a number or a list of at most {MAX_UNITS}, got shape {array.shape}.")
        arrays[name] = array
    shaped = broadcast(arrays, "have one entry for each unit")
    return {name: np.atleast_1d(array) for name, array in zip(arrays, shaped, strict=True)}


def checked_horizon(value: Any) -> int:
    """A number of steps that a loop in Python can take."""
    return whole_number(value, "horizon", 0, MAX_HORIZON, "Its rate per step has settled long before.")


def unit_means(functions: Callable[[Floats], Floats], mean: Floats, variance: Floats) -> Floats:
    r"""E f(m + sqrt(v) z) per unit, for several analytic f at once.

    The trapezoidal rule: with poles of f at the distance pi/2 from the real line its error is about exp(-pi^2/(h sqrt(v))), h the
    step in z, and that of the Gaussian exp(-2 pi^2/h^2); both are below 1e-15 here.
    """
    mean, variance = np.broadcast_arrays(mean, variance)
    z, weights = rule(float(variance.max()))
    blocks = np.array_split(np.arange(mean.size), math.ceil(mean.size * z.size / LARGEST_RULE))
    return np.concatenate(
        [functions(mean[some, None] + np.sqrt(variance[some, None]) * z) @ weights for some in blocks], axis=-1
    )


def rule(variance: float) -> tuple[Floats, Floats]:
    """Points and weights for a Gaussian, fine enough for gates at preactivations of this variance."""
    step = min(0.4, 0.25 / math.sqrt(max(variance, 1e-12)))
    half = math.ceil(_REACH / step)
    z = step * np.arange(-half, half + 1)
    weights = step * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return np.asarray(z), np.asarray(weights / weights.sum())


def settle(step: Callable[[float], float], start: float = 0.1) -> float:
    """The limit of iterating a map of the mean square of h, which stays in [0, 1]."""
    value = start
    for _ in range(10_000):
        new = step(value)
        if abs(new - value) <= 1e-13 * (1.0 + value):
            return new
        value = new
    return value  # at a rate of 1 - 1e-3 per step or slower: without inputs, at the scale where states begin to live


def carried(horizon: int, kept: Floats, coupled: Floats, read: Floats, direct: Floats) -> Floats:
    """Log of the mean of x + y over units, where x' = kept x + coupled Y, y' = read x' + direct Y and Y is the mean of y.

    It begins at x = y = 1/2. Scaled anew at every step, so that nothing leaves the floats.
    """
    path = np.zeros(horizon + 1)
    x, outer, log = 0.5 * np.ones_like(kept), 0.5, 0.0
    for t in range(1, horizon + 1):
        x = kept * x + coupled * outer
        outer = float(np.mean(read * x + direct * outer))
        size = float(np.mean(x)) + outer
        if not size > 0.0:
            raise ValueError(f"the gradient is gone after horizon = {t} steps: gates that are shut keep nothing of it.")
        x, outer, log = x / size, outer / size, log + math.log(size)
        path[t] = log
    return path
