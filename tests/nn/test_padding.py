"""Nothing that is averaged over a batch with lengths sees a pad."""

import pytest
import torch
from layers import MAKERS, by_definition, draw, make
from torch import nn

from signalprop.nn import LRU, Bidirectional, ResidualBlock, SequenceClassifier, state_energies

LENGTHS = [9, 4, 1, 7]


def wanted_energy(layer, inputs, lengths=LENGTHS):
    """At each step the mean over the sequences that reach it, one after the other."""
    paths = [by_definition(layer, inputs[item : item + 1, :length])[1][0] for item, length in enumerate(lengths)]
    reached = [[path[t] for path in paths if len(path) > t] for t in range(max(lengths))]
    return torch.stack([torch.stack(each).mean() for each in reached])


def near(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", MAKERS)
def test_energy_of_a_layer(kind):
    layer, inputs = make(kind), draw(4, 12, 3)
    wanted = wanted_energy(layer, inputs)
    for item, length in enumerate(LENGTHS):
        inputs[item, length:] = torch.nan
    near(layer.state_energy(inputs, torch.tensor(LENGTHS)), wanted)


def models():
    torch.manual_seed(0)
    both = SequenceClassifier(lambda: LRU(3, 5), 3, 2, features=3, depth=1, bidirectional=True).double()
    yield both
    yield torch.compile(both, backend="eager")
    yield nn.DataParallel(both)


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("how", ["position", "keyword"])
def test_energies_of_a_model(place, how):
    model, inputs, lengths = list(models())[place], draw(4, 12, 3), torch.tensor(LENGTHS)
    found = (
        state_energies(model, inputs, lengths) if how == "position" else state_energies(model, inputs, lengths=lengths)
    )
    core = next(each for each in model.modules() if isinstance(each, SequenceClassifier))
    block = core.blocks[0]
    normed = block.norm(core.encoder(inputs))
    ahead, back = (next(value for name, value in found.items() if name.endswith(way)) for way in ("ahead", "back"))
    near(ahead, wanted_energy(block.recurrence.ahead, normed.detach()))
    turned = torch.zeros_like(normed)
    for item, length in enumerate(LENGTHS):
        turned[item, :length] = normed[item, :length].flip(0)
    near(back, wanted_energy(block.recurrence.back, turned.detach()))
    assert all(name in dict(model.named_modules()) for name in found)
    assert not any(each._forward_pre_hooks or each._forward_hooks for each in model.modules())


class Plain(nn.Module):
    """A model that is not told of lengths, calls its layer by keyword, and twice."""

    def __init__(self):
        super().__init__()
        self.layer = make("lru")

    def forward(self, sequence, scale=1.0):
        return self.layer(inputs=scale * self.layer(inputs=sequence)).sum()


def test_a_model_of_ones_own():
    model, inputs, lengths = Plain(), draw(4, 12, 3), torch.tensor(LENGTHS)
    found = state_energies(model, inputs, lengths=lengths, scale=2.0)
    assert list(found) == ["layer", "layer, call 2"]
    near(found["layer"], wanted_energy(model.layer, inputs))
    near(found["layer, call 2"], wanted_energy(model.layer, 2 * model.layer(inputs).detach()))
    near(state_energies(model, inputs)["layer"], by_definition(model.layer, inputs)[1].mean(0))


def test_lengths_reach_a_compiled_layer_and_one_of_ones_own():
    class Own(nn.Module):
        def forward(self, inputs, lengths=None):
            self.seen = lengths
            return inputs

    both, lengths, inputs = Bidirectional(make("lru"), make("lru")), torch.tensor(LENGTHS), draw(4, 12, 3)
    plain, compiled = ResidualBlock(both, 3).double(), ResidualBlock(torch.compile(both, backend="eager"), 3).double()
    compiled.load_state_dict(
        {name.replace("recurrence.", "recurrence._orig_mod."): each for name, each in plain.state_dict().items()}
    )
    with torch.no_grad():
        near(compiled(inputs, lengths), plain(inputs, lengths))
    block = ResidualBlock(Own(), 3).double()
    block(inputs, lengths)
    assert block.recurrence.seen is lengths


def test_padding_that_overflows_is_not_reported():
    # As if the state of the second sequence had left float32 past its own 2 steps; no score depends on it.
    layer = make("lru", dtype=torch.float32)
    broken = torch.zeros(2, 4, 1, dtype=torch.bool)
    broken[1, 3] = True
    layer.register_forward_hook(lambda _, given, outputs: outputs.masked_fill(broken, torch.inf))
    model = SequenceClassifier(lambda: layer, 3, 2, features=3, depth=1)
    sequence = torch.zeros(2, 4, 3)
    with torch.no_grad():
        model.head.weight.fill_(torch.nan)
    with pytest.raises(FloatingPointError, match="the scores are not finite though all blocks are"):
        model(sequence, torch.tensor([4, 2]))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int32, torch.uint16, torch.uint64])
@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_lengths_of_any_whole_type(dtype, pooling):
    model = SequenceClassifier(
        lambda: make("lru"), 3, 2, features=3, depth=1, bidirectional=True, pooling=pooling, dtype=torch.float64
    )
    inputs, lengths = draw(4, 12, 3), torch.tensor(LENGTHS)
    near(model(inputs, lengths.to(dtype)), model(inputs, lengths))
    near(model.blocks[0].recurrence.ahead.state_energy(inputs, lengths.to(dtype)), wanted_energy(make("lru"), inputs))
    with pytest.raises(ValueError, match=r"lengths must lie in 1\.\.12, got 13"):
        model(inputs, torch.tensor([13, 1, 1, 1]).to(dtype))


PACKED = nn.utils.rnn.pack_padded_sequence(draw(2, 4, 3), torch.tensor([4, 2]), batch_first=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: make("lru")(PACKED),
        lambda: make("lru").states(PACKED),
        lambda: make("lru").state_energy(PACKED),
        lambda: make("lru").step(PACKED, make("lru").initial_state(2)),
        lambda: make("dense").advance(PACKED, make("dense").initial_state(2)),
        lambda: Bidirectional(make("lru"), make("lru"))(PACKED),
        lambda: ResidualBlock(make("lru"), 3)(PACKED),
        lambda: SequenceClassifier(lambda: make("lru"), 3, 2, features=3)(PACKED),
        lambda: state_energies(make("lru"), PACKED),
        lambda: make("lru")(torch.nested.nested_tensor([draw(4, 3), draw(2, 3)], layout=torch.jagged)),
    ],
)
def test_packed_sequences_are_told_of_lengths(call):
    with pytest.raises(ValueError, match=r"must be one padded tensor .* got a .* give the lengths .* as lengths="):
        call()


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([4, 2], "lengths must be a tensor of 2 whole numbers, got list"),
        (torch.tensor([4.0, 2.0]), r"lengths must be 2 whole numbers, got shape \(2,\) of torch.float32"),
        (torch.tensor([True, True]), r"lengths must be 2 whole numbers, got shape \(2,\) of torch.bool"),
        (torch.tensor([4, 2, 1]), r"lengths must be 2 whole numbers, got shape \(3,\) of torch.int64"),
        (torch.tensor([[4], [2]]), r"lengths must be 2 whole numbers, got shape \(2, 1\)"),
        (torch.tensor([4, 0]), r"lengths must lie in 1..4, got 0"),
        (torch.tensor([5, 2]), r"lengths must lie in 1..4, got 5"),
    ],
)
@pytest.mark.parametrize("model", ["energy", "both ways", "classifier", "energies"])
def test_bad_lengths(lengths, message, model):
    inputs = draw(2, 4, 3)
    calls = {
        "energy": lambda: make("lru").state_energy(inputs, lengths),
        "both ways": lambda: Bidirectional(make("lru"), make("lru"))(inputs, lengths),
        "classifier": lambda: SequenceClassifier(lambda: make("lru"), 3, 2, features=3)(inputs.float(), lengths),
        "energies": lambda: state_energies(make("lru"), inputs, lengths=lengths),
    }
    with pytest.raises(ValueError, match=message):
        calls[model]()


def test_no_sequences_have_no_mean():
    with pytest.raises(ValueError, match="needs at least one sequence, got a batch of 0"):
        make("lru").state_energy(torch.empty(0, 4, 3).double())
