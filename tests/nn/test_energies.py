"""E||x_t||^2 for white inputs, read off the impulse responses of the layers: no sampling."""

import pytest
import torch
from layers import make, matrices

from signalprop.nn import LRU, RotRNN


def energies(layer, steps):
    """E||x_t||^2 of each row, (steps, rows): the sum over input channels and over the times of an impulse."""
    channels = layer.d_model
    first, later = torch.zeros(2, channels, steps, channels, dtype=torch.float64)
    first[range(channels), 0, range(channels)] = 1.0
    later[range(channels), 1, range(channels)] = 1.0
    with torch.no_grad():
        of_first, of_later = (layer.states(impulses).square().sum(0) for impulses in (first, later))
    # Inputs from the second on all have the response of the second, shifted.
    return of_first + of_later.cumsum(0)


@pytest.mark.parametrize("size", [1, 2, 3, 8])
@pytest.mark.parametrize("first_step_rule", [False, True])
def test_heads_of_a_rotrnn(size, first_step_rule):
    heads, steps = 3, 400
    torch.manual_seed(size)
    layer = RotRNN(4, size * heads, heads=heads, first_step_rule=first_step_rule, dtype=torch.float64)
    found = energies(layer, steps).unflatten(1, (heads, -1)).sum(2)
    gamma = torch.exp(-torch.exp(layer.g.detach()))
    wanted = 1 - gamma ** (2 * torch.arange(1, steps + 1)[:, None])
    if first_step_rule:
        wanted = torch.ones_like(wanted)
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)


def test_norm_holds_after_the_weights_have_moved():
    torch.manual_seed(0)
    layer = RotRNN(4, 12, heads=2, first_step_rule=True, dtype=torch.float64)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(torch.randn_like(parameter))
    found = energies(layer, 50).unflatten(1, (2, -1)).sum(2)
    torch.testing.assert_close(found, torch.ones_like(found), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("normalizer", ["recomputed", "learned"])
def test_sum_formula_of_the_lru(normalizer):
    torch.manual_seed(1)
    layer = LRU(4, 10, r_min=0.5, r_max=0.999, normalizer=normalizer, dtype=torch.float64)
    with torch.no_grad():
        layer.nu.add_(0.3)  # a learned gamma no longer fits
    steps = 300
    square = torch.exp(-2 * torch.exp(layer.nu.detach()))
    gamma = (1 - square).sqrt() if normalizer == "recomputed" else layer.gamma_log.detach().exp()
    power = gamma**2 * layer.B.detach().square().sum((1, 2))
    t = torch.arange(1, steps + 1)[:, None]
    wanted = power * (1 - square**t) / (1 - square)
    found = energies(layer, steps).unflatten(1, (10, 2)).sum(2)
    torch.testing.assert_close(found, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", ["dense", "orthogonal"])
def test_dense_by_powers(kind):
    layer = make(kind)
    w, b, _, _ = (torch.as_tensor(each) for each in matrices(layer))
    covariance = torch.zeros_like(w)
    wanted = []
    for _ in range(30):
        covariance = w @ covariance @ w.T + b @ b.T
        wanted.append(covariance.diagonal())
    torch.testing.assert_close(energies(layer, 30), torch.stack(wanted), rtol=1e-10, atol=1e-10)
