"""A model that was inspected on a batch is as it was before."""

import pytest
import torch
from torch import nn

from signalprop.inspection import inspect


class Stateful(nn.Module):
    """All that a forward pass may change."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        self.drop = nn.Dropout(0.5)
        self.recurrence = nn.LSTM(3, 4, num_layers=2, dropout=0.3, batch_first=True)
        self.register_buffer("seen", torch.zeros(()))
        self.register_buffer("last", torch.zeros(2, 4), persistent=False)
        self.hidden = None
        self.calls = 0

    def forward(self, inputs):
        self.calls += 1
        self.seen += 1
        out, self.hidden = self.recurrence(self.drop(self.norm(inputs.mT).mT), self.hidden)
        self.last = out[:, -1].detach()
        self.fresh = True
        return out


def hooks_of(model):
    return sum(len(value) for module in model.modules() for name, value in vars(module).items() if "hooks" in name)


@pytest.mark.parametrize("training", [True, False])
def test_everything_is_as_it_was(training):
    torch.manual_seed(3)
    model = Stateful()
    model(torch.randn(2, 5, 3)).sum().backward()
    model.drop.train(training)
    model.norm.train(not training)
    model.recurrence.weight_ih_l0.requires_grad_(False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    buffers = dict(model.named_buffers())
    gradients = {
        name: (one.grad, None if one.grad is None else one.grad.clone()) for name, one in model.named_parameters()
    }
    flags = {name: one.training for name, one in model.named_modules()}
    attributes, random = (model.hidden, model.calls), torch.get_rng_state()
    x = torch.randn(2, 30, 3)
    torch.set_rng_state(random)
    copy = x.clone()

    found = inspect(model, x)

    assert found.layers[0].measured.longest == 30
    assert torch.equal(torch.get_rng_state(), random)
    assert torch.equal(x, copy)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(value is buffers[name] for name, value in model.named_buffers())
    for name, one in model.named_parameters():
        assert one.grad is gradients[name][0]
        assert one.grad is None or torch.equal(one.grad, gradients[name][1])
    assert not model.recurrence.weight_ih_l0.requires_grad
    assert {name: one.training for name, one in model.named_modules()} == flags
    assert (model.hidden, model.calls) == attributes
    assert model.fresh
    assert hooks_of(model) == 0


def test_also_where_the_model_raises():
    class Breaks(Stateful):
        def forward(self, inputs):
            super().forward(inputs)
            raise RuntimeError("too\nmuch.")

    model = Breaks()
    state = torch.get_rng_state()
    with pytest.raises(ValueError, match=r"^model must run on the batch, and raises RuntimeError: too much\.$"):
        inspect(model, torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0)))
    assert (model.calls, model.hidden, float(model.seen)) == (0, None, 0.0)
    assert not hasattr(model, "fresh")
    assert torch.equal(torch.get_rng_state(), state)
    assert hooks_of(model) == 0


def test_inside_no_grad_and_inference_mode():
    model, x = nn.GRU(2, 3), torch.randn(10, 1, 2)
    expected = inspect(model, x).layers[0].measured.gradient_band.median
    for context in (torch.no_grad, torch.inference_mode):
        with context():
            assert (inspect(model, x).layers[0].measured.gradient_band.median == expected).all()


def test_mixed_precision_is_measured_as_it_runs():
    model, x = nn.RNN(2, 3), torch.randn(10, 1, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert inspect(model, x).layers[0].measured.computed_in == "bfloat16"
    assert inspect(model, x).layers[0].measured.computed_in == "float32"

    class Casts(nn.Module):
        def __init__(self):
            super().__init__()
            self.recurrence = model

        def forward(self, inputs):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return self.recurrence(inputs)[0]

    inside = inspect(Casts(), x).layers[0].measured
    assert inside.computed_in == "bfloat16"
    # bfloat16 keeps 8 bits: other numbers than float32 gives.
    assert (inside.forward.median != inspect(model, x).layers[0].measured.forward.median).all()
