"""Both samplers against exact laws, exact variances and each other; fixed seeds, so outcomes never change."""

import math

import numpy as np
import pytest
from scipy import stats

from signalprop import energy, sample
from signalprop._streams import generator
from signalprop.fields import Field
from signalprop.ginibre import dense, krylov

FIELDS = ["complex", "real", "quaternion"]
METHODS = ["krylov", "dense"]
# One test in a thousand would fail by chance if seeds were not fixed.
P_VALUE = 1e-3


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("method", "n"),
    [("krylov", 1), ("krylov", 2), ("krylov", 30), ("krylov", 10**6), ("dense", 1), ("dense", 2), ("dense", 30)],
)
def test_one_step_has_its_chi_square_law(field, method, n):
    # ||W x||^2/||x||^2 ~ chi^2 with beta n degrees of freedom over beta n, exactly.
    beta = Field(field).beta
    draws = np.exp(2.0 * sample(n, 1, field, samples=4000, seed=n, method=method).log_norms[:, 1])
    assert stats.kstest(draws, stats.chi2(beta * n, scale=1.0 / (beta * n)).cdf).pvalue > P_VALUE


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("method", METHODS)
def test_at_width_one_the_path_is_a_power(field, method):
    draw = sample(1, 9, field, samples=500, seed=4, method=method)
    np.testing.assert_allclose(draw.log_norms, np.outer(draw.log_norms[:, 1], np.arange(10)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("field", ["complex", "real"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "k"), [(10, 2), (40, 3), (60, 5)])
def test_mean_against_exact_with_the_exact_variance(field, method, n, k, second_moments):
    # E||W^k x||^4 from the second moments of M = (G^k)* G^k: the z-score does not estimate its own variance.
    table = second_moments[f"{field}:{k}"]
    square, trace = (sum(c * n**j for j, c in enumerate(table[name])) for name in ("E(trM)^2", "E tr M^2"))
    fourth = (square + trace) / (n * (n + 1)) if field == "complex" else (square + 2 * trace) / (n * (n + 2))
    mean = energy.rnn_energy(n, k, field)
    variance = fourth / n ** (2 * k) - mean**2
    count = 20_000 if method == "krylov" else 6_000
    draws = np.exp(2.0 * sample(n, k, field, samples=count, seed=11, method=method).log_norms[:, k])
    assert abs(draws.mean() - mean) / math.sqrt(variance / count) < 3.5


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("n", "k"), [(2, 6), (6, 5), (6, 12), (20, 8)])
def test_both_samplers_draw_the_same_law(field, n, k):
    # n < k exercises the rows that end at the width; n > k those that do not.
    free = sample(n, k, field, samples=4000, seed=1, method="krylov").log_norms
    full = sample(n, k, field, samples=4000, seed=2, method="dense").log_norms
    for step in (1, k // 2, k):
        assert stats.ks_2samp(free[:, step], full[:, step]).pvalue > P_VALUE
    # The joint law too: growth over the second half of the path.
    assert stats.ks_2samp(free[:, k] - free[:, k // 2], full[:, k] - full[:, k // 2]).pvalue > P_VALUE


@pytest.mark.parametrize("field", FIELDS)
def test_hessenberg_kernel_against_matrix_powers(field):
    """The unrolled kernels against H^k e_1 with the matrix written out, same numbers, all remainders of k mod 4."""
    for n, k in [(40, 1), (40, 4), (40, 7), (40, 10), (5, 11), (4, 9), (3, 6)]:
        count, seed = 3, 5
        got = krylov.draw_chunk(n, k, Field(field), count, generator(seed, 7, 0))
        beta, columns = Field(field).beta, min(n, k)
        rng = generator(seed, 7, 0)
        normals = rng.standard_normal((beta, count, columns * (columns + 1) // 2))
        below = np.sqrt(2.0 * rng.standard_gamma(0.5 * beta * (n - 1.0 - np.arange(columns)), size=(count, columns)))
        size = columns + 1
        for i in range(count):
            parts = np.zeros((beta, size, size))
            for j in range(columns):
                parts[:, : j + 1, j] = normals[:, i, j * (j + 1) // 2 : j * (j + 1) // 2 + j + 1]
                parts[0, j + 1, j] = below[i, j]
            if beta == 1:
                h = parts[0]
            elif beta == 2:
                h = parts[0] + 1j * parts[1]
            else:  # left multiplication by p + qi + rj + sk as a complex 2 x 2 block
                a, b = parts[0] + 1j * parts[1], parts[2] + 1j * parts[3]
                h = np.block([[a, b], [-b.conj(), a.conj()]])
            vector = np.zeros(h.shape[0], h.dtype)
            vector[0] = 1.0
            norms = [0.0]
            for _ in range(k):
                vector = h @ vector / math.sqrt(beta * n)
                norms.append(math.log(np.linalg.norm(vector)))
            np.testing.assert_allclose(got[i], norms, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("field", FIELDS)
def test_entries_of_w_have_variance_one_over_n(field):
    n, count = 8, 3000
    w = dense.weights(n, Field(field), count, np.random.default_rng(0))
    parts = [w] if field == "real" else [w.real, w.imag]
    beta = Field(field).beta
    for part in parts:
        scaled = part[:, :n, :].ravel() * math.sqrt(beta * n)
        assert stats.kstest(scaled, "norm").pvalue > P_VALUE
    if field == "quaternion":
        np.testing.assert_array_equal(w[:, n:, n:], w[:, :n, :n].conj())
        np.testing.assert_array_equal(w[:, n:, :n], -w[:, :n, n:].conj())


@pytest.mark.parametrize("field", FIELDS)
def test_dense_driven_recurrence_against_a_loop_over_the_definition(field):
    # h(t) = W h(t-1) + x(t): law of ||h(t)||^2/n at t = 4 by a second implementation without normalisation.
    n, t, count = 5, 4, 4000
    rng = np.random.default_rng(3)
    real = field == "real"
    energies = []
    for _ in range(count):
        w = dense.weights(n, Field(field), 1, rng)[0]
        size = w.shape[0]
        scale = {"real": 1.0, "complex": math.sqrt(0.5), "quaternion": 0.5}[field]

        def fresh(size=size, scale=scale):
            x = rng.standard_normal(size) * scale
            return x if real else x + 1j * rng.standard_normal(size) * scale

        h = fresh()
        for _ in range(t):
            h = w @ h + fresh()
        energies.append(np.log(np.linalg.norm(h)) - 0.5 * math.log(n))
    draw = sample(n, t, field, samples=count, seed=8, method="dense")
    assert stats.ks_2samp(draw.lru_log_norms[:, t], energies).pvalue > P_VALUE


@pytest.mark.parametrize(("activation", "slope"), [("linear", 0.01), ("relu", 0.01), ("leaky_relu", 0.5)])
def test_untied_layers_against_explicit_fresh_matrices(activation, slope):
    # The O(n) conditional law against W drawn anew at each layer.
    n, depth, count = 6, 5, 4000
    layer = dense.Layer(dense.SampledActivation(activation), slope, tied=False)
    rng = np.random.default_rng(1)
    logs = np.empty(count)
    for i in range(count):
        h = rng.standard_normal(n)
        start = np.linalg.norm(h)
        for _ in range(depth):
            h = layer.apply(layer.gain * (rng.standard_normal((n, n)) / math.sqrt(n)) @ h)
        norm = np.linalg.norm(h)
        logs[i] = math.log(norm / start) if norm > 0 else -math.inf
    draw = sample(
        n, depth, "real", samples=count, seed=2, method="dense", activation=activation, negative_slope=slope, tied=False
    )
    dead = np.isneginf(draw.log_norms[:, depth])
    assert abs(dead.mean() - np.isneginf(logs).mean()) < 3.3 * math.sqrt(0.5 / count)
    assert stats.ks_2samp(draw.log_norms[~dead, depth], logs[np.isfinite(logs)]).pvalue > P_VALUE


def test_tied_relu_against_a_loop():
    n, depth, count = 6, 5, 4000
    rng = np.random.default_rng(9)
    logs = []
    for _ in range(count):
        w = rng.standard_normal((n, n)) / math.sqrt(n)
        x = rng.standard_normal(n)
        h = x
        for _ in range(depth):
            h = np.maximum(math.sqrt(2.0) * w @ h, 0.0)
        if h.any():
            logs.append(math.log(np.linalg.norm(h) / np.linalg.norm(x)))
    draw = sample(n, depth, "real", samples=count, seed=2, method="dense", activation="relu")
    alive = draw.log_norms[np.isfinite(draw.log_norms[:, depth]), depth]
    assert stats.ks_2samp(alive, logs).pvalue > P_VALUE


@pytest.mark.parametrize("slope", [0.01, 0.3, 0.5])
def test_gain_keeps_the_mean_energy_of_a_gaussian(slope):
    z = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    for layer in (dense.Layer(dense.SampledActivation.RELU), dense.Layer(dense.SampledActivation.LEAKY_RELU, slope)):
        assert np.mean(layer.apply(layer.gain * z) ** 2) == pytest.approx(1.0, abs=1e-4)


def test_a_dead_rectified_state_is_minus_infinity_and_stays():
    draw = sample(1, 6, "real", samples=400, seed=0, method="dense", activation="relu")
    dead = np.isneginf(draw.log_norms)
    assert 0.4 < dead[:, 1].mean() < 0.6
    assert (dead[:, 1:] >= dead[:, :-1]).all()
    assert draw.rnn().log_median == -np.inf


def test_nothing_overflows_far_out():
    draw = sample(4, 3000, "real", samples=20, seed=0)
    assert np.isfinite(draw.log_norms).all()
    assert np.abs(draw.log_norms[:, -1]).max() > 100
    full = sample(4, 3000, "complex", samples=20, seed=0, method="dense")
    assert np.isfinite(full.log_norms).all()
    assert np.isfinite(full.lru_log_norms).all()
