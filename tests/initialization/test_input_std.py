"""What inputs add to the preactivations of recurrent layers, as a batch shows it."""

import math

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from signalprop.initialization.torch import init_recurrent_, input_std_of


def drawn(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_one_layer_by_hand():
    x = 2.0 * drawn(30, 4, 5) + 1.0
    rnn = nn.RNN(5, 40, dtype=torch.float64)
    added = (x @ rnn.weight_ih_l0.T + rnn.bias_ih_l0 + rnn.bias_hh_l0).detach()
    found = input_std_of(rnn, x)
    assert found == {"weight_ih_l0": pytest.approx(float(added.std(correction=0)))}
    lstm = nn.LSTM(5, 40, dtype=torch.float64, batch_first=True)
    assert input_std_of(lstm, x) == {
        "weight_ih_l0": pytest.approx(float((x @ lstm.weight_ih_l0.T).detach().std(correction=0)))
    }


OPTIONS = [{}, {"bidirectional": True}, {"bias": False}, {"batch_first": True}]
CASES = [(make, more) for make in (nn.RNN, nn.GRU, nn.LSTM) for more in OPTIONS] + [(nn.LSTM, {"proj_size": 4})]


@pytest.mark.parametrize(("make", "more"), CASES)
def test_layers_above_get_the_states_below(make, more):
    module = make(3, 10, num_layers=3, dtype=torch.float64, **more)
    x = drawn(6, 7, 3)
    found = input_std_of(module, x)
    # A module of two layers with the same weights: its output is what the third gets.
    two = make(3, 10, num_layers=2, dtype=torch.float64, **more)
    two.load_state_dict({name: module.state_dict()[name] for name in two.state_dict()})
    states = two(x)[0].detach()
    ends = ("", "_reverse") if "bidirectional" in more else ("",)
    assert list(found) == [f"weight_ih_l{layer}{end}" for layer in range(3) for end in ends]
    for end in ends:
        added = states @ getattr(module, f"weight_ih_l2{end}").detach().T
        if make is nn.RNN and module.bias:
            added = (added + getattr(module, f"bias_ih_l2{end}") + getattr(module, f"bias_hh_l2{end}")).detach()
        assert found[f"weight_ih_l2{end}"] == pytest.approx(float(added.std(correction=0)))


def test_inside_a_model_that_is_left_as_it_was():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.drop, self.norm = nn.Embedding(9, 6), nn.Dropout(0.5), nn.BatchNorm1d(6)
            self.rnn, self.cell = nn.GRU(6, 8), nn.RNNCell(8, 8)
            self.norm.eval()

        def forward(self, words, offset):
            y, _ = self.rnn(input=self.norm(self.drop(self.embed(words + offset))))
            h = None
            for step in y:
                h = self.cell(step, h)
            return h

    model = Model()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    found = input_std_of(model, (torch.arange(8), 1))
    assert torch.equal(torch.get_rng_state(), state)
    assert list(found) == ["rnn.weight_ih_l0", "cell.weight_ih"]
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [part.training for part in (model, model.drop, model.norm)] == [True, True, False]
    assert not model.rnn._forward_pre_hooks
    assert "rnn.bias_ih_l0" in init_recurrent_(model, 20, input_std=found)


def test_padding_is_not_counted_where_sequences_are_packed():
    rnn = nn.RNN(3, 8, num_layers=2, bias=False, dtype=torch.float64)
    x = drawn(5, 2, 3)
    x[2:, 1] = 1e3
    packed = pack_padded_sequence(x, [5, 2])
    found = input_std_of(rnn, packed)
    real = torch.cat([x[:, 0], x[:2, 1]]) @ rnn.weight_ih_l0.detach().T
    assert found["weight_ih_l0"] == pytest.approx(float(real.std(correction=0)))
    assert 0.0 < found["weight_ih_l1"] < 10.0


def test_bad_input():
    class Unused(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(3, 4)

        def forward(self, x):
            return x

    with pytest.raises(ValueError, match=r"module does not call the layer of rnn\.weight_ih_l0 on this batch"):
        input_std_of(Unused(), torch.zeros(2, 3))
    with pytest.raises(ValueError, match="batch gives weight_ih_l0 inputs that are not finite"):
        input_std_of(nn.RNN(3, 4), torch.full((2, 1, 3), math.nan))
    with pytest.raises(ValueError, match="Linear holds no RNN"):
        input_std_of(nn.Linear(3, 4), torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"module must be a torch\.nn\.Module, got 3"):
        input_std_of(3, torch.zeros(2, 3))
    rnn = nn.RNN(3, 4)
    with pytest.raises(RuntimeError):
        input_std_of(rnn, torch.zeros(2, 1, 5))
    assert not rnn._forward_pre_hooks
    assert rnn.training
