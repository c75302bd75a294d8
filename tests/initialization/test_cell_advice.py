"""Advice for cells that people train: the table against fresh draws, the page, the command."""

import json
import math
import re

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from signalprop import advise, safe_scale
from signalprop.cells import CELLS
from signalprop.cli import app
from signalprop.initialization import CellAdvice, _cell_table
from signalprop.initialization._cell_evidence import TASKS
from signalprop.initialization._cell_evidence import evidence as trained
from signalprop.initialization._cell_table import HORIZONS, INPUT_STDS, LEVELS, TABLED, WIDTHS, drawn, left
from signalprop.initialization._cell_text import _filled, advised_in, told_of
from signalprop.initialization._cell_words import ALONE, CODE, NAMES
from signalprop.initialization.torch import init_recurrent_
from signalprop.meanfield import chrono_biases, critical_scale

runner = CliRunner()


def flat(advice):
    return " ".join(str(advice).split())


def test_one_list_of_cells():
    assert set(TABLED) == set(NAMES) == set(CODE) == set(ALONE)
    assert set(TABLED) <= set(CELLS)


def test_at_its_points_the_table_is_what_was_drawn():
    with np.load(_cell_table.DATA) as archive:
        levels = archive["tanh glorot"]
    found = left("tanh", "glorot", 128, 100, 1.0)
    place = WIDTHS.index(128), INPUT_STDS.index(1.0), HORIZONS.index(100)
    assert found.median == pytest.approx(float(levels[place][LEVELS.index(0.5)]), rel=1e-6)
    assert found.low < found.median < found.high


@pytest.mark.parametrize(
    ("cell", "start", "n", "horizon", "input_std"),
    [
        ("tanh", "glorot", 64, 50, 0.5),
        ("tanh", "orthogonal critical", 64, 60, 0.6),
        ("relu", "identity", 64, 60, 2.0),
        ("gru", "orthogonal chrono", 64, 60, 1.7),
        ("lstm", "orthogonal chrono", 64, 60, 1.7),
        ("lstm", "default", 64, 60, 0.5),
        pytest.param("lstm", "orthogonal chrono", 256, 560, 0.5, marks=pytest.mark.slow),
        pytest.param("tanh", "orthogonal critical", 256, 560, 0.5, marks=pytest.mark.slow),
        pytest.param("gru", "glorot", 256, 200, 2.0, marks=pytest.mark.slow),
    ],
)
def test_between_its_points_the_table_holds_on_fresh_draws(cell, start, n, horizon, input_std):
    """Medians of 60 fresh draws: to five standard errors, of the draws and of the table, and 6 % for the interpolation."""
    logs = np.sort(drawn(cell, TABLED[cell][start], n, input_std, horizon, draws=60, seed=8))
    found = left(cell, start, n, horizon, input_std)
    fresh, error = float(np.median(logs)), 0.5 * float(logs[34] - logs[25])
    assert abs(found.median - fresh) < 5.0 * math.hypot(error, found.error) + 0.06 * abs(fresh)
    inside = np.mean((logs > found.low) & (logs < found.high))
    assert inside > 0.6


def test_few_steps_and_beyond_the_table():
    assert left("tanh", "default", 128, 1, 1.0).median == pytest.approx(
        left("tanh", "default", 128, 10, 1.0).median / 10.0
    )
    far, last = left("tanh", "default", 128, 2000, 1.0), left("tanh", "default", 128, 1000, 1.0)
    assert 1.8 < far.median / last.median < 2.2
    assert left("gru", "glorot", 10**6, 100, 1.0) == left("gru", "glorot", 512, 100, 1.0)


@pytest.mark.parametrize("cell", TABLED)
@pytest.mark.parametrize(("n", "horizon", "input_std"), [(256, 200, 1.0), (64, 1, 0.0), (2000, 5000, 3.0)])
def test_the_page_reads_at_eighty_columns(cell, n, horizon, input_std, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    advice = advise(n, horizon, cell=cell, input_std=input_std)
    assert isinstance(advice, CellAdvice)
    text = str(advice)
    assert "{" not in text.replace("{advice", "")
    assert "nan" not in text
    code = set("\n".join([*CODE.values(), *ALONE.values()]).splitlines())
    for line in text.splitlines():
        assert len(line) <= 80 or any(line.startswith(part[:12]) for part in code), line
    assert ("widths 32 to 512" in text) == (not advice.tabled)


def test_gates_are_what_counts():
    found = advise(256, 200, cell="lstm").left
    assert found["default"].median < -100.0
    assert found["glorot"].median < -100.0
    assert -6.0 < found["orthogonal chrono"].median < -2.0
    for cell in ("lstm", "gru"):
        for s in (0.3, 0.5, 1.0, 1.5, 3.0):
            for horizon in (200, 1000):
                assert abs(advise(256, horizon, cell=cell, input_std=s).left["orthogonal chrono"].median) < 6.0


def test_the_command_prints_it_and_its_numbers():
    printed = runner.invoke(app, ["scale", "--cell", "gru", "-n", "128", "-T", "100", "--input-std", "0.5"])
    assert printed.exit_code == 0, printed.output
    assert printed.stdout.startswith("GRU of width 128, horizon 100 steps, inputs that add 0.5")
    found = json.loads(runner.invoke(app, ["scale", "--cell", "tanh", "-n", "128", "-T", "100", "--json"]).stdout)
    assert found["cell"] == "tanh"
    assert found["input_std"] == 1.0
    assert found["log_energy_left"]["default"]["median"] < -50.0


def test_the_picture(tmp_path):
    path = tmp_path / "gradient.png"
    found = runner.invoke(app, ["scale", "--cell", "lstm", "-n", "64", "-T", "100", "--plot", str(path)])
    assert found.exit_code == 0, found.output
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("cell", TABLED)
def test_what_trainings_showed_is_said_where_it_was_shown(cell):
    """Near what was trained, with the numbers that come with the package; elsewhere that nothing was."""
    groups = trained(cell)
    for group in groups:
        text = flat(advise(group.width, group.horizon, cell=cell))
        assert f"{TASKS[group.task][1:]} over {group.horizon} steps (width {group.width}" in text
        assert f"loss {group.losses[group.best].mean:.2g}." in text or not group.learned
        for n, horizon in ((8 * group.width, group.horizon), (group.width, 8 * group.horizon)):
            assert f"over {group.horizon} steps (width" not in flat(advise(n, horizon, cell=cell))
    far = flat(advise(100_000, 5, cell=cell))
    assert ("Nothing was trained near" in far) == bool(groups)
    assert ("has been trained from these starts yet" in far) == (not groups)


@pytest.mark.parametrize("cell", [cell for cell in TABLED if trained(cell)])
@pytest.mark.parametrize("input_std", [0.1, 1.0])
def test_the_page_names_a_start_that_is_none_of_the_worse(cell, input_std):
    """Where the advised start lost, the page says which one won, with a call that runs."""
    for group in trained(cell):
        if not group.learned:
            continue
        ours, text = advised_in(cell, input_std), told_of(group, input_std)
        worse = ours not in (group.best, *group.tied)
        assert ("Try the best first" in text or "which are smaller, did better" in text) == worse
        assert ("which are smaller, did better" in text) == (worse and ours == f"{group.best} wide")
        call = re.search(r"first: (init_recurrent_\(.*\))\.", text)
        if call:
            layers = {"rnn": torch.nn.RNN(4, 16), "gru": torch.nn.GRU(4, 16), "lstm": torch.nn.LSTM(4, 16)}
            eval(call[1], {"init_recurrent_": init_recurrent_, **layers})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cell", "rnn"], "'rnn' is not one of"),
        (["--cell", "lstm", "--input-std", "-1"], "--input-std must lie between 0 and 3"),
        (["--cell", "lstm", "--input-std", "4"], "make the input kernel smaller"),
        (["--cell", "lstm", "--field", "complex"], "must be 'real'"),
        (["--cell", "lstm", "--criterion", "edge"], "--criterion is for linear recurrences"),
        (["--input-std", "1"], "for cells that are not linear"),
    ],
)
def test_bad_usage(arguments, words):
    found = runner.invoke(app, ["scale", "-n", "64", "-T", "64", *arguments])
    assert found.exit_code == 2
    assert words in " ".join(found.output.split()), found.output


def pasted(text):
    """What a block leaves in an empty session."""
    names = {}
    exec(compile(text, "<pasted>", "exec"), names)
    return names


def layer_of(names):
    return next(names[name] for name in ("rnn", "lstm", "gru") if name in names)


@pytest.mark.parametrize("lines", [CODE, ALONE], ids=["with the package", "alone"])
@pytest.mark.parametrize("cell", TABLED)
def test_lines_to_paste_start_the_layer(cell, lines):
    advice = advise(64, 20, cell=cell, input_std=0.0)
    text = "\n".join(_filled(lines, advice))
    assert text in str(advice)
    torch.manual_seed(0)
    layer = layer_of(pasted(text))
    assert layer.hidden_size == 64
    for kernel in layer.weight_hh_l0.detach().chunk(len(CELLS[cell].gates)):
        expected = advice.scale * torch.eye(64)
        if advice.kind == "orthogonal":
            kernel, expected = kernel @ kernel.T, advice.scale * expected
        torch.testing.assert_close(kernel, expected, atol=1e-4, rtol=0.0)
    if advice.gated:
        check_gates(layer, 20)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_lines_to_paste_make_up_for_inputs(cell):
    """The mean bias is what init_recurrent_ sets, to five standard errors of its mean over 4000 units."""
    advice = advise(4000, 50, cell=cell, input_std=2.0)
    text = "\n".join(_filled(ALONE, advice)).replace("torch.nn.init.orthogonal_(gate)", "pass")
    torch.manual_seed(1)
    layer = layer_of(pasted(text))
    b = (layer.bias_ih_l0 + layer.bias_hh_l0).detach().chunk(len(CELLS[cell].gates))[1].numpy()
    made = chrono_biases(4000, 50, 2.0)
    assert abs(b.mean() - made.mean()) < 5.0 * made.std() / math.sqrt(4000)
    assert made.mean() - chrono_biases(4000, 50).mean() > 1.0


def check_gates(layer, horizon):
    """The gate that keeps the state forgets 1/(1 + e^b) per step: time scales 1 + e^b spread over 2 .. T."""
    gates = layer.weight_hh_l0.shape[0] // layer.hidden_size
    with torch.no_grad():
        parts = (layer.bias_ih_l0 + layer.bias_hh_l0).chunk(gates)
        keeps = parts[1]  # forget gate of i, f, g, o; update gate of r, z, n
        scales = 1.0 + keeps.exp()
        assert 2.0 <= float(scales.min()) < float(scales.max()) <= horizon + 1e-3
        assert float(scales.mean()) == pytest.approx((2 + horizon) / 2, abs=5 * horizon / math.sqrt(12 * len(scales)))
        if gates == 4:
            torch.testing.assert_close(parts[0], -keeps)
            # No input and the cell at one: after a step it is what the forget gate keeps.
            for kernel in (layer.weight_ih_l0, layer.weight_hh_l0):
                kernel.zero_()
            parts[2].zero_()
        else:
            for kernel in (layer.weight_ih_l0, layer.weight_hh_l0):
                kernel.zero_()
            layer.bias_ih_l0.chunk(3)[2].zero_()
            layer.bias_hh_l0.chunk(3)[2].zero_()
            one = torch.ones(1, 1, layer.hidden_size)
            _, state = layer(torch.zeros(1, 1, layer.input_size), one)
            torch.testing.assert_close(state[0, 0], 1.0 - 1.0 / scales, atol=1e-5, rtol=0.0)


def test_safe_scale_answers_for_a_cell():
    found = safe_scale(128, 64, cell="tanh", input_std=0.3)
    assert found == advise(128, 64, cell="tanh", input_std=0.3)
    assert found.critical_scale == pytest.approx(float(critical_scale("tanh", 0.3)))
    assert found.scale == 1.0
    assert safe_scale(128, 64, cell="lstm").critical_scale is None
    assert safe_scale(128, 64, cell="lstm").input_std == 1.0
    assert safe_scale(128, 64, cell="linear") == safe_scale(128, 64)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: safe_scale(8, 8, cell="vanilla"), "cell must be one of .*, got 'vanilla'"),
        (lambda: safe_scale(8, 8, input_std=1.0), "input_std is for cells that are not linear, got 1"),
        (lambda: advise(8, 8, input_std=1.0), "input_std is for cells that are not linear, got 1"),
        (lambda: safe_scale(8, 8, cell="gru", criterion="edge"), "criterion is for cell='linear'"),
        (lambda: safe_scale(8, 8, cell="gru", samples=10), "samples is for cell='linear'"),
        (lambda: safe_scale(8, 8, cell="gru", model="driven"), "model is for cell='linear'"),
        (lambda: safe_scale(8, 0, cell="gru"), "horizon must be at least 1, got 0"),
        (lambda: safe_scale(8, 8, "quaternion", cell="gru"), "field must be 'real' for cell='gru'"),
        (lambda: safe_scale(8, 8, cell="gru", input_std=-0.5), "input_std must lie between 0 and 3"),
        (lambda: safe_scale(8, 8, cell="gru", input_std=math.nan), "input_std"),
    ],
)
def test_what_no_cell_can_be_asked(call, words):
    with pytest.raises(ValueError, match=words):
        call()
