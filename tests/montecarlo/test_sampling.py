import math

import numpy as np
import pytest

from signalprop import lru_energy, rnn_energy, sample


@pytest.mark.parametrize(
    "arguments",
    [{}, {"method": "dense"}, {"method": "dense", "activation": "relu"}, {"method": "dense", "tied": False}],
)
def test_digits_do_not_depend_on_the_number_of_threads(arguments):
    runs = [sample(30, 12, "real", samples=1500, seed=5, workers=workers, **arguments) for workers in (1, 2, 5)]
    for other in runs[1:]:
        assert np.array_equal(runs[0].log_norms, other.log_norms)
        if runs[0].lru_log_norms is not None:
            assert np.array_equal(runs[0].lru_log_norms, other.lru_log_norms)


def test_seed_decides():
    first, again, other = (sample(30, 5, "complex", samples=50, seed=seed).log_norms for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_cells_of_one_seed_are_independent():
    # Different widths at the same depth would share their Gaussians if streams were keyed by chunk alone.
    ends = [sample(n, 50, "real", samples=1000, seed=0).log_norms[:, -1] for n in (1000, 2000, 10**6)]
    correlation = np.corrcoef(ends)
    assert np.abs(correlation[np.triu_indices(3, 1)]).max() < 4.0 / math.sqrt(1000)


def test_blas_threads_are_given_back():
    from threadpoolctl import threadpool_info

    before = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    for seed in range(3):
        sample(60, 5, "real", samples=600, seed=seed, method="dense", workers=2)
    assert [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"] == before


def test_a_longer_run_begins_with_the_shorter_one():
    short, long = sample(8, 4, "complex", samples=512, seed=3), sample(8, 4, "complex", samples=1500, seed=3)
    assert np.array_equal(long.log_norms[:512], short.log_norms)


def test_path_and_estimates_fit_together():
    draw = sample(100, 20, "real", samples=3000, seed=1)
    assert draw.log_norms.shape == draw.lru_log_norms.shape == (3000, 21)
    assert (draw.log_norms[:, 0] == 0.0).all()
    assert draw.samples == 3000
    assert draw.rnn(7).exact == pytest.approx(rnn_energy(100, 7, "real"))
    assert draw.lru(7).exact == pytest.approx(lru_energy(100, 7, "real"))
    assert draw.rnn().log_exact == draw.rnn(20).log_exact
    np.testing.assert_allclose(
        np.exp(2 * draw.lru_log_norms), np.cumsum(np.exp(2 * draw.log_norms), axis=1), rtol=1e-10
    )


def test_exact_values_of_untied_and_nonlinear_layers():
    untied = sample(40, 6, "real", samples=2000, seed=1, method="dense", tied=False)
    assert untied.rnn().exact == 1.0
    assert untied.lru().exact == pytest.approx(7.0)
    assert abs(untied.lru().z) < 4
    relu = sample(40, 6, "real", samples=100, seed=1, method="dense", activation="relu")
    assert relu.rnn().log_exact is None
    assert relu.rnn().z is None
    with pytest.raises(ValueError, match="lru\\(\\) needs activation='linear', got 'relu'"):
        relu.lru()


@pytest.mark.parametrize(
    "arguments",
    [
        {"n": 30, "k": 5, "field": "real"},
        {"n": 12, "k": 4, "field": "complex"},
        {"n": 40, "k": 6, "field": "real", "method": "dense", "tied": False},
        {"n": 20, "k": 5, "field": "quaternion", "method": "dense", "tied": False},
        {"n": 40, "k": 4, "field": "real", "method": "dense", "tied": False, "activation": "relu"},
        {
            "n": 40,
            "k": 4,
            "field": "real",
            "method": "dense",
            "tied": False,
            "activation": "leaky_relu",
            "negative_slope": 0.4,
        },
    ],
)
def test_predicted_errors_are_those_of_independent_means(arguments):
    # 300 means of 200 draws: their spread over the prediction has the law of a standard deviation.
    draw = sample(**arguments, samples=300 * 200, seed=6)
    one = draw.rnn()
    means = np.exp(2.0 * draw.log_norms[:, -1]).reshape(300, 200).mean(axis=1)
    predicted = one.predicted_relative_stderr * math.sqrt(300) * one.exact
    assert abs(means.std(ddof=1) / predicted - 1.0) < 4.0 / math.sqrt(2 * 300)


def test_second_moments_are_known_where_they_say():
    def predicted(n, k, field, model="rnn", **options):
        draw = sample(n, k, field, samples=10, **options)
        return (draw.rnn() if model == "rnn" else draw.lru()).predicted_relative_stderr

    for field in ("real", "quaternion"):
        assert predicted(30, 12, field) > 0.0
        assert predicted(30, 13, field) is None
    assert predicted(10**12, 5, "complex") == pytest.approx(math.sqrt(5e-12 / 10), rel=1e-6)
    assert predicted(30, 40, "complex") > 1.0
    assert 0.0 < predicted(30, 6, "complex", "lru") < predicted(30, 6, "complex")
    assert predicted(30, 6, "complex", "lru", method="dense") is None  # fresh inputs: another law
    assert predicted(30, 6, "real", method="dense", activation="relu") is None
    assert predicted(30, 6, "real", method="dense", activation="relu", tied=False) > 0.0


def test_peak_is_the_highest_energy_on_the_way():
    draw = sample(50, 20, "real", samples=300, seed=2)
    energies = np.exp(2.0 * draw.log_norms)
    assert draw.peak().median == pytest.approx(np.median(energies[:, 1:].max(axis=1)), rel=1e-2)
    assert draw.peak(7).mean == pytest.approx(energies[:, 1:8].max(axis=1).mean())
    assert draw.peak(0).median == 1.0
    for q, low, high in draw.peak().log_intervals:
        assert low <= dict(draw.peak().log_quantiles)[q] <= high


def test_repetitions_are_no_draws():
    draw = sample(20, 6, "real", samples=128, seed=1, method="tempered")
    assert draw.samples == 16
    assert draw.rnn().repeated
    assert draw.lru().repeated
    assert draw.rnn(3).log_exact == pytest.approx(math.log(rnn_energy(20, 3, "real")))
    with pytest.raises(ValueError, match="peak\\(\\) needs single draws"):
        draw.peak()
    assert (draw.particles, draw.cell.samples, draw.cell.chunks) == (8, 128, 16)


@pytest.mark.parametrize("method", ["dense", "krylov"])
@pytest.mark.parametrize("field", ["real", "complex", "quaternion"])
def test_without_the_driven_recurrence_the_other_digits_stay(method, field):
    both = sample(12, 5, field, samples=700, seed=2, method=method)
    one = sample(12, 5, field, samples=700, seed=2, method=method, driven=False)
    np.testing.assert_array_equal(both.log_norms, one.log_norms)
    assert both.lru().z is not None
    with pytest.raises(ValueError, match="was left out; sample with driven=True"):
        one.lru()


def test_watch_sees_every_row_once():
    seen = []
    draw = sample(9, 4, "complex", samples=1200, seed=1, watch=lambda rnn, lru: seen.append((rnn, lru)))
    np.testing.assert_array_equal(np.concatenate([rnn for rnn, _ in seen]), draw.log_norms)
    np.testing.assert_array_equal(np.concatenate([lru for _, lru in seen]), draw.lru_log_norms)


def test_progress_reaches_the_end():
    seen = []
    sample(10, 3, "complex", samples=2000, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2000, 2000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_zero_steps():
    draw = sample(10, 0, "complex", samples=5)
    assert draw.log_norms.shape == (5, 1)
    assert draw.rnn().z == 0.0


def test_heavy_tail_is_called_by_its_name():
    # c = 5, real: the mean of a thousand draws typically misses the exact mean by a large factor, and says so.
    runs = [sample(100, 50, "real", samples=1000, seed=seed).rnn() for seed in range(15)]
    assert all(one.heavy_tailed for one in runs)
    assert all("read the exact mean or the median" in one.verdict for one in runs)
    assert np.median([one.log_mean - one.log_exact for one in runs]) < -math.log(3.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be at least 1, got 0"),
        ({"k": -1}, "k must be at least 0, got -1"),
        ({"samples": 1}, "samples must be at least 2, got 1"),
        ({"seed": -3}, "seed must be at least 0, got -3"),
        ({"workers": 0}, "workers must be at least 1, got 0"),
        ({"method": "fast"}, "method must be one of 'krylov', 'dense' or 'tempered', got 'fast'"),
        ({"activation": "tanh"}, "activation must be one of 'linear', 'relu' or 'leaky_relu', got 'tanh'"),
        ({"field": "quaternions"}, "field must be one of"),
        ({"activation": "relu", "method": "dense"}, "activation='relu' needs field='real'"),
        ({"activation": "relu", "field": "real"}, "method='krylov' covers linear tied weights only"),
        ({"method": "tempered", "samples": 127}, "samples must be at least 128, got 127"),
        ({"method": "tempered", "samples": 128, "tied": False}, "method='tempered' covers linear tied weights only"),
        ({"tied": False}, "use method='dense' for activations or tied=False"),
        (
            {"n": 20_000, "method": "dense"},
            r"n must be at most 10000 for method='dense', got 20000; use method='krylov'",
        ),
        ({"n": 10**9, "k": 10**6}, r"k must be at most \d+ for method='krylov' with complex weights"),
        ({"n": 2 * 10**18}, "n must be at most"),
        ({"n": 10.5}, "n must be a whole number"),
        (
            {"negative_slope": 0.3},
            "negative_slope belongs to activation='leaky_relu'; activation='linear' does not read it",
        ),
        ({"negative_slope": -1.0}, "negative_slope must be a positive finite number"),
        ({"negative_slope": 1e200}, "negative_slope must be at most 1e\\+06"),
        ({"tied": "no"}, "tied must be True or False, got 'no'"),
        (
            {"samples": 10**12},
            r"samples \* \(k \+ 1\) must be at most 134217728 .*draw fewer samples or a shorter path",
        ),
        (
            {"n": 1, "k": 10**13},
            r"One draw of width 1 and 10000000000000 steps would take about [\d.e+]+ GiB of memory",
        ),
        ({"n": 10**13, "method": "dense", "tied": False}, "n must be at most 67108864, got 10000000000000"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        sample(**{"n": 10, "k": 3, "field": "complex", "samples": 10, **arguments})


def test_step_beyond_the_path():
    with pytest.raises(ValueError, match=r"k must be at most 3, got 4\. That is where the sampled path ends"):
        sample(10, 3, "complex", samples=10).rnn(4)
