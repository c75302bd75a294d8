"""`init_recurrent_` for the networks that people train: kernels of each kind, biases of gates, and the gradient that flows."""

import dataclasses
import math
import pickle
import warnings

import numpy as np
import pytest
import torch
from gaussian import assert_real_gaussian
from scipy import stats
from torch import nn
from torch.nn.utils import prune

from signalprop import meanfield
from signalprop.cells import CELLS as GATES
from signalprop.initialization import STARTS
from signalprop.initialization.torch import init_recurrent_

MAKERS = {
    "tanh": lambda **more: nn.RNN(3, 24, **more),
    "relu": lambda **more: nn.RNN(3, 24, nonlinearity="relu", **more),
    "gru": lambda **more: nn.GRU(3, 24, **more),
    "lstm": lambda **more: nn.LSTM(3, 24, **more),
}
CELLS = {
    "tanh": lambda: nn.RNNCell(3, 24),
    "relu": lambda: nn.RNNCell(3, 24, nonlinearity="relu"),
    "gru": lambda: nn.GRUCell(3, 24),
    "lstm": lambda: nn.LSTMCell(3, 24),
}
KEEPS = {"gru": "update_gate", "lstm": "forget_gate"}


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def parameters(module):
    return {name: value.detach().clone() for name, value in module.named_parameters()}


def blocks(tensor, count):
    return tensor.detach().double().chunk(count)


def is_orthogonal(matrix, g=1.0):
    return torch.allclose(matrix.T @ matrix, g * g * torch.eye(len(matrix), dtype=matrix.dtype), atol=1e-5)


@pytest.mark.parametrize("cell", STARTS)
@pytest.mark.parametrize("more", [{}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True}])
def test_what_each_module_gets(cell, more):
    module, known = MAKERS[cell](**more), GATES[cell]
    before = parameters(module)
    done = init_recurrent_(module, 50, generator=seeded(0))
    count = len(known.gates)
    for name, value in module.named_parameters():
        if name.startswith("weight_hh"):
            for block in blocks(value, count):
                g = float(block.square().sum(1).mean().sqrt())
                assert is_orthogonal(block, g)
                assert g == pytest.approx(1.0)
            assert name in done
        elif name.startswith("bias_ih") and known.memory:
            given = dict(zip(known.gates, blocks(value, count), strict=True))
            kept = dict(zip(known.gates, blocks(before[name], count), strict=True))
            for gate, values in given.items():
                if gate not in known.memory:
                    assert torch.equal(values, kept[gate])
            keeps = given[KEEPS[cell]]
            (row,) = (row for row in done.rows if (row.parameter, row.part) == (name, KEEPS[cell].replace("_", " ")))
            low, high = meanfield.keeping_bias([0.0, math.log(49)], row.numbers["input_std"])
            assert (row.numbers["lowest"], row.numbers["highest"]) == (low, high)
            assert low - 1e-6 <= float(keeps.min()) < float(keeps.max()) <= high + 1e-6
            if cell == "lstm":
                assert torch.equal(given["input_gate"], -keeps)
        elif name.startswith("bias_hh") and known.memory:
            for gate, values in zip(known.gates, blocks(value, count), strict=True):
                assert bool(values.any()) == (gate not in known.memory)
        else:
            assert torch.equal(value, before[name])
            assert name not in done
    if cell == "relu":
        assert torch.equal(module.weight_hh_l0.detach(), torch.eye(24))


@pytest.mark.parametrize("cell", STARTS)
def test_a_cell_gets_what_the_layer_gets(cell):
    one, layer = CELLS[cell](), MAKERS[cell]()
    with torch.no_grad():
        for name, value in one.named_parameters():
            value.copy_(getattr(layer, f"{name}_l0"))
    done = init_recurrent_(one, 50, generator=seeded(3))
    assert init_recurrent_(layer, 50, generator=seeded(3)) == [f"{name}_l0" for name in done]
    for name, value in one.named_parameters():
        assert torch.equal(value, getattr(layer, f"{name}_l0"))


def test_it_stands_in_one_place_how_a_cell_starts():
    """What the registry says is what is done: another kind in it, another kernel."""
    record = STARTS["tanh"]
    changed = dataclasses.replace(record, kind="identity", leak=0.25)
    STARTS._records["tanh"] = changed
    try:
        rnn = nn.RNN(3, 200)
        init_recurrent_(rnn, 50, generator=seeded(0))
        rest = rnn.weight_hh_l0.detach() - 0.75 * torch.eye(200)
        assert_real_gaussian(rest.numpy() / 0.25, 1.0 / 200)
    finally:
        STARTS._records["tanh"] = record


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal"])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_critical_scale_is_that_of_the_inputs_of_each_layer(kind, layers):
    module = nn.RNN(3, 64, num_layers=layers, dtype=torch.float64)
    done = init_recurrent_(module, kind=kind, scale="critical", generator=seeded(3))
    assert len(done) == layers
    for row in done.rows:
        g = float(getattr(module, row.parameter).detach().square().sum(1).mean().sqrt())
        assert row.numbers["scale"] == pytest.approx(float(meanfield.critical_scale("tanh", row.numbers["input_std"])))
        assert g == pytest.approx(row.numbers["scale"], rel=1e-5 if kind == "orthogonal" else 0.1)
    relu = nn.RNN(3, 64, nonlinearity="relu")
    init_recurrent_(relu, kind="orthogonal", scale="critical")
    assert is_orthogonal(relu.weight_hh_l0, math.sqrt(2.0))


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (lambda: nn.LSTM(3, 4), {"horizon": 5}, "weight_hh_l0: gates keep a gradient by their biases; leave it out"),
        (lambda: nn.RNN(3, 4, nonlinearity="relu"), {}, "would get the identity; give a kind"),
        (lambda: nn.RNN(3, 4), {"kind": "identity"}, "got kind='identity' too; leave one out"),
        (lambda: nn.RNN(3, 4), {"horizon": 5, "criterion": "edge"}, "got 'criterion' too; leave one out"),
    ],
)
def test_what_has_no_critical_scale(make, options, words):
    module = make()
    before = parameters(module)
    with pytest.raises(ValueError, match=words):
        init_recurrent_(module, **options, scale="critical")
    assert all(torch.equal(before[name], value) for name, value in module.named_parameters())
    with pytest.raises(ValueError, match="scale must be a number or 'critical', got 'edge'"):
        init_recurrent_(module, 5, scale="edge")


@pytest.mark.parametrize("cell", STARTS)
@pytest.mark.parametrize("scale", [None, 0.7])
def test_every_kind_of_kernel(cell, scale):
    n, count = 120, len(GATES[cell].gates)
    makers = {
        "tanh": nn.RNN,
        "relu": lambda *sizes: nn.RNN(*sizes, nonlinearity="relu"),
        "gru": nn.GRU,
        "lstm": nn.LSTM,
    }
    module = makers[cell](3, n)
    own = math.sqrt(2.0) if cell == "relu" else 1.0
    g = own if scale is None else scale
    options = {"generator": seeded(1), "input_std": 0.5, "biases": None, "scale": scale}
    horizon = 50 if scale is None else None
    init_recurrent_(module, horizon, kind="gaussian", **options)
    drawn = [block.numpy() for block in blocks(module.weight_hh_l0, count)]
    for block in drawn:
        assert_real_gaussian(block, g * g / n)
    assert not any(np.array_equal(drawn[0], other) for other in drawn[1:])
    init_recurrent_(module, horizon, kind="orthogonal", **options)
    for block in blocks(module.weight_hh_l0, count):
        assert is_orthogonal(block, g)
    g = 1.0 if scale is None else scale
    init_recurrent_(module, horizon, kind="identity", **options)
    for block in blocks(module.weight_hh_l0, count):
        torch.testing.assert_close(block, g * torch.eye(n, dtype=torch.float64), rtol=1e-6, atol=0)
    init_recurrent_(module, horizon, kind="identity", leak=0.1, **options)
    for block in blocks(module.weight_hh_l0, count):
        assert_real_gaussian((block - 0.9 * torch.eye(n)).numpy(), (0.1 * g) ** 2 / n)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("horizon", [3, 200, 10**6])
def test_the_law_of_the_biases(cell, horizon):
    n = 1000
    module = (nn.GRUCell if cell == "gru" else nn.LSTMCell)(1, n, dtype=torch.float64)
    init_recurrent_(module, horizon, kind="identity", input_std=0.0, generator=seeded(2))
    keeps = GATES[cell].gates.index(KEEPS[cell])
    u = module.bias_ih.detach().chunk(len(GATES[cell].gates))[keeps].exp().numpy()
    assert stats.kstest((u - 1.0) / (horizon - 2.0), "uniform").pvalue > 0.01
    # What a unit keeps per step without other inputs, 1 - 1/memory.
    memory = 1.0 + u
    assert 2.0 <= memory.min() < memory.max() <= horizon + 1e-6


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("input_std", [0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("horizon", [3, 200])
def test_the_law_of_the_biases_makes_up_for_inputs(cell, input_std, horizon):
    """What they keep under such inputs is what log u would keep without: sigmoid(log u) = 1 - 1/(1 + u)."""
    module = (nn.GRUCell if cell == "gru" else nn.LSTMCell)(1, 500)
    init_recurrent_(module, horizon, kind="identity", input_std=input_std, generator=seeded(2))
    keeps = GATES[cell].gates.index(KEEPS[cell])
    found = module.bias_ih.detach().double().chunk(len(GATES[cell].gates))[keeps].numpy()
    z = np.linspace(-9.0, 9.0, 4001)
    shares = 1.0 / (1.0 + np.exp(-found[:, None] - input_std * z))
    energy = (shares**2 @ np.exp(-0.5 * z * z)) * (z[1] - z[0]) / math.sqrt(2.0 * math.pi)
    u = np.sqrt(energy) / (1.0 - np.sqrt(energy))
    assert stats.kstest((u - 1.0) / (horizon - 2.0), "uniform").pvalue > 0.01


def test_what_the_table_says_of_inputs():
    def of(input_std, **more):
        done = init_recurrent_(nn.GRU(3, 8), 200, input_std=input_std, generator=seeded(0), **more)
        return next(row.law for row in done.rows if row.parameter == "bias_ih_l0")

    assert of(1.0) == "log U(1, 199), plus what makes up for inputs of std 1: memories of 2 to 200 steps"
    assert of(0.1) == of(0.0) == "log U(1, 199): memories of 2 to 200 steps"
    b = float(meanfield.keeping_bias(math.log(199), 2.0))
    assert (
        of(2.0, biases="constant") == f"{b:.4g} = log 199 plus what makes up for inputs of std 2: a memory of 200 steps"
    )


def test_what_inputs_add_to_gates_is_read_from_the_weights():
    """From W x alone: the biases that a start has set before do not shake anything."""
    features = 100  # enough for what they add to different gates to be independent
    module = nn.LSTM(features, 60, num_layers=2, bidirectional=True, dtype=torch.float64)
    with torch.no_grad():
        for name, value in module.named_parameters():
            if name.startswith("bias"):
                value.zero_()  # those of the candidate stand still, but the states that mean-field theory has know none
        for end in ("", "_reverse"):
            getattr(module, f"weight_ih_l0{end}").normal_(std=2.0 / math.sqrt(features), generator=seeded(1))
            getattr(module, f"weight_ih_l1{end}").normal_(generator=seeded(2))
    first, again = (init_recurrent_(module, 100, generator=seeded(3)) for _ in range(2))
    assert first.rows == again.rows
    added = {row.parameter: row.numbers["input_std"] for row in first.rows if row.part == "forget gate"}
    below = nn.LSTM(features, 60, bidirectional=True, dtype=torch.float64)
    with torch.no_grad():
        for name, value in below.named_parameters():
            value.copy_(getattr(module, name))
        x = torch.randn(400, 8, features, dtype=torch.float64, generator=seeded(4))
        states = below(x)[0][100:300]
        for end in ("", "_reverse"):
            measured = float((x @ getattr(module, f"weight_ih_l0{end}").T).std())
            assert added[f"bias_ih_l0{end}"] == pytest.approx(measured, rel=0.1)
            measured = float((states @ getattr(module, f"weight_ih_l1{end}").T).std())
            assert added[f"bias_ih_l1{end}"] == pytest.approx(measured, rel=0.3)


@pytest.mark.parametrize("kind", ["identity", "gaussian", "orthogonal"])
@pytest.mark.parametrize("leak", [None, 0.2])
def test_stacks_of_every_kind(kind, leak):
    lstm = nn.LSTM(5, 16, num_layers=3)
    done = init_recurrent_(lstm, 50, kind=kind, leak=leak if kind == "identity" else None)
    assert "bias_ih_l2" in done


@pytest.mark.parametrize("law", ["chrono", "constant"])
def test_short_horizons_and_the_constant_law(law):
    for horizon in (1, 2):
        lstm = nn.LSTM(2, 8)
        done = init_recurrent_(lstm, horizon, biases=law, input_std=0.0, generator=seeded(0))
        assert not lstm.bias_ih_l0[:16].any()
        assert "a memory of 2 steps" in str(done)
        done = init_recurrent_(lstm, horizon, biases=law, input_std=3.0)
        b = torch.full((8,), float(meanfield.keeping_bias(0.0, 3.0)))
        torch.testing.assert_close(lstm.bias_ih_l0[:16].detach(), torch.cat([-b, b]))
    lstm = nn.LSTM(2, 8, dtype=torch.float64)
    init_recurrent_(lstm, 100, biases="constant", input_std=0.0)
    i, f, _, _ = torch.sigmoid(lstm.bias_ih_l0.detach() + lstm.bias_hh_l0.detach()).chunk(4)
    torch.testing.assert_close(f, torch.full_like(f, 1 - 1 / 100))
    torch.testing.assert_close(i, torch.full_like(i, 1 / 100))
    init_recurrent_(lstm, 100, biases="constant", input_std=2.0)
    b = torch.full((8,), float(meanfield.keeping_bias(math.log(99.0), 2.0)), dtype=torch.float64)
    torch.testing.assert_close(lstm.bias_ih_l0[:16].detach(), torch.cat([-b, b]))


def test_what_is_asked_of_linear_theory_leaves_biases_alone():
    for options in ({"criterion": "bounded"}, {"tolerance": 0.2, "criterion": "bounded"}, {"quantile": 0.9}):
        lstm = nn.LSTM(2, 8)
        before = parameters(lstm)
        assert init_recurrent_(lstm, 30, **options) == ["weight_hh_l0"]
        assert torch.equal(lstm.bias_ih_l0, before["bias_ih_l0"])
    assert init_recurrent_(lstm, scale=0.5) == ["weight_hh_l0"]
    assert init_recurrent_(lstm, 30, biases=None) == ["weight_hh_l0"]
    names = ["weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    assert init_recurrent_(lstm, 30, criterion="bounded", biases="chrono") == names
    assert init_recurrent_(lstm, 30, scale=0.5) == names


def test_numbers_come_from_the_generator_alone():
    state = torch.get_rng_state()
    made = [nn.LSTM(2, 8, num_layers=2) for _ in range(3)]
    for other in made[1:]:
        other.load_state_dict(made[0].state_dict())
    state = torch.get_rng_state()
    for module, seed in zip(made, (5, 5, 6), strict=True):
        init_recurrent_(module, 40, input_kernel=True, generator=seeded(seed))
    assert torch.equal(torch.get_rng_state(), state)
    first, again, other = (parameters(module) for module in made)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first if not name.startswith("bias_hh"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_types_of_numbers(dtype):
    lstm = nn.LSTM(2, 32, dtype=dtype)
    init_recurrent_(lstm, 40, input_kernel=True, generator=seeded(0))
    assert all(value.dtype == dtype for value in lstm.parameters())
    for block in blocks(lstm.weight_hh_l0, 4):
        gram = block.T @ block
        assert float((gram - torch.eye(32)).abs().max()) < 8 * torch.finfo(dtype).eps


def test_a_projection_keeps_lengths_in_its_dimensions():
    lstm = nn.LSTM(3, 40, proj_size=10, dtype=torch.float64)
    assert init_recurrent_(lstm, 50, generator=seeded(0)) == [
        "weight_hh_l0",
        "weight_hr_l0",
        "bias_ih_l0",
        "bias_hh_l0",
    ]
    for block in lstm.weight_hh_l0.detach().chunk(4):
        singular = torch.linalg.svdvals(block @ lstm.weight_hr_l0.detach())
        torch.testing.assert_close(singular[:10], torch.ones(10, dtype=torch.float64))
        assert float(singular[10:].max()) < 1e-12
    wide = nn.LSTM(3, 200, proj_size=100, dtype=torch.float64)
    init_recurrent_(wide, 50, kind="gaussian", generator=seeded(0))
    for block in wide.weight_hh_l0.detach().chunk(4):
        assert_real_gaussian(block.numpy(), 1 / 100)
    assert_real_gaussian(wide.weight_hr_l0.detach().numpy(), 1 / 200)


def test_a_shared_parameter_is_filled_once_or_refused():
    model = nn.ModuleList([nn.LSTMCell(3, 8), nn.LSTMCell(3, 8)])
    for name in ("weight_hh", "bias_ih", "bias_hh"):
        setattr(model[1], name, getattr(model[0], name))
    alone = nn.LSTMCell(3, 8)
    alone.load_state_dict(model[0].state_dict())
    same = {"input_std": 0.5}
    assert init_recurrent_(model, 30, generator=seeded(1), **same) == ["0.weight_hh", "0.bias_ih", "0.bias_hh"]
    init_recurrent_(alone, 30, generator=seeded(1), **same)
    assert torch.equal(model[1].weight_hh, alone.weight_hh)
    assert torch.equal(model[1].bias_ih, alone.bias_ih)
    other = {"0.weight_ih": 1.0, "1.weight_ih": 2.0}
    with pytest.raises(ValueError, match=r"1\.bias_ih and 0\.bias_ih are one parameter, .* inputs of std 2.* std 1"):
        init_recurrent_(model, 30, input_std=other)
    tied = nn.LSTMCell(3, 8)
    tied.bias_hh = tied.bias_ih
    before = parameters(tied)
    with pytest.raises(ValueError, match="bias_hh and bias_ih are one parameter, which would be filled in two ways"):
        init_recurrent_(tied, 30)
    mixed = nn.ModuleList([nn.RNNCell(3, 8), nn.RNNCell(3, 8, nonlinearity="relu")])
    mixed[1].weight_hh = mixed[0].weight_hh
    with pytest.raises(ValueError, match=r"1\.weight_hh and 0\.weight_hh are one parameter"):
        init_recurrent_(mixed, 30)
    assert all(torch.equal(value, before[name]) for name, value in tied.named_parameters())


def log_gradient(module, horizon, input_std, generator):
    """log-energy of a random gradient at the last state, carried back to the first, over what it starts with."""
    n = module.hidden_size
    x = torch.randn(horizon, 1, module.input_size, dtype=torch.float64, generator=generator)
    with torch.no_grad():
        module.weight_ih_l0.normal_(generator=generator).mul_(input_std / math.sqrt(module.input_size))
    starts = [
        torch.zeros(1, 1, n, dtype=torch.float64, requires_grad=True) for _ in range(1 + isinstance(module, nn.LSTM))
    ]
    _, ends = module(x, tuple(starts) if len(starts) == 2 else starts[0])
    ends = ends if isinstance(ends, tuple) else (ends,)
    sent = [torch.randn(end.shape, dtype=torch.float64, generator=generator) for end in ends]
    found = torch.autograd.grad(ends, starts, sent)
    return math.log(sum(float(g.square().sum()) for g in found) / sum(float(g.square().sum()) for g in sent))


@pytest.mark.parametrize("cell", STARTS)
def test_the_gradient_flows(cell):
    """Over 100 steps, with inputs that add 1, through tanh at the critical scale; as PyTorch makes the module nothing is left."""
    n, horizon = 64, 100
    medians = {}
    for start in ("default", "start"):
        found = []
        for seed in range(8):
            torch.manual_seed(seed)
            make = {"lstm": nn.LSTM, "gru": nn.GRU}.get(cell, nn.RNN)
            more = {"nonlinearity": cell} if make is nn.RNN else {}
            module = make(n, n, dtype=torch.float64, **more)
            if start == "start":
                more = {"kind": "orthogonal", "scale": "critical"} if cell == "tanh" else {}
                init_recurrent_(module, horizon, input_std=1.0, generator=seeded(seed), **more)
            found.append(log_gradient(module, horizon, 1.0, seeded(seed)))
        medians[start] = np.median(found)
    assert abs(medians["start"]) < 8.0, medians
    assert medians["default"] < -80.0, medians


@pytest.mark.parametrize(
    ("s", "most"),
    [
        pytest.param(0.3, 6.0, marks=pytest.mark.slow),
        (1.0, 6.0),
        pytest.param(1.5, 6.0, marks=pytest.mark.slow),
        (3.0, 12.0),
    ],
)
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_the_gradient_flows_whatever_the_inputs_add(cell, s, most):
    """Biases that make up for nothing leave e^-17 of it at s = 3."""
    n, horizon = 64, 100
    found = []
    for seed in range(8):
        torch.manual_seed(seed)
        module = (nn.LSTM if cell == "lstm" else nn.GRU)(n, n, dtype=torch.float64)
        init_recurrent_(module, horizon, input_std=s, generator=seeded(seed))
        found.append(log_gradient(module, horizon, s, seeded(seed)))
    assert abs(np.median(found)) < most


def test_inputs_are_read_from_the_weights_where_nothing_is_said():
    rnn = nn.RNN(5, 300, num_layers=2, dtype=torch.float64)
    first, second = (
        row.numbers for row in init_recurrent_(rnn, kind="gaussian", scale="critical", generator=seeded(0)).rows
    )
    bias = (rnn.bias_ih_l0 + rnn.bias_hh_l0).square().mean()
    assert first["input_std"] == pytest.approx(float((rnn.weight_ih_l0.square().sum(1).mean() + bias).sqrt().detach()))
    # Layers above get the states: what they add is what a run of the layer finds.
    y, _ = nn.RNN(5, 300, dtype=torch.float64), None
    with torch.no_grad():
        for name, value in y.named_parameters():
            value.copy_(getattr(rnn, name))
        states, _ = y(torch.randn(300, 8, 5, dtype=torch.float64, generator=seeded(1)))
        added = states[100:] @ rnn.weight_ih_l1.T + rnn.bias_ih_l1 + rnn.bias_hh_l1
    assert second["input_std"] == pytest.approx(float(added.std()), rel=0.1)


@pytest.mark.parametrize("cell", STARTS)
@pytest.mark.parametrize("more", [{}, {"bidirectional": True}])
def test_input_kernels_add_what_was_asked_in_every_layer(cell, more):
    n, horizon, s = 200, 60, 0.8
    makers = {"lstm": nn.LSTM, "gru": nn.GRU}
    plain = {} if cell in makers else {"nonlinearity": cell}
    module = makers.get(cell, nn.RNN)(6, n, num_layers=2, dtype=torch.float64, **plain, **more)
    done = init_recurrent_(module, horizon, input_std=s, input_kernel=True, generator=seeded(4))
    assert "weight_ih_l1" in done
    assert_real_gaussian(module.weight_ih_l0.detach().numpy(), s * s / 6)
    below = type(module)(6, n, dtype=torch.float64, **plain, **more)
    with torch.no_grad():
        for name, value in below.named_parameters():
            value.copy_(getattr(module, name))
        states, _ = below(torch.randn(horizon, 16, 6, dtype=torch.float64, generator=seeded(5)))
        added = states @ module.weight_ih_l1.T
    # Mean-field theory of states that have settled, against the average over the first steps.
    assert 0.6 * s < float(added.square().mean().sqrt()) < 1.5 * s


def test_a_number_for_each_layer():
    rnn = nn.RNN(3, 20, num_layers=2)
    given = {"weight_ih_l0": 1.0, "weight_ih_l1": 0.3}
    rows = init_recurrent_(rnn, 50, scale="critical", input_std=given).rows
    assert [row.numbers["input_std"] for row in rows] == [1.0, 0.3]
    assert rows[0].numbers["scale"] == pytest.approx(1.8556, abs=2e-4)
    assert rows[1].numbers["scale"] == pytest.approx(1.3957, abs=2e-4)


def test_the_answer_is_a_list_and_prints_as_a_table():
    model = nn.ModuleDict({"a_module_with_a_name_that_is_long": nn.LSTM(3, 8, num_layers=2, bidirectional=True)})
    model["b"] = nn.RNN(3, 8)
    done = init_recurrent_(model, 30, input_kernel=True)
    assert isinstance(done, list)
    assert len(done) == 18
    assert done[-1] == "b.weight_ih_l0"
    assert set(done) <= set(parameters(model))
    lines = str(done).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["parameter", "part", "set", "to"]
    assert "log U(1, 29): memories of 2 to 30 steps" in " ".join(
        str(init_recurrent_(nn.GRU(3, 8), 30, input_std=0.1)).split()
    )
    assert repr(done) == str(done)
    again = pickle.loads(pickle.dumps(done))
    assert again == done
    assert again.rows == done.rows


def quantised():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.LSTM(3, 4)), {nn.LSTM}, dtype=torch.qint8)


def normed(name):
    lstm = nn.LSTM(3, 4)
    nn.utils.parametrizations.weight_norm(lstm, name)
    return lstm


def pruned():
    lstm = nn.LSTM(3, 4)
    prune.l1_unstructured(lstm, "bias_ih_l0", amount=2)
    return lstm


def unfilled():
    rnn = nn.RNN(3, 4)
    with torch.no_grad():
        rnn.weight_ih_l0.fill_(math.nan)
    return rnn


def wide(module):
    with torch.no_grad():
        module.weight_ih_l0.fill_(20.0)
    return module


class Mine(nn.RNNCellBase):
    def __init__(self):
        super().__init__(3, 4, True, 2)


REFUSED = [
    (lambda: nn.LSTM(3, 4), {"horizon": 0}, "horizon must be at least 1, got 0"),
    (lambda: nn.LSTM(3, 4), {"horizon": 2.5}, "horizon must be a whole number, got 2.5"),
    (lambda: nn.LSTM(3, 4), {"input_std": -1.0}, "input_std must be 0 or lie between 1e-06 and 100, got -1.0"),
    (lambda: nn.LSTM(3, 4), {"input_std": math.nan}, "input_std must be 0 or lie .* got nan"),
    (
        lambda: nn.LSTM(3, 4),
        {"input_std": 11.0},
        "input_std must lie between 0 and 10, got 11.0. Normalise inputs that are larger",
    ),
    (lambda: wide(nn.GRU(3, 4)), {}, r"inputs add \S+ to the preactivations of weight_ih_l0 as it is, more than 10;"),
    (lambda: wide(nn.LSTM(3, 4)), {"biases": "constant"}, r"inputs add \S+ to the preactivations .* more than 10;"),
    (lambda: nn.GRU(3, 4), {"input_std": {"weight_ih_l1": 1.0}}, "no number for weight_ih_l0, only for 'weight_ih_l1'"),
    (lambda: nn.RNN(3, 4), {"input_std": {}}, r"input_std must be a number, or have one for each weight_ih, got \{\}"),
    (lambda: nn.RNN(3, 4), {"input_std": {"weight_ih_l1": 1.0}}, "no number for weight_ih_l0, only for 'weight_ih_l1'"),
    (lambda: nn.RNN(3, 4), {"input_std": {"weight_ih_l0": "1"}}, r"input_std\['weight_ih_l0'\] must be a real number"),
    (
        lambda: nn.LSTM(3, 4),
        {"kind": "glorot"},
        "kind must be one of 'gaussian', 'orthogonal' or 'identity', got 'glorot'",
    ),
    (lambda: nn.LSTM(3, 4), {"biases": "ones"}, "biases must be one of 'auto', 'chrono' or 'constant', got 'ones'"),
    (lambda: nn.LSTM(3, 4), {"input_kernel": 1}, "input_kernel must be True or False, got 1"),
    (lambda: nn.LSTM(3, 4), {"leak": 0.1}, "leak is the a of .* needs kind='identity', got kind=None"),
    (lambda: nn.LSTM(3, 4), {"leak": 1.5, "kind": "identity"}, "leak must be above 0 and at most 1, got 1.5"),
    (
        lambda: nn.LSTM(3, 4),
        {"criterion": "edge", "kind": "orthogonal"},
        "'criterion' picks a scale for Gaussian kernels",
    ),
    (lambda: nn.LSTM(3, 4), {"horizon": None, "kind": "orthogonal"}, "give either horizon"),
    (lambda: nn.LSTM(3, 4), {"horizon": None, "scale": 1.0, "biases": "chrono"}, "biases='chrono' needs horizon"),
    (lambda: nn.RNN(3, 4), {"scale": 1.0}, "give either horizon"),
    (lambda: nn.LSTM(3, 4), {"scale": 1.0, "biases": None}, "give either horizon"),
    (lambda: nn.LSTM(3, 4, bias=False), {}, r"module \(LSTM\) has bias=False, and its memory is set by biases"),
    (lambda: nn.Sequential(nn.GRU(3, 4, bias=False)), {}, r"^0 \(GRU\) has bias=False"),
    (lambda: nn.LSTM(3, 4, proj_size=2), {"kind": "identity"}, "with proj_size=2 its gates are not square"),
    (lambda: nn.LSTM(3, 4, proj_size=2), {"criterion": "edge"}, "with proj_size=2 the recurrent kernel is not square"),
    (quantised, {}, "0 is a quantised LSTM, whose weights are packed"),
    (lambda: normed("weight_hh_l0"), {}, "weight_hh_l0 is computed from other parameters"),
    (pruned, {}, "bias_ih_l0 is computed from other parameters"),
    (lambda: normed("weight_ih_l0"), {"input_kernel": True}, "weight_ih_l0 is computed from other parameters"),
    (unfilled, {"scale": "critical"}, r"a \(4, 3\) parameter of the module is not finite"),
    (lambda: nn.Linear(3, 4), {}, "Linear holds no RNN, GRU, LSTM or cell of these"),
    (Mine, {}, "weight_hh belongs to a Mine, a cell without a start of its own"),
    (
        lambda: nn.LSTM(3, 4, dtype=torch.complex64),
        {},
        "weight_hh_l0 must be real to be filled for lstm, got complex64",
    ),
    (
        lambda: nn.RNN(3, 4, num_layers=2),
        {"kind": "identity", "input_kernel": True},
        "kind='identity' gives weight_hh_l0 states whose size no theory here has",
    ),
]


@pytest.mark.parametrize(("make", "options", "message"), REFUSED)
def test_one_sentence_and_nothing_changed(make, options, message):
    module = make()
    before = parameters(module)
    with pytest.raises(ValueError, match=message):
        init_recurrent_(module, **{"horizon": 20, **options})
    for name, value in module.named_parameters():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "last", [lambda: nn.GRU(3, 4, bias=False), lambda: nn.LSTM(3, 4, dtype=torch.complex64), pruned, Mine]
)
def test_nothing_changes_where_the_last_part_cannot_be_filled(last):
    model = nn.ModuleList([nn.LSTM(3, 5), nn.RNN(3, 5), last()])
    before = parameters(model)
    with pytest.raises(ValueError, match=r"^2\b"):
        init_recurrent_(model, 20, input_kernel=True)
    assert all(torch.equal(value, before[name]) for name, value in model.named_parameters())


def test_weights_that_are_computed_are_read_all_the_same():
    """Only what is filled must be a parameter of its own."""
    assert init_recurrent_(normed("weight_ih_l0"), 30) == ["weight_hh_l0", "bias_ih_l0", "bias_hh_l0"]
    rnn = nn.utils.parametrizations.weight_norm(nn.RNN(3, 4), "weight_ih_l0")
    assert init_recurrent_(rnn, 30) == ["weight_hh_l0"]


def test_a_cell_of_ones_own_takes_a_scale():
    assert init_recurrent_(Mine(), scale=0.5) == ["weight_hh"]


def test_on_the_meta_device():
    state = torch.get_rng_state()
    for make in (nn.RNN, nn.GRU, nn.LSTM):
        module = make(3, 4, num_layers=2, device="meta")
        for kind in (None, "gaussian", "orthogonal", "identity"):
            assert "weight_hh_l1" in init_recurrent_(module, 20, kind=kind)
    assert torch.equal(torch.get_rng_state(), state)
