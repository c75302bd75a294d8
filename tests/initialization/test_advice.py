import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signalprop import advise, depth_budget, rnn_energy, safe_scale, width_needed
from signalprop.initialization import one_draw_table
from signalprop.initialization.advice_text import factor

FIELDS = ["real", "complex", "quaternion"]


def flat(advice):
    return re.sub(r"\s+", " ", str(advice))


def test_no_scale_works_for_2000_steps_at_width_512():
    advice = advise(512, 2000)
    assert advice.verdict == "replace"
    # A typical draw e^108, the luckiest 5 % e^35, g = 0.948 leaves e^-106, the average e^2902.
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
        "the luckiest 5 % still by e^3",
        "nothing survives",
        "torch.nn.init.orthogonal_",
        "RotRNN",
        "LRU",
        "The average over draws is e^2902, carried by fewer than one draw in a hundred",
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
    assert max(len(line) for line in text.splitlines()) <= 115
    assert not re.search(r"\bnan\b|\binf\b|None", text)
    json.dumps(advice.as_dict(), allow_nan=False)
    assert advice.log_mean == pytest.approx(float(rnn_energy(n, horizon, field, log=True)), abs=1e-9)
    for found in advice.scales.values():
        assert f"{found.scale:.4f}" in text
    held = one_draw_table.held(n, horizon, advice.field)[0]
    if advice.verdict == "keep":
        assert advice.scales["quantile"].interval[1] >= 1.0
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
    [(0.0, "1.00x"), (math.log(0.72), "0.72x"), (math.log(31), "31x"), (115.2, "e^115"), (-8, "e^-8")],
)
def test_factors_are_readable(log_value, text):
    assert factor(log_value) == text


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


def test_pasted_lines_run():
    import torch

    for n, horizon in ((64, 8), (64, 40), (64, 400)):
        lines = str(advise(n, horizon)).splitlines()
        block = [
            line[12:] for line in lines if line.startswith(("  PyTorch   from", "            ginibre_(", "  or plain"))
        ]
        rnn = torch.nn.RNN(3, n)
        names = {"rnn": rnn, "torch": torch, "d_model": 5}
        for line in block:
            exec(line.strip(), names)
        std = float(re.search(r"std=([\d.]+)", block[-1]).group(1))
        assert float(rnn.weight_hh_l0.detach().std()) == pytest.approx(std, rel=0.05)
        for layer in re.findall(r"signalprop\.nn\.\w+\(.*\)", str(advise(n, 400))):
            exec("import signalprop.nn; layer = " + layer, names)
            assert names["layer"](torch.zeros(1, 3, 5)).shape == (1, 3, 5)


def test_readme_shows_the_page_as_it_is():
    readme = Path(__file__).parents[2].joinpath("README.md").read_text()
    shown = readme.split("$ signalprop scale -n 512 -T 2000\n")[1].split("\n[why")[0]
    assert str(advise(512, 2000)).startswith(shown)


def test_figure_shows_both_scales():
    figure = advise(128, 60).plot()
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[0].startswith("Glorot, g = 1")
    assert titles[1].startswith("scaled by g = ")
    for axes in figure.axes:
        assert len(axes.lines) >= 3
