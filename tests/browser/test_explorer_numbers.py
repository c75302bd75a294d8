"""The explorer's JavaScript against the package, number by number and sentence by sentence, run by Node."""

import base64
import json
import re

import numpy as np
import pytest

from signalprop import rnn_energy
from signalprop.energy import MAX_ZONAL_K
from signalprop.fields import as_field
from signalprop.initialization import advice_text, advise, one_draw_table
from signalprop.regimes import two_term_rnn
from tests.browser.explorer import FIELDS, answers_of_node, builder, deviation, spread

WITHIN = 1e-9
LAW_WITHIN = 0.018  # what the page says of the two-term law where it uses it
KNOWN = [
    *(
        ("real", 512, 2000),
        ("real", 4096, 64),
        ("complex", 1000, 158),
        ("real", 512, 200),
        ("quaternion", 100, 40),
        ("real", 10**5, 6000),
    ),
    *((field, n, horizon) for field in FIELDS for n in (1, 2, 70) for horizon in (1, 5, 100)),
    *(
        (field, n, horizon)
        for field in FIELDS
        for n, horizon in ((12_289, 500), (40_000, 1000), (10**6, 1), (10**6, 999_700))
    ),
]
CASES = [*KNOWN, *(case[:3] for case in spread(36, seed=3))]


def steps_of(horizon):
    return sorted({0, 1, (horizon + 2) // 3, (horizon + 1) // 2, horizon})


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """The explorer's answer to each of CASES."""
    inputs = [{"n": n, "horizon": horizon, "field": field, "steps": steps_of(horizon)} for field, n, horizon in CASES]
    found = answers_of_node("explorer_numbers.js", inputs, tmp_path_factory.mktemp("explorer"))
    return dict(zip(CASES, found, strict=True))


@pytest.fixture(scope="module")
def advices():
    return {case: advise(case[1], case[2], case[0]) for case in CASES if in_reach(*case)}


def in_reach(field, n, horizon):
    """Not between what the page and what the package sum exactly, where the package takes long."""
    return field == "complex" or not 5000 < horizon <= MAX_ZONAL_K


def test_numbers(answers, advices):
    worst = {}
    for case, want in advices.items():
        got = answers[case]
        assert (got["verdict"], got["regime"]) == (want.verdict, want.regime), case
        for ours, theirs in (("budget", "budget"), ("meanBudget", "mean_budget"), ("widthNeeded", "width_needed")):
            assert got[ours] == getattr(want, theirs), (case, ours)
        pairs = {
            "safe": (got["safe"], want.scales["quantile"].scale),
            "safe low": (got["safeInterval"][0], want.scales["quantile"].interval[0]),
            "safe high": (got["safeInterval"][1], want.scales["quantile"].interval[1]),
            "edge": (got["edge"], want.scales["edge"].scale),
            "held share": (got["heldShare"], want.held_share),
            "held scale": (got["heldScale"], want.held_scale),
            "complex scale": (got["complexScale"], want.complex_scale),
            **{
                name: (got["ends"][name], want.log_energy[q])
                for name, q in (("low", 0.05), ("median", 0.5), ("high", 0.95))
            },
            "99 %": (got["log99"], want.log_energy[0.99]),
        }
        if got["exact"]:
            pairs["mean"] = (got["logMean"], want.log_mean)
            for name in ("bounded", "minimax"):
                pairs[name] = (got[name], want.scales[name].scale)
        for name, shares in got["exploding"].items():
            for i, share in enumerate(want.scales[name].exploding_share()):
                pairs[f"exploding {name} {i}"] = (shares[i], share)
        for name, (ours, theirs) in pairs.items():
            worst[name] = max(worst.get(name, 0.0), deviation(ours, theirs))
            assert worst[name] <= WITHIN, (name, case, ours, theirs)
    print({name: f"{value:.1e}" for name, value in worst.items()})


def test_paths(answers):
    levels = [one_draw_table.LEVELS.index(q) for q in (0.05, 0.5, 0.95)]
    for field, n, horizon in CASES:
        for point in answers[field, n, horizon]["path"]:
            step = point["step"]
            band = one_draw_table.log_energies(n, step, as_field(field))[levels] if step else np.zeros(3)
            found = [point["low"], point["median"], point["high"]]
            assert max(map(deviation, found, band)) <= WITHIN, (field, n, step)
            if step <= 3000 or field == "complex":
                assert deviation(point["mean"], float(rnn_energy(n, step, field, log=True))) <= WITHIN, (field, n, step)


def test_beyond_the_exact_sums(answers):
    seen = {"law": 0, "none": 0, "exact": 0}
    for (field, n, horizon), got in answers.items():
        if got["exact"]:
            continue
        assert horizon > 5000
        if field == "quaternion":
            seen["none"] += 1
            assert got["logMean"] is None
            assert got["bounded"] is None
            continue
        seen["law"] += 1
        # The same rows as the command, which has none of these past its exact sums.
        assert ((got["bounded"] is None) and (got["minimax"] is None)) == (horizon > MAX_ZONAL_K)
        assert deviation(got["logMean"], float(two_term_rnn(n, horizon, log=True))) <= WITHIN
        if horizon <= 10_000:
            seen["exact"] += 1
            assert -LAW_WITHIN < got["logMean"] - float(rnn_energy(n, horizon, "real", log=True)) < 0.0
    assert min(seen.values()) > 0, seen


def test_the_law_is_as_good_as_the_page_says_where_it_is_worst():
    n, k = 10**6, 5478  # the widest, at the first step that is not summed
    assert -LAW_WITHIN < float(two_term_rnn(n, k, log=True) - rnn_energy(n, k, "real", log=True)) < 0.0


def flat(text):
    return re.sub(r"\s+", " ", text)


def test_sentences_and_lines_to_paste_are_those_of_the_package(answers, advices):
    compared = 0
    for case, want in advices.items():
        got = answers[case]
        if want.log_mean is not None and got["logMean"] is None:
            continue  # the package sums the mean of quaternion weights further than this page
        blocks = advice_text.paste(want)
        texts = [item for block in blocks for item in block.items if isinstance(item, str)]
        assert got["cells"].startswith("This is for a linear layer.") == (want.field == "real"), case
        expected = [
            advice_text.answer(want),
            *advice_text.why(want),
            *texts,
            *advice_text.details(want)[:-1],  # the picture is on the page itself
            advice_text.status(want),
        ]
        if want.log_mean is not None and not got["exact"]:
            continue  # by the two-term law, right to 1.8 %
        assert got["sentences"] == expected, case
        assert got["titles"] == [block.title for block in blocks]
        codes = [list(item) for block in blocks for item in block.items if not isinstance(item, str)]
        assert got["code"] == codes, case
        compared += 1
    assert compared > 40


def test_nothing_is_shown_that_is_not_a_number(answers):
    for case, got in answers.items():
        assert not re.search(r"NaN|undefined|Infinity|null", got["own"]), (case, got["own"])


def test_the_data_hold_the_shipped_table(tmp_path):
    make_data = builder()
    make_data.write_data(tmp_path / "data.js")
    text = (tmp_path / "data.js").read_text()
    assert len(text) < 700_000
    data = json.loads(text[text.index("{") : text.rindex("}") + 1])
    with np.load(one_draw_table.DATA) as archive:
        for field, rows in data["fields"].items():
            for name in one_draw_table.NAMES:
                packed = np.frombuffer(base64.b64decode(rows[name]), np.uint8).reshape(-1, 3)
                numbers = np.pad(packed, ((0, 0), (1, 0))).reshape(-1).view("<f4")
                shipped = archive[f"{field}_{name}"]
                if name in ("log_scale", "log_scale_error"):
                    shipped = shipped[:, 0]
                np.testing.assert_array_equal(numbers, shipped.ravel())


def test_numbers_of_more_than_three_bytes_are_refused():
    with pytest.raises(ValueError, match="more than three bytes"):
        builder().packed(np.array([1.1], np.float32))
