"""The rare-event sampler: its kernels against finite differences and matrix powers, its estimates against exact means."""

import math

import numpy as np
import pytest
from scipy import stats

from signalprop import energy, exact, sample
from signalprop._streams import generator
from signalprop._threads import stop_flag
from signalprop.fields import Field
from signalprop.ginibre import _tilted, tempered
from signalprop.montecarlo import rare_events

FIELDS = ["complex", "real", "quaternion"]
P_VALUE = 1e-3


def hessenberg(beta, columns, rng):
    """Parts of a random Hessenberg matrix in the layout of the kernels, shape (beta, width, width)."""
    width = columns + _tilted.PAD
    z = np.zeros((beta, width, width))
    for j in range(columns):
        z[:, : j + 1, j] = rng.standard_normal((beta, j + 1))
        z[0, j + 1, j] = 1.0 + rng.random()
    return z


def blocks(parts):
    """A matrix over the field, left multiplication, as a complex one."""
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return parts[0] + 1j * parts[1]
    a, b = parts[0] + 1j * parts[1], parts[2] + 1j * parts[3]
    return np.block([[a, b], [-b.conj(), a.conj()]])


def log_norm(parts, steps):
    matrix = blocks(parts)
    vector = np.zeros(len(matrix), matrix.dtype)
    vector[0] = 1.0
    return math.log(np.linalg.norm(np.linalg.matrix_power(matrix, steps) @ vector))


@pytest.mark.parametrize("beta", [1, 2, 4])
@pytest.mark.parametrize(("steps", "columns"), [(1, 1), (2, 2), (5, 5), (8, 8), (11, 4), (7, 3)])
def test_norm_and_gradient_against_matrix_powers(beta, steps, columns):
    z = hessenberg(beta, columns, np.random.default_rng(steps))
    width = z.shape[1]
    v, adjoint = np.zeros((2, (steps + 1) * beta * width))
    gradient, growth = np.zeros(z.size), np.zeros(steps + 1)
    value = _tilted._norm(z.ravel(), steps, columns, beta, width, v, growth, stop_flag())
    assert value == pytest.approx(log_norm(z, steps), rel=1e-12, abs=1e-12)
    _tilted._gradient(z.ravel(), steps, columns, beta, width, v, growth, adjoint, gradient, stop_flag())
    gradient = gradient.reshape(z.shape)
    for a in range(beta):
        for j in range(min(columns, steps)):
            for i in range(j + 1 if a else j + 2):
                ends = []
                for nudge in (1e-5, -1e-5):
                    moved = z.copy()
                    moved[a, i, j] += nudge
                    ends.append(log_norm(moved, steps))
                assert gradient[a, i, j] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("freedom", [1.0, 2.0, 3.0, 8.0, 1e3, 1e6, 1e12, 1e18])
def test_excess_is_the_rest_of_the_chi_density(freedom):
    # d/dx of it and its value, both against the density s^(d-1) e^(-s^2/2) written out in 60 digits.
    import mpmath

    with mpmath.workdps(60):
        d = mpmath.mpf(freedom)
        mode, omega = (mpmath.sqrt(d - 1), mpmath.sqrt(2)) if freedom > 1 else (mpmath.mpf(0), mpmath.mpf(1))

        def wanted(x):
            s = mode + x / omega
            log = (d - 1) * mpmath.log(s / mode) if freedom > 1 else 0
            return (s**2 - mode**2) / 2 - log - x**2 / 2

        for x in (-0.9, -1e-3, 0.0, 0.4, 2.5):
            value, slope = _tilted._excess(x, freedom)
            assert value == pytest.approx(float(wanted(mpmath.mpf(x))), rel=1e-7, abs=1e-15)
            assert slope == pytest.approx(float(mpmath.diff(wanted, mpmath.mpf(x))), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("n", [1, 3, 6, 40])
def test_moves_without_tilt_keep_the_law_of_the_weights(field, n):
    # Draws of the exact law, moved often at a coarse angle: the path norms keep their law, entries and subdiagonal alike.
    kind, k, count = Field(field), 6, 3000
    swarm = tempered._Particles(n, k, kind, count, generator(3, 0, 0))
    for _ in range(k):
        swarm.advance()
    before = swarm.norms.copy()
    momenta = k if n > k else n
    numbers = momenta + kind.beta * momenta * (momenta + 1) // 2
    accepted = 1.0
    for _ in range(4):
        accepted = _tilted.moves_kernel(
            swarm.z, swarm.x, swarm.rng.standard_normal((count, numbers)), swarm.rng.random(count), swarm.freedom,
            0.0, 1.4, 1, k, swarm.room, kind.beta, swarm.norms, stop_flag(),
        )  # fmt: skip
    assert 0.5 < accepted <= 1.0
    plain = 0.5 * swarm.log_energies()
    fresh = sample(n, k, field, samples=count, seed=5).log_norms[:, k]
    assert stats.ks_2samp(plain, fresh).pvalue > P_VALUE
    assert abs(np.corrcoef(before, swarm.norms)[0, 1]) < 0.5
    # The stored norms are those of the stored matrices.
    again = np.empty(count)
    _tilted.norms_kernel(swarm.z, k, swarm.room, kind.beta, again, stop_flag())
    np.testing.assert_allclose(again, swarm.norms, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("n", "k"), [(1, 3), (2, 4), (4, 7), (12, 6), (10**15, 9)])
def test_unbiased_at_every_step(field, n, k):
    # Many small repetitions: their plain average, along the whole path, rnn and lru.
    paths = tempered.log_paths(n, k, field, particles=32, repetitions=200, seed=1)
    wanted = np.asarray(energy.rnn_energy(n, np.arange(k + 1), field))
    values = np.exp(paths)
    np.testing.assert_allclose(values[:, 0], 1.0, rtol=1e-12)
    scores = (values.mean(0) - wanted)[1:] / (values.std(0, ddof=1)[1:] / math.sqrt(len(values)))
    assert np.abs(scores).max() < 3.9
    total = values.sum(1)
    assert abs(total.mean() - float(energy.lru_energy(n, k, field))) / (total.std(ddof=1) / math.sqrt(len(total))) < 3.5


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("model", ["rnn", "lru"])
def test_reaches_the_exact_mean_at_three_sqrt_n(field, model):
    found = rare_events.estimate(64, 24, field, model=model, particles=64, repetitions=12, seed=2)
    definition = exact.rnn_energy if model == "rnn" else exact.lru_energy
    assert found.log_exact == pytest.approx(math.log(definition(64, 24, field)), rel=1e-12)
    low, high = found.log_interval
    assert low < found.log_mean < high
    assert found.relative_stderr < 0.08
    assert abs(found.z) < 3.5
    assert not found.heavy_tailed
    assert "agrees" in found.verdict


def test_real_mean_that_plain_draws_miss():
    # e^12.8, carried by draws that two thousand plain ones hold or, in most runs, do not.
    found = rare_events.estimate(25, 25, "real", particles=96, repetitions=12)
    assert abs(found.z) < 3.5
    assert found.relative_stderr < 0.1
    plain = [sample(25, 25, "real", samples=2000, seed=seed).rnn().log_mean for seed in range(9)]
    assert np.median(plain) < found.log_interval[0] - 0.5


def test_error_shrinks_with_particles_as_a_square_root():
    spread = [
        np.exp(tempered.log_paths(16, 10, "complex", particles=p, repetitions=120, seed=4)[:, -1]).std(ddof=1)
        for p in (16, 144)
    ]
    assert 2.0 < spread[0] / spread[1] < 4.5  # three, with an error of 9 %


@pytest.mark.parametrize("field", FIELDS)
def test_same_digits_for_any_number_of_threads(field):
    one = tempered.log_paths(30, 20, field, particles=16, repetitions=5, seed=7, workers=1)
    three = tempered.log_paths(30, 20, field, particles=16, repetitions=5, seed=7, workers=3)
    np.testing.assert_array_equal(one, three)
    fewer = tempered.log_paths(30, 20, field, particles=16, repetitions=2, seed=7, workers=2)
    np.testing.assert_array_equal(one[:2], fewer)
    other = tempered.log_paths(30, 20, field, particles=16, repetitions=2, seed=8)
    assert not np.any(one[:2, 1:] == other[:, 1:])


def test_repetitions_are_not_correlated_with_each_other():
    paths = tempered.log_paths(10, 8, "real", particles=16, repetitions=400, seed=0)[:, -1]
    assert abs(np.corrcoef(paths[:-1], paths[1:])[0, 1]) < 3.5 / math.sqrt(399)


def test_moves_are_read_off_the_pilot_alone():
    a = tempered.schedule(40, 30, Field.REAL, generator(0, 1, 0))
    assert a == tempered.schedule(40, 30, Field.REAL, generator(0, 1, 0))
    assert len(a) == 30
    assert a[-1].times == 0
    assert sum(move.times for move in a) > 5
    assert all(0 < move.angle <= 1.2 and move.pieces >= 1 for move in a)


def test_estimate_and_sample_are_the_same_run():
    calls = []
    draw = sample(
        30, 12, "real", samples=512, seed=3, method="tempered", progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(i, 16) for i in range(1, 17)]
    assert draw.samples == 16
    assert draw.rnn() == rare_events.estimate(30, 12, "real", particles=32, repetitions=16, seed=3)
    lru = rare_events.estimate(30, 12, "real", model="lru", particles=32, repetitions=16, seed=3)
    assert draw.lru().log_mean == pytest.approx(lru.log_mean, rel=1e-12)
    assert abs(draw.rnn(5).z) < 4


def test_no_steps():
    found = rare_events.estimate(5, 0, "real", repetitions=2)
    assert (found.log_mean, found.relative_stderr, found.z) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be at least 1, got 0"),
        ({"k": -1}, "k must be at least 0, got -1"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"field": "octonion"}, "field must be one of 'real', 'complex' or 'quaternion', got 'octonion'"),
        ({"model": "gru"}, "model must be one of 'rnn' or 'driven', got 'gru'"),
        ({"particles": 7}, "particles must be at least 8, got 7"),
        ({"repetitions": 1}, "repetitions must be at least 2, got 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"n": 10**6, "k": 2000, "particles": 1000}, "use at most 33 particles and more repetitions"),
    ],
)
def test_bad_input(arguments, message):
    given = {"n": 10, "k": 3, "field": "complex", **arguments}
    with pytest.raises(ValueError, match=message):
        rare_events.estimate(**given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 127}, "samples must be at least 128, got 127"),
        ({"samples": 256, "tied": False}, "method='tempered' covers linear tied weights only"),
    ],
)
def test_bad_input_to_sample(options, message):
    with pytest.raises(ValueError, match=message):
        sample(10, 3, "real", method="tempered", **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("field", "n", "k", "particles"),
    [("complex", 100, 50, 128), ("real", 100, 50, 256), ("complex", 1000, 158, 64), ("real", 1000, 158, 128)],
)
def test_exact_mean_at_five_sqrt_n(field, n, k, particles):
    found = rare_events.estimate(n, k, field, particles=particles, repetitions=16)
    assert abs(found.z) < 4.07  # Student's law, 15 degrees of freedom: one run in a thousand is farther
    assert found.relative_stderr < 0.05
    assert not found.heavy_tailed


def test_its_former_place_still_has_the_estimate():
    assert tempered.estimate is rare_events.estimate
    with pytest.raises(AttributeError, match="has no attribute 'estimat'"):
        tempered.estimat  # noqa: B018


@pytest.mark.parametrize("field", Field)
def test_the_estimated_cost_follows_the_work(field):
    """A trajectory after step j is a product of j matrices; narrow layers were once estimated as if it were one."""

    def work(n, k):
        moves = tempered.schedule(n, k, field, generator(0, 1, 0))
        return sum(j * (1 + move.times * move.pieces) for j, move in enumerate(moves, 1))

    for n, few, many in ((1, 20, 120), (4, 20, 100)):
        estimated = tempered.pilot_seconds(n, many, field) / tempered.pilot_seconds(n, few, field)
        assert 1 / 3 < estimated / (work(n, many) / work(n, few)) < 3
    with pytest.raises(ValueError, match="2 repetitions of 8 particles at width 6 and depth 100000 would take about"):
        rare_events.estimate(6, 100_000, field, particles=8, repetitions=2)
