"""Layers whose transition depends on their inputs, written with public names only, and their gates in NumPy."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from signalprop.nn import GatedRecurrence, Gates


class RGLRU(GatedRecurrence):
    """The RG-LRU of De et al., arXiv:2402.19427, with dense gates."""

    dynamics = ("rate",)
    gated_by = ("rate", "W_a", "W_i")

    def __init__(self, d_model, d_state, **options):
        super().__init__(d_model, d_state, **options)
        self.rate = self.new_parameter(d_state, dynamics=True)
        self.W_a, self.W_i = (self.new_parameter(d_state, d_model) for _ in range(2))
        self.reset_parameters()

    def reset_parameters(self):
        super().reset_parameters()
        nn.init.uniform_(self.rate, -7.0, -3.0)
        nn.init.normal_(self.W_a)
        nn.init.normal_(self.W_i)

    def gates(self, inputs, weights):
        log_a = -8.0 * functional.softplus(weights["rate"]) * (inputs @ weights["W_a"].mT).sigmoid()
        enter = (-torch.expm1(2.0 * log_a)).sqrt() * (inputs @ weights["W_i"].mT).sigmoid()
        return Gates(log_a.exp(), enter)

    @staticmethod
    def plain_gates(u, w):
        a = np.exp(-8.0 * np.log1p(np.exp(w["rate"])) * sigmoid(u @ w["W_a"].T))
        return a, np.sqrt(1.0 - a**2) * sigmoid(u @ w["W_i"].T), 1.0


class MinGRU(GatedRecurrence):
    """The minGRU of Feng et al., arXiv:2410.01201: h_t = (1 - z_t) h_{t-1} + z_t (B u_t), with a module for z."""

    gated_by = ("to_z.weight", "to_z.bias")

    def __init__(self, d_model, d_state, **options):
        super().__init__(d_model, d_state, **options)
        self.to_z = nn.Linear(d_model, d_state, device=options.get("device"), dtype=options.get("dtype"))
        self.reset_parameters()

    def reset_parameters(self):
        super().reset_parameters()
        self.to_z.reset_parameters()

    def gates(self, inputs, weights):
        z = functional.linear(inputs, weights["to_z.weight"], weights["to_z.bias"]).sigmoid()
        return Gates(1.0 - z, z)

    @staticmethod
    def plain_gates(u, w):
        z = sigmoid(u @ w["to_z.weight"].T + w["to_z.bias"])
        return 1.0 - z, z, 1.0


class ScalarDecay(GatedRecurrence):
    """One decay for all of the state, exp(-delta_t e^rate), and gates into and out of it: the scheme of Mamba-2."""

    dynamics = ("rate",)
    gated_by = ("rate", "w", "W_in", "W_out")

    def __init__(self, d_model, d_state, **options):
        super().__init__(d_model, d_state, **options)
        self.rate, self.w = self.new_parameter(1, dynamics=True), self.new_parameter(1, d_model)
        self.W_in, self.W_out = (self.new_parameter(d_state, d_model) for _ in range(2))
        self.reset_parameters()

    def reset_parameters(self):
        super().reset_parameters()
        for each in (self.rate, self.w, self.W_in, self.W_out):
            nn.init.normal_(each)

    def gates(self, inputs, weights):
        delta = functional.softplus(inputs @ weights["w"].mT)
        decay = (-delta * weights["rate"].exp()).exp()
        return Gates(decay, delta * (inputs @ weights["W_in"].mT), inputs @ weights["W_out"].mT)

    @staticmethod
    def plain_gates(u, w):
        delta = np.log1p(np.exp(u @ w["w"].T))
        return np.exp(-delta * np.exp(w["rate"])), delta * (u @ w["W_in"].T), u @ w["W_out"].T


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


GATED = {
    "rg-lru": lambda d=3, **options: RGLRU(d, 5, **options),
    "min-gru": lambda d=3, **options: MinGRU(d, 4, **options),
    "scalar decay": lambda d=3, **options: ScalarDecay(d, 6, **options),
}
