import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.cell_trainings import __main__ as command
from benchmarks.cell_trainings import design as designs
from benchmarks.cell_trainings import starts
from benchmarks.cell_trainings.cells import LAYERS
from benchmarks.cell_trainings.design import Design, Group, best_rate, chosen_rate, costs, neighbour, run
from benchmarks.cell_trainings.results import open_results
from benchmarks.cell_trainings.starts import STARTS, input_std, parameters
from benchmarks.cell_trainings.tasks import BATCH, CUE_STEPS, IMAGES, task
from benchmarks.cell_trainings.training import CLIP, OUTCOMES, Batch, Cell
from signalprop import safe_scale
from signalprop.meanfield import chrono_biases, critical_scale

CELL = Cell("tanh", "adding", 8, "orthogonal", "trained", "tune", 1e-3, 0, 30)
MODULES = {
    "tanh": nn.RNN,
    "relu": lambda *sizes, **more: nn.RNN(*sizes, nonlinearity="relu", **more),
    "gru": nn.GRU,
    "lstm": nn.LSTM,
}
WEIGHTS = {"W": "weight_hh_l0", "U": "weight_ih_l0", "b_input": "bias_ih_l0", "b_hidden": "bias_hh_l0"}
ALL = [(cell, start) for cell, known in STARTS.items() for start in known]


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("asked", [1, 3, 9])
@pytest.mark.parametrize("cell", MODULES)
def test_states_and_gradients_are_those_of_pytorch(cell, asked):
    draw = torch.Generator().manual_seed(1)
    models, steps, batch, n, features = 2, 9, 4, 7, 3
    modules = [MODULES[cell](features, n) for _ in range(models)]
    for module in modules:
        for one in module.parameters():
            nn.init.normal_(one, std=0.4, generator=draw)
    given = {name: torch.stack([getattr(one, its).detach() for one in modules]) for name, its in WEIGHTS.items()}
    inputs = torch.randn(models, steps, batch, features, generator=draw)
    toward = torch.randn(models, asked, batch, n, generator=draw)
    layer = LAYERS[cell](models, steps, batch, n)
    found = {name: torch.full_like(one, math.nan) for name, one in given.items()}
    for _ in range(2):  # the buffers of the first time leave no trace
        states = layer.forward(*given.values(), inputs)
        layer.backward(given["W"], toward, found)
    for place, module in enumerate(modules):
        wanted = module(inputs[place])[0]
        torch.testing.assert_close(states[place], wanted)
        (wanted[-asked:] * toward[place]).sum().backward()
        for name, its in WEIGHTS.items():
            torch.testing.assert_close(found[name][place], getattr(module, its).grad)


@pytest.mark.usefixtures("double")
def test_a_linear_layer_is_a_sum_of_matrix_powers():
    draw = torch.Generator().manual_seed(2)
    W, U, b = (torch.randn(1, *shape, generator=draw) / 2.0 for shape in ((5, 5), (5, 2), (5,)))
    inputs = torch.randn(1, 6, 3, 2, generator=draw)
    states = LAYERS["linear"](1, 6, 3, 5).forward(W, U, b, torch.zeros(1, 5), inputs)
    entered = inputs[0] @ U[0].T + b[0]
    wanted = sum(entered[t] @ torch.linalg.matrix_power(W[0], 5 - t).T for t in range(6))
    torch.testing.assert_close(states[0, -1], wanted)


def test_inputs_of_another_order_are_refused():
    layer = LAYERS["tanh"](1, 6, 3, 5)
    with pytest.raises(ValueError, match=r"inputs must be \(models, steps, batch\) = \(1, 6, 3\), got \(1, 3, 6\)"):
        layer.forward(torch.zeros(1, 5, 5), torch.zeros(1, 5, 2), *torch.zeros(2, 1, 5), torch.zeros(1, 3, 6, 2))


def by_pytorch(cell, steps):
    """The same training by modules, autograd and optimiser of PyTorch: losses, first norm, held-out loss."""
    what = task(cell.task, cell.horizon)
    given = parameters(cell.cell, cell.start, what, cell.seed)
    layer = MODULES[cell.cell](what.features, starts.width(cell.cell), batch_first=True)
    readout = nn.Linear(starts.width(cell.cell), what.outputs)
    with torch.no_grad():
        for name, its in WEIGHTS.items():
            getattr(layer, its).copy_(given[name])
        readout.weight.copy_(given["C"])
        readout.bias.copy_(given["c"])
    layer.weight_hh_l0.requires_grad_(cell.recurrent == "trained")
    trained = [one for one in [*layer.parameters(), *readout.parameters()] if one.requires_grad]

    def loss_of(inputs, targets):
        answers = readout(layer(torch.from_numpy(inputs))[0][:, -what.answers :])
        targets = torch.from_numpy(targets)
        if what.classes:
            return nn.functional.cross_entropy(answers.transpose(1, 2), targets) / math.log(what.classes)
        return (answers[:, :, 0] - targets).square().mean()

    optimiser = torch.optim.Adam(trained, lr=cell.learning_rate)
    batches, losses, first = what.batches(cell.seed), [], None
    for _ in range(steps):
        optimiser.zero_grad()
        loss = loss_of(*next(batches))
        loss.backward()
        norm = nn.utils.clip_grad_norm_(trained, CLIP)
        first = float(norm) if first is None else first
        optimiser.step()
        losses.append(loss.item())
    return losses, first, loss_of(*what.held_out()).item()


@pytest.mark.parametrize(
    ("cell", "name", "horizon", "start", "recurrent"),
    [
        ("tanh", "adding", 8, "identity wide", "trained"),
        ("tanh", "noise", 8, "critical", "frozen"),
        ("relu", "copy", 10, "he wide", "trained"),
        ("gru", "copy", 10, "gaussian chrono", "trained"),
        ("lstm", "adding", 8, "orthogonal chrono wide", "frozen"),
        ("lstm", "rows", 10, "log", "trained"),
    ],
)
def test_training_is_that_of_pytorch(cell, name, horizon, start, recurrent):
    one = replace(CELL, cell=cell, task=name, horizon=horizon, start=start, recurrent=recurrent, learning_rate=3e-3)
    batch = Batch([one, replace(one, seed=1), replace(one, learning_rate=1e-4)])
    batch.train(20)
    losses = torch.stack(batch.losses)
    for place, its in enumerate(batch.cells):
        wanted, first, held = by_pytorch(its, 20)
        torch.testing.assert_close(losses[:, place], torch.tensor(wanted), rtol=2e-3, atol=2e-4)
        found = batch.outcomes()[place]
        assert found["gradient_norm"] == pytest.approx(first, rel=1e-4)
        assert found["loss"] == pytest.approx(held, rel=5e-3)
        assert (found["recurrent_gradient_norm"] is None) == (recurrent == "frozen")


def test_a_start_that_is_good_for_it_learns_the_task():
    batch = Batch([replace(CELL, start="identity wide"), replace(CELL, start="identity wide", learning_rate=0.0)])
    batch.train(300)
    good, still = batch.outcomes()
    assert set(good) == set(OUTCOMES)
    assert good["loss"] < 0.2
    assert 20 <= good["steps_to_half"] < 300
    assert still["loss"] > 0.7
    assert still["steps_to_half"] is None


def test_a_model_that_diverges_stops_and_leaves_the_others_alone():
    cells = [replace(CELL, cell="relu", start="he wide", horizon=12, learning_rate=rate) for rate in (1e30, 1e-3)]
    both, alone = Batch(cells), Batch(cells[1:])
    both.train(8)
    alone.train(8)
    wild, calm = both.outcomes()
    assert wild["stopped_at"] in range(2, 8)
    assert wild["loss"] == wild["train_loss"] == math.inf
    assert calm["stopped_at"] is None
    assert calm["loss"] == pytest.approx(alone.outcomes()[0]["loss"], rel=1e-4)
    assert not both.flat[0].any()


def test_frozen_kernels_stay():
    batch = Batch([replace(CELL, recurrent="frozen")])
    W, U = batch.W.clone(), batch.parameters["U"].clone()
    batch.train(3)
    assert torch.equal(batch.W, W)
    assert not torch.equal(batch.parameters["U"], U)


@pytest.mark.parametrize(
    ("name", "horizon"), [("adding", 30), ("copy", 30), ("noise", 30), ("digits", 70), ("rows", 12)]
)
def test_tasks_have_the_shapes_sizes_and_guesses_that_they_say(name, horizon):
    what = task(name, horizon)
    batches = what.batches(3)
    drawn = [next(batches) for _ in range(60)]
    inputs, targets = (np.concatenate(arrays) for arrays in zip(*drawn, strict=True))
    assert inputs.shape == (60 * BATCH, horizon, what.features)
    assert targets.shape == (60 * BATCH, what.answers)
    assert inputs.dtype == np.float32
    squares = (inputs.astype(float) ** 2).sum(-1)
    shown = squares[:, (squares > 0.0).any(0)]  # steps at which there are inputs
    assert float(shown.mean()) == pytest.approx(what.mean_square, rel=0.03)
    if what.classes:
        assert what.guess == math.log(what.classes)
        assert np.bincount(targets.ravel()).min() > 0.8 * targets.size / what.classes
    else:
        assert targets.mean() == pytest.approx(0.0, abs=0.1)
        assert targets.var() == pytest.approx(1.0, rel=0.1)
    again = next(task(name, horizon).batches(3))
    assert all(np.array_equal(a, b) for a, b in zip(again, drawn[0], strict=True))
    assert not np.array_equal(next(what.batches(4))[0], drawn[0][0])
    held = what.held_out()
    assert all(np.array_equal(a, b) for a, b in zip(held, task(name, horizon).held_out(), strict=True))
    seen = {row.tobytes() for row in inputs}
    if name != "copy":  # which has 256 different sequences only
        assert not seen & {row.tobytes() for row in held[0]}


def test_answers_are_what_was_shown():
    inputs, targets = task("adding", 20).held_out()
    marked = inputs[..., 1] == 1.0
    assert (marked[:, :10].sum(1) == 1).all()
    assert (marked[:, 10:].sum(1) == 1).all()
    numbers = np.where(marked, inputs[..., 0], 0.0).sum(1)
    np.testing.assert_allclose(targets[:, 0], numbers / math.sqrt(2.0), rtol=1e-5, atol=1e-6)
    inputs, targets = task("copy", 20).held_out()
    assert np.array_equal(inputs[:, :4].argmax(-1), targets)
    assert (inputs[:, 15, 4] == 1.0).all()
    assert np.array_equal(inputs.sum((1, 2)), np.full(len(inputs), 5.0))
    inputs, targets = task("noise", 20).held_out()
    assert np.array_equal(inputs[:, 0, :4].argmax(-1), targets[:, 0])
    assert (inputs[:, :CUE_STEPS, :4].sum(-1) == 1.0).all()
    assert not inputs[:, CUE_STEPS:, :4].any()
    for name, (steps, features) in IMAGES.items():
        inputs, _ = task(name, 80).held_out()
        assert inputs[:, :steps].reshape(360, 64).any(1).all()
        assert not inputs[:, steps:].any()
        assert inputs.shape[2] == features


@pytest.mark.parametrize(("cell", "start"), ALL)
def test_kernels_are_those_that_the_start_names(cell, start):
    what, one, n = task("adding", 60), STARTS[cell][start], starts.width(cell)
    found = parameters(cell, start, what, 5)
    gates = found["W"].double().chunk(LAYERS[cell].gates)
    factor = starts.scale(cell, start, what)
    wanted = {
        "one": 1.0,
        "he": math.sqrt(2.0),
        "quantile": safe_scale(n, 60).scale,
        "critical": critical_scale("tanh", 1.0 if one.wide else input_std(what, n)),
    }[one.scale]
    assert factor == pytest.approx(float(wanted))
    for W in gates:
        if one.kernel == "orthogonal":
            torch.testing.assert_close(W @ W.T, factor**2 * torch.eye(n).double(), atol=1e-5, rtol=0.0)
        elif one.kernel == "identity":
            assert torch.equal(W, torch.eye(n).double())
        elif one.kernel == "leaky":
            assert float(W.diagonal().mean()) == pytest.approx(0.9, abs=4 * 0.1 / n)
            assert float((W - 0.9 * torch.eye(n)).square().sum()) / n == pytest.approx(0.01, rel=4 * math.sqrt(2.0) / n)
        else:
            square = factor**2 if one.kernel == "gaussian" else 1.0 / 3.0
            assert float(W.square().sum()) / n == pytest.approx(square, rel=4 * math.sqrt(2.0) / n)
    added = torch.from_numpy(what.held_out()[0]) @ found["U"].T
    s = 1.0 if one.wide else input_std(what, n)
    assert float(added.square().mean().sqrt()) == pytest.approx(s, rel=0.15)  # over the draw of U, 2 numbers per unit


@pytest.mark.parametrize("cell", STARTS)
def test_starts_of_a_seed_are_made_of_the_same_numbers(cell):
    what = task("noise", 60)
    found = {start: parameters(cell, start, what, 7) for start in STARTS[cell]}
    for start, one in found.items():
        assert torch.equal(one["C"], found["default"]["C"])
        if not STARTS[cell][start].wide:
            assert torch.equal(one["U"], found["default"]["U"])
    gaussian = found["gaussian"]["W"]
    if "quantile" in found:
        torch.testing.assert_close(found["quantile"]["W"], gaussian * starts.scale(cell, "quantile", what))
    assert not torch.equal(parameters(cell, "gaussian", what, 8)["W"], gaussian)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_biases_of_gates(cell):
    what = task("adding", 50)
    first, second = slice(0, 64), slice(64, 128)
    total = {}
    for start in STARTS[cell]:
        found = parameters(cell, start, what, 0)
        total[start] = found["b_input"] + found["b_hidden"]
    chrono = torch.from_numpy(chrono_biases(64, 50)).float()
    for start in ("chrono", "gaussian chrono", "orthogonal chrono", "orthogonal chrono wide"):
        torch.testing.assert_close(total[start][second], chrono)
        wanted = -chrono if cell == "lstm" else total["default"][first]
        torch.testing.assert_close(total[start][first], wanted)
        assert torch.equal(total[start][128:], total["default"][128:])
    assert torch.equal(total["one"][second], torch.ones(64))
    torch.testing.assert_close(total["log"][second], torch.full((64,), math.log(50)))
    assert torch.equal(total["gaussian"], total["default"])


def test_rates_and_their_neighbours():
    assert [neighbour(rate, -1) for rate in (1e-4, 3e-4, 1e-2, 1.0)] == [3e-5, 1e-4, 3e-3, 0.3]
    assert [neighbour(rate, 1) for rate in (1e-4, 3e-4, 1e-2, 0.3)] == [3e-4, 1e-3, 3e-2, 1.0]
    assert best_rate({1e-3: 2.0, 1e-4: 1.0, 1e-5: 1.5}) == 1e-4
    assert best_rate({1e-3: math.inf, 1e-4: math.nan}) == 1e-4


@pytest.mark.parametrize(
    ("best", "further", "found"), [(1e-3, 4, 1e-3), (1e-4, 4, 1e-4), (1e-1, 4, 1e-1), (1e-1, 1, 3e-2), (1e-5, 4, 1e-5)]
)
def test_the_chosen_rate_is_interior_where_further_rates_are_allowed(best, further, found, monkeypatch):
    made = []

    def get(results, cells):
        made.extend(cells)
        return [{"train_loss": abs(math.log(cell.learning_rate / best)) + 0.1 * (cell.seed % 2)} for cell in cells]

    monkeypatch.setattr(designs, "get", get)
    assert chosen_rate(Design((), further=further), None, CELL) == found
    whole = {cell.learning_rate for cell in made if cell.steps == 30}
    assert {cell.steps for cell in made} == {30 // designs.SHORT, 30}
    assert {cell.seed for cell in made} == {1000, 1001}
    assert len(whole) <= 2 + further
    if further == 4:
        assert {neighbour(found, -1), neighbour(found, 1)} <= whole


SMALL = Design((Group("relu", "adding", 8, 4),), (1e-3, 1e-2), tuning_seeds=1, seeds=2, further=0, controls=1)
COUNT = len(STARTS["relu"])


def test_a_broken_run_goes_on_where_the_file_ends(tmp_path):
    whole = open_results(tmp_path / "whole.csv")
    whole.write_origin("test")
    total = (COUNT + 1) * (2 + 1 + 2)
    assert costs(SMALL, whole)[0].left == costs(SMALL, whole)[0].seconds > 0.0
    assert run(SMALL, whole) == total
    assert run(SMALL, whole) == 0
    assert costs(SMALL, whole)[0].left == 0.0
    frame = whole.frame()
    assert (frame["recurrent"] == "frozen").sum() == 5

    lines = (tmp_path / "whole.csv").read_text().splitlines(keepends=True)
    cut = tmp_path / "cut.csv"
    cut.write_text("".join(lines[:8]) + lines[8][:20])  # seven rows, and an eighth torn while it was written
    (tmp_path / "cut.json").write_text((tmp_path / "whole.json").read_text())
    assert run(SMALL, open_results(cut)) == total - 7
    again = open_results(cut).frame()
    assert list(again["start"]) == list(frame["start"])
    np.testing.assert_allclose(
        again["loss"], frame["loss"], rtol=1e-4
    )  # side by side with others, sums may round otherwise


def test_results_of_other_settings_are_not_mixed(tmp_path):
    results = open_results(tmp_path / "a.csv")
    results.write_origin("test")
    about = json.loads((tmp_path / "a.json").read_text())
    about["settings"]["batch"] = 7
    (tmp_path / "a.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match="holds trainings with other settings"):
        open_results(tmp_path / "a.csv")


def test_command_plans_runs_resumes_prints_and_ships(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(command.DESIGNS, "quick", SMALL)
    monkeypatch.setattr("benchmarks.cell_trainings.shipped.SHIPPED", tmp_path)
    threads = torch.get_num_threads()
    try:
        for option, words in (
            ("--plan", "| relu | adding | 8 | 4 |"),
            (None, f"{(COUNT + 1) * 5} trainings made"),
            (None, "0 trainings made"),
            ("--table", "### relu, adding, n = 64, T = 8: 4 steps, 2 seeds"),
            ("--ship", "| identity wide"),
        ):
            asked = ["cell_trainings", "--quick", "--output", str(tmp_path / "r.csv"), *([option] if option else [])]
            monkeypatch.setattr("sys.argv", asked)
            assert command.main() == 0
            assert words in "".join(capsys.readouterr())
        shipped = json.loads((tmp_path / "cell_trainings.json").read_text())
        assert shipped["trainings"] == (COUNT + 1) * 5
        (group,) = shipped["groups"]
        assert len(group["starts"]) == COUNT + 1
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)
