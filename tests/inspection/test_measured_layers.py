"""Layers of the package against their formulas; layers whose states cannot be reached, by their outputs."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from signalprop._streams import stream
from signalprop.inspection import inspect
from signalprop.inspection.measured import outputs
from signalprop.inspection.measured.record import quantiles
from signalprop.nn import LRU, Bidirectional, DenseLinearRNN, GatedRecurrence, RotRNN, SequenceClassifier
from signalprop.nn.recurrence import Gates


def draws(cotangents, batch, out):
    return stream(0, "cotangents", out).standard_normal((cotangents, batch, out))


def test_a_dense_layer_carries_back_powers_of_its_transpose():
    torch.manual_seed(0)
    layer = DenseLinearRNN(3, 6, horizon=20).double()
    found = inspect(layer, torch.randn(2, 30, 3, dtype=torch.float64)).layers[0].measured
    W, C = layer.W.detach().numpy(), layer.C.detach().numpy()
    v = (draws(8, 2, 3) @ C).reshape(-1, 6)
    logs = [np.log((v**2).sum(1))]
    for _ in range(30):
        v = v @ W
        logs.append(np.log((v**2).sum(1)))
    samples = np.array(logs).T - logs[0][:, None]
    np.testing.assert_allclose(
        found.gradient_band.median, quantiles(samples, (0.5,))[0][found.gradient_band.steps], rtol=1e-9
    )


def test_a_diagonal_layer_and_its_states():
    torch.manual_seed(0)
    for layer in (LRU(3, 4).double(), RotRNN(3, 8, heads=2).double()):
        x = torch.randn(1, 25, 3, dtype=torch.float64)
        found = inspect(layer, x).layers[0].measured
        states = layer.states(x)[0].detach().square().sum(-1).log().numpy()
        np.testing.assert_allclose(found.forward.median, states[found.forward.steps - 1], rtol=1e-9)


class Fading(GatedRecurrence):
    """A decay that the inputs set."""

    gated_by = ("W",)

    def __init__(self, d_model, d_state):
        super().__init__(d_model, d_state)
        self.W = self.new_parameter(d_state, d_model)
        self.reset_parameters()

    def reset_parameters(self):
        super().reset_parameters()
        nn.init.normal_(self.W)

    def gates(self, inputs, weights):
        return Gates(decay=(inputs @ weights["W"].mT).sigmoid(), leave=1.0 + inputs[..., :1].abs())


def test_gates_that_inputs_set():
    torch.manual_seed(0)
    layer = Fading(3, 4).double()
    x = torch.randn(2, 15, 3, dtype=torch.float64)
    (report,) = inspect(layer, x).layers
    assert report.adapter == ""
    assert report.gradient is None
    decay = torch.sigmoid(x @ layer.W.detach().T).numpy()
    v = draws(8, 2, 3) @ layer.C.detach().numpy()
    samples = [np.zeros((8, 2))]
    first = np.log((v**2).sum(-1))
    for t in reversed(range(15)):
        v = v * decay[:, t]
        samples.append(np.log((v**2).sum(-1)) - first)
    samples = np.array(samples).reshape(16, -1).T
    steps = report.measured.gradient_band.steps
    np.testing.assert_allclose(report.measured.gradient_band.median, quantiles(samples, (0.5,))[0][steps], rtol=1e-9)


def test_classifiers_with_lengths_in_both_directions():
    torch.manual_seed(0)
    model = SequenceClassifier(lambda: LRU(4, 6), 4, 3, features=2, depth=2, bidirectional=True)
    x, lengths = torch.randn(2, 20, 2), torch.tensor([20, 7])
    found = inspect(model, (x, lengths))
    assert len(found.layers) == 4
    assert all((one.measured.shortest, one.measured.longest) == (7, 20) for one in found.layers)
    for name in ("ahead", "back"):
        alone = inspect(model, (x[1:, :7],))[f"blocks.0.recurrence.{name}"].measured
        both = inspect(model, (x[1:], lengths[1:]))[f"blocks.0.recurrence.{name}"].measured
        np.testing.assert_allclose(alone.forward.median, both.forward.median, rtol=1e-5)
        np.testing.assert_allclose(alone.gradient_band.median, both.gradient_band.median, rtol=1e-5, atol=1e-6)


class Heads(nn.Module):
    """Named as Mamba 2 is, with decays that no input changes; each head reads and writes a channel of its own."""

    def __init__(self, rates, time=1.0):
        super().__init__()
        step = torch.full((len(rates),), time)
        self.A_log = nn.Parameter(torch.log(torch.tensor(rates) / step))
        self.dt_bias = nn.Parameter(torch.log(torch.expm1(step)))
        self.D = nn.Parameter(torch.full((len(rates),), 50.0))

    def forward(self, hidden_states, cache_params=None, attention_mask=None):
        decay = torch.exp(-self.A_log.exp() * functional.softplus(self.dt_bias))
        state, out = torch.zeros_like(hidden_states[:, 0]), []
        for x in hidden_states.unbind(1):
            state = decay * state + x
            out.append(state + self.D * x)
        return torch.stack(out, 1)


class Model(nn.Module):
    def __init__(self, mixer):
        super().__init__()
        self.mixer = mixer

    def forward(self, inputs, attention_mask=None):
        return self.mixer(hidden_states=inputs, cache_params=object())


def test_outputs_of_a_layer_whose_states_cannot_be_reached():
    """One rate for all heads: a gradient falls by exp(-2 rate) per step, whatever passes beside the state."""
    (report,) = inspect(Model(Heads([0.11] * 4).double()), torch.randn(2, 60, 4, dtype=torch.float64)).layers
    assert report.adapter == "mamba2"
    found = report.measured
    assert found.how == "outputs"
    assert found.gradient.reach == 58
    np.testing.assert_allclose(found.gradient_band.median, -0.22 * found.gradient_band.steps, rtol=1e-5)
    assert (
        (found.gradient.by_e, found.gradient.by_hundred)
        == (report.gradient.by_e, report.gradient.by_hundred)
        == (5, 21)
    )


def test_outputs_with_padding_on_either_side():
    mask = torch.ones(2, 60)
    mask[0, 50:] = mask[1, :35] = 0.0
    x = torch.randn(2, 60, 4)
    (report,) = inspect(Model(Heads([0.1] * 4)), {"inputs": x, "attention_mask": mask}).layers
    assert (report.measured.shortest, report.measured.longest) == (25, 50)
    np.testing.assert_allclose(
        report.measured.gradient_band.median, -0.2 * report.measured.gradient_band.steps, rtol=1e-4
    )
    (alone,) = inspect(Model(Heads([0.1] * 4)), {"inputs": x[1:], "attention_mask": mask[1:]}).layers
    assert alone.measured.gradient.reach == 23  # of 25 steps the last one passes beside the state


def test_outputs_of_long_sequences_are_measured_at_their_end(monkeypatch):
    monkeypatch.setattr(outputs.sequence_of, "__defaults__", (40,))
    (report,) = inspect(Model(Heads([0.1] * 4)), torch.randn(2, 60, 4)).layers
    assert report.measured.notes == ("Only the last 40 of 60 steps are measured.",)
    assert report.measured.gradient.reach == 38


def test_layers_that_a_batch_does_not_reach_are_named():
    model = Bidirectional(LRU(3, 4), LRU(3, 4))
    model.spare = nn.ModuleDict({"mixer": Heads([0.1])})
    found = inspect(model, torch.randn(1, 10, 3))
    assert found.run.not_called == ("spare.mixer",)
    assert found["spare.mixer"].measured is None
    assert "This batch did not reach spare.mixer." in str(found)


@pytest.mark.parametrize("compiled", [False, True])
def test_wrappers(compiled):
    inner = nn.Sequential(nn.Linear(3, 3), nn.GRU(3, 4))
    model = torch.compile(inner, backend="eager") if compiled else nn.DataParallel(inner)
    (report,) = inspect(model, torch.randn(9, 2, 3)).layers
    assert report.measured.longest == 9
