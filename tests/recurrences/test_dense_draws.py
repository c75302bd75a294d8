"""Gaussian and orthogonal recurrences, and the link to the exact averages over Gaussian weights."""

import numpy as np
import pytest

from signalprop import lru_energy, rnn_energy
from signalprop.recurrences import drawn_average, gaussian, orthogonal
from tests.gaussian import z_bound


@pytest.mark.parametrize("field", ["real", "complex"])
def test_gaussian_draws_average_to_the_exact_energies(field):
    n, T = 12, 8  # within c = 2.3 of the width: no heavy tail yet
    average = drawn_average(lambda seed: gaussian(n, field, scale=0.9, seed=seed), T, draws=800, seed=4)
    exact = lru_energy(n, np.arange(T), field, scale=0.9)
    z = (average.energy[2:] - exact[1:]) / average.error[2:]
    assert np.abs(z).max() < z_bound(z.size)
    assert average.energy[1] == pytest.approx(1.0)
    left = np.array([gaussian(n, field, seed=seed).forward_energy(4) for seed in range(800)])
    z = (left.mean(axis=0) - rnn_energy(n, np.arange(5), field))[1:] / (left.std(axis=0)[1:] / np.sqrt(800))
    assert np.abs(z).max() < z_bound(z.size)


def test_sampled_inputs_agree_with_the_exact_path_of_one_draw():
    for layer in (gaussian(10, "real"), gaussian(10, "complex"), orthogonal(10), orthogonal(10, gamma=0.9)):
        for rho in (0.0, 0.8):
            z = layer.sample(20, samples=3000, seed=3, correlation=rho).z
            assert np.abs(z).max() < z_bound(z.size)


def test_orthogonal():
    Q = orthogonal(9, seed=2).A.matrix
    np.testing.assert_allclose(Q.T @ Q, np.eye(9), atol=1e-13)
    np.testing.assert_allclose(orthogonal(9).energy(50), np.arange(51), rtol=1e-12)
    np.testing.assert_allclose(orthogonal(9, gamma=0.9).forward_energy(20), 0.81 ** np.arange(21), rtol=1e-12)
    # Haar: E Q_11^2 = 1/n; without the signs Q_11 would not be symmetric.
    entries = np.array([orthogonal(4, seed=seed).A.matrix[0, 0] for seed in range(2000)])
    assert abs(entries.mean()) < 4 * 0.5 / np.sqrt(2000)
    assert abs((entries**2).mean() - 0.25) < 4 * 0.25 / np.sqrt(2000)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: gaussian(8, "quaternion"), "quaternion weights are not drawn here"),
        (lambda: gaussian(8, scale=-1.0), "scale must be a positive"),
        (lambda: gaussian(0), "n must be at least 1"),
        (lambda: gaussian(10**6), "n must be at most 10000"),
        (lambda: orthogonal(8, gamma=1.5), r"gamma must lie in \(0, 1\], got 1.5"),
        (lambda: orthogonal(8).stationary_energy(), "needs a spectral radius below 1"),
    ],
)
def test_bad_input_is_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
