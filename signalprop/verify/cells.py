"""Simulated gradients of cells: against the cells written out, exact laws, and the laws of `signalprop.meanfield`.

Fixed seeds, and scores whose law is known; what is heuristic has the error that its docstring states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop import cells, energy, meanfield
from signalprop._streams import stream
from signalprop.cells._paths import Drive, start
from signalprop.cells._setting import DIRECTIONS, setting_of
from signalprop.cells._weights import draw_weights
from signalprop.verify.check import Check
from signalprop.verify.meanfield import exact_increment

Array = NDArray[Any]
LARGEST_Z = 5.0


def checks(thorough: bool) -> list[Check]:
    """Every cell against its definition, exact laws of draws, and laws with stated errors; the thorough ones on more draws."""
    times = 5 if thorough else 1
    return [
        Check(
            "gradients of every cell (P) = complex steps through it", "forward, backward, n = 6, T = 10", "|gap of log|", 1e-9,
            _by_definition,
        ),
        Check(
            "linear cells: mean energy (P) = exact", "complex W, n = 16, k = 5, with and without a leak", "largest |z|",
            LARGEST_Z, partial(_linear, 800 * times),
        ),
        Check(
            "fresh linear and ReLU steps: simulated increments = exact (P)", "n = 48, T = 20", "largest |z|", LARGEST_Z,
            partial(_fresh, 1500 * times),
        ),
        Check(
            "fresh tanh layers: mean and spread = gradient law (H)", "n = 128, T = 48, s = 0.3, 1", "largest |z|", LARGEST_Z,
            partial(_tanh, 250 * times),
        ),
        Check(
            "one driven W: spread law (H) = quantiles of draws", "tanh, chi = 1, n = 64, s in 0.03..1", "relative error", 0.25,
            partial(_driven, 400 * times),
        ),
        Check(
            "LSTM and GRU: energies per unit (H) = fresh weights", "n = 128, T = 8, four settings", "relative error", 0.15,
            partial(_per_unit, 80 * times),
        ),
        Check(
            "LSTM and GRU: energies per unit (H) = one W", "chrono biases, n = 128, T = 100, s = 1", "|gap of log|", 1.0,
            partial(_chrono, 16 * times),
        ),
        Check(
            "keeping biases: a gradient lasts whatever inputs add (H)", "LSTM, GRU, n = 64, T = 150, s in 0.3..3", "gap of log",
            1.0, partial(_lasting, 16 * times),
        ),
        Check(
            "Lyapunov exponents of a step by QR = Newman's (P)", "products of real Gaussian matrices, n = 8", "largest |z|",
            LARGEST_Z, partial(_lyapunov, 2000 * times),
        ),
    ]  # fmt: skip


# A cell, one step, from its definition; of complex numbers, so that h + 1e-200 i d has the derivative along d in its
# imaginary part, to every digit and without a formula for it.


def _sigmoid(a: Array) -> Array:
    return np.asarray(1.0 / (1.0 + np.exp(-a)))


def _erf(a: Array) -> Array:
    from scipy.special import erf

    return np.asarray(erf(a))


_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "linear": lambda a: a,
    "tanh": np.tanh,
    "erf": _erf,
    "relu": lambda a: np.where(a.real > 0.0, a, 0.0),
    "leaky_relu": lambda a: np.where(a.real > 0.0, a, 0.01 * a),
    "hardtanh": lambda a: np.where(np.abs(a.real) < 1.0, a, np.sign(a.real)),
    "silu": lambda a: a * _sigmoid(a),
    "gelu": lambda a: 0.5 * a * (1.0 + _erf(a / math.sqrt(2.0))),
}


def _one_step(name: str, w: Array, x: Array, hidden: Array, state: Array) -> Array:
    """The state after a step; (h, c) of an LSTM one after the other. x has a row per gate, w a block."""
    n = x.shape[1]
    h, c = state[:n], state[n:]
    parts = (w @ h).reshape(-1, n)
    if name == "gru":
        r, z = _sigmoid(parts[0] + x[0]), _sigmoid(parts[1] + x[1])
        return np.asarray((1.0 - z) * np.tanh(x[2] + r * (parts[2] + hidden)) + z * h)
    if name == "lstm":
        i, f, o = (_sigmoid(parts[gate] + x[gate]) for gate in (0, 1, 3))
        c = f * c + i * np.tanh(parts[2] + x[2])
        return np.concatenate([o * np.tanh(c), c])
    return _ACTIVATIONS[name](parts[0] + x[0])


def _jacobian(name: str, w: Array, x: Array, hidden: Array, state: Array) -> Array:
    columns = [
        _one_step(name, w, x, hidden, state + 1e-200j * direction).imag / 1e-200 for direction in np.eye(state.size)
    ]
    return np.stack(columns, axis=1)


def _by_definition() -> float:
    """All cells with the numbers that the simulation draws, and other biases for each unit."""
    n, steps, worst = 6, 10, 0.0
    for name, cell in cells.CELLS.items():
        biases = {gate: np.linspace(-0.6, 0.3 + 0.2 * at, n) for at, gate in enumerate(cell.biases)}
        given: dict[str, Any] = {"scale": 1.2, "input_std": 0.7, "biases": biases, "burn_in": 2, "draws": 1, "seed": 3}
        fixed: dict[str, Any] = {"kind": "gaussian", "field": "real", "leak": 1.0, "tied": True, "inputs": "fresh"}
        for direction in DIRECTIONS:
            setting = setting_of(name, n, steps, **given, **fixed, direction=direction, memory=None, times=None)
            rng = stream(3, "gradient energies", name, n, "gaussian", "real", chunk=0)
            w = draw_weights("gaussian", len(cell.gates), n, 1.2, setting.field, rng)
            d = np.concatenate(start(setting, rng))
            drive = Drive(setting, rng)
            state, jacobians = np.zeros(d.size), []
            for x in drive.block(setting.steps):
                jacobians.append(_jacobian(name, w, x, drive.hidden, state))
                state = _one_step(name, w, x, drive.hidden, state)
            path = [0.0]
            for jacobian in [one.T for one in jacobians[:1:-1]] if setting.backward else jacobians[2:]:
                d = jacobian @ d
                path.append(math.log(float(d @ d)))
            found = cells.gradient_energies(name, n, steps, direction=direction, **given).log_energies[0]
            worst = max(worst, float(np.abs(found - path).max()))
    return worst


def _linear(draws: int) -> float:
    """||W^k x||^2, and with a leak a the sum of binomial weights squared times these: powers of a complex W are uncorrelated."""
    from scipy.stats import binom

    n, k, worst = 16, 5, 0.0
    for leak, direction in ((1.0, "forward"), (1.0, "backward"), (0.6, "forward")):
        found = cells.gradient_energies(
            "linear", n, k, draws=draws, leak=leak, direction=direction, field="complex", times=[k], seed=1
        )
        energies = np.exp(found.log_energies[:, 0])
        weights = binom.pmf(np.arange(k + 1), k, leak) ** 2
        exact = float(weights @ energy.rnn_energy(n, np.arange(k + 1), "complex"))
        worst = max(worst, abs(float(energies.mean()) - exact) / (float(energies.std()) / math.sqrt(draws)))
    return worst


def _fresh(draws: int) -> float:
    n, steps, g, worst = 48, 20, 1.4, 0.0
    for name in ("linear", "relu"):
        found = cells.gradient_energies(
            name, n, steps, draws=draws, scale=g, tied=False, burn_in=3, times=[steps], seed=2
        )
        mean, variance = exact_increment(name, n, g)
        worst = max(worst, *_scores(found.log_energies[:, 0], steps * mean, steps * variance))
    return worst


def _scores(logs: Array, mean: float, variance: float) -> tuple[float, float]:
    """Of the mean and of the variance of draws from a nearly normal law."""
    size = logs.size
    return (
        abs(float(logs.mean()) - mean) / math.sqrt(variance / size),
        abs(float(logs.var(ddof=1)) / variance - 1.0) / math.sqrt(2.0 / (size - 1)),
    )


def _tanh(draws: int) -> float:
    n, steps, worst = 128, 48, 0.0
    for s in (0.3, 1.0):
        g = float(meanfield.critical_scale("tanh", s))
        found = cells.gradient_energies(
            "tanh", n, steps, draws=draws, scale=g, input_std=s, tied=False, burn_in=40, times=[steps], seed=3
        )
        law = meanfield.gradient_law(n, steps, g, "tanh", s, tied=False)
        worst = max(worst, *_scores(found.log_energies[:, 0], float(law.median), float(law.std) ** 2))
    return worst


def _driven(draws: int) -> float:
    """Half the distance from 16 to 84 %, which draws of this number have within some 5 %."""
    worst = 0.0
    for s, horizons in ((0.03, (16, 48)), (0.1, (16, 48)), (1.0, (24, 64))):
        g = float(meanfield.critical_scale("tanh", s))
        found = cells.gradient_energies(
            "tanh", 64, horizons[-1], draws=draws, scale=g, input_std=s, burn_in=25, times=horizons, seed=4
        )
        low, high = (found.quantile(q).level for q in (0.16, 0.84))
        law = meanfield.gradient_law(64, horizons, g, "tanh", s).std * meanfield.spread_ratio(64, horizons, "tanh", s)
        worst = max(worst, float(np.abs(law / (0.5 * (high - low)) - 1.0).max()))
    return worst


def _per_unit(draws: int) -> float:
    n, steps, worst = 128, 8, 0.0
    for cell, law, g, s, biases in (
        ("lstm", meanfield.lstm_gradient, 1.0, 1.0, {"forget_gate": 1.0}),
        ("lstm", meanfield.lstm_gradient, 3.0, 0.5, {"input_gate": 0.5, "candidate": 0.7, "output_gate": -0.3}),
        ("gru", meanfield.gru_gradient, 1.0, 1.0, {"update_gate": 1.0}),
        ("gru", meanfield.gru_gradient, 1.5, 0.5, {"reset_gate": 0.5, "candidate": 0.7, "candidate_hidden": 0.4}),
    ):
        found = cells.gradient_energies(
            cell,
            n,
            steps,
            draws=draws,
            scale=g,
            input_std=s,
            biases=biases,
            tied=False,
            burn_in=15,
            times=[steps],
            seed=5,
        )
        mean = float(np.exp(found.log_energies).mean())
        worst = max(worst, abs(math.exp(float(law(steps, g, s, **biases).log_energy[-1])) / mean - 1.0))
    return worst


def _gates(cell: str, keep: Array) -> dict[str, Array]:
    return {"forget_gate": keep, "input_gate": -keep} if cell == "lstm" else {"update_gate": keep}


def _chrono(draws: int) -> float:
    worst = 0.0
    for cell, law in (("lstm", meanfield.lstm_gradient), ("gru", meanfield.gru_gradient)):
        biases = _gates(cell, meanfield.chrono_biases(128, 100))
        found = cells.gradient_energies(cell, 128, 100, draws=draws, biases=biases, burn_in=100, times=[100], seed=6)
        expected = float(law(100, 1.0, 1.0, **biases).log_energy[-1])
        worst = max(worst, abs(expected - float(found.quantile().level[0])))
    return worst


def _lasting(draws: int) -> float:
    """How far apart the medians at different inputs are, gates making up for these."""
    worst = 0.0
    for cell in ("lstm", "gru"):
        medians = []
        for s in (0.3, 1.0, 3.0):
            biases = _gates(cell, meanfield.keeping_bias(meanfield.chrono_biases(64, 150), s))
            found = cells.gradient_energies(
                cell, 64, 150, draws=draws, input_std=s, biases=biases, direction="backward", times=[150], seed=7
            )
            medians.append(float(found.quantile().level[0]))
        worst = max(worst, max(medians) - min(medians))
    return worst


def _lyapunov(steps: int) -> float:
    matrices = stream(8, "verify lyapunov", 8).standard_normal((steps + 50, 8, 8)) * (1.3 / math.sqrt(8.0))

    def moved(h: Array, w: Array) -> Array:
        length = np.linalg.norm(w @ h)
        return np.asarray(w @ h / length)

    found = cells.lyapunov(moved, np.ones(8), matrices, jacobian=lambda h, w: w, burn_in=50)
    return float(
        np.abs((found.exponents - meanfield.ginibre_exponents(8) - math.log(1.3)) / _exact_errors(steps)).max()
    )


def _exact_errors(steps: int) -> Array:
    from scipy.special import polygamma

    return np.asarray(np.sqrt(polygamma(1, 0.5 * np.arange(8, 0, -1)) / (4.0 * steps)))
