"""A gradient through a recurrent cell, one W per draw: drawn by `cells.gradient_energies` or by automatic differentiation.

Weights and inputs are drawn anew in each call by all contenders but the floor, which has them and does nothing but one product
with W per step. A draw needs two: forward in one pass over W, backward in two passes. One thread each.
"""

import functools
import math

import numpy as np
import torch

from benchmarks.suite import FLOOR, OTHER, OURS, Comparison, Contender
from signalprop.cells import CELLS, gradient_energies

STEPS = 200


def pytorch_layer(cell, n):
    """PyTorch's layer with Gaussian weights, also those of inputs."""
    kind = {"tanh": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}[cell]
    layer = kind(n, n, dtype=torch.float64)
    with torch.no_grad():
        layer.weight_hh_l0.normal_(std=1.0 / math.sqrt(n))
        layer.weight_ih_l0.normal_(std=1.0 / math.sqrt(n))
        layer.bias_ih_l0.zero_()
        layer.bias_hh_l0.zero_()
    return layer


def by_autograd(cell, n):
    layer = pytorch_layer(cell, n)
    two = len(CELLS[cell].states) > 1
    start = [torch.zeros(1, 1, n, dtype=torch.float64, requires_grad=True) for _ in CELLS[cell].states]
    out, _ = layer(torch.randn(STEPS, 1, n, dtype=torch.float64), tuple(start) if two else start[0])
    (out[-1, 0] @ torch.randn(n, dtype=torch.float64)).backward()
    return sum(float((one.grad**2).sum()) for one in start)


def by_jvp(cell, n):
    layer = pytorch_layer(cell, n)
    x = torch.randn(STEPS, n, dtype=torch.float64) @ layer.weight_ih_l0.T
    w = layer.weight_hh_l0.detach()
    h, d, total = torch.zeros(n, dtype=torch.float64), torch.randn(n, dtype=torch.float64), 0.0
    for one in x.detach():
        h, d = torch.func.jvp(lambda h, one=one: torch.tanh(w @ h + one), (h,), (d,))
        length = torch.linalg.vector_norm(d)
        d, total = d / length, total + 2.0 * float(torch.log(length))
    return total


def products(w, x, out):
    for _ in range(STEPS):
        np.dot(w, x, out=out)


def comparisons(quick):
    torch.set_num_threads(1)
    for cell in ("tanh", "lstm") if quick else ("tanh", "gru", "lstm"):
        gates = len(CELLS[cell].gates)
        for n in (64, 256) if quick else (64, 256, 1024):
            w, x, out = np.ones((gates * n, n)), np.ones(n), np.ones(gates * n)
            draw = functools.partial(gradient_energies, cell, n, STEPS, workers=1)
            many = max(1, 2**20 // (gates * n * n))
            contenders = [
                Contender("forward", OURS, functools.partial(draw, draws=many), many, 2.0),
                Contender("backward", OURS, functools.partial(draw, draws=many, direction="backward"), many, 2.0),
                Contender("torch.autograd, backward", OTHER, functools.partial(by_autograd, cell, n)),
                Contender("one product with W per step, BLAS", FLOOR, functools.partial(products, w, x, out)),
            ]
            if cell == "tanh":
                contenders.append(Contender("torch.func.jvp, forward", OTHER, functools.partial(by_jvp, cell, n)))
            yield Comparison(f"{cell}, T = {STEPS}", "n", n, "per draw", contenders, rounds=5)
