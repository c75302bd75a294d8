"""``signalprop recurrence``: its numbers are those of the library, its refusals are sentences, it loads little."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from signalprop import lru_energy, recurrences
from signalprop.cli import app
from signalprop.recurrences import KINDS
from tests.gaussian import z_bound

runner = CliRunner()


def run(*arguments):
    result = runner.invoke(app, ["recurrence", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def run_json(*arguments):
    return json.loads(run(*arguments, "--json"))


def test_rotrnn_as_text():
    text = run("rotrnn", "--gamma", "0.999", "--horizon", "1000")
    rows = [line.split() for line in text.splitlines()]
    assert ["100", "0.181351", "1"] in rows
    assert ["1000", "0.8648", "1"] in rows
    assert ["stationary", "1"] in rows
    assert "86.5 % of its stationary energy at step 1000, and 95 % from step 1498 on" in " ".join(text.split())
    assert "x_1 = B u_1/sqrt(tr B B^T)" in text
    assert 1 - 0.999 ** (2 * 1497) < 0.95 <= 1 - 0.999 ** (2 * 1498)
    assert "13.5 % is left" in text
    assert "--correlation 0.9" in text


LAYERS = {
    "rotrnn": (["--heads", "4", "-d", "3", "--max-phase", "0.5"],
               lambda: recurrences.rotrnn(16, 3, heads=4, max_phase=0.5, seed=2)),
    "lru": (["--r-min", "0.5", "--r-max", "0.9"], lambda: recurrences.lru(16, 16, r_min=0.5, r_max=0.9, seed=2)),
    "s4": (["--dt", "0.05"], lambda: recurrences.s4(16, dt=0.05)),
    "s4d-lin": (["-d", "3"], lambda: recurrences.s4d_lin(16, channels=3, seed=2)),
    "s5": (["-d", "3"], lambda: recurrences.s5(16, 3, seed=2)),
    "gaussian": (["--scale", "0.8", "--field", "complex"],
                 lambda: recurrences.gaussian(16, "complex", scale=0.8, seed=2)),
    "orthogonal": (["--gamma", "0.9"], lambda: recurrences.orthogonal(16, gamma=0.9, seed=2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("rho", [0.0, 0.5])
def test_json_is_the_library(kind, rho):
    options, build = LAYERS[kind]
    answer = run_json(
        kind, "-n", "16", "-T", "60", "--seed", "2", *options, "--correlation", str(rho), "--samples", "400"
    )
    layer, steps = build(), answer["steps"]
    assert steps[0] == 1
    assert steps[-1] == 60
    assert {3, 10, 30} <= set(steps)
    path = layer.energy(60, correlation=rho)
    np.testing.assert_allclose(answer["energy"], path[steps], rtol=1e-12)
    assert answer["stationary_energy"] == pytest.approx(layer.stationary_energy(correlation=rho))
    assert answer["share_of_an_input_left_at_horizon"] == pytest.approx(layer.forward_energy(60, layer.B)[-1])
    assert answer["share_of_a_gradient_left_at_horizon"] == pytest.approx(layer.gradient_energy(60)[-1])
    assert np.abs(answer["z"]).max() < z_bound(len(steps))
    filled = np.flatnonzero(path >= 0.95 * answer["stationary_energy"])
    if filled.size:
        assert answer["step_at_95_percent"] == filled[0]
    assert (answer["energy_with_first_step_rule"] is not None) == (kind in ("rotrnn", "lru"))
    text = run(kind, "-n", "16", "-T", "60", "--seed", "2", *options, "--correlation", str(rho))
    assert f"{path[60]:.6g}" in text


def test_first_step_rule_is_flat_for_white_inputs():
    answer = run_json("rotrnn", "-n", "12", "--heads", "3", "-T", "50")
    np.testing.assert_allclose(answer["energy_with_first_step_rule"], 3.0, rtol=1e-12)
    answer = run_json("lru", "-n", "12", "-T", "50")
    np.testing.assert_allclose(answer["energy_with_first_step_rule"], answer["stationary_energy"], rtol=1e-12)


def test_gaussian_is_set_beside_its_average_and_may_have_no_limit():
    answer = run_json("gaussian", "-n", "30", "-T", "20")
    want = lru_energy(30, np.array(answer["steps"]) - 1, "real")
    np.testing.assert_allclose(answer["energy_averaged_over_weights"], want)
    text = run("orthogonal", "-n", "8", "-T", "20")
    assert re.search(r"stationary +none\n", text)
    assert "not below one: the energy has no limit" in text
    assert run_json("orthogonal", "-n", "8", "-T", "20")["stationary_energy"] is None
    assert "times as much is left" in run("gaussian", "-n", "30", "-T", "200", "--scale", "1.2")


@pytest.mark.parametrize(
    "arguments", [["rotrnn", "--samples", "50"], ["gaussian"], ["orthogonal", "--correlation", "0.5"]]
)
def test_plot(tmp_path, arguments):
    picture = tmp_path / "path.svg"
    text = run(*arguments, "-n", "8", "-T", "20", "--plot", str(picture))
    assert f"wrote {picture}" in text
    drawn = picture.read_text()
    assert "exact, from" in drawn
    assert ("first-step rule" in drawn) == (arguments[0] == "rotrnn")
    assert ("drawn input sequences" in drawn) == ("--samples" in arguments)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rotrnn", "--gamma", "1"], "gamma must lie strictly between 0 and 1, got 1.0"),
        (["rotrnn", "--gamma", "nan"], "gamma must lie strictly between 0 and 1, got nan"),
        (["rotrnn", "--max-phase", "7"], "--max-phase must lie in (0, 2 pi], got 7.0"),
        (["rotrnn", "-n", "65", "--heads", "2"], "--states must be divisible by heads, got 65 states and 2 heads"),
        (["rotrnn", "-T", "0"], "horizon must be at least 1, got 0"),
        (["rotrnn", "--correlation", "1"], "correlation must lie strictly between -1 and 1, got 1.0"),
        (["rotrnn", "--r-min", "0.5"], "--r-min has no meaning for rotrnn; it belongs to lru."),
        (["rotrnn", "--samples", "1"], "samples must be at least 2, got 1"),
        (["lru", "--r-max", "2"], "radii must satisfy"),
        (["s4d-lin", "-n", "7"], "--states must be even"),
        (["s5", "--dt", "-1"], "dt must be a positive finite number, got -1.0"),
        (["gaussian", "--field", "quaternion"], "quaternion weights are not drawn here"),
        (["gaussian", "--scale", "3", "-T", "2000"], "the energy leaves float64 at step"),
        (["orthogonal", "--seed", "-1"], "seed must be at least 0, got -1"),
        (["orthogonal", "-n", "4", "-T", "5", "--plot", "x.jpeg"], "ends in .png, .svg or .pdf, got 'x.jpeg'"),
        (["s6"], "'s6' is not one of 'rotrnn', 'lru'"),
    ],
)
def test_bad_usage_is_a_sentence_and_exit_code_two(arguments, sentence):
    result = runner.invoke(app, ["recurrence", *arguments])
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_rotrnn_and_lru_load_nothing_heavy():
    code = (
        "import sys; from typer.testing import CliRunner; from signalprop.cli import app\n"
        "for kind in ('rotrnn', 'lru', 's5'):\n"
        "    r = CliRunner().invoke(app, ['recurrence', kind, '-T', '100']); assert r.exit_code == 0, r.output\n"
        "print([m for m in ('numba', 'scipy', 'matplotlib', 'torch', 'pandas', 'sympy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_orthogonal_matrix_has_no_limit_whatever_its_eigenvalues_round_to():
    for seed in range(4):
        answer = run_json("orthogonal", "-n", "4", "-T", "5", "--seed", str(seed))
        assert answer["stationary_energy"] is None
        assert answer["spectral_radius"] == 1.0
        assert answer["spectral_radius_interval"] == [1.0, 1.0]


@pytest.mark.parametrize("n", [128, 256])
def test_the_radius_of_s4_is_that_of_its_diagonal(n):
    answer = run_json("s4", "-n", str(n), "--dt", "0.1", "-T", "10")
    assert answer["spectral_radius"] == pytest.approx(0.95 / 1.05, rel=1e-14)


@pytest.mark.parametrize(
    ("width", "horizon"), [("-n", "-T"), ("--width", "--horizon"), ("--states", "--depth"), ("-n", "-k")]
)
def test_width_and_horizon_have_the_spellings_of_the_other_commands(width, horizon):
    assert run_json("s4", width, "6", horizon, "7", "--dt", "0.1") == run_json(
        "s4", "-n", "6", "-T", "7", "--dt", "0.1"
    )


def test_defaults_are_those_of_the_library():
    answer = run_json("lru", "-n", "6", "-T", "9")
    np.testing.assert_allclose(answer["energy"], recurrences.lru(6, 6).energy(9)[answer["steps"]])


def test_every_kind_has_its_own_words_and_options():
    assert len({kind.build for kind in KINDS.values()}) == len(KINDS)
    assert set(LAYERS) == set(KINDS)
    page = " ".join(runner.invoke(app, ["recurrence", "--help"], env={"COLUMNS": "300"}).stdout.split())
    for name, kind in KINDS.items():
        assert f"{name}: {kind.about}" in page
        for parameter in kind.parameters:
            line = re.search(rf"{parameter.spellings[-1]} <[^>]*> ([^:]*): ", page)
            assert line is not None
            assert name in line[1].split(", ")


@pytest.mark.filterwarnings("error")
def test_a_scale_near_the_end_of_float64_warns_of_nothing():
    result = runner.invoke(app, ["recurrence", "gaussian", "-n", "16", "-T", "10", "--scale", "1e200"])
    assert result.exit_code == 2
    assert "the energy leaves float64 at step 2" in result.stderr
    assert "Warning" not in result.stderr
