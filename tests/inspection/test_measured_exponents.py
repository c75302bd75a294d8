"""Exponents measured along sequences against exact ones, and the derivatives they rest on."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from signalprop.inspection import inspect
from signalprop.inspection.measured.exponents import exponents
from signalprop.inspection.measured.steps import Course, Precision
from signalprop.inspection.measured.torch_layers import stepper_of
from signalprop.nn import LRU, DenseLinearRNN


class FreshMatrices:
    """A linear layer whose input at each step is its matrix."""

    def step(self, x, state, first):
        return (torch.einsum("bij,bj->bi", x.unflatten(-1, (state[0].shape[1],) * 2), state[0]),)

    def tangent(self, x, state, directions):
        return (directions[0] @ x.unflatten(-1, (state[0].shape[1],) * 2)[0].T,)


def test_independent_gaussian_matrices_have_the_exact_null():
    n, steps = 8, 2000
    rng = np.random.default_rng(5)
    W = torch.from_numpy(rng.standard_normal((steps, 1, n * n)) / math.sqrt(n))
    zero = torch.zeros(1, dtype=torch.long)
    course = Course(W, (torch.ones(1, n, dtype=torch.float64),), zero, zero + steps, Precision.now("cpu"))
    found = exponents(FreshMatrices(), course)
    assert found.steps == steps - 200
    assert (np.abs(found.z()) < 4.0).all()
    assert (np.abs(found.z(scale=1.1)) > 4.0).any()
    low, high = found.interval(0.999)
    assert ((low < found.null()) & (found.null() < high)).all()


def test_a_diagonal_layer_has_the_logs_of_its_decays():
    torch.manual_seed(0)
    layer = LRU(4, 3, r_min=0.3, r_max=0.99).double()
    found = inspect(layer, torch.randn(2, 400, 4, dtype=torch.float64)).layers[0].measured.exponents
    moduli = np.repeat(np.sort(-np.exp(layer.nu.detach().numpy()))[::-1], 2)  # a plane is two real directions
    np.testing.assert_allclose(found.exponents, moduli[:4], atol=0.02)
    np.testing.assert_allclose(found.exponents[:2].sum(), moduli[:2].sum(), atol=1e-9)


def test_a_dense_linear_layer_has_the_logs_of_its_eigenvalues():
    torch.manual_seed(0)
    layer = DenseLinearRNN(3, 6, horizon=50).double()
    found = inspect(layer, torch.randn(1, 900, 3, dtype=torch.float64)).layers[0].measured.exponents
    moduli = np.sort(np.log(np.abs(np.linalg.eigvals(layer.W.detach().numpy()))))[::-1]
    np.testing.assert_allclose(found.exponents, moduli[:4], atol=0.02)


def test_short_sequences_have_none():
    assert inspect(nn.GRU(2, 3), torch.randn(39, 1, 2)).layers[0].measured.exponents is None
    assert inspect(nn.GRU(2, 3), torch.randn(40, 1, 2)).layers[0].measured.exponents is not None


def test_the_longest_sequence_is_followed_without_padding():
    torch.manual_seed(0)
    module, x = nn.GRU(2, 3).double(), torch.randn(100, 3, 2, dtype=torch.float64)
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([100, 50, 20]))
    both = [inspect(module, batch).layers[0].measured.exponents for batch in (packed, x[:, :1])]
    np.testing.assert_array_equal(both[0].exponents, both[1].exponents)


@pytest.mark.parametrize("kind", ["tanh", "relu", "gru", "lstm", "lstm with a projection"])
@pytest.mark.parametrize("bias", [True, False])
def test_tangents_are_the_derivatives_of_steps(kind, bias):
    torch.manual_seed(2)
    module = {
        "tanh": lambda: nn.RNN(3, 5, bias=bias),
        "relu": lambda: nn.RNN(3, 5, bias=bias, nonlinearity="relu"),
        "gru": lambda: nn.GRU(3, 5, bias=bias),
        "lstm": lambda: nn.LSTM(3, 5, bias=bias),
        "lstm with a projection": lambda: nn.LSTM(3, 5, bias=bias, proj_size=2),
    }[kind]().double()
    stepper = stepper_of(module, "_l0")
    sizes = [stepper.out, stepper.units] if kind.startswith("lstm") else [stepper.out]
    x = torch.randn(1, 3, dtype=torch.float64)
    h = torch.randn(1, sum(sizes), dtype=torch.float64)

    def step(flat):
        return torch.cat(stepper.step(x, flat.split(sizes, 1), None), 1)

    whole = torch.autograd.functional.jacobian(step, h)[0, :, 0]
    directions = torch.randn(4, sum(sizes), dtype=torch.float64)
    moved = torch.cat(stepper.tangent(x, h.split(sizes, 1), directions.split(sizes, 1)), 1)
    torch.testing.assert_close(moved, directions @ whole.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_exponents_in_short_types(dtype):
    """W = I/2 and no input: every direction shrinks by 2 at each step."""
    cell = nn.RNN(1, 3, nonlinearity="relu", bias=False).to(dtype)
    with torch.no_grad():
        cell.weight_hh_l0.copy_(0.5 * torch.eye(3))
        cell.weight_ih_l0.fill_(1.0)
    found = inspect(cell, torch.ones(60, 1, 1, dtype=dtype)).layers[0].measured.exponents
    np.testing.assert_allclose(found.exponents, math.log(0.5), rtol=1e-2)
