"""Gradients measured on a batch against PyTorch's own over the whole graph, in float64."""

import numpy as np
import pytest
import torch
import unrolled
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from signalprop.inspection import inspect
from signalprop.inspection.measured import adjoint
from signalprop.inspection.measured.measure import _cotangents
from signalprop.inspection.measured.record import quantiles


def module_of(kind, features, units, **options):
    torch.manual_seed(1)
    made = {
        "tanh": lambda: nn.RNN(features, units, **options),
        "relu": lambda: nn.RNN(features, units, nonlinearity="relu", **options),
        "gru": lambda: nn.GRU(features, units, **options),
        "lstm": lambda: nn.LSTM(features, units, **options),
    }[kind]().double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(1.5)
    return made


def agree(found, samples, tolerance=1e-9):
    """The measured band at its steps is that of the samples."""
    band = found.measured.gradient_band
    for level, row in ((0.1, band.low), (0.5, band.median), (0.9, band.high)):
        np.testing.assert_allclose(row, quantiles(samples, (level,))[0][band.steps], rtol=tolerance, atol=tolerance)
    median = quantiles(samples, (0.5,))[0]
    assert found.measured.gradient.by_e == (int(np.argmax(median <= -1.0)) if (median <= -1.0).any() else None)


@pytest.mark.parametrize("kind", ["tanh", "relu", "gru", "lstm"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}])
def test_whole_sequences(kind, options):
    module = module_of(kind, 3, 5, **options)
    x = torch.randn(12, 2, 3, dtype=torch.float64)
    found = inspect(module, x)
    expected = unrolled.layers(module, x, [0, 0], [12, 12], False, _cotangents(2))
    assert len(found.layers) == len(expected)
    for layer, samples in zip(found.layers, expected, strict=True):
        agree(layer, samples)


@pytest.mark.parametrize("kind", ["relu", "gru", "lstm"])
def test_packed_sequences_end_each_at_its_own_step(kind):
    module = module_of(kind, 3, 5, num_layers=2, bidirectional=True)
    x, lengths = torch.randn(9, 3, 3, dtype=torch.float64), [4, 9, 7]
    packed = pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
    found = inspect(module, packed)
    expected = unrolled.layers(module, x, [0, 0, 0], lengths, True, _cotangents(3))
    for layer, samples in zip(found.layers, expected, strict=True):
        agree(layer, samples)
        assert (layer.measured.shortest, layer.measured.longest) == (4, 9)


class Padded(nn.Module):
    """Runs its recurrence over padding, as many models do."""

    def __init__(self, recurrence):
        super().__init__()
        self.recurrence = recurrence

    def forward(self, inputs, attention_mask=None):
        return self.recurrence(inputs)[0]


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_padding_on_either_side_does_not_count(kind):
    module = module_of(kind, 3, 4, num_layers=2, bidirectional=True, batch_first=True)
    x = torch.randn(3, 9, 3, dtype=torch.float64)
    mask = torch.ones(3, 9, dtype=torch.long)
    mask[0, 6:] = 0
    mask[1, :4] = 0
    found = inspect(Padded(module), {"inputs": x, "attention_mask": mask})
    expected = unrolled.layers(module, x.transpose(0, 1), [0, 4, 0], [6, 9, 9], False, _cotangents(3))
    for layer, samples in zip(found.layers, expected, strict=True):
        agree(layer, samples)
        assert layer.measured.shortest == 5


def test_lengths_are_kept_from_a_model_that_does_not_take_them():
    module = module_of("gru", 3, 4, batch_first=True)
    x = torch.randn(2, 9, 3, dtype=torch.float64)
    found = inspect(module, {"input": x, "lengths": torch.tensor([5, 9])})
    expected = unrolled.layers(module, x.transpose(0, 1), [0, 0], [5, 9], False, _cotangents(2))
    agree(found.layers[0], expected[0])


def test_a_projection_and_a_given_state():
    module = module_of("lstm", 3, 6, proj_size=4, num_layers=2)
    x = torch.randn(8, 2, 3, dtype=torch.float64)
    hidden = (torch.randn(2, 2, 4, dtype=torch.float64), torch.randn(2, 2, 6, dtype=torch.float64))
    found = inspect(module, (x, hidden))
    expected = unrolled.layers(module, x, [0, 0], [8, 8], False, _cotangents(2), hidden)
    for layer, samples in zip(found.layers, expected, strict=True):
        agree(layer, samples)


def test_one_sequence_without_an_axis_of_sequences():
    module = module_of("gru", 3, 4)
    x = torch.randn(8, 3, dtype=torch.float64)
    expected = unrolled.layers(module, x[:, None], [0], [8], False, _cotangents(1))
    agree(inspect(module, x).layers[0], expected[0])


class Loop(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, inputs):
        state = None
        for x in inputs:
            state = self.cell(x, state)
        return state


@pytest.mark.parametrize("kind", ["tanh", "relu", "gru", "lstm"])
def test_cells_in_a_loop_are_one_sequence(kind):
    whole = module_of(kind, 3, 5)
    cell = {
        "tanh": lambda: nn.RNNCell(3, 5),
        "relu": lambda: nn.RNNCell(3, 5, nonlinearity="relu"),
        "gru": lambda: nn.GRUCell(3, 5),
        "lstm": lambda: nn.LSTMCell(3, 5),
    }[kind]().double()
    cell.load_state_dict({name.removesuffix("_l0"): value for name, value in whole.state_dict().items()})
    x = torch.randn(12, 2, 3, dtype=torch.float64)
    expected = unrolled.layers(whole, x, [0, 0], [12, 12], False, _cotangents(2))
    agree(inspect(Loop(cell), x).layers[0], expected[0])


def test_calls_that_go_on_are_one_sequence():
    class Halves(nn.Module):
        def __init__(self, recurrence):
            super().__init__()
            self.recurrence = recurrence

        def forward(self, inputs):
            first, state = self.recurrence(inputs[:5])
            return first, self.recurrence(inputs[5:], state)

    module = module_of("lstm", 3, 5)
    x = torch.randn(12, 2, 3, dtype=torch.float64)
    expected = unrolled.layers(module, x, [0, 0], [12, 12], False, _cotangents(2))
    agree(inspect(Halves(module), x).layers[0], expected[0])


@pytest.mark.parametrize("every", [1, 5, 64])
def test_chunks_of_any_size_give_one_answer(every, monkeypatch):
    module = module_of("lstm", 3, 5, bidirectional=True)
    packed = pack_padded_sequence(torch.randn(40, 3, 3, dtype=torch.float64), torch.tensor([40, 21, 3]))
    whole = inspect(module, packed).layers
    monkeypatch.setattr(adjoint, "chunk_of", lambda course: every)
    for one, other in zip(whole, inspect(module, packed).layers, strict=True):
        for name in ("low", "median", "high"):
            mine, its = (getattr(layer.measured.gradient_band, name) for layer in (one, other))
            np.testing.assert_allclose(mine, its, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_nothing_leaves_the_floats_of_any_type(dtype, factor):
    """W = factor I and no inputs: a rectifier that is open passes exactly factor^2 per step, over 3000 steps."""
    cell = nn.RNN(1, 4, nonlinearity="relu", bias=False).to(dtype)
    with torch.no_grad():
        cell.weight_hh_l0.copy_(factor * torch.eye(4))
        cell.weight_ih_l0.fill_(1.0 if factor < 1.0 else 0.0)
    steps = 3000 if factor < 1.0 else 60
    x = torch.ones(steps, 2, 1, dtype=dtype)
    start = torch.full((1, 2, 4), 2.0 ** (-14 if dtype == torch.float16 else -60), dtype=dtype)
    found = inspect(cell, (x, start)).layers[0].measured
    if factor < 1.0:
        assert found.gradient.reach == steps
        np.testing.assert_allclose(
            found.gradient_band.median, 2.0 * np.log(factor) * found.gradient_band.steps, rtol=1e-3
        )
    else:
        steps = found.gradient.steps
        np.testing.assert_allclose(found.gradient_band.median, 2.0 * np.log(factor) * steps, rtol=1e-3)
        assert found.gradient.grown == 2


def test_states_are_those_of_the_layer():
    module = module_of("gru", 3, 5)
    x = torch.randn(20, 3, 3, dtype=torch.float64)
    found = inspect(module, x).layers[0].measured.forward
    energies = np.sort(module(x)[0].detach().square().sum(-1).log().numpy(), axis=1)
    np.testing.assert_allclose(found.median, energies[found.steps - 1, 1], rtol=1e-12)
    np.testing.assert_allclose(found.high, energies[found.steps - 1, 2], rtol=1e-12)


def test_a_long_sequence_takes_little_memory(monkeypatch):
    """No graph holds more than one chunk: the most steps that are carried back at once."""
    seen = []
    through = adjoint._Sweep._through
    monkeypatch.setattr(
        adjoint._Sweep,
        "_through",
        lambda self, low, high, state: seen.append(high - low) or through(self, low, high, state),
    )
    module = nn.GRU(1, 4)
    found = inspect(module, torch.randn(5000, 1, 1)).layers[0].measured
    assert found.gradient.reach == 5000
    assert sum(seen) >= 5000
    assert max(seen) <= 256
