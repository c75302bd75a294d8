r"""LSTM and GRU as PyTorch has them: `torch.nn.LSTM`, `GRU`, `LSTMCell`, `GRUCell`.

Gradients by `signalprop.meanfield.lstm_gradient` and `gru_gradient`, with the biases of every unit and with the scale of the
recurrent kernels as they are (Status H, 10 to 30 % short in the exponent away from long memories). What a gate keeps of its
unit on its own is E sigmoid(b + s' z)^2 per step, with s'^2 = s^2 + g^2 E h^2.

Gates are stacked i, f, g, o and r, z, n; of two vectors of biases the sum counts, but for the candidate of a GRU, whose
second bias the reset gate multiplies: torch/nn/modules/rnn.py (PyTorch 2.13). Where an LSTM has `proj_size`, a gate sees h =
P (o tanh c), and its kernel is W P.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop.inspection.adapters._dense import kernel_law, row_energy, says_input
from signalprop.inspection.adapters._torch_names import TorchLayer, torch_layers, torch_sites
from signalprop.inspection.decays import Step, coarsest, decays_of
from signalprop.inspection.kernels import kernel_numbers
from signalprop.inspection.laws import GENERIC, Law, LawFit, constant, nearest
from signalprop.inspection.paths import EnergyPath, log_grid
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site
from signalprop.inspection.tensors import Stored

Floats = NDArray[np.float64]
MOST_STEPS = 10**5  # of the recursion of second moments
_GROUPS = 8
_LSTM = ("input_gate", "forget_gate", "candidate", "output_gate")
_GRU = ("reset_gate", "update_gate", "candidate")
_KEEPS = {4: "forget_gate", 3: "update_gate"}


def log_sigmoid(x: Floats) -> Floats:
    """Log of the sigmoid, without a loss of digits."""
    return np.asarray(-np.logaddexp(0.0, -x))


def _keep(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    """Log of the gate that keeps the state, from one bias or two that add."""
    bias = rounded(np.asarray(sum(values.values()))) + shift
    with np.errstate(divide="ignore"):
        gate = rounded(np.exp(log_sigmoid(bias)))
        return (
            np.where(gate == 1.0, 0.0, np.log(gate)) if rounded(np.array(1.0 / 3.0)) != 1.0 / 3.0 else log_sigmoid(bias)
        )


def _look(site: Site, settings: Settings) -> list[LayerReport]:
    found, below = [], 1.0
    layers = torch_layers(site.tensors, site.name)
    for number in sorted({layer.number for layer in layers}):
        energies = []
        for layer in layers:
            if layer.number == number:
                report = layer_report(site, layer, settings, below)
                found.append(report)
                energies.append(report.details.get("state_energy", 1.0))
        below = float(np.mean(energies))
    return found


def layer_report(site: Site, layer: TorchLayer, settings: Settings, below: float) -> LayerReport:
    """One layer and direction; `below` is the mean square of its inputs per feature."""
    stored, blocks = layer.parameters, layer.blocks
    values = {role: one.numbers() for role, one in stored.items()}
    gates = _LSTM if blocks == 4 else _GRU
    W, projection = values["weight_hh"], values.get("weight_hr")
    square = W if projection is None else W @ projection
    units = len(W) // blocks
    kernels = tuple(
        kernel_numbers(one, gate.replace("_", " "), settings.eigenvalues)
        for gate, one in zip(gates, np.split(square, blocks), strict=True)
    )
    g = math.sqrt(float(np.mean([kernel.scale**2 for kernel in kernels])))
    added = row_energy(values["weight_ih"]) * below if "weight_ih" in values else 0.0
    s = settings.input_std if settings.input_std is not None else math.sqrt(added)
    path, energy, words = _gradient(gates, g, s, _biases(values, gates, units), settings.reach)
    shaken = math.sqrt(s * s + g * g * energy)
    kept = gates.index(_KEEPS[blocks])
    parts: dict[str, Stored] = {
        role: _part(stored[role], kept, units) for role in ("bias_ih", "bias_hh") if role in stored
    }
    decays = decays_of(_keep, parts or {"bias": _zeros(units)}, ("unit",), input_std=shaken)
    if not parts:
        decays = replace(decays, rounding=None)
    laws = [kernel_law(stored["weight_hh"], W, kernels if projection is None else ())]
    if parts:
        laws.append(_bias_law(parts, gates[kept], units))
    return LayerReport(
        name=f"{site.name}{layer.suffix if layer.suffix != '_l0' else ''}",
        adapter="lstm" if blocks == 4 else "gru",
        about=f"{'LSTM' if blocks == 4 else 'GRU'} of {units} units",
        parameters=tuple(one.name for one in stored.values()),
        storage=coarsest(one.real_type for one in stored.values()).name,
        forward=path,
        gradient=path,
        units=decays,
        kernels=kernels,
        laws=tuple(laws),
        assumes=(says_input(settings.input_std), words),
        details={"input_std": s, "state_energy": energy, "kept_by_bias_alone": float(np.exp(_median_bias(parts)))},
    )


def _biases(values: Mapping[str, Floats], gates: tuple[str, ...], units: int) -> dict[str, Floats]:
    """One bias per unit and gate; the second bias of a GRU's candidate by itself."""
    zero = np.zeros(len(gates) * units)
    first, second = values.get("bias_ih", zero), values.get("bias_hh", zero)
    given = dict(zip(gates, np.split(first + second, len(gates)), strict=True))
    if gates is _GRU:
        given["candidate"], given["candidate_hidden"] = np.split(first, 3)[2], np.split(second, 3)[2]
        return _grouped(given)
    return given


def _grouped(biases: dict[str, Floats]) -> dict[str, Floats]:
    """Biases of a GRU's candidate and reset gate as means over a few groups, each of which takes a quadrature over a plane."""
    groups = np.array_split(np.argsort(biases["candidate"]), min(_GROUPS, biases["candidate"].size))
    means = {name: np.empty_like(one) for name, one in biases.items() if name != "update_gate"}
    for name, mean in means.items():
        for group in groups:
            mean[group] = biases[name][group].mean()
    return biases | means


def _gradient(
    gates: tuple[str, ...], g: float, s: float, biases: dict[str, Floats], reach: int
) -> tuple[EnergyPath | None, float, str]:
    """The path of mean-field theory, the mean square of the states, and what is taken for granted."""
    from signalprop.meanfield import gru_gradient, lstm_gradient

    gradient: Any = lstm_gradient if gates is _LSTM else gru_gradient
    last, end = 64, min(reach, MOST_STEPS)
    g = max(g, 1e-6)
    try:
        while True:
            last = min(last, end)
            found = gradient(last, g, s, **biases)
            path = found.log_energy
            if last == end or not -5.0 < path[-1] < 5.0:
                break
            last *= 8
    except ValueError as error:  # biases or scales beyond what the quadratures take
        return None, 1.0, f"Mean-field theory has no number for such weights: {error}"
    words = (
        "Gates are independent from step to step: mean-field theory, which forgets too fast, by 10 to 30 % in the exponent "
        "where the memory is short."
    )
    return _as_path(path), float(found.state_energy), words


def _as_path(path: Floats) -> EnergyPath:
    steps = log_grid(len(path) - 1)

    def first(hits: NDArray[np.bool_]) -> int | None:
        return int(np.argmax(hits)) if hits.any() else None

    hundred = math.log(100.0)
    return EnergyPath(
        steps, path[steps], first(path <= -1.0), first(path <= -hundred), first(path >= hundred), len(path) - 1
    )


def _part(tensor: Stored, block: int, units: int) -> Stored:
    """The biases of one gate."""
    return Stored(tensor.name, (units,), tensor.storage, lambda: tensor.load()[block * units : (block + 1) * units])


def _zeros(units: int) -> Stored:
    return Stored("bias", (units,), "float64", lambda: np.zeros(units))


def _median_bias(parts: Mapping[str, Stored]) -> float:
    """Log of what the gate of the median unit keeps, squared, where nothing shakes it."""
    total = sum((one.load() for one in parts.values()), np.zeros(1))
    return float(2.0 * log_sigmoid(np.array([np.median(total)]))[0])


def _bias_law(parts: Mapping[str, Stored], gate: str, units: int) -> LawFit:
    """Biases of the gate that keeps the state: PyTorch's own, or those for a memory."""
    total = np.asarray(sum(one.load() for one in parts.values()))
    slack = sum(one.real_type.neighbours(one.load())[1] - one.load() for one in parts.values()) / 2.0
    edge = 1.0 / math.sqrt(units)
    # PyTorch adds two that are uniform: their sum has a triangular law.
    laws = [
        Law("a sum of two, uniform within 1/sqrt(n)", "PyTorch's default", _triangle(edge)),
        constant(1.0, "Keras and many others"),
        constant(2.0, "many others"),
        *GENERIC,
    ]
    if (top := float(total.max())) > 1.0:
        odds = math.exp(top)
        laws.append(Law(f"log U(1, {odds:.3g})", "Tallec and Ollivier (arXiv:1804.11188)", _log_of_uniform(odds)))
    return nearest(f"biases of the {gate.replace('_', ' ')}", total - slack, total + slack, laws)


def _log_of_uniform(top: float) -> Callable[[Floats], Floats]:
    return lambda x: np.asarray(np.clip((np.exp(x) - 1.0) / (top - 1.0), 0.0, 1.0))


def _triangle(edge: float) -> Callable[[Floats], Floats]:
    def below(x: Floats) -> Floats:
        t = np.clip(x / (2.0 * edge), -1.0, 1.0)
        return np.where(t < 0.0, 0.5 * (1.0 + t) ** 2, 1.0 - 0.5 * (1.0 - t) ** 2)

    return below


LSTM = Adapter(
    about="LSTMs of PyTorch",
    find=lambda tensors, forced: torch_sites(tensors, 4),
    look=_look,
    cites="gated",
)
GRU = Adapter(
    about="GRUs of PyTorch",
    find=lambda tensors, forced: torch_sites(tensors, 3),
    look=_look,
    cites="gated",
)
