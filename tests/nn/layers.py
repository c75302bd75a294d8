"""Layers of every kind for the tests, and what they must compute by their definitions."""

import numpy as np
import torch
from gated_layers import GATED
from scipy.linalg import expm

from signalprop.nn import LRU, DenseLinearRNN, GatedRecurrence, RotRNN

BOUNDED = {"criterion": "bounded"}
LINEAR = {
    "lru": lambda d=3, **options: LRU(d, 5, r_min=0.5, r_max=0.99, **options),
    "lru learned": lambda d=3, **options: LRU(d, 5, r_min=0.5, r_max=0.99, normalizer="learned", **options),
    "rotrnn": lambda d=3, **options: RotRNN(d, 8, heads=2, **options),
    "rotrnn odd": lambda d=3, **options: RotRNN(d, 9, heads=3, first_step_rule=True, **options),
    "rotrnn lines": lambda d=3, **options: RotRNN(d, 4, heads=4, **options),
    "dense": lambda d=3, **options: DenseLinearRNN(d, 6, horizon=20, scale_options=BOUNDED, **options),
    "orthogonal": lambda d=3, **options: DenseLinearRNN(d, 6, horizon=20, kernel="orthogonal", **options),
}
MAKERS = LINEAR | GATED


def make(kind, seed=0, dtype=torch.float64, **options):
    torch.manual_seed(seed)
    return MAKERS[kind](dtype=dtype, **options)


def draw(*shape, seed=1, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def numbers(layer):
    return {name: value.detach().double().numpy() for name, value in layer.named_parameters()}


def matrices(layer):
    """A, B, C and the factor of the first input, complex or real, straight from the parameters of the layer."""
    w = numbers(layer)
    if isinstance(layer, LRU):
        modulus = np.exp(-np.exp(w["nu"]))
        gamma = np.exp(w["gamma_log"]) if "gamma_log" in w else np.sqrt(1 - modulus**2)
        b = gamma[:, None] * (w["B"][:, 0] + 1j * w["B"][:, 1])
        return np.diag(modulus * np.exp(1j * np.exp(w["theta"]))), b, w["C"][..., 0] + 1j * w["C"][..., 1], 1.0
    if isinstance(layer, DenseLinearRNN):
        return w["W"], w["B"], w["C"], 1.0
    size = layer.d_state // layer.heads
    a, b, first = np.zeros((layer.d_state, layer.d_state)), [], []
    for h in range(layer.heads):
        gamma = np.exp(-np.exp(w["g"][h]))
        turn = np.eye(size)
        for plane, angle in enumerate(w["theta"][h]):
            c, s, i = np.cos(angle), np.sin(angle), 2 * plane
            turn[i : i + 2, i : i + 2] = [[c, -s], [s, c]]
        p = expm(w["M"][h] - w["M"][h].T)
        a[h * size : (h + 1) * size, h * size : (h + 1) * size] = gamma * p @ turn @ p.T
        b.append(np.sqrt((1 - gamma**2) / np.trace(w["B"][h] @ w["B"][h].T)) * w["B"][h])
        first += [1 / np.sqrt(1 - gamma**2) if layer.first_step_rule else 1.0] * size
    return a, np.concatenate(b), w["C"], np.array(first)


def by_definition(layer, inputs):
    """Outputs and ||x_t||^2, one step after the other."""
    if isinstance(layer, GatedRecurrence):
        return gated_by_definition(layer, inputs)
    a, b, c, first = matrices(layer)
    d = 0.0 if layer.D is None else layer.D.detach().double().numpy()
    x = np.zeros((len(inputs), len(a)))
    outputs, energy = [], []
    for t, u in enumerate(inputs.double().numpy().swapaxes(0, 1)):
        x = x @ a.T + (u @ b.T) * (first if t == 0 else 1.0)
        outputs.append((x @ c.T).real + d * u)
        energy.append((np.abs(x) ** 2).sum(1))
    return torch.from_numpy(np.stack(outputs, 1)), torch.from_numpy(np.stack(energy, 1))


def gated_by_definition(layer, inputs):
    w = numbers(layer)
    x = np.zeros((len(inputs), layer.d_state))
    outputs, energy = [], []
    for u in inputs.double().numpy().swapaxes(0, 1):
        decay, enter, leave = layer.plain_gates(u, w)
        x = decay * x + enter * (u @ w["B"].T)
        outputs.append((leave * x) @ w["C"].T + (w["D"] * u if "D" in w else 0.0))
        energy.append((x**2).sum(1))
    return torch.from_numpy(np.stack(outputs, 1)), torch.from_numpy(np.stack(energy, 1))
