"""The simulated energies beside torch.autograd in double precision, with the same weights, inputs and start."""

import functools

import numpy as np
import pytest
import torch
from torch import nn

from signalprop._streams import stream
from signalprop.cells import CELLS, gradient_energies
from signalprop.cells._paths import Drive, start
from signalprop.cells._setting import setting_of
from signalprop.cells._weights import draw_weights

N, STEPS, BURN_IN, SEED = 7, 12, 3, 5
GIVEN = {
    "scale": 1.3, "kind": "gaussian", "field": "real", "leak": 1.0, "direction": "forward", "tied": True, "burn_in": BURN_IN,
    "input_std": 0.7, "inputs": "fresh", "biases": None, "memory": None, "draws": 2, "seed": SEED, "times": None,
}  # fmt: skip
ACTIVATION = {
    "linear": lambda x: x, "tanh": torch.tanh, "relu": torch.relu, "leaky_relu": nn.functional.leaky_relu,
    "hardtanh": nn.functional.hardtanh, "erf": torch.erf, "silu": nn.functional.silu, "gelu": nn.functional.gelu,
}  # fmt: skip
ONE_GATE = [name for name, cell in CELLS.items() if not cell.gated]


def numbers(name, draw, **changes):
    """The numbers that the simulation draws: W, what inputs add per step, the bias inside of the reset product, the start."""
    setting = setting_of(name, N, STEPS, **{**GIVEN, **changes})
    rng = stream(setting.seed, "gradient energies", name, N, setting.kind, "real", chunk=draw)
    w = draw_weights(setting.kind, len(setting.cell.gates), N, setting.scale, setting.field, rng)
    dh, dc = start(setting, rng)
    drive = Drive(setting, rng)
    return [torch.from_numpy(np.array(one)) for one in (w, drive.block(BURN_IN + STEPS), drive.hidden, dh, dc)]


def step_of(name, w, hidden, leak):
    """One step of (h, c), by PyTorch: its own cells for the gated ones, with inputs handed in through an identity."""
    if not CELLS[name].gated:
        return lambda x, h, c: ((1 - leak) * h + leak * ACTIVATION[name](w @ h + x[0]), c)
    gates = len(CELLS[name].gates)
    cell = (nn.GRUCell if name == "gru" else nn.LSTMCell)(gates * N, N, dtype=torch.float64)
    with torch.no_grad():
        cell.weight_ih.copy_(torch.eye(gates * N))
        cell.weight_hh.copy_(w)
        cell.bias_ih.zero_()
        cell.bias_hh.zero_()
        if name == "gru":
            cell.bias_hh[2 * N :] = hidden
    if name == "gru":
        return lambda x, h, c: (cell(x.reshape(1, -1), h[None])[0], c)
    return lambda x, h, c: tuple(one[0] for one in cell(x.reshape(1, -1), (h[None], c[None])))


def paths(name, **changes):
    """The Jacobian of each step along the path of draw 0, and the start; the state is h, or (h, c)."""
    w, inputs, hidden, dh, dc = numbers(name, 0, **changes)
    step = step_of(name, w, hidden, changes.get("leak", 1.0))
    two = len(CELLS[name].states) > 1
    state = torch.zeros(2 * N if two else N, dtype=torch.float64)

    def one(x, state):
        h, c = step(x, state[:N], state[N:])
        return torch.cat([h, c]) if two else h

    jacobians = []
    for t, x in enumerate(inputs):
        if t >= BURN_IN:
            jacobians.append(torch.autograd.functional.jacobian(functools.partial(one, x), state))
        state = one(x, state).detach()
    return jacobians, torch.cat([dh, dc]) if two else dh


def by_torch(name, **changes):
    jacobians, d = paths(name, **changes)
    backward = changes.get("direction") == "backward"
    logs = [0.0]
    for jacobian in jacobians[::-1] if backward else jacobians:
        d = jacobian.T @ d if backward else jacobian @ d
        logs.append(float(torch.log(d @ d)))
    return np.array(logs)


def biases(name):
    return {gate: np.linspace(-1.0, 0.5 + at, N) for at, gate in enumerate(CELLS[name].biases)}


@pytest.mark.parametrize("direction", ["forward", "backward"])
@pytest.mark.parametrize("kind", ["gaussian", "orthogonal", "uniform", "identity"])
@pytest.mark.parametrize("name", list(CELLS))
def test_energies_are_those_of_autograd(name, kind, direction):
    given = {"kind": kind, "direction": direction, "biases": biases(name)}
    found = gradient_energies(name, N, STEPS, **{**GIVEN, **given})
    np.testing.assert_allclose(found.log_energies[0], by_torch(name, **given), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_a_whole_backward_pass(name):
    """Through PyTorch's layer, its own loop and its own two vectors of biases, to the states before the first step."""
    given = {"burn_in": 0, "direction": "backward", "biases": biases(name)}
    setting = {**GIVEN, **given}
    found = gradient_energies(name, N, STEPS, **setting).log_energies[0]
    whole = setting_of(name, N, STEPS, **setting)
    rng = stream(SEED, "gradient energies", name, N, "gaussian", "real", chunk=0)
    gates = len(whole.cell.gates)
    w = draw_weights("gaussian", gates, N, whole.scale, whole.field, rng)
    dh, _ = start(whole, rng)
    drive = Drive(setting_of(name, N, STEPS, **{**setting, "biases": None}), rng)
    x = torch.from_numpy(drive.block(STEPS).reshape(STEPS, 1, -1))
    layer = (nn.GRU if name == "gru" else nn.LSTM)(gates * N, N, dtype=torch.float64)
    b = [np.asarray(whole.biases[gate]) for gate in whole.cell.gates]
    with torch.no_grad():
        layer.weight_ih_l0.copy_(torch.eye(gates * N))
        layer.weight_hh_l0.copy_(torch.from_numpy(w))
        own = np.concatenate([0.25 * b[0], 0.25 * b[1], b[2], *(0.25 * one for one in b[3:])])
        other = np.concatenate([0.75 * b[0], 0.75 * b[1], 0.0 * b[2], *(0.75 * one for one in b[3:])])
        if name == "gru":
            other[2 * N :] = whole.biases["candidate_hidden"]
        layer.bias_ih_l0.copy_(torch.from_numpy(own))
        layer.bias_hh_l0.copy_(torch.from_numpy(other))
    states = [torch.zeros(1, 1, N, dtype=torch.float64, requires_grad=True) for _ in whole.cell.states]
    out, _ = layer(x, tuple(states) if len(states) > 1 else states[0])
    (out[-1, 0] @ torch.from_numpy(dh)).backward()
    energy = sum(float((one.grad**2).sum()) for one in states)
    assert found[-1] == pytest.approx(np.log(energy), abs=1e-10)


@pytest.mark.parametrize("name", ONE_GATE)
def test_leak(name):
    for direction in ("forward", "backward"):
        given = {"leak": 0.3, "direction": direction}
        found = gradient_energies(name, N, STEPS, **{**GIVEN, **given})
        np.testing.assert_allclose(found.log_energies[0], by_torch(name, **given), rtol=0, atol=1e-10)


def test_constant_and_given_inputs():
    given = np.linspace(-1.0, 2.0, (BURN_IN + STEPS) * N).reshape(-1, N)
    for changes in ({"inputs": "constant"}, {"inputs": given, "input_std": None}):
        found = gradient_energies("tanh", N, STEPS, **{**GIVEN, **changes})
        np.testing.assert_allclose(found.log_energies[0], by_torch("tanh", **changes), rtol=0, atol=1e-10)
