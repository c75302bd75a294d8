import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from signalprop import exact, lru_energy, rnn_energy, sample
from signalprop.criteria import Criterion
from signalprop.fields import Field, as_field
from signalprop.ginibre.dense import weights
from signalprop.initialization import depth_budget, safe_scale, width_needed
from signalprop.initialization.one_draw_table import table, tabled_log_edge
from signalprop.initialization.spectral_edge import log_radius_quantile
from signalprop.montecarlo.one_draw import scaled_path

FIELDS = ["real", "complex", "quaternion"]


def mean_path(n, horizon, field, model, g):
    steps = np.arange(horizon + 1)
    if model == "rnn":
        return rnn_energy(n, steps, field, scale=g, log=True)
    return lru_energy(n, steps, field, scale=g, log=True) - np.log1p(steps)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 10**6),
    horizon=st.integers(1, 120),
    field=st.sampled_from(FIELDS),
    model=st.sampled_from(["rnn", "lru"]),
    tolerance=st.floats(0.01, 1.0),
)
def test_bounded_never_passes_the_bound_and_touches_it(n, horizon, field, model, tolerance):
    found = safe_scale(n, horizon, field, model=model, criterion="bounded", tolerance=tolerance)
    path = mean_path(n, horizon, field, model, found.scale)
    assert path[1:].max() == pytest.approx(math.log1p(tolerance), abs=1e-10 * horizon)
    np.testing.assert_allclose(found.log_path, path, atol=1e-9)
    assert found.peak[1] == pytest.approx(found.log_path.max(), abs=1e-10)
    assert found.std == pytest.approx(found.scale / math.sqrt(n))


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 10**6),
    horizon=st.integers(1, 120),
    field=st.sampled_from(FIELDS),
    model=st.sampled_from(["rnn", "lru"]),
)
def test_minimax_is_balanced_and_best(n, horizon, field, model):
    found = safe_scale(n, horizon, field, model=model, criterion="minimax")
    assert found.peak[1] + found.dip[1] == pytest.approx(0.0, abs=1e-8)
    worst = np.abs(found.log_path).max()
    for factor in (0.999, 1.001):
        assert np.abs(mean_path(n, horizon, field, model, found.scale * factor)).max() >= worst - 1e-9


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 10**5),
    horizon=st.integers(1, 150),
    field=st.sampled_from(FIELDS),
    model=st.sampled_from(["rnn", "lru"]),
    criterion=st.sampled_from(["bounded", "minimax", "glorot", "quantile"]),
)
def test_peak_dip_and_end_are_those_of_the_path(n, horizon, field, model, criterion):
    found = safe_scale(n, horizon, field, model=model, criterion=criterion)
    path = found.log_path
    assert found.peak[1] == pytest.approx(path.max(), abs=1e-9)
    assert found.dip[1] == pytest.approx(path.min(), abs=1e-9)
    assert path[found.peak[0]] == pytest.approx(path.max(), abs=1e-9)
    assert path[found.dip[0]] == pytest.approx(path.min(), abs=1e-9)
    assert found.log_mean_at_horizon == pytest.approx(path[-1], abs=1e-9)


@pytest.mark.parametrize("field", FIELDS)
def test_log_energy_is_convex_in_the_step(field):
    # What lets the scales be found without all steps: exactly for k < 40, in float64 for k <= 600.
    for n in (1, 2, 3, 4, 5, 7, 20, 1000, 10**12):
        q = [exact.rnn_energy(n, k, field) for k in range(40)]
        assert all(q[k - 1] * q[k + 1] >= q[k] ** 2 for k in range(1, 39))
    for n in (1, 2, 9, 30, 100, 1000, 10**5, 10**9):
        path = rnn_energy(n, np.arange(601), field, log=True)
        assert (np.diff(path, 2) >= -4e-13 * np.maximum(1.0, np.abs(path[2:]))).all()


def test_bounded_falls_with_the_horizon_and_tends_to_its_limit():
    scales = [safe_scale(256, horizon, criterion="bounded").scale for horizon in (1, 2, 5, 20, 100, 400)]
    assert scales == sorted(scales, reverse=True)
    for horizon in (1, 7, 50):
        wide = safe_scale(10**15, horizon, criterion="bounded", tolerance=0.2).scale
        assert wide == pytest.approx(1.2 ** (1 / (2 * horizon)), rel=1e-12)


def test_fields_are_ordered():
    for n, horizon in ((20, 30), (500, 100)):
        real, complex_, quaternion = (safe_scale(n, horizon, field, criterion="bounded").scale for field in FIELDS)
        assert real < complex_ < quaternion


def test_glorot_and_the_worked_examples():
    assert safe_scale(512, 300, criterion="glorot").scale == 1.0
    assert safe_scale(512, 2000, criterion="bounded").scale == pytest.approx(0.484, abs=5e-4)
    assert safe_scale(512, 2000, criterion="glorot").peak[1] == pytest.approx(2902, abs=1)
    assert math.expm1(safe_scale(4096, 64, criterion="glorot").peak[1]) == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize(
    ("n", "horizon", "field", "samples"),
    [
        (32, 60, "real", None),  # from the table
        (32, 60, "complex", None),
        (32, 60, "complex", 4000),  # drawn for the call
        pytest.param(128, 60, "real", None, marks=pytest.mark.slow),
        pytest.param(128, 60, "complex", 4000, marks=pytest.mark.slow),
        pytest.param(512, 50, "real", None, marks=pytest.mark.slow),
        pytest.param(512, 200, "real", None, marks=pytest.mark.slow),
        pytest.param(128, 2000, "real", None, marks=pytest.mark.slow),
    ],
)
def test_quantile_keeps_its_promise_on_fresh_dense_matrices(n, horizon, field, samples):
    count = 4000 if n < 512 else 1000
    found = safe_scale(n, horizon, field, samples=samples, seed=1)
    assert found.source == ("table" if samples is None else "samples")
    fresh = sample(n, horizon, field, samples=count, seed=99, method="dense").log_norms
    highest = scaled_path(2.0 * fresh, math.log(found.largest), "rnn").max(axis=1)
    share = np.mean(highest <= math.log(10.0))
    # Both the scale and the share are estimates: the binomial errors of the fresh draws and of those behind the scale add.
    behind = samples or table(as_field(field)).draws_behind(n, horizon)
    assert abs(share - 0.95) < 3.5 * math.sqrt(0.95 * 0.05 * (1 / count + 1 / behind))
    assert found.largest_interval[0] <= found.largest <= found.largest_interval[1]


@pytest.mark.parametrize("bound", [10.0, pytest.param(4.0, marks=pytest.mark.slow)])
def test_exploding_share_is_that_of_fresh_dense_matrices(bound):
    n, horizon, count = 100, 40, 4000
    fresh = 2.0 * sample(n, horizon, "real", samples=count, seed=5, method="dense").log_norms
    for scale in (0.97, 1.0, 1.03):
        found = replace(safe_scale(n, horizon, criterion="glorot"), scale=scale)
        estimate, low, high = found.exploding_share(bound)
        share = np.mean(scaled_path(fresh, math.log(scale), "rnn").max(axis=1) > math.log(bound))
        error = math.sqrt(share * (1 - share) * (1 / count + 1 / 2000))
        assert low - 3.5 * error <= share <= high + 3.5 * error
        assert abs(estimate - share) < 4.0 * error + 1e-3


def test_share_of_a_drawn_scale_is_drawn_anew():
    """At one seed, the draws that chose the scale would say the quantile itself, whatever the scale is worth."""
    found = [safe_scale(30, 20, "real", samples=200, seed=seed) for seed in range(20)]
    shares = np.array([each.exploding_share(samples=200, seed=seed)[0] for seed, each in enumerate(found)])
    error = math.sqrt(0.05 * 0.95 * 2 / 200)
    assert shares.std(ddof=1) > 0.5 * error  # chi-square of 19: below that in 1e-4 of runs
    assert abs(shares.mean() - 0.05) < 5.0 * error / math.sqrt(20)


def test_interval_of_the_quantile_covers():
    # 200 small runs: the 95 % interval holds the scale of a large run as often as promised.
    wanted = safe_scale(40, 20, samples=60_000, seed=7).scale
    inside = 0
    for seed in range(200):
        low, high = safe_scale(40, 20, samples=400, seed=1000 + seed).interval
        inside += low <= wanted <= high
    assert inside >= stats.binom.ppf(1e-3, 200, 0.95)


@pytest.mark.parametrize(("field", "twice"), [("complex", 1), ("quaternion", 2)])
@pytest.mark.parametrize("n", [2, 5, 50, 700, 3000])
def test_edge_is_kostlans_product(n, field, twice):
    for quantile in (0.05, 0.5, 0.95, 0.999):
        g = safe_scale(n, 10, field, criterion="edge", quantile=quantile).scale
        product = special.gammainc(twice * np.arange(1, n + 1), twice * n / g**2).prod()
        # The cube root is off by less than 0.015/n of the radius; between quantiles that is little.
        assert special.ndtri(product) == pytest.approx(special.ndtri(quantile), abs=0.05)


def test_edge_tends_to_the_published_gumbel_law():
    # Rider 2003, Rider-Sinclair 2014: convergence goes like log log n/log n, so only the trend can be asked for.
    gaps = []
    for n in (10**4, 10**8, 10**16):
        gamma = math.log(n / (2 * math.pi)) - 2 * math.log(math.log(n))
        for field, share in (("complex", 1.0), ("real", 0.5)):
            x = -math.log(-math.log(0.5) / share)
            law = math.sqrt(gamma / (4 * n)) + x / math.sqrt(4 * n * gamma)
            gaps.append(-math.log(safe_scale(n, 10, field, criterion="edge", quantile=0.5).scale) / law - 1.0)
    assert abs(gaps[4]) < abs(gaps[2]) < abs(gaps[0]) < 0.35
    assert abs(gaps[5]) < abs(gaps[1]) < 0.35


@pytest.mark.parametrize("field", FIELDS)
def test_edge_has_no_jumps(field):
    for n in (10, 300, 999, 1000, 12_287, 12_288, 12_289):
        here, there = (safe_scale(m, 10, field, criterion="edge").scale - 1.0 for m in (n, n + 1))
        assert there == pytest.approx(here, rel=0.12 if field == "real" and n == 12_288 else 0.08)


@pytest.mark.parametrize(
    ("n", "field"), [(1, "real"), (12, "complex"), (60, "real"), pytest.param(200, "real", marks=pytest.mark.slow)]
)
def test_edge_below_the_law_is_that_of_sampled_spectral_radii(n, field):
    count = 2000 if n < 100 else 300
    radii = np.array(
        [np.abs(np.linalg.eigvals(w)).max() for w in weights(n, as_field(field), count, np.random.default_rng(0))]
    )
    for quantile in (0.5, 0.9):
        found = safe_scale(n, 10, field, criterion="edge", quantile=quantile)
        share = np.mean(found.scale * radii <= 1.0)
        assert abs(share - quantile) < 4.0 * math.sqrt(quantile * (1 - quantile) * (1 / count + 1 / 1000))


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("model", ["rnn", "lru"])
@pytest.mark.parametrize("n", [1, 50, 4096])
def test_budget_is_the_last_good_step(field, model, n):
    budget = depth_budget(n, field, 0.1, model)
    path = mean_path(n, budget + 1, field, model, 1.0)
    assert path[:-1].max() <= math.log(1.1) < path[-1]


def test_budget_and_width_are_inverse():
    assert depth_budget(10**12, "complex") == pytest.approx(1e6 * (24 * 0.1) ** 0.25, rel=0.02)
    for field, model, horizon in (("real", "rnn", 76), ("complex", "lru", 300), ("quaternion", "rnn", 5)):
        n = width_needed(horizon, field, model=model)
        assert depth_budget(n, field, model=model) >= horizon > depth_budget(n - 1, field, model=model)
    assert width_needed(1) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: safe_scale(10, 0), "horizon must be at least 1, got 0"),
        (lambda: safe_scale(10, 10**6 + 1), "horizon must be at most 1000000, got 1000001"),
        (lambda: safe_scale(10, 20_001, criterion="bounded"), "horizon must be at most 20000, got 20001"),
        (lambda: safe_scale(10, 5001, model="lru", criterion="minimax"), "horizon must be at most 5000, got 5001"),
        (lambda: safe_scale(10, 5).exploding_share(0.5), "bound must be above 1, the energy at the start, got 0.5"),
        (lambda: safe_scale(10, 5, model="lru").plot(), "plot.. shows h <- W h"),
        (lambda: safe_scale(0, 5), "n must be at least 1"),
        (
            lambda: safe_scale(9, 5, tolerance=0.2),
            "tolerance belongs to criterion='bounded'; criterion='quantile' does not",
        ),
        (
            lambda: safe_scale(9, 5, criterion="glorot", quantile=0.9),
            "quantile belongs to criterion='quantile' or 'edge'",
        ),
        (lambda: safe_scale(9, 5, criterion="edge", bound=10.0), "bound belongs to criterion='quantile'"),
        (lambda: safe_scale(9, 5, criterion="minimax", samples=9), "samples belongs to criterion='quantile'"),
        (lambda: safe_scale(9, 5, criterion="bounded", seed=0), "seed belongs to criterion='quantile'"),
        (lambda: depth_budget(9, quantile=0.9), "quantile belongs to criterion='draw'; criterion='mean' does not"),
        (lambda: depth_budget(9, bound=5.0), "bound belongs to criterion='draw'"),
        (lambda: depth_budget(9, samples=100), "samples belongs to criterion='draw'"),
        (lambda: depth_budget(9, seed=0), "seed belongs to criterion='draw'"),
        (lambda: depth_budget(9, "real", 0.2, criterion="draw"), "tolerance belongs to criterion='mean'"),
        (lambda: depth_budget(9, model="driven", criterion="draw"), "needs model='rnn', got model='driven'"),
        (lambda: depth_budget(9, criterion="worst"), "criterion must be one of 'mean' or 'draw', got 'worst'"),
        (lambda: width_needed(9, quantile=0.9), "quantile belongs to criterion='draw'"),
        (lambda: width_needed(9, tolerance=0.2, criterion="draw"), "tolerance belongs to criterion='mean'"),
        (
            lambda: width_needed(9, criterion="draw", quantile=0.999),
            "between 0.05 and 0.99 for a width from the table, got 0.999",
        ),
        (
            lambda: safe_scale(10, 5, criterion="half"),
            "criterion must be one of 'quantile', 'bounded', 'minimax', 'edge' or 'glorot'",
        ),
        (lambda: safe_scale(10, 5, model="gru"), "model must be one of 'rnn' or 'driven', got 'gru'"),
        (lambda: safe_scale(10, 5, "octonion"), "field must be one of"),
        (
            lambda: safe_scale(10, 5, criterion="bounded", tolerance=-0.1),
            "tolerance must be a positive finite number, got -0.1",
        ),
        (lambda: safe_scale(10, 5, quantile=1.0), r"quantile must lie strictly between 0 and 1, got 1\.0"),
        (lambda: safe_scale(10, 5, bound=1.0), r"bound must be above 1, the energy at the start, got 1\.0"),
        (
            lambda: safe_scale(10, 5, quantile=0.999, samples=50),
            "50 samples are too few for an interval around the quantile 0.999",
        ),
        (lambda: safe_scale(10, 5, seed=-1), "seed must be at least 0, got -1"),
        (lambda: safe_scale(10, 5, samples=1), "samples must be at least 2, got 1"),
        (lambda: safe_scale(10, 5, quantile=1e-300), "quantile must lie strictly between 0 and 1, got 1e-300"),
        (lambda: depth_budget(10, criterion="draw", quantile=7), "quantile must lie strictly between 0 and 1, got 7"),
        (lambda: safe_scale(100, 5, criterion="edge", quantile=0.999), "quantiles from 0.01 on, .* to 0.99, got 0.999"),
        (lambda: safe_scale(1, 5, "complex", criterion="edge", quantile=0.003), "quantiles from 0.01 on, .* got 0.003"),
        (
            lambda: safe_scale(2, 5, "quaternion", criterion="edge", quantile=1e-8),
            "quantiles from 0.01 on, .* got 1e-08",
        ),
        (
            lambda: safe_scale(10**9, 5, "real", criterion="edge", quantile=0.009),
            "quantiles from 0.01 on, .* got 0.009",
        ),
        (lambda: depth_budget(0), "n must be at least 1"),
        (lambda: depth_budget(10**12), "lies beyond 20000 steps"),
        (lambda: depth_budget(10, model="x"), "model must be one of"),
        (lambda: width_needed(0), "horizon must be at least 1"),
        (lambda: width_needed(10**7, "complex", 1e-12), "needs a width beyond"),
        (lambda: width_needed(5, model="x"), "model must be one of"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("criterion", list(Criterion))
@pytest.mark.parametrize("field", FIELDS)
def test_an_option_is_read_or_refused(criterion, field):
    values = {"tolerance": 0.3, "quantile": 0.8, "bound": 4.0, "samples": 300, "seed": 5}
    plain = safe_scale(20, 30, field, criterion=criterion)
    for name, value in values.items():
        if name in criterion.options:
            found = safe_scale(20, 30, field, criterion=criterion, **{name: value})
            assert found.scale != plain.scale or name == "seed"  # the table has no seed
        else:
            with pytest.raises(ValueError, match=f"{name} belongs to criterion="):
                safe_scale(20, 30, field, criterion=criterion, **{name: value})


def test_samples_are_drawn_wherever_they_are_asked_for():
    first, other = (depth_budget(60, "real", criterion="draw", samples=60, seed=seed) for seed in (1, 2))
    assert first != other
    assert safe_scale(60, 30, samples=200, seed=1).source == "samples"


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("model", ["rnn", "driven"])
def test_the_quantile_scale_is_never_above_one(field, model):
    for n in (1, 2, 3, 5, 10, 29, 100, 10**4, 10**9):
        for horizon in (1, 2, 5, 20, 60):
            found = safe_scale(n, horizon, field, model=model)
            assert found.scale == min(found.largest, 1.0)
            assert found.interval == tuple(min(end, 1.0) for end in found.largest_interval)
            assert found.as_dict()["largest"]["scale"] == found.largest
    assert safe_scale(1, 1, "real").largest == pytest.approx(1.6, abs=0.05)  # P(w^2 > 10/g^2) = 5 % at g = 1.61
    drawn = safe_scale(30, 3, field, model=model, samples=100, seed=1)
    assert drawn.scale == 1.0 < drawn.largest


@pytest.mark.parametrize("field", ["complex", "quaternion"])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 30, 150, 800, 6000])
def test_radius_is_as_close_to_the_product_as_is_said(field, n):
    twice = 2 if field == "quaternion" else 1
    shapes = twice * np.arange(max(1, n - 14 * math.isqrt(n) - 3), n + 1)
    said = 0.015 / n if n > 1 else {"complex": 0.07, "quaternion": 0.025}[field]
    for quantile in (0.01, 0.1, 0.5, 0.9, 0.99):
        radius = 1.0 / safe_scale(n, 10, field, criterion="edge", quantile=quantile).scale

        def product(r):
            return special.gammainc(shapes, twice * n * r**2).prod()

        assert product(max(radius - said, 0.0)) < quantile < product(radius + said)


def test_the_real_law_is_short_of_drawn_radii_as_is_said():
    for n, short, within in ((64, 0.24, 0.08), (512, 0.12, 0.06), (2048, 0.06, 0.06), (12_288, 0.06, 0.06)):
        drawn, law = (math.expm1(log(n, Field.REAL, 0.95)) for log in (tabled_log_edge, log_radius_quantile))
        assert 1.0 - law / drawn == pytest.approx(short, abs=within)
