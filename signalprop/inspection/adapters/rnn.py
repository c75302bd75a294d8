r"""Plain recurrences h_t = phi(W h_{t-1} + V u_t + b) with tanh or relu: `torch.nn.RNN` and `RNNCell`.

A gradient is multiplied by W^T and by phi' at every step. Its mean energy after k steps is taken as ||W^k||_F^2/n (E
phi'^2)^k, the slopes at the fixed point of mean-field theory and independent of W: exact for the linear part, Status H for
the slopes. For Gaussian W it is chi^k of `signalprop.meanfield.chi`. Names and default law, uniform within 1/sqrt(n):
torch/nn/modules/rnn.py, `RNNBase.reset_parameters` (PyTorch 2.13).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from signalprop.inspection.adapters._dense import kernel_law, row_energy, says_input
from signalprop.inspection.adapters._torch_names import TorchLayer, torch_layers, torch_sites
from signalprop.inspection.kernels import MOST_STEPS, kernel_numbers, power_energy
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site
from signalprop.inspection.tensors import Tensors


def _is(site: Site, nonlinearity: str) -> bool:
    return str(site.attribute("nonlinearity", "tanh")) == nonlinearity


def _look(site: Site, settings: Settings, activation: str) -> list[LayerReport]:
    found, below = [], 1.0
    for number in sorted({layer.number for layer in torch_layers(site.tensors, site.name)}):
        energies = []
        for layer in torch_layers(site.tensors, site.name):
            if layer.number == number:
                report, energy = _layer(site, layer, settings, activation, below)
                found.append(report)
                energies.append(energy)
        below = float(np.mean(energies))
    return found


def _layer(
    site: Site, layer: TorchLayer, settings: Settings, activation: str, below: float
) -> tuple[LayerReport, float]:
    """The report of one layer, and the mean square of its states."""
    values = {role: one.numbers() for role, one in layer.parameters.items()}
    W = values["weight_hh"]
    kernel = kernel_numbers(W, "kernel", settings.eigenvalues)
    source = values.get("weight_ih")
    bias = sum((values[role] for role in ("bias_ih", "bias_hh") if role in values), np.zeros(len(W)))
    added = 0.0 if source is None else row_energy(source) * below
    s = settings.input_std if settings.input_std is not None else math.sqrt(added + float(np.mean(bias**2)))
    slope, energy, words = _slope(activation, kernel.scale, s)
    reach = min(settings.reach, MOST_STEPS)
    forward = None if source is None or not source.any() else power_energy(W, reach, source, math.log(slope))
    report = LayerReport(
        name=f"{site.name}{layer.suffix if layer.suffix != '_l0' else ''}",
        adapter="rnn" if activation == "tanh" else "rnn-relu",
        about=f"{activation} recurrence of {len(W)} units",
        parameters=tuple(one.name for one in layer.parameters.values()),
        storage=layer.parameters["weight_hh"].storage,
        forward=forward,
        gradient=power_energy(W, reach, None, math.log(slope)),
        kernels=(kernel,),
        laws=(kernel_law(layer.parameters["weight_hh"], W, (kernel,)),),
        assumes=(says_input(settings.input_std), words),
        details={"input_std": s, "mean_square_slope": slope, "state_energy": energy},
    )
    return report, energy


def _slope(activation: str, g: float, s: float) -> tuple[float, float, str]:
    """E phi'^2 and E h^2 where the states have settled, and what is taken for granted."""
    from signalprop.meanfield import fixed_point, gaussian_mean

    if activation == "relu":
        energy = 0.5 * s * s / (1.0 - 0.5 * g * g) if g * g < 2.0 else math.inf
        return 0.5, min(energy, 1e6), "Half of the units of a relu layer are on at each step, independently of W."
    g, s = min(max(g, 1e-6), 1e3), min(s, 1e3)
    q = float(fixed_point(g, "tanh", s))
    if q == 0.0:
        return 1.0, 0.0, "Nothing drives the states, which die out; tanh then has slope 1."
    slope = float(gaussian_mean(lambda x: (1.0 - np.tanh(x) ** 2) ** 2, q))
    energy = float(gaussian_mean(lambda x: np.tanh(x) ** 2, q))
    return slope, energy, "Slopes of tanh are those of mean-field theory at such inputs."


def _found(tensors: Tensors, forced: bool, activation: str) -> Iterator[Site]:
    return torch_sites(tensors, 1, lambda site: forced or _is(site, activation))


RNN = Adapter(
    about="tanh recurrences of PyTorch",
    find=lambda tensors, forced: _found(tensors, forced, "tanh"),
    look=lambda site, settings: _look(site, settings, "tanh"),
    cites="meanfield",
)
RNN_RELU = Adapter(
    about="relu recurrences of PyTorch",
    find=lambda tensors, forced: _found(tensors, forced, "relu"),
    look=lambda site, settings: _look(site, settings, "relu"),
    cites="init_recurrent",
)
