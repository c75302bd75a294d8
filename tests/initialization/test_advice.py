import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.initialization.summary import summary
from signalprop import advise, depth_budget, rnn_energy, safe_scale, width_needed
from signalprop.initialization import one_draw_table
from signalprop.initialization.advice_text import (
    FAR,
    TRAINED,
    factor,
    heads_for,
    number,
    page,
    paste,
    scale_lines,
)

ROOT = Path(__file__).parents[2]
FIELDS = ["real", "complex", "quaternion"]


def flat(advice):
    return re.sub(r"\s+", " ", str(advice))


def test_no_scale_works_for_2000_steps_at_width_512():
    advice = advise(512, 2000)
    assert advice.verdict == "replace"
    # A typical draw e^108, the mildest 5 % below e^35, g = 0.948 leaves e^-106, the average e^2902.
    assert advice.log_energy[0.5] == pytest.approx(108, abs=5)
    assert advice.log_energy[0.05] == pytest.approx(35, abs=5)
    assert advice.scales["quantile"].scale == pytest.approx(0.948, abs=0.002)
    assert advice.log_median(advice.scale) == pytest.approx(-106, abs=8)
    assert advice.log_mean == pytest.approx(2902, abs=1)
    assert advice.scales["bounded"].scale == pytest.approx(0.484, abs=5e-4)
    text = flat(advice)
    for part in (
        "no scale works",
        "2000 steps are 88.4 times sqrt(512)",
        "Glorot (g = 1) explodes",
        "multiplies the energy by 10^4",
        "only the mildest 5 % of draws stay below 10^1",
        "nothing survives",
        "torch.nn.init.orthogonal_",
        "RotRNN",
        "LRU",
        "The average over draws is 10^1260, carried by fewer than one draw in a hundred",
        "signalprop scale -n 512 -T 2000 --plot",
    ):
        assert part in text
    lines = str(advice).splitlines()
    # Answer, why, what to paste, details: in this order.
    order = [
        next(i for i, line in enumerate(lines) if line.startswith(w))
        for w in ("Do not", "Why", "What to do", "Details")
    ]
    assert order == sorted(order)


def test_glorot_is_fine_for_64_steps_at_width_4096():
    advice = advise(4096, 64)
    assert (advice.verdict, advice.scale) == ("keep", 1.0)
    text = flat(advice)
    assert "Glorot is fine" in text
    assert "64 steps are 1 times sqrt(4096)" in text
    assert "The average over draws has grown by 4.9 %" in text
    low, high = (float(x) for x in re.search(r"90 % of draws end between ([\d.]+)x and ([\d.]+)x", text).groups())
    assert low == pytest.approx(0.72, abs=0.05)
    assert high == pytest.approx(1.48, abs=0.08)
    assert f"From {depth_budget(4096) + 1} steps on" in text
    assert "std=0.015625" in text


def test_in_between_the_scale_is_trimmed():
    advice = advise(512, 100)
    assert advice.verdict == "rescale"
    assert advice.scale == safe_scale(512, 100).scale < 1.0
    assert f"std={advice.scale / math.sqrt(512):.6g}" in str(advice)
    assert "orthogonal" in str(advice)


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 10**5), horizon=st.integers(1, 300), field=st.sampled_from(FIELDS))
def test_every_page_is_complete_and_agrees_with_its_numbers(n, horizon, field):
    advice = advise(n, horizon, field)
    text = str(advice)
    assert max(len(line) for line in page(advice, 80).splitlines()) <= 80
    assert not re.search(r"\bnan\b|\binf\b|None", text)
    json.dumps(advice.as_dict(), allow_nan=False)
    assert advice.log_mean == pytest.approx(float(rnn_energy(n, horizon, field, log=True)), abs=1e-9)
    for found in advice.scales.values():
        assert f"{found.scale:.4f}" in text
    held = one_draw_table.held(n, horizon, advice.field)[0]
    if advice.verdict == "keep":
        assert advice.scales["quantile"].largest_interval[0] >= 1.0
    elif advice.verdict == "rescale":
        assert held >= 0.5
    else:
        assert held < 0.5


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("n", "horizon"), [(1, 1), (1, 10**6), (10**18, 1), (10**18, 10**6), (64, 20_001), (8, 3)])
def test_extremes_have_a_page(n, horizon, field):
    advice = advise(n, horizon, field)
    assert str(advice)
    json.dumps(advice.as_dict(), allow_nan=False)


def test_width_and_budget_on_the_page():
    advice = advise(512, 2000)
    assert advice.budget == depth_budget(512, criterion="draw")
    assert advice.width_needed == width_needed(2000, criterion="draw")
    assert f"about {advice.budget} steps" in flat(advice)


@pytest.mark.parametrize(
    ("log_value", "text"),
    [
        (0.0, "1.00x"),
        (math.log(0.72), "0.72x"),
        (math.log(31), "31x"),
        (math.log(154), "150x"),
        (math.log(4.2e5), "4*10^5"),
        (115.2, "10^50"),
        (-8, "3*10^-4"),
        (-2900.0, "10^-1259"),
    ],
)
def test_factors_are_readable(log_value, text):
    assert factor(log_value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (88.39, "88.4"), (0.0131, "0.0131"), (1e-9, "1*10^-9"), (1000.0, "1 000"), (123456, "120 000")],
)
def test_numbers_are_readable(value, text):
    assert number(value) == text


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("n", "horizon"), [(4096, 64), (512, 100), (512, 500), (10**6, 10**6), (1, 1), (3, 20_001)])
def test_no_line_is_longer_than_the_page(n, horizon, field):
    advice = advise(n, horizon, field)
    pasted = {line for _, text in code_of(advice) for line in text.splitlines()}
    assert all(len(line) <= 80 for line in pasted)
    for width in (40, 60, 80, 100):
        lines = page(advice, width).splitlines()
        assert all(len(line) <= width for line in lines if line not in pasted and not line.startswith("# "))
        assert not any(first == second == "" for first, second in itertools.pairwise(lines))
        assert "e^" not in "\n".join(lines)


def test_the_page_follows_the_terminal(monkeypatch):
    advice = advise(512, 500)
    longest = {}
    for width in (60, 80, 100, 300):
        monkeypatch.setenv("COLUMNS", str(width))
        longest[width] = max(map(len, str(advice).splitlines()))
    assert longest[60] < longest[80] <= 80 < longest[100] == longest[300] <= 100


def test_trainings_are_told_only_where_they_were_made():
    told = "In trainings of this linear recurrence"
    assert told in flat(advise(128, 500))
    for n, horizon, field in [
        (1, 1, "real"),  # not trained there
        (512, 60, "real"),  # within reach of a scale
        (64, 68, "real"),  # less than 9 sqrt(n)
        (128, 2000, "real"),  # more than 90 sqrt(n)
        (128, 500, "complex"),  # other weights
    ]:
        assert told not in flat(advise(n, horizon, field)), (n, horizon, field)


def test_what_the_page_says_of_trainings_is_in_their_results():
    """An orthogonal start is best, with W's smallest rate, and g = 1 is better than the quantile scale, in each setting."""
    results = summary(pd.read_csv(ROOT / "benchmarks" / "initialization" / "results.csv"))
    cells = results.groupby(["task", "n", "horizon"])
    assert len(cells) == 12
    assert set(results["n"]) == {64, 128, 256}
    assert set(results["seeds"]) == {10}
    assert set(results["steps"]) == {150}
    c = results["horizon"] / results["n"] ** 0.5
    assert (round(c.min()), round(c.max())) == (9, 88)
    for (_, n, horizon), cell in cells:
        by_start = cell.set_index("start")
        assert by_start["accuracy"].idxmax() == "orthogonal"
        assert by_start.loc["orthogonal", "learning_rate"] == 1e-5
        assert by_start.loc["glorot", "accuracy"] > by_start.loc["quantile", "accuracy"]
        assert TRAINED[0] - 0.5 <= horizon / n**0.5 <= TRAINED[1]
        assert horizon >= FAR * depth_budget(n, "real", criterion="draw")


def test_the_first_question_is_which_cell_and_nothing_is_promised_for_others():
    text = flat(advise(512, 64))
    before, after = text.split("add --cell tanh, relu, gru or lstm.")
    assert "Glorot" not in before.split("linear layer")[1]
    assert not re.search(r"LSTM|GRU|gate|nn\.RNN", after)
    assert not re.search(r"LSTM|GRU|gate", str(advise(512, 64, "complex")))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: advise(0, 5), "n must be at least 1, got 0"),
        (lambda: advise(5, 0), "horizon must be at least 1, got 0"),
        (lambda: advise(5, 2.5), "horizon must be a whole number, got 2.5"),
        (lambda: advise(5, 5, "half"), "field must be one of"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def code_of(advice):
    return [item for block in paste(advice) for item in block.items if not isinstance(item, str)]


def run_pasted(text):
    """Execute a block as it is pasted, in an empty session."""
    names = {}
    exec(compile(text, "<pasted>", "exec"), names)
    return names


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("n", "horizon", "verdict"), [(64, 4, "keep"), (64, 30, "rescale"), (64, 400, "replace")])
def test_every_line_to_paste_runs_as_pasted(n, horizon, verdict, field):
    advice = advise(n, horizon, field)
    assert advice.verdict == verdict
    blocks = code_of(advice)
    labels = [label for label, _ in blocks]
    printed = str(advice)
    std = advice.scale / math.sqrt(n)
    for label, text in blocks:
        assert f"# {label}\n{text}\n" in printed
        names = run_pasted(text)
        if "layer" in names:
            assert names["layer"](torch.zeros(1, 3, names["d_model"])).shape == (1, 3, names["d_model"])
            continue
        kernel = np.asarray(names["W"].detach() if torch.is_tensor(names["W"]) else names["W"])
        square = np.abs(kernel) ** 2
        if kernel.ndim == 3:  # quaternions: four real parts
            square = square.sum(axis=2)
        assert square.shape == (n, n)
        if "orthogonal" in text or "qr(" in text:
            np.testing.assert_allclose(kernel @ kernel.conj().T, np.eye(n), atol=1e-4)
        else:  # n^2 (times the real parts) independent squares: 5 standard errors
            parts = {"real": 1, "complex": 2, "quaternion": 4}[field]
            assert square.mean() / std**2 == pytest.approx(1.0, abs=5 * math.sqrt(2 / (parts * n * n)))
    if field == "real":
        assert {"PyTorch", "JAX"} <= set(labels)
        assert (verdict != "keep") == ({"RotRNN", "LRU"} <= set(labels))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("criterion", ["quantile", "bounded", "minimax", "edge", "glorot"])
def test_every_line_of_one_criterion_runs_as_pasted(criterion, field):
    found = safe_scale(64, 20, field, criterion=criterion)
    for text in "\n".join(scale_lines(found)).split("\n\n"):
        names = run_pasted(text)
        kernel = np.asarray(names["W"].detach() if torch.is_tensor(names["W"]) else names["W"])
        parts = {"real": 1, "complex": 2, "quaternion": 4}[field]
        size = float((np.abs(kernel) ** 2).sum()) / 64**2
        assert size / found.std**2 == pytest.approx(1.0, abs=5 * math.sqrt(2 / (parts * 64**2)))


@pytest.mark.parametrize(("n", "heads"), [(512, 32), (64, 32), (96, 32), (63, 21), (40, 20), (2, 1), (1, 1), (127, 1)])
def test_heads_divide_the_state_and_hold_two_states_each(n, heads):
    assert heads_for(n) == heads
    assert f"heads={heads}," in str(advise(n, 400))


def test_readme_shows_the_pages_as_they_are(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    readme = ROOT.joinpath("README.md").read_text()
    shown = re.findall(r"^signalprop (scale [^#\n]*?) *(?:#.*)?\n```\n\n```console\n((?:.|\n)*?)\n\[why", readme, re.M)
    assert [command for command, _ in shown] == ["scale --cell lstm -n 256 -T 200", "scale -n 512 -T 2000"]
    for (_, text), advice in zip(shown, (advise(256, 200, cell="lstm"), advise(512, 2000)), strict=True):
        assert str(advice).startswith(text)


def test_figure_shows_both_scales():
    figure = advise(128, 60).plot()
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[0].startswith("Glorot, g = 1")
    assert titles[1].startswith("scaled by g = ")
    for axes in figure.axes:
        assert len(axes.lines) >= 3
