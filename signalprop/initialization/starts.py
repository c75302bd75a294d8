"""How each recurrent cell starts by default: the kind of its recurrent kernels, their scale, and the biases of its gates.

One record for each cell of `signalprop.cells.CELLS` that PyTorch has; those know the gates, and which of them hold a memory.
No framework is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._registry import Registry

Floats = NDArray[np.float64]
KERNEL_KINDS = ("gaussian", "orthogonal", "identity")
BIAS_LAWS = ("chrono", "constant")
LONGEST_HORIZON = 10**6
_UNITS = 64  # that stand for all, where the law of the biases is averaged over


@dataclass(frozen=True)
class Start:
    """The default start of one cell.

    Attributes
    ----------
    kind
        Of the recurrent kernels: ``"gaussian"``, ``"orthogonal"`` or ``"identity"``, each block by itself.
    scale
        g of Gaussian and orthogonal kernels. The identity has g = 1.
    state_energy
        Mean over units of E h^2 for a kind, a scale, such inputs, so many steps and biases of the gates; NaN where nothing is
        known.
    critical
        The g of such kernels at which a step keeps the mean energy of a gradient, chi = 1: a function of the standard deviation
        that inputs add to a preactivation. None for gates, which keep a gradient by their biases.
    leak
        Of the kind ``"identity"``: a, for (1 - a) I + a W with Gaussian W.
    """

    kind: str
    scale: float
    state_energy: Callable[[str, float, float, int, Mapping[str, Floats]], float]
    critical: Callable[[float], float] | None = None
    leak: float | None = None


def longest_odds(horizon: int) -> float:
    """T - 1, but at least 1: a gate with the bias log(T - 1) keeps 1 - 1/T of the state per step, a memory of T steps.

    One step is less than any gate between closed and half open has; horizons of 1 and 2 get half-open gates, biases of 0.
    """
    return max(horizon - 1.0, 1.0)


def expected_biases(law: str | None, horizon: int | None, input_std: float) -> Floats:
    """Biases of the gate that keeps the state, of units that stand for all: equal parts of the law, or zeros."""
    if law is None or horizon is None:
        return np.zeros(1)
    from signalprop.meanfield import keeping_bias

    odds = longest_odds(horizon)
    parts = (np.arange(_UNITS) + 0.5) / _UNITS
    return keeping_bias(np.log1p(parts * (odds - 1.0)) if law == "chrono" else [math.log(odds)], input_std)


def _critical_tanh(input_std: float) -> float:
    from signalprop.meanfield import critical_scale

    return float(critical_scale("tanh", input_std))


def _tanh_energy(kind: str, scale: float, input_std: float, horizon: int, biases: Mapping[str, Floats]) -> float:
    from signalprop.meanfield import fixed_point

    if kind == "identity":
        return math.nan
    return (float(fixed_point(scale, "tanh", input_std)) - input_std**2) / scale**2


def _relu_energy(kind: str, scale: float, input_std: float, horizon: int, biases: Mapping[str, Floats]) -> float:
    """Average over the steps, as these states grow."""
    if kind == "identity":  # max(0, h + u) is the absolute value of a random walk, E h_t^2 about s^2 t
        return 0.5 * input_std**2 * (horizon + 1.0) if scale == 1.0 else math.nan
    # E h_t^2 = s^2/2 (1 + x + .. + x^(t-1)), x = g^2/2
    x = 0.5 * scale**2
    with np.errstate(over="ignore"):
        return float(0.5 * input_std**2 * np.mean(np.cumsum(np.cumprod(np.full(horizon, x)) / x)))


def _gated_energy(cell: str) -> Callable[[str, float, float, int, Mapping[str, Floats]], float]:
    def energy(kind: str, scale: float, input_std: float, horizon: int, biases: Mapping[str, Floats]) -> float:
        from signalprop.meanfield import gru_gradient, lstm_gradient

        if kind == "identity":
            return math.nan
        given: dict[str, Any] = dict(biases)
        gradient = lstm_gradient if cell == "lstm" else gru_gradient
        return gradient(1, scale, input_std, **given).state_energy

    return energy


# What each cell gets where nothing else is asked for: a line to change for each.
STARTS: Registry[Start] = Registry(
    "cell",
    Start,
    {
        # Not the critical scale, which keeps a gradient: from there the adding problem is not learned, and digits and a cue kept
        # through noise not better than from here (_cell_evidence). Orthogonal draws spread less than Gaussian ones.
        "tanh": Start(kind="orthogonal", scale=1.0, state_energy=_tanh_energy, critical=_critical_tanh),
        # Gaussian kernels at sqrt(2), where chi = 1, spread from -17 to 38 in log-energy at n = 64, T = 100 (90 % of draws); the
        # identity from -8 to -2 (Le, Jaitly and Hinton, arXiv:1504.00941).
        "relu": Start("identity", math.sqrt(2.0), _relu_energy, critical=lambda input_std: math.sqrt(2.0)),
        # Gates keep the state; the scale comes second.
        "gru": Start(kind="orthogonal", scale=1.0, state_energy=_gated_energy("gru")),
        "lstm": Start(kind="orthogonal", scale=1.0, state_energy=_gated_energy("lstm")),
    },
)
