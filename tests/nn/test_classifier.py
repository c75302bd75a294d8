import io

import pytest
import torch
from layers import MAKERS, draw
from torch import nn
from torch.nn import functional

from signalprop.nn import LRU, Bidirectional, ResidualBlock, RotRNN, SequenceClassifier, state_energies

KINDS = ["lru", "rotrnn odd", "dense"]


def classifier(kind="lru", seed=0, **options):
    torch.manual_seed(seed)
    options = {"features": 2, "depth": 2} | options
    return SequenceClassifier(lambda: MAKERS[kind](4), 4, 3, **options)


def inputs(*shape, seed=1):
    return draw(*shape, seed=seed, dtype=torch.float32)


def test_block_is_its_formula():
    torch.manual_seed(0)
    block, x = ResidualBlock(LRU(4, 6), 4), inputs(2, 7, 4)
    mixed = functional.gelu(block.recurrence(functional.layer_norm(x, (4,))))
    value, gate = (mixed @ block.gate.weight.T + block.gate.bias).chunk(2, -1)
    torch.testing.assert_close(block(x), x + value * torch.sigmoid(gate))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("pooling", ["mean", "last"])
def test_padding_does_not_matter(kind, bidirectional, pooling):
    model = classifier(kind, bidirectional=bidirectional, pooling=pooling)
    x, lengths = inputs(3, 9, 2), [9, 4, 1]
    x[1, 4:] = torch.nan
    scores = model(x, torch.tensor(lengths))
    for item, length in enumerate(lengths):
        alone = model(x[item : item + 1, :length])
        torch.testing.assert_close(scores[item : item + 1], alone, rtol=1e-4, atol=1e-5)
    scores.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


def test_tokens():
    model = classifier(vocabulary=7, features=None)
    tokens = torch.randint(7, (3, 9), generator=torch.Generator().manual_seed(0))
    lengths = torch.tensor([9, 4, 1])
    padded = tokens.clone()
    padded[1, 4:] = 1000  # out of the vocabulary, but never looked up
    assert torch.equal(model(padded, lengths), model(tokens, lengths))


def test_second_direction_has_no_feedthrough():
    model = classifier(bidirectional=True)
    for block in model.blocks:
        assert isinstance(block.recurrence, Bidirectional)
        assert block.recurrence.ahead.D is not None
        assert block.recurrence.back.D is None


@pytest.mark.parametrize(
    ("kind", "bidirectional", "backend"),
    [("lru", True, "aot_eager"), ("rotrnn odd", False, "aot_eager"), ("dense", False, "eager")],
)
def test_compiled_model_gives_the_same(kind, bidirectional, backend):
    torch._dynamo.reset()
    model, x, lengths = classifier(kind, depth=1, bidirectional=bidirectional), inputs(3, 9, 2), torch.tensor([9, 4, 1])
    found = []
    for run in (model, torch.compile(model, backend=backend, fullgraph=True)):
        model.zero_grad()
        scores = run(x, lengths)
        scores.square().sum().backward()
        found.append([scores.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
    for plain, compiled in zip(*found, strict=True):
        torch.testing.assert_close(compiled, plain)


def test_autocast_trains():
    model, x = classifier("rotrnn odd"), inputs(3, 9, 2)
    with torch.autocast("cpu", torch.bfloat16):
        loss = functional.cross_entropy(model(x), torch.tensor([0, 1, 2]))
    loss.backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


def test_saved():
    model, other, x = classifier(), classifier(seed=1), inputs(3, 9, 2)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(x), model(x))


@pytest.mark.parametrize("kind", KINDS)
def test_learns_eight_sequences_by_heart(kind):
    torch.manual_seed(0)
    model = SequenceClassifier(lambda: MAKERS[kind](16), 16, 3, features=2, depth=1)
    x, labels = inputs(8, 20, 2), torch.arange(8) % 3
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4


def test_hidden_nan_is_named():
    model, x = classifier(), inputs(3, 9, 2)
    x[2, 5, 0] = torch.nan
    with pytest.raises(ValueError, match=r"the inputs become nan at step 5 of batch item 2 \(both counted from 0\)"):
        model(x)
    assert torch.isnan(classifier(check_finite=False)(x)).any()
    x[2, 5, 0] = 0.0
    with torch.no_grad():
        model.blocks[1].recurrence.C.fill_(torch.inf)
    with pytest.raises(
        FloatingPointError, match=r"the outputs of blocks.1 \(LRU\) become \S+ at step 0 of batch item 0"
    ):
        model(x)
    model = classifier()
    nn.init.constant_(model.head.weight, torch.nan)
    with pytest.raises(FloatingPointError, match="all blocks are; look at the weights of norm and head"):
        model(x)


def test_energies_of_all_layers():
    model, x = classifier("rotrnn", bidirectional=True), inputs(3, 9, 2)
    found = state_energies(model, x, torch.tensor([9, 4, 1]))
    assert list(found) == [f"blocks.{block}.recurrence.{way}" for block in (0, 1) for way in ("ahead", "back")]
    first = model.blocks[0]
    wanted = first.recurrence.back.state_energy(first.norm(model.encoder(x)).flip(1))
    torch.testing.assert_close(state_energies(model, x)["blocks.0.recurrence.back"], wanted)
    assert not any(part._forward_pre_hooks for part in model.modules())


def test_a_sum_that_overflows_is_not_an_error():
    layer = RotRNN(2, 4, check_finite=True)
    large = torch.full((1, 4, 2), 3e38)
    with torch.no_grad():
        layer.C.zero_()
        layer.D.fill_(1.0)
    assert torch.equal(layer(large), large)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: classifier(vocabulary=3), "give either vocabulary, .* got vocabulary=3 and features=2"),
        (lambda: classifier(features=None), "got vocabulary=None and features=None"),
        (lambda: classifier(pooling="max"), "pooling must be one of .* got 'max'"),
        (lambda: classifier(dropout=1.5), "dropout must be a probability, got 1.5"),
        (lambda: classifier(dropout="0"), "dropout must be a probability, got '0'"),
        (lambda: classifier(bidirectional="false"), "bidirectional must be True or False, got 'false'"),
        (
            lambda: SequenceClassifier(LRU(4, 4), 4, 3, features=2),
            "recurrence must be a function that makes a layer, .* got LRU",
        ),
        (lambda: SequenceClassifier(lambda: 3, 4, 3, features=2), "recurrence must be a torch.nn.Module, got int"),
        (
            lambda: SequenceClassifier(lambda: LRU(5, 4), 4, 3, features=2),
            "the recurrence must have d_model=4, got LRU",
        ),
        (lambda: ResidualBlock(LRU(4, 4), 4)(torch.ones(2, 3, 5)), r"shape \(batch, time, 4\), got \(2, 3, 5\)"),
        (
            lambda: classifier()(torch.ones(2, 3, 2).long()),
            "inputs must be real floating-point numbers, got type torch.int64",
        ),
        (lambda: classifier(vocabulary=7, features=None)(torch.ones(2, 3)), "tokens must be of type int64 or int32"),
        (lambda: classifier(vocabulary=7, features=None)(torch.tensor([[0, 7]])), r"tokens must lie in 0..6, got 7"),
        (lambda: classifier(vocabulary=7, features=None)(torch.tensor([[0, -1]])), r"tokens must lie in 0..6, got -1"),
        (lambda: classifier(depth=2**70), "depth must be at most 10000"),
        (
            lambda: classifier(dropout=torch.ones(2, 3)),
            r"dropout must be a probability, got a Tensor of shape \(2, 3\)",
        ),
        (lambda: classifier(depth=0), "depth must be at least 1, got 0"),
        (lambda: classifier()(torch.ones(3, 9)), r"inputs must have shape \(batch, time, 2\).* got \(3, 9\)"),
        (lambda: classifier()(torch.ones(3, 0, 2)), r"with at least one time step, got \(3, 0, 2\)"),
        (lambda: classifier()(torch.ones(3, 9, 2), torch.tensor([1, 2])), "lengths must be 3 whole numbers"),
        (lambda: classifier()(torch.ones(1, 9, 2), torch.tensor([0])), r"lengths must lie in 1..9, got 0"),
        (lambda: classifier()(torch.ones(1, 9, 2), torch.tensor([10])), r"lengths must lie in 1..9, got 10"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
