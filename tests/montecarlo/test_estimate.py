import json
import math

import numpy as np
import pytest

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
    assert one.quantiles == {0.25: pytest.approx(1.0), 0.75: pytest.approx(3.0)}


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
    assert "its error is optimistic, because the top 1 % of the draws carry" in middle.verdict


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
        ([0.0, 1.0], (1.0,), r"quantiles must lie strictly between 0 and 1, got 1\.0"),
    ],
)
def test_bad_input(logs, quantiles, message):
    with pytest.raises(ValueError, match=message):
        Estimate.from_logs(logs, quantiles=quantiles)
