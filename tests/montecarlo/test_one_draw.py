import math

import numpy as np
import pytest
from scipy import stats

from signalprop import sample
from signalprop.montecarlo.one_draw import held_share, largest_log_scales, scaled_path
from signalprop.montecarlo.quantiles import order_ranks, quantile_interval

PATHS = 2.0 * sample(30, 40, "real", samples=150, seed=3).log_norms
TEN = math.log(10.0)


@pytest.mark.parametrize("model", ["rnn", "lru"])
@pytest.mark.parametrize("bound", [1.5, 10.0, 1e6])
def test_each_draw_touches_the_bound_at_its_own_largest_scale(model, bound):
    horizons = [1, 2, 7, 40]
    log_g = largest_log_scales(PATHS, horizons, math.log(bound), model)
    for column, horizon in enumerate(horizons):
        highest = scaled_path(PATHS[:, : horizon + 1], log_g[:, column], model)[:, 1:].max(axis=1)
        np.testing.assert_allclose(highest, math.log(bound), atol=1e-9)


@pytest.mark.parametrize("model", ["rnn", "lru"])
def test_horizons_together_are_horizons_one_by_one(model):
    together = largest_log_scales(PATHS, [3, 11, 40], TEN, model)
    for column, horizon in enumerate([3, 11, 40]):
        np.testing.assert_allclose(together[:, [column]], largest_log_scales(PATHS, [horizon], TEN, model), atol=1e-12)


def test_driven_path_is_the_running_mean():
    path = np.log([[1.0, 3.0, 5.0]])
    np.testing.assert_allclose(np.exp(scaled_path(path, 0.0, "lru")), [[1.0, 2.0, 3.0]])


def test_held_share_is_the_best_over_a_fine_grid_of_scales():
    horizons = [1, 5, 20, 40]
    shares, log_g = held_share(PATHS, horizons, TEN)
    grid = np.linspace(-1.5, 1.5, 6001)
    for column, horizon in enumerate(horizons):
        inside = [np.mean(np.abs(scaled_path(PATHS[:, : horizon + 1], x, "rnn")).max(axis=1) <= TEN) for x in grid]
        assert shares[column] >= max(inside) - 1e-12
        assert shares[column] <= max(inside) + 0.03  # the grid may step over the best interval
        at = np.mean(np.abs(scaled_path(PATHS[:, : horizon + 1], log_g[column], "rnn")).max(axis=1) <= TEN + 1e-12)
        assert at == pytest.approx(shares[column])
    assert list(shares) == sorted(shares, reverse=True)


def test_no_draw_to_hold():
    shares, log_g = held_share(np.array([[0.0, 9.0, -9.0], [0.0, 8.0, -8.0]]), [2], TEN)
    assert shares[0] == 0.0
    assert np.isfinite(log_g[0])


def test_interval_of_a_quantile_covers_as_promised():
    rng = np.random.default_rng(0)
    truth = stats.norm.ppf(0.05)
    covered = 0
    for _ in range(400):
        low, high = quantile_interval(np.sort(rng.standard_normal(300)), 0.05)
        covered += low <= truth <= high
    assert covered >= stats.binom.ppf(1e-3, 400, 0.95)


def test_too_few_draws_for_an_interval():
    with pytest.raises(
        ValueError,
        match=r"50 samples are too few for an interval around the quantile 0.999; take at least 8000 samples",
    ):
        quantile_interval(np.sort(np.random.default_rng(0).standard_normal(50)), 0.001)


@pytest.mark.parametrize("count", [2, 5, 16, 100, 4097, 10**6])
def test_ranks_are_those_of_the_binomial_law(count):
    for p in (1e-3, 0.05, 0.25, 0.5, 0.95, 0.999):
        low, high = order_ranks(count, p, 0.95)
        assert low == int(stats.binom.ppf(0.025, count, p)) - 1
        assert high == int(stats.binom.ppf(0.975, count, p))


@pytest.mark.parametrize(
    "function", [lambda *a: largest_log_scales(*a, "rnn"), lambda *a: largest_log_scales(*a, "driven"), held_share]
)
@pytest.mark.parametrize(
    ("paths", "horizons", "log_bound", "message"),
    [
        (PATHS, [41], TEN, "horizons must be at most 40, got 41.*where the paths end"),
        (PATHS, [10**9], TEN, "horizons must be at most 40, got 1000000000"),
        (PATHS, [5, 2**62], TEN, "horizons must be at most 40"),
        (PATHS, [0], TEN, "horizons must be at least 1, got 0"),
        (PATHS, [-3], TEN, "horizons must be at least 1, got -3"),
        (PATHS, [2.5], TEN, "horizons must be a whole number, got 2.5"),
        (PATHS, [], TEN, "horizons must be a list in increasing order"),
        (PATHS, [7, 3], TEN, "horizons must be a list in increasing order"),
        (PATHS, [[1, 2]], TEN, "horizons must be a list in increasing order"),
        (
            PATHS[0],
            [1],
            TEN,
            r"log_energies must be an array of real numbers of shape \(draws, K \+ 1\), got ndarray of shape \(41,\)",
        ),
        (PATHS + 0j, [1], TEN, "real numbers .* type complex128"),
        (np.ma.masked_less(PATHS, 0.0), [1], TEN, "real numbers .* got MaskedArray"),
        (np.where(PATHS > 0.1, np.nan, PATHS), [1], TEN, "numbers or -inf, got nan at position"),
        (PATHS, [1], math.nan, "log_bound must be positive and finite, got nan"),
        (PATHS, [1], 0.0, "log_bound must be positive and finite, got 0"),
    ],
)
def test_bad_input(function, paths, horizons, log_bound, message):
    with pytest.raises(ValueError, match=message):
        function(paths, horizons, log_bound)


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="model must be one of 'rnn' or 'driven', got 'gru'"):
        scaled_path(PATHS, 0.0, "gru")
    with pytest.raises(ValueError, match="model must be one of 'rnn' or 'driven', got 'gru'"):
        largest_log_scales(PATHS, [3], TEN, "gru")


def test_integers_and_single_horizons_are_taken():
    paths = np.array([[0, 1, 2], [0, -1, 5]])
    np.testing.assert_allclose(largest_log_scales(paths, 2, TEN, "rnn"), [[(TEN - 2) / 4], [(TEN - 5) / 4]])
    np.testing.assert_allclose(largest_log_scales(paths, np.float64(1), TEN, "rnn"), [[(TEN - 1) / 2], [(TEN + 1) / 2]])
