"""Simulated energies of gradients against exact laws, their seeds, and what they refuse."""

import math

import numpy as np
import pytest
from scipy.special import digamma, polygamma
from scipy.stats import binom, chi2, ks_2samp

import signalprop
from signalprop import energy, spread
from signalprop.cells import CELLS, gradient_energies
from signalprop.meanfield import ACTIVATIONS, chrono_biases, gradient_law
from signalprop.meanfield.quadrature import gaussian_mean


def logs(cell="tanh", n=8, horizon=6, *, draws=5, **given):
    return gradient_energies(cell, n, horizon, draws=draws, **given).log_energies


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_mean_of_linear_draws_is_exact(direction):
    n, k, draws = 16, 5, 4000
    found = np.exp(logs("linear", n, k, draws=draws, field="complex", direction=direction, seed=1)[:, -1])
    exact = float(energy.rnn_energy(n, k, "complex"))
    # ||W^k x||^2 has one law for every x, so its relative variance over W is that of the recurrence.
    error = exact * math.sqrt(float(spread.relative_variance(n, k, "complex")) / draws)
    assert abs(found.mean() - exact) < 4.0 * error


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_linear_draws_have_the_law_of_the_krylov_sampler(direction):
    n, k = 32, 20
    other = 2.0 * signalprop.sample(n, k, "real", samples=2000, seed=2).log_norms
    found = logs("linear", n, k, draws=2000, direction=direction, seed=3, scale=0.9)
    for t in (1, 6, k):
        assert ks_2samp(found[:, t] - 2.0 * t * math.log(0.9), other[:, t]).pvalue > 1e-3


def test_a_leaky_linear_cell_adds_powers():
    n, k, a, draws = 16, 6, 0.6, 4000
    found = np.exp(logs("linear", n, k, draws=draws, leak=a, field="complex", seed=4)[:, -1])
    # ((1 - a) I + a W)^k x, powers of W x uncorrelated for complex W
    weight = binom.pmf(np.arange(k + 1), k, a) ** 2
    exact = float(weight @ energy.rnn_energy(n, np.arange(k + 1), "complex"))
    assert abs(found.mean() - exact) < 4.0 * found.std() / math.sqrt(draws)


def test_fresh_weights_and_relu_have_independent_increments():
    n, steps, draws, g = 64, 30, 3000, math.sqrt(2.0)
    found = logs("relu", n, steps, draws=draws, tied=False, scale=g, burn_in=5, seed=5)
    # A step multiplies by g^2/n times chi squared of as many degrees as there are open units, and these are binomial.
    open_units = np.arange(1, n + 1)
    share = binom.pmf(open_units, n, 0.5)
    mean = share @ digamma(open_units / 2.0) + math.log(2.0 * g * g / n)
    variance = (
        share @ polygamma(1, open_units / 2.0)
        + share @ (digamma(open_units / 2.0) - share @ digamma(open_units / 2.0)) ** 2
    )
    last = found[:, -1]
    assert abs(last.mean() - steps * mean) < 4.0 * math.sqrt(steps * variance / draws)
    low, high = chi2.ppf([1e-4, 1.0 - 1e-4], draws - 1) / (draws - 1)
    assert low < last.var(ddof=1) / (steps * variance) < high
    law = gradient_law(n, steps, g, "relu", 1.0, tied=False)
    assert float(law.std) ** 2 == pytest.approx(steps * variance, rel=5.0 / n)
    assert float(law.median) == pytest.approx(steps * mean, abs=3.0 * steps / n**1.5)
    increments = np.diff(found, axis=1)
    assert abs(np.corrcoef(increments[:, 3], increments[:, 4])[0, 1]) < 4.0 / math.sqrt(draws)


def test_fresh_weights_and_tanh_follow_the_law_of_layers():
    n, steps, g = 256, 64, signalprop.meanfield.critical_scale("tanh", 1.0)
    found = gradient_energies(
        "tanh", n, steps, draws=600, tied=False, scale=float(g), burn_in=40, times=[steps], seed=6
    )
    law = gradient_law(n, steps, g, "tanh", 1.0, tied=False)
    for q in (0.16, 0.5, 0.84):
        level = found.quantile(q, 0.999)
        assert level.low[0] < float(law.quantile(q)) < level.high[0]


@pytest.mark.parametrize("name", [name for name, cell in CELLS.items() if not cell.gated])
def test_one_step_at_large_width_has_the_mean_of_the_slopes(name):
    phi = ACTIVATIONS[name]
    n, draws = 400, 60
    found = np.exp(logs(name, n, 1, draws=draws, scale=1.5, input_std=0.8, seed=7)[:, 1])
    chi = 1.5**2 * float(gaussian_mean(lambda x: phi.slope(x) ** 2, 0.64, kinks=phi.kinks))
    fourth = 1.5**4 * float(gaussian_mean(lambda x: phi.slope(x) ** 4, 0.64, kinks=phi.kinks))
    assert abs(found.mean() - chi) < 4.0 * math.sqrt((3.0 * fourth - chi**2) / (n * draws))


def test_seeds():
    whole = logs(draws=6)
    assert np.array_equal(whole, logs(draws=6, workers=2))
    assert np.array_equal(whole[:3], logs(draws=3))
    assert np.array_equal(whole[:, :4], logs(horizon=3, draws=6))
    assert np.array_equal(whole[:, [1, 4]], logs(draws=6, times=[1, 4]))
    assert not np.isin(whole[:, 1:], logs(draws=6, seed=1)).any()
    assert np.unique(whole[:, 1:]).size == whole[:, 1:].size


def test_scales_rest_on_the_same_numbers():
    one, other = logs("linear", scale=1.0), logs("linear", scale=0.5)
    np.testing.assert_allclose(one - other, 2.0 * np.log(2.0) * np.arange(7)[None] * np.ones((5, 1)), atol=1e-11)


def test_long_paths_come_in_blocks_and_leave_no_range():
    found = logs("linear", 3, 40_000, draws=1, scale=0.1)
    assert found[0, -1] == pytest.approx(2.0 * 40_000 * math.log(0.1), rel=0.5)
    steps = 300  # three blocks of inputs
    for direction in ("forward", "backward"):
        given = {"draws": 2, "direction": direction, "biases": "chrono", "memory": 50.0, "input_std": 3.0}
        path = logs("lstm", 150, steps, burn_in=150, **given)
        assert np.isfinite(path).all()
        if direction == "forward":
            assert np.array_equal(path[:, :100], logs("lstm", 150, 99, burn_in=150, **given))


def test_a_gradient_that_died_is_minus_infinity():
    found = gradient_energies("relu", 8, 4, draws=10, biases={"state": -50.0})
    assert (found.log_energies[:, 1:] == -np.inf).all()
    last = found.quantile(0.5)
    assert last.level[0] == 0.0
    assert (last.level[1:] == -np.inf).all()
    assert (last.high[1:] == -np.inf).all()
    backward = logs("relu", draws=3, biases={"state": -50.0}, direction="backward")
    assert (backward[:, 1:] == -np.inf).all()


def test_chrono_biases_go_to_the_gates_that_keep():
    """And make up for inputs that change from step to step: by default of standard deviation 1."""
    rng = np.random.default_rng(0)
    for name in ("lstm", "gru"):
        shape = (6, len(CELLS[name].gates), 8)
        still = np.broadcast_to(rng.standard_normal(shape[1:]), shape)
        # -0.7 and 0.7 at every second step around an offset that does not count.
        moving = still + 0.7 * (-1.0) ** np.arange(6)[:, None, None]
        for given, shaken in (
            ({}, 1.0),
            ({"input_std": 2.5}, 2.5),
            ({"input_std": 0.0}, 0.0),
            ({"inputs": "constant"}, 0.0),
            ({"inputs": still}, 0.0),
            ({"inputs": moving}, 0.7),
        ):
            kept = chrono_biases(8, 30.0, shaken)
            biases = {"forget_gate": kept, "input_gate": -kept} if name == "lstm" else {"update_gate": kept}
            found = logs(name, biases="chrono", memory=30.0, **given)
            np.testing.assert_allclose(found, logs(name, biases=biases, **given), rtol=1e-12, atol=1e-12)


def test_progress_counts_draws():
    told = []
    logs(draws=3, progress=lambda done, draws: told.append((done, draws)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"cell": "rnn"}, "cell must be one of 'linear', .* got 'rnn'"),
        ({"n": 0}, "n must be at least 1"),
        ({"n": 20_000}, "n must be at most 10000"),
        ({"horizon": -1}, "horizon must be at least 0"),
        ({"draws": 0}, "draws must be at least 1"),
        ({"scale": 0.0}, "scale must be a positive"),
        ({"scale": 1e3}, "scale must be at most 100"),
        ({"kind": "normal"}, "kind must be one of"),
        ({"field": "complex"}, "field must be 'real' for cell='tanh'"),
        ({"cell": "linear", "field": "quaternion"}, "'real' or 'complex' for cell='linear'"),
        ({"cell": "linear", "field": "complex", "kind": "uniform"}, "kind='uniform' has real weights"),
        ({"cell": "lstm", "leak": 0.5}, "leak must be 1 for cell='lstm'"),
        ({"leak": 0.0}, "leak must be above 0"),
        ({"direction": "up"}, "direction must be one of"),
        ({"tied": False, "direction": "backward"}, "tied=False draws fresh"),
        ({"tied": False, "kind": "orthogonal"}, "tied=False draws fresh"),
        ({"input_std": -1.0}, "input_std must lie between"),
        ({"inputs": np.ones((3, 8))}, r"inputs must be .* of shape \(6, 1, 8\)"),
        ({"inputs": np.ones((6, 8)), "input_std": 2.0}, "leave out input_std=2.0"),
        ({"inputs": "white"}, "inputs must be one of"),
        ({"biases": {"forget_gate": 1.0}}, "biases must be one of 'state'"),
        ({"biases": {"state": [1.0, 2.0]}}, r"biases\['state'\] must be a number"),
        ({"biases": 1.0}, "biases must be a dict"),
        ({"biases": "chrono", "memory": 9.0}, "which cell='tanh' does not have"),
        ({"cell": "gru", "biases": "chrono"}, "needs memory="),
        ({"cell": "gru", "biases": "chrono", "memory": 9.0, "input_std": 11.0}, "between 0 and 10, got 11.0"),
        ({"memory": 9.0}, "memory belongs to"),
        ({"times": [3, 2]}, "times must be increasing"),
        ({"times": [7]}, "times must be at most 6"),
        ({"burn_in": -1}, "burn_in must be at least 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"progress": 3}, "progress must be a function"),
        ({"n": 10_000, "horizon": 10**6}, "would take about .* signalprop.allow"),
        ({"n": 10_000, "horizon": 10**5, "direction": "backward", "draws": 1}, "would take about"),
        ({"cell": "leaky_relu", "scale": 100.0, "horizon": 1000}, "grow beyond 1e300 within"),
    ],
)
def test_refusals(given, sentence):
    whole = {"cell": "tanh", "n": 8, "horizon": 6, "draws": 5, **given}
    with pytest.raises(ValueError, match=sentence) as caught:
        gradient_energies(**whole)
    assert "\n" not in str(caught.value)


def test_a_quantile_needs_two_draws():
    with pytest.raises(ValueError, match="draws must be at least 2"):
        gradient_energies("tanh", 8, 6, draws=1).quantile()
