r"""The mean energy as a function of step and scale, and the scales that keep it in bounds.

E(k; g) = g^{2k} Q_{n,k} for the linear recurrence, sum_{j<=k} g^{2j} Q_{n,j}/(k+1) for the driven one; in both cases
E(0; g) = 1, E(k; 1) = 1 at infinite width, and log E(k; g) increases with g.

For the linear recurrence k -> log Q_{n,k} is convex (V: exactly for k < 40 at a dozen widths of each field, in float64 for
k <= 1200; the tests repeat it). So log E(k; g) is convex in k too: its largest value is at an end, its smallest is found by
bisection, and nothing needs all k.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from signalprop import energy
from signalprop.fields import Field
from signalprop.models import Model, as_model, by_model, energy_of
from signalprop.montecarlo.one_draw import scaled_path

Floats = NDArray[np.float64]


class MeanPath:
    """Log E(k; g), k = 0..horizon, of one width, field and model."""

    def __init__(self, n: int, horizon: int, field: Field, model: str) -> None:
        self.n, self.horizon, self.field, self.model = n, horizon, field, as_model(model)
        self._known: dict[int, float] = {}

    @cached_property
    def log_q(self) -> Floats:
        """Log Q_{n,k} for k = 0..horizon."""
        return np.asarray(energy.rnn_energy(self.n, np.arange(self.horizon + 1), self.field, log=True))

    def path(self, log_g: float) -> Floats:
        """Log E(k; g) for k = 0..horizon."""
        return scaled_path(self.log_q, log_g, self.model)

    def last(self, log_g: float) -> float:
        """Log of the mean energy at the horizon."""
        match self.model:
            case Model.RNN:
                return self._log_q(self.horizon) + 2.0 * self.horizon * log_g
            case Model.DRIVEN:
                return float(self.path(log_g)[-1])
            case _:
                assert_never(self.model)

    def peak(self, log_g: float) -> tuple[int, float]:
        """Step and log of the largest mean energy up to the horizon."""
        match self.model:
            case Model.RNN:
                end = self.last(log_g)
                return (self.horizon, end) if end > 0.0 else (0, 0.0)
            case Model.DRIVEN:
                path = self.path(log_g)
                step = int(np.argmax(path))
                return step, float(path[step])
            case _:
                assert_never(self.model)

    def dip(self, log_g: float) -> tuple[int, float]:
        """Step and log of the smallest mean energy up to the horizon."""
        match self.model:
            case Model.RNN:
                step = _turn(self.horizon, lambda k: self._growth(k) + 2.0 * log_g)
                return step, self._log_q(step) + 2.0 * step * log_g
            case Model.DRIVEN:
                path = self.path(log_g)
                step = int(np.argmin(path))
                return step, float(path[step])
            case _:
                assert_never(self.model)

    def bounded(self, log_limit: float) -> float:
        """The largest log g with E(k; g) <= e^log_limit for 1 <= k <= horizon.

        Linear recurrence: min_k (log_limit - log Q_k)/(2k) is reached at k = horizon, because log Q is convex in k with
        log Q_0 = log Q_1 = 0.
        """
        match self.model:
            case Model.RNN:
                return (log_limit - self._log_q(self.horizon)) / (2.0 * self.horizon)
            case Model.DRIVEN:
                return _root_of_increasing(lambda x: float(self.path(x)[1:].max()) - log_limit)
            case _:
                assert_never(self.model)

    def minimax(self) -> float:
        """The log g that minimises max_k |log E(k; g)|: there the peak and the dip are equally large.

        Linear recurrence: with the peak at T, log g = max_k -(log Q_T + log Q_k)/(2(T+k)), whose bracket rises and then falls.
        """
        match self.model:
            case Model.RNN:
                return self._balanced()
            case Model.DRIVEN:
                return _root_of_increasing(lambda x: float(self.path(x).max() + self.path(x).min()))
            case _:
                assert_never(self.model)

    def _balanced(self) -> float:
        end = self._log_q(self.horizon)

        def balance(k: int) -> float:
            return -(end + self._log_q(k)) / (2.0 * (self.horizon + k))

        return balance(_turn(self.horizon, lambda k: balance(k) - balance(k + 1)))

    def _log_q(self, k: int) -> float:
        if k not in self._known:
            self._known[k] = float(energy.rnn_energy(self.n, k, self.field, log=True))
        return self._known[k]

    def _growth(self, k: int) -> float:
        return self._log_q(k + 1) - self._log_q(k)


def _turn(last: int, slope: Callable[[int], float]) -> int:
    """Smallest 0 <= k < last where a slope that goes from negative to non-negative is non-negative, else `last`.

    Guesses alternate between the zero of the chord and the middle: a handful of evaluations.
    """
    low, high = 0, last - 1
    at_low, at_high = slope(low), slope(high)
    if at_low >= 0.0:
        return low
    if at_high < 0.0:
        return last
    chord = True
    while high - low > 1:
        guess = (low + high) // 2
        if chord:
            guess = min(max(low + round((high - low) * at_low / (at_low - at_high)), low + 1), high - 1)
        chord = not chord
        value = slope(guess)
        if value < 0.0:
            low, at_low = guess, value
        else:
            high, at_high = guess, value
    return high


def _root_of_increasing(function: Callable[[float], float]) -> float:
    """Root of an increasing function of log g, bracketed by doubling around 0, to the last bits of a double."""
    from scipy import optimize

    low, high = -0.5, 0.5
    while function(low) > 0.0:
        low *= 2.0
    while function(high) < 0.0:
        high *= 2.0
    return float(optimize.brentq(function, low, high, xtol=1e-16, rtol=4.0 * np.finfo(float).eps, maxiter=1000))


def log_mean(n: int, k: int, field: Field, model: str) -> float:
    """Log E(k; 1) of one step."""
    kind = as_model(model)
    return float(energy_of(kind)(n, k, field, log=True)) - by_model(kind, rnn=0.0, driven=math.log1p(k))
