import json
import math

import numpy as np
import pytest
from scipy import stats

from signalprop import Estimate


def test_numbers_by_hand():
    y = np.array([1.0, 2.0, 3.0, 10.0])
    one = Estimate.from_logs(np.log(y), math.log(5.0), quantiles=(0.25, 0.75))
    assert one.mean == pytest.approx(4.0)
    assert one.stderr == pytest.approx(y.std(ddof=1) / 2.0)
    assert one.median == pytest.approx(math.sqrt(6.0))  # midpoint of the logs
    assert one.tail_share == pytest.approx(10.0 / 16.0)
    assert one.ess == pytest.approx(16.0**2 / 114.0)
    assert one.exact == pytest.approx(5.0)
    assert one.z == pytest.approx((4.0 - 5.0) / one.stderr)
    # Places 1/4 (4 + 1/3) + 1/3 = 17/12 and 43/12 among four, between neighbouring logs.
    assert one.quantiles == {0.25: pytest.approx(2.0 ** (5 / 12)), 0.75: pytest.approx(3.0 * (10 / 3) ** (7 / 12))}


def test_scale_invariance_far_outside_float64():
    logs = np.random.default_rng(0).normal(size=500)
    near, far = Estimate.from_logs(logs, 0.5), Estimate.from_logs(logs + 5000.0, 5000.5)
    assert far.log_mean == pytest.approx(near.log_mean + 5000.0)
    for name in ("relative_stderr", "tail_share", "ess", "z"):
        assert getattr(far, name) == pytest.approx(getattr(near, name), rel=1e-9)
    with pytest.raises(OverflowError, match="read log_mean, its natural logarithm"):
        _ = far.mean
    assert far.as_dict()["mean"] is None


def test_values_below_float64_are_refused_not_zero():
    low = Estimate.from_logs(np.random.default_rng(0).normal(size=50) - 5000.0)
    with pytest.raises(OverflowError, match="read log_median"):
        _ = low.median
    assert low.as_dict()["median"] is None
    assert low.as_dict()["log_median"] < -4900


def test_top_one_percent_of_many():
    y = np.ones(1000)
    y[:10] = 100.0
    one = Estimate.from_logs(np.log(y))
    assert one.tail_share == pytest.approx(1000.0 / 1990.0)
    assert one.heavy_tailed
    assert (
        "mean not reachable with plain sampling here (the top 1 % of the draws carry 50 % of the sum): read the median"
        in one.verdict
    )


def test_z_scores_of_light_tails_are_standard_normal():
    # 400 independent estimates of a known mean: the spread of z is one within its own error.
    rng = np.random.default_rng(7)
    z = [Estimate.from_logs(np.log(rng.gamma(5.0, size=400)), math.log(5.0)).z for _ in range(400)]
    assert abs(np.mean(z)) < 3.3 / math.sqrt(400)
    assert abs(np.std(z) - 1.0) < 3.3 / math.sqrt(800)


def test_verdicts():
    logs = np.log(np.random.default_rng(1).gamma(5.0, size=5000))
    assert Estimate.from_logs(logs, math.log(5.0)).verdict.startswith("mean agrees with the exact value (z = ")
    assert Estimate.from_logs(logs, math.log(6.0)).verdict.startswith("mean DISAGREES with the exact value (z = -")
    assert Estimate.from_logs(logs).verdict == "mean with a usable error, no exact value to compare"
    heavy = np.random.default_rng(1).normal(0.0, 1.8, size=5000)
    middle = Estimate.from_logs(heavy)
    assert 0.2 < middle.tail_share < 0.5
    assert "with an error not to be trusted, because the tail index is 1.23 +- 0.08, below 2: read" in middle.verdict
    assert not middle.trusted
    assert not middle.heavy_tailed
    assert "use method='tempered', or read the median" in Estimate.from_logs(heavy, tempered=True).verdict
    # Far below an exact mean with such a tail is what tails do, not a disagreement.
    low = Estimate.from_logs(heavy, middle.log_mean + 1.5)
    assert low.z < -4
    assert low.verdict.startswith("mean too low, as it tends to be where draws are missing (the tail index is 1.23")
    assert "DISAGREES" not in low.verdict


def test_tail_index_speaks_where_the_share_of_few_draws_does_not():
    # A Pareto law of index 0.6 has no mean; a cut in the largest draws hides that from their share.
    levels = (np.arange(400) + 0.5) / 400
    one = Estimate.from_logs(np.minimum(-np.log1p(-levels) / 0.6, 6.5))
    assert one.tail_share < 0.5
    assert one.heavy_tailed
    assert "the tail index is 0." in one.verdict
    assert Estimate.from_logs(-np.log1p(-levels) / 8.0).trusted


def test_exact_second_moment_predicts_the_error():
    y = np.random.default_rng(2).gamma(5.0, size=4000)
    one = Estimate.from_logs(np.log(y), math.log(5.0), log_second_moment=math.log(30.0))
    assert one.predicted_relative_stderr == pytest.approx(math.sqrt(5.0) / 5.0 / math.sqrt(4000))
    assert one.relative_stderr == pytest.approx(one.predicted_relative_stderr, rel=0.1)
    assert one.trusted
    # Draws that missed a tail: the error is the known one, not the small one they show.
    missed = Estimate.from_logs(np.log(y), math.log(5.0), log_second_moment=math.log(25.0 + 25.0))
    assert missed.trusted
    assert missed.relative_error == pytest.approx(1.0 / math.sqrt(4000))
    assert missed.relative_error > 2.0 * missed.relative_stderr
    assert missed.stderr == pytest.approx(missed.mean / math.sqrt(4000))
    assert missed.z == pytest.approx((missed.mean / 5.0 - 1.0) * math.sqrt(4000))
    hopeless = Estimate.from_logs(np.log(y), math.log(5.0), log_second_moment=math.log(1e5))
    assert hopeless.heavy_tailed
    assert "% from 4000 draws" in hopeless.verdict
    assert Estimate.from_logs(np.log(y), 0.0).predicted_relative_stderr is None


def test_intervals_of_quantiles_cover_as_promised():
    rng = np.random.default_rng(5)
    truth = {q: stats.norm.ppf(q) for q in (0.05, 0.5, 0.95)}
    covered = dict.fromkeys(truth, 0)
    for _ in range(400):
        one = Estimate.from_logs(rng.normal(size=250), quantiles=tuple(truth))
        for (q, low, high), (_, level) in zip(one.log_intervals, one.log_quantiles, strict=True):
            assert low <= level <= high
            covered[q] += low <= truth[q] <= high
    assert min(covered.values()) >= stats.binom.ppf(1e-3, 400, 0.95)


def test_intervals_that_the_draws_do_not_reach_are_open():
    one = Estimate.from_logs(np.arange(20.0), quantiles=(0.01, 0.5, 0.99))
    (_, low, _), (_, inner_low, inner_high), (_, _, high) = one.log_intervals
    assert (low, high) == (-math.inf, math.inf)
    assert 0.0 < inner_low < 9.5 < inner_high < 19.0
    assert one.as_dict()["log_quantile_intervals"]["0.01"][0] is None


def test_constant_samples_have_no_error_and_no_disagreement():
    one = Estimate.from_logs(np.zeros(10), 0.0)
    assert (one.stderr, one.z, one.ess) == (0.0, 0.0, pytest.approx(10.0))
    assert Estimate.from_logs(np.zeros(10), 1.0).z == -math.inf


def test_dead_draws_count_as_zero():
    one = Estimate.from_logs([-math.inf, -math.inf, -math.inf, 0.0, math.log(3.0)])
    assert one.mean == pytest.approx(0.8)
    assert one.log_median == -math.inf
    assert one.median == 0.0
    all_dead = Estimate.from_logs([-math.inf] * 4)
    assert all_dead.mean == 0.0
    json.dumps(one.as_dict(), allow_nan=False)
    json.dumps(all_dead.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("logs", "quantiles", "message"),
    [
        ([0.0], (0.5,), "needs at least 2 samples to have an error, got 1"),
        ([0.0, math.nan], (0.5,), "log-energies must be finite or -inf, got nan"),
        ([0.0, math.inf], (0.5,), "got inf"),
        ([0.0, 1j], (0.5,), "log-energies must be real numbers, got values of type complex128"),
        (["a", "b"], (0.5,), "log-energies must be real numbers, got values of type <U1"),
        ([0.0, 10**400], (0.5,), "log-energies must be finite or -inf, got inf"),
        ([0.0, 1.0], ("a",), "quantiles must lie strictly between 0 and 1, got 'a'"),
        ([0.0, object()], (0.5,), "log-energies must be real numbers, got an array of other objects"),
        (np.ma.masked_array([0.0, 1.0, 2.0], [True, True, False]), (0.5,), "needs at least 2 samples"),
        ([0.0, 1.0], (1.0,), r"quantiles must lie strictly between 0 and 1, got 1\.0"),
    ],
)
def test_bad_input(logs, quantiles, message):
    with pytest.raises(ValueError, match=message):
        Estimate.from_logs(logs, quantiles=quantiles)


def test_repetitions_by_hand():
    y = np.array([9.0, 10.0, 11.0, 14.0])
    one = Estimate.from_repetitions(np.log(y), math.log(10.0))
    stderr = y.std(ddof=1) / 2.0
    low, high = np.exp(one.log_interval)
    assert one.repeated
    assert low == pytest.approx(11.0 - 3.182446305 * stderr)  # Student's 97.5 % point for 3 degrees of freedom
    assert high == pytest.approx(11.0 + 3.182446305 * stderr)
    assert one.z == pytest.approx(1.0 / stderr)
    assert one.trusted
    assert not one.heavy_tailed
    assert one.verdict == "mean agrees with the exact value (t = +0.9 in 3 degrees of freedom)"
    as_dict = one.as_dict()
    json.dumps(as_dict, allow_nan=False)
    assert as_dict["log_interval"] == list(one.log_interval)


def test_repetitions_that_differ_too_much_are_refused():
    one = Estimate.from_repetitions(np.log([0.1, 0.1, 0.1, 9.0]), 0.0)
    assert one.heavy_tailed
    assert not one.trusted
    assert one.log_interval[0] == -math.inf
    assert "take more particles" in one.verdict
    assert one.as_dict()["log_interval"][0] is None


def test_interval_of_repetitions_covers_as_often_as_it_says():
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(2000):
        low, high = Estimate.from_repetitions(np.log(rng.gamma(60.0, size=4)), 0.0).log_interval
        inside += low < math.log(60.0) < high
    assert abs(inside / 2000 - 0.95) < 3.5 * math.sqrt(0.95 * 0.05 / 2000)


def test_a_wrong_exact_value_is_called_so():
    rng = np.random.default_rng(0)
    one = Estimate.from_repetitions(np.log(rng.gamma(400.0, size=16)), math.log(800.0))
    assert "DISAGREES" in one.verdict
    assert "no exact value" in Estimate.from_repetitions(np.log(rng.gamma(400.0, size=16))).verdict


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.int8, np.uint64, bool, object])
def test_every_type_of_number(kind):
    values = np.array([0, 1, 1, 0], dtype=kind)
    if kind is bool:
        with pytest.raises(ValueError, match="must be real numbers, got values of type bool"):
            Estimate.from_logs(values)
        return
    assert Estimate.from_logs(values) == Estimate.from_logs([0.0, 1.0, 1.0, 0.0])


def test_masked_draws_are_left_out():
    masked = np.ma.masked_array([0.0, 99.0, 1.0, 2.0], [False, True, False, False])
    assert Estimate.from_logs(masked) == Estimate.from_logs([0.0, 1.0, 2.0])


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "1", 1j, np.array([1.0])])
@pytest.mark.parametrize("name", ["log_exact", "log_second_moment"])
def test_moments_are_finite_numbers(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a finite number or None, got"):
        Estimate.from_logs([0.0, 1.0], **{name: value})
    with pytest.raises(ValueError, match="log_second_moment = 1 is below twice log_exact = 1, but"):
        Estimate.from_logs([0.0, 1.0], 1.0, log_second_moment=1.0)


def test_levels_are_median_unbiased():
    # As often below the quantile as above it, for a skewed law and few draws, also at the ends of what the draws reach.
    draws = np.log(np.random.default_rng(6).exponential(size=(4000, 13)))
    for q in (0.05, 0.25, 0.5, 0.75, 0.95):
        levels = [Estimate.from_logs(row, quantiles=(q,)).log_quantiles[0][1] for row in draws]
        below = np.sum(np.array(levels) < math.log(-math.log1p(-q)))
        assert abs(below - 2000) < 2000 * 0.05, q


def test_median_is_the_middle_quantile():
    for count in range(2, 30):
        one = Estimate.from_logs(np.random.default_rng(count).normal(size=count))
        assert (
            one.quantiles[0.5]
            == one.median
            == pytest.approx(math.exp(np.median(np.random.default_rng(count).normal(size=count))))
        )


def test_quantiles_beyond_the_draws_are_not_made_up():
    few, enough = (Estimate.from_logs(np.arange(count)) for count in (12, 13))
    assert math.isnan(few.quantiles[0.95])
    assert math.isnan(few.quantiles[0.05])
    assert few.as_dict()["quantiles"]["0.95"] is None
    assert few.as_dict()["log_quantiles"]["0.05"] is None
    assert (enough.log_quantiles[0][1], enough.log_quantiles[-1][1]) == (pytest.approx(0.0), pytest.approx(12.0))
    json.dumps(few.as_dict(), allow_nan=False)
