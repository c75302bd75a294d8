"""Trust and verdicts against the sentences that define them, by samples drawn many times over."""

import math

import numpy as np
import pytest
from scipy import stats

from signalprop import Estimate, exact
from signalprop.montecarlo import known, trust
from signalprop.montecarlo.cell import as_cell

RARE = 1e-6


def drawn_again(n, k, field, model, samples, groups, seed=5, **options):
    """Estimates of `groups` independent samples of one cell."""
    cell = as_cell(n, k, field, samples=samples * groups, seed=seed, **{"method": "krylov", **options})
    paths = [cell.draw(chunk)[0 if model == "rnn" else 1][:, -1] for chunk in range(cell.chunks)]
    log_exact = known.log_exact(cell, model, k)
    return [cell.judged(logs, model, k, log_exact, ()) for logs in np.split(2.0 * np.concatenate(paths), groups)]


def counted(estimates):
    """How many are trusted, and how many intervals of these hold the exact mean."""
    trusted = [one for one in estimates if one.trusted]
    return len(trusted), sum(one.log_interval[0] <= one.log_exact <= one.log_interval[1] for one in trusted)


def fewest(count, share):
    return stats.binom.ppf(RARE, count, share)


@pytest.mark.parametrize(
    ("n", "k", "field", "model", "samples"),
    [
        (25, 7, "real", "rnn", 1000),
        (25, 7, "real", "lru", 1000),
        (25, 9, "real", "rnn", 1000),
        (100, 22, "complex", "rnn", 1000),
        (100, 22, "complex", "lru", 200),
        (100, 22, "complex", "rnn", 100),
        (64, 5, "complex", "rnn", 10),
        (25, 10, "quaternion", "rnn", 60),
    ],
)
def test_known_second_moment_makes_means_usable(n, k, field, model, samples):
    estimates = drawn_again(n, k, field, model, samples, 200)
    trusted, covered = counted(estimates)
    assert trusted == 200
    assert covered >= fewest(200, 0.95)
    assert not any("DISAGREES" in one.verdict for one in estimates)
    # The error is that of the law: the scatter of the means is not larger.
    ratios = np.exp([one.log_mean - one.log_exact for one in estimates])
    inside = sum(abs(ratio - 1.0) < 2.0 * estimates[0].predicted_relative_stderr for ratio in ratios)
    assert inside >= fewest(200, 0.95)


@pytest.mark.parametrize("samples", [50, 200, 1000])
@pytest.mark.parametrize(
    ("n", "k", "field", "model"), [(100, 14, "real", "rnn"), (100, 18, "real", "lru"), (100, 24, "quaternion", "rnn")]
)
def test_known_law_is_trusted_as_a_whole_or_not_at_all(n, k, field, model, samples):
    groups = 200 if samples < 1000 else 60
    estimates = drawn_again(n, k, field, model, samples, groups)
    trusted, covered = counted(estimates)
    assert trusted == groups
    assert covered >= fewest(groups, 0.88)
    assert not any("DISAGREES" in one.verdict for one in estimates)


@pytest.mark.parametrize("model", ["rnn", "lru"])
@pytest.mark.parametrize("samples", [45, 47, 49, 50, 1000])
def test_a_mean_that_draws_miss_is_never_trusted_nor_called_wrong(samples, model):
    estimates = drawn_again(100, 22, "real", model, samples, 150)
    assert min(one.z for one in estimates) < -3.0
    assert counted(estimates) == (0, 0)
    assert not any("DISAGREES" in one.verdict for one in estimates)


def test_few_draws_are_trusted_only_where_something_exact_decides():
    rng = np.random.default_rng(0)
    for samples in (2, 10, 49):
        logs = rng.normal(scale=0.01, size=samples)
        assert not Estimate.from_logs(logs).trusted
        assert not Estimate.from_logs(logs, 0.0).trusted
        assert not Estimate.from_logs(logs, 0.0, tail_law=trust.LIGHT).trusted
        assert Estimate.from_logs(logs, 0.0, log_second_moment=1e-4).trusted
    assert Estimate.from_logs(rng.normal(scale=0.01, size=50)).trusted


@pytest.mark.parametrize(("spread", "samples"), [(0.3, 50), (0.5, 200), (0.8, 1000), (1.0, 2000), (1.2, 20_000)])
def test_log_normal_draws_of_an_unknown_law(spread, samples):
    rng = np.random.default_rng(1)
    groups = [Estimate.from_logs(rng.normal(0.0, spread, samples), spread**2 / 2.0, ()) for _ in range(200)]
    trusted, covered = counted(groups)
    assert trusted > 20
    assert covered >= fewest(trusted, 0.90)
    assert not any("DISAGREES" in one.verdict for one in groups)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, count: rng.normal(0.0, 2.5, count),
        lambda rng, count: -np.log(rng.random(count)) / 0.9,  # Pareto without a mean
        lambda rng, count: np.where(rng.random(count) < 0.1, 4.0, rng.normal(0.0, 0.3, count)),  # an outlying tenth
    ],
)
@pytest.mark.parametrize("samples", [50, 1000])
def test_heavy_tails_are_not_trusted(draw, samples):
    rng = np.random.default_rng(2)
    assert not any(Estimate.from_logs(draw(rng, samples), None, ()).trusted for _ in range(50))


def test_number_of_draws_asked_for_is_enough():
    for spread in (0.4, 1.0, 1.5):
        needed = trust.needed_draws(spread)
        square = math.exp(spread**2)
        skewness = (square + 2.0) * math.sqrt((square - 1.0) / needed)
        assert skewness == pytest.approx(trust.LARGEST_SKEWNESS, rel=0.01)


@pytest.mark.parametrize("samples", [3, 30, 400])
def test_bound_on_chance_is_never_below_the_chance(samples):
    # Exponential draws, variance known: how often does a mean lie as far off as the bound says it may?
    logs = np.log(np.random.default_rng(3).exponential(size=(4000, samples)))
    means = np.log(np.exp(logs).mean(axis=1))
    bounds = np.exp([trust.log_chance(row, mean, 1.0, 0.0) for row, mean in zip(logs, means, strict=True)])
    for level in (0.5, 0.1, 0.01):
        assert np.sum(bounds <= level) <= stats.binom.ppf(1.0 - RARE, 4000, level)


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.25, 2.0])
def test_a_wrong_exact_mean_is_called_wrong(factor):
    cell = as_cell(64, 6, "complex", samples=4000, seed=1, method="krylov")
    logs = 2.0 * np.concatenate([cell.draw(chunk)[0][:, -1] for chunk in range(cell.chunks)])
    right = known.log_exact(cell, "rnn", 6)
    second = known.log_second_moment(cell, "rnn", 6)
    assert "agrees" in Estimate.from_logs(logs, right, log_second_moment=second).verdict
    wrong = right + math.log(factor)
    for one in (
        Estimate.from_logs(logs, wrong, log_second_moment=second + 2.0 * math.log(factor)),
        Estimate.from_logs(logs, wrong, tail_law=trust.LIGHT),
    ):
        assert "DISAGREES" in one.verdict
        assert (one.z > 0) == (factor < 1)


def test_a_million_fold_draw_does_not_make_a_right_mean_wrong():
    logs = np.zeros(200)
    logs[0] = math.log(1e6)
    one = Estimate.from_logs(logs, math.log(1.01), log_second_moment=math.log(1e7))
    assert one.z > 0.0
    assert "DISAGREES" not in one.verdict


@pytest.mark.parametrize(("n", "k"), [(1, 3), (9, 4), (40, 8), (40, 12)])
@pytest.mark.parametrize("field", ["real", "complex", "quaternion"])
def test_second_moments_of_cells_are_the_exact_ones(n, k, field):
    cell = as_cell(n, k, field, samples=10, seed=0, method="krylov")
    want = exact.energy_variance(n, k, field) + exact.rnn_energy(n, k, field) ** 2
    assert known.log_second_moment(cell, "rnn", k) == pytest.approx(
        math.log(want.numerator) - math.log(want.denominator), abs=1e-10
    )


@pytest.mark.parametrize(("field", "n", "k"), [("complex", 30, 6), ("real", 30, 5), ("complex", 100, 15)])
def test_bound_on_the_driven_recurrence(field, n, k):
    # Above the scatter of many draws, and by no more than a third in its standard deviation.
    cell = as_cell(n, k, field, samples=60_000, seed=4, method="krylov")
    energies = np.exp(2.0 * np.concatenate([cell.draw(chunk)[1][:, -1] for chunk in range(cell.chunks)]))
    log_mean = known.log_exact(cell, "lru", k)
    bound = math.sqrt(math.expm1(known.log_second_moment(cell, "lru", k) - 2.0 * log_mean))
    seen = energies.std() / math.exp(log_mean)
    assert 0.95 * seen < bound < 1.35 * seen
    assert known.log_second_moment(as_cell(n, k, field, samples=10, seed=4, method="dense"), "lru", k) is None


@pytest.mark.slow
@pytest.mark.parametrize("field", ["real", "complex", "quaternion"])
def test_coverage_given_trust_on_a_grid(field):
    """The numbers in the docstring of `Estimate.trusted`."""
    found = {}
    for n, draws in ((25, 20_000), (100, 20_000), (400, 6_000)):
        for c in (0.5, 1.0, 1.4, 1.8, 2.2, 2.6):
            k = max(1, round(c * math.sqrt(n)))
            cell = as_cell(n, k, field, samples=draws, seed=8, method="krylov")
            chunks = [cell.draw(chunk) for chunk in range(cell.chunks)]
            for place, model in enumerate(("rnn", "driven")):
                logs = 2.0 * np.concatenate([chunk[place][:, -1] for chunk in chunks])
                log_exact = known.log_exact(cell, model, k)
                for samples in (20, 50, 200, 1000):
                    groups = min(300, draws // samples)
                    parts = np.split(logs[: groups * samples], groups)
                    estimates = [cell.judged(part, model, k, log_exact, ()) for part in parts]
                    assert not any("DISAGREES" in one.verdict for one in estimates)
                    trusted, covered = counted(estimates)
                    assert trusted in (0, groups)
                    if trusted:
                        kind = "law" if estimates[0].predicted_relative_stderr is None else "second moment"
                        assert covered >= fewest(trusted, 0.95 if kind == "second moment" else 0.88), (
                            n,
                            k,
                            model,
                            samples,
                        )
                        found.setdefault(kind, []).append((covered / trusted, trusted, n, k, model, samples))
    for kind, rows in found.items():
        total = sum(count for _, count, *_ in rows)
        print(
            field, kind, f"{sum(share * count for share, count, *_ in rows) / total:.3f} of {total}", sorted(rows)[:4]
        )
