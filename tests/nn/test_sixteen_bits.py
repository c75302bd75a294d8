"""Layers in 16 bits: what defines the dynamics stays in float32."""

import copy
import math

import pytest
import torch
from layers import MAKERS, draw, make
from torch.nn.utils import parametrizations, prune

from signalprop.nn import LRU, RotRNN, SequenceClassifier

NARROW = [torch.bfloat16, torch.float16]
CASTS = {
    "to": lambda layer: layer.to(torch.bfloat16),
    "bfloat16": lambda layer: layer.bfloat16(),
    "half": lambda layer: layer.half(),
    "type": lambda layer: layer.type(torch.float16),
    "inside a model": lambda layer: torch.nn.Sequential(layer).to("cpu", torch.bfloat16)[0],
    "there and back": lambda layer: layer.double().half(),
}


@pytest.mark.parametrize("cast", CASTS)
@pytest.mark.parametrize("kind", MAKERS)
def test_dynamics_are_kept(kind, cast):
    layer = make(kind, dtype=torch.float32)
    before = {
        name: getattr(layer, name).detach().clone() for name in layer.dynamics if getattr(layer, name) is not None
    }
    layer(draw(2, 5, 3, dtype=torch.float32)).sum().backward()
    layer = CASTS[cast](layer)
    for name, value in before.items():
        assert torch.equal(getattr(layer, name), value)
        assert getattr(layer, name).dtype == getattr(layer, name).grad.dtype == torch.float32
    assert layer.B.dtype == layer.C.dtype == layer.D.dtype != torch.float32
    assert layer.B.grad.dtype == layer.B.dtype


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("kind", MAKERS)
def test_outputs_differ_by_the_rounding_of_the_rest(kind, dtype):
    """Against the layer in float64 whose B, C and D are rounded and whose dynamics are not: only outputs are rounded anew."""
    layer, inputs = make(kind, dtype=torch.float32), draw(4, 300, 3, dtype=torch.float32).to(dtype)
    rounded = copy.deepcopy(layer).double()
    with torch.no_grad():
        for name in ("B", "C", "D"):
            getattr(rounded, name).copy_(getattr(layer, name).to(dtype))
    found, wanted = layer.to(dtype)(inputs), rounded(inputs.double())
    assert found.dtype == dtype
    error = (found.double() - wanted).abs().max() / wanted.abs().max()
    # D u is rounded, and the sum once more.
    assert error < 2 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("kind", MAKERS)
def test_made_in_sixteen_bits(kind, dtype):
    for layer in (make(kind, dtype=dtype), _under_default(dtype, kind)):
        for name, each in layer.named_parameters():
            assert each.dtype == (torch.float32 if name in layer.dynamics else dtype)


def _under_default(dtype, kind):
    torch.set_default_dtype(dtype)
    try:
        return MAKERS[kind]()
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    "layer",
    [
        lambda: LRU(16, 64, r_min=0.99, r_max=0.999, dtype=torch.bfloat16),
        lambda: LRU(16, 64, r_min=0.99, r_max=0.999).bfloat16(),
        pytest.param(lambda: RotRNN(16, 64, heads=4, gamma_min=0.99, dtype=torch.bfloat16), marks=pytest.mark.slow),
        pytest.param(lambda: MAKERS["orthogonal"](16, dtype=torch.bfloat16), marks=pytest.mark.slow),
    ],
)
def test_training_moves_the_dynamics(layer):
    torch.manual_seed(0)
    layer = layer()
    before = {name: each.detach().clone() for name, each in layer.named_parameters() if name in layer.dynamics}
    optimizer = torch.optim.AdamW(layer.parameters(), 1e-3, weight_decay=0.0)
    inputs, wanted = (draw(4, 30, 16, seed=seed, dtype=torch.bfloat16) for seed in (1, 2))
    for _ in range(100):
        optimizer.zero_grad()
        (layer(inputs) - wanted).square().mean().backward()
        optimizer.step()
    for name, value in before.items():
        moved = (getattr(layer, name) - value).abs()
        if name == "M":  # the diagonal of M - M^T is zero
            moved = moved[:, *torch.triu_indices(16, 16, 1)]
        assert (moved > 1e-3).double().mean() > 0.95


def test_a_model_in_sixteen_bits_trains_and_loads():
    model = SequenceClassifier(lambda: LRU(8, 16), 8, 3, features=2, depth=1).bfloat16()
    scores = model(draw(2, 9, 2).bfloat16(), torch.tensor([9, 4]))
    scores.float().sum().backward()
    assert scores.dtype == torch.bfloat16
    assert all(each.grad.dtype == each.dtype for each in model.parameters())
    narrow = {name: each.bfloat16() for name, each in model.state_dict().items()}
    for assign in (False, True):
        model.load_state_dict(narrow, assign=assign)
        assert model.blocks[0].recurrence.nu.dtype == torch.float32
        assert model.head.weight.dtype == torch.bfloat16


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    "change",
    [
        parametrizations.orthogonal,
        parametrizations.spectral_norm,
        parametrizations.weight_norm,
        torch.nn.utils.spectral_norm,
        torch.nn.utils.weight_norm,
        lambda layer, name: prune.l1_unstructured(layer, name, 3),
    ],
)
def test_a_kernel_that_is_computed_is_kept(change):
    layer = change(make("orthogonal", dtype=torch.float32), "W").eval()
    layer(draw(2, 5, 3, dtype=torch.float32))  # older ways compute it in a call
    kernel = layer.W.detach().clone()
    layer = layer.bfloat16()
    assert layer(draw(2, 5, 3, dtype=torch.bfloat16)).dtype == torch.bfloat16
    assert torch.equal(layer.W, kernel)
    assert layer.B.dtype == torch.bfloat16


@pytest.mark.parametrize("kind", [kind for kind in MAKERS if MAKERS[kind]().dynamics])
def test_dynamics_that_were_rounded_are_refused(kind):
    """Whoever hands parameters in 16 bits to a call, as mixed precision of FSDP does, is told so."""
    layer, inputs = make(kind, dtype=torch.float32), draw(2, 5, 3, dtype=torch.float32)
    for name in layer.dynamics:
        if getattr(layer, name) is not None:
            narrow = {name: getattr(layer, name).bfloat16()}
            with pytest.raises(
                ValueError, match=r"must be in float32 or float64, got torch\.bfloat16: give FSDP a group"
            ):
                torch.func.functional_call(layer, narrow, (inputs,))
    rest = {name: getattr(layer, name).bfloat16() for name in ("B", "C", "D")}
    torch.func.functional_call(layer, rest, (inputs,))
    parametrizations.weight_norm(layer, layer.dynamics[-1] if layer.dynamics[-1] != "gamma_log" else "nu")
    original = next(name for name, _ in layer.named_parameters() if "original" in name)
    with pytest.raises(ValueError, match=r"got torch\.float16"):
        torch.func.functional_call(layer, {original: dict(layer.named_parameters())[original].half()}, (inputs,))


def test_mean_of_a_long_sequence_stays_in_range():
    model = SequenceClassifier(lambda: LRU(2, 2), 2, 2, features=2, depth=1).half()
    sequence = torch.full((1, 70_000, 2), 2.0, dtype=torch.float16)
    assert model._pooled(sequence, torch.tensor([70_000])).tolist() == [[2.0, 2.0]]
    assert math.isinf(sequence.sum(1)[0, 0].item())
