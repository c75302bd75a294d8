"""Energy paths as functions of the scale: their mean, and one draw at a time.

E(k; g) = g^{2k} Q_{n,k} for the linear recurrence, sum_{j<=k} g^{2j} Q_{n,j} / (k+1) for the driven one; in both cases
E(0; g) = 1, E(k; 1) = 1 at infinite width, and log E(k; g) increases with g.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from signalprop import energy
from signalprop.fields import Field

Floats = NDArray[np.float64]


class MeanPath:
    """Log E(k; g), k = 0..horizon, of one width, field and model."""

    def __init__(self, n: int, horizon: int, field: Field, model: str) -> None:
        self.model = model
        self.steps = np.arange(horizon + 1)
        self.log_q: Floats = energy.rnn_energy(n, self.steps, field, log=True)

    def at(self, log_g: float) -> Floats:
        """Log E(k; g) for k = 0..horizon."""
        return scaled_path(self.log_q, log_g, self.model)


def scaled_path(log_energies: Floats, log_g: float | Floats, model: str) -> Floats:
    """Log-energies of the last axis at scale 1 (k = 0, 1, ..) turned into those of `model` at scale g."""
    steps = np.arange(log_energies.shape[-1])
    terms: Floats = log_energies + 2.0 * steps * np.asarray(log_g)[..., None]
    if model == "rnn":
        return terms
    sums: Floats = np.logaddexp.accumulate(terms, axis=-1) - np.log1p(steps)
    return sums


def root_of_increasing(function: Callable[[float], float]) -> float:
    """Root of an increasing function of log g, bracketed by doubling around 0, to the last bits of a double."""
    low, high = -0.5, 0.5
    while function(low) > 0.0:
        low *= 2.0
    while function(high) < 0.0:
        high *= 2.0
    return float(optimize.brentq(function, low, high, xtol=1e-16, rtol=4.0 * np.finfo(float).eps, maxiter=1000))


def largest_log_scales(log_energies: Floats, log_bound: float, model: str) -> Floats:
    """For each draw (row) the largest log g that keeps its whole path, k >= 1, at or below the bound.

    The linear recurrence has it in closed form, min_k (log bound - log energy)/(2k); the driven one by bisection.
    """
    steps = np.arange(1, log_energies.shape[1])
    if model == "rnn":
        return np.asarray(np.min((log_bound - log_energies[:, 1:]) / (2.0 * steps), axis=1))
    rnn = largest_log_scales(log_energies, log_bound, "rnn")
    # The driven mean is below the largest term and above the last term over k+1.
    low = rnn.copy()
    high = np.min((log_bound + np.log1p(steps) - log_energies[:, 1:]) / (2.0 * steps), axis=1)
    for _ in range(60):
        middle = 0.5 * (low + high)
        over = scaled_path(log_energies, middle, model)[:, 1:].max(axis=1) > log_bound
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return low
