"""RotRNN: transient, first step, angles against correlated inputs, and the layer as an LRU."""

import math

import numpy as np
import pytest
from scipy import integrate, linalg

from signalprop.recurrences import (
    LRU,
    LinearRecurrence,
    RotRNN,
    lru,
    poisson_kernel,
    poisson_mean,
    rotrnn,
    rotrnn_average,
)
from signalprop.recurrences.rotrnn_draws import orthogonal_from_skew
from tests.gaussian import z_bound


@pytest.mark.parametrize("rotation", ["expm", "cayley"])
@pytest.mark.parametrize(("state_size", "heads"), [(12, 1), (12, 4), (15, 3), (4, 4)])
def test_state_matrix_is_its_definition(rotation, state_size, heads):
    layer = rotrnn(state_size, 3, heads=heads, gamma=0.9, rotation=rotation, seed=2)
    size, turns = state_size // heads, layer.rotations
    A = layer.A.dense()
    for h in range(heads):
        theta = np.eye(size)
        for j in range(size // 2):
            c, s = np.cos(turns.angles[h, j]), np.sin(turns.angles[h, j])
            theta[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = [[c, -s], [s, c]]
        P = turns.basis[h]
        block = slice(h * size, (h + 1) * size)
        np.testing.assert_allclose(A[block, block], 0.9 * P @ theta @ P.T, atol=1e-13)
        assert np.linalg.det(P) == pytest.approx(1.0)
        xi_square = (1 - 0.9**2) / np.sum((layer.B[block] / layer.xi[h]) ** 2)
        assert layer.xi[h] ** 2 == pytest.approx(xi_square)
    np.testing.assert_allclose(A.T @ A, 0.81 * np.eye(state_size), atol=1e-13)


def test_rotation_by_eigenvectors_is_the_matrix_exponential():
    S = np.random.default_rng(0).standard_normal((3, 9, 9))
    S = S - np.swapaxes(S, 1, 2)
    np.testing.assert_allclose(orthogonal_from_skew(S), linalg.expm(S), atol=1e-12)
    Q = orthogonal_from_skew(S, "cayley")
    np.testing.assert_allclose(Q @ np.swapaxes(Q, 1, 2), np.broadcast_to(np.eye(9), Q.shape), atol=1e-12)


@pytest.mark.parametrize(("state_size", "heads"), [(8, 1), (9, 3), (12, 2)])
def test_transient_and_first_step(state_size, heads):
    t = np.arange(201)
    layer = rotrnn(state_size, 4, heads=heads, gamma=0.99)
    np.testing.assert_allclose(layer.energy(200), heads * (1 - 0.99 ** (2 * t)), rtol=1e-12)
    np.testing.assert_allclose(layer.energy_by_head(200), np.outer(1 - 0.99 ** (2 * t), np.ones(heads)), rtol=1e-12)
    assert layer.stationary_energy() == pytest.approx(heads, rel=1e-13)
    flat = rotrnn(state_size, 4, heads=heads, gamma=0.99, first_step=True)
    np.testing.assert_allclose(flat.energy_by_head(200)[1:], 1.0, rtol=1e-12)
    raw = (layer.B / np.repeat(layer.xi, state_size // heads)[:, None]).reshape(heads, -1)
    first = flat.first.reshape(heads, -1)
    np.testing.assert_allclose(first, raw / np.linalg.norm(raw, axis=1)[:, None], rtol=1e-12)
    # From a state of unit energy every next step keeps it: the premise of the published normalisation.
    P = np.eye(state_size) / state_size * heads
    assert np.trace(layer.A.dense() @ P @ layer.A.dense().T + layer.B @ layer.B.T) == pytest.approx(heads)


def test_number_in_the_docs():
    assert rotrnn(64, 64, gamma=0.999).energy(100)[100] == pytest.approx(0.1814, abs=5e-5)


@pytest.mark.parametrize("options", [{}, {"first_step": True}, {"rotation": "cayley"}])
@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_draws_agree(options, rho):
    layer = rotrnn(9, 4, heads=3, max_phase=0.5, seed=1, **options)
    draw = layer.sample(40, samples=3000, seed=6, correlation=rho)
    assert np.abs(draw.z).max() < z_bound(draw.z.size)


def test_gamma_next_to_one_keeps_its_digits():
    angles, B = [[0.3]], [[[1.0], [0.0]]]
    layer = RotRNN(angles, B, log_rate=math.log(1e-20))  # 1 - gamma = 1e-20: gamma itself rounds to 1
    assert layer.gamma == 1.0
    np.testing.assert_allclose(layer.energy(3), 2e-20 * np.arange(4), rtol=1e-14)
    assert layer.stationary_energy() == pytest.approx(1.0, rel=1e-14)
    assert RotRNN(angles, B, log_rate=math.log(1e-20), first_step=True).energy(5)[5] == pytest.approx(1.0, rel=1e-14)


GAMMA, PHI = 0.99, math.pi / 100


def plane(theta, gamma=GAMMA, **options):
    return RotRNN([[theta]], [[[1.0], [0.0]]], gamma=gamma, **options)


@pytest.mark.parametrize("rho", [0.5, 0.9, 0.99, -0.6])
@pytest.mark.parametrize("theta", [0.0, 0.01, 1.0, math.pi])
def test_correlated_inputs_multiply_a_plane_by_the_poisson_kernel(rho, theta):
    want = poisson_kernel(rho * GAMMA, theta)
    r = rho * GAMMA
    assert want == pytest.approx((1 - r**2) / (1 - 2 * r * math.cos(theta) + r**2), rel=1e-11)
    layer = plane(theta)
    assert layer.energy(6000, correlation=rho)[-1] == pytest.approx(want, rel=1e-9)
    dense = LinearRecurrence(layer.A.dense(), layer.B)
    assert dense.energy(6000, correlation=rho)[-1] == pytest.approx(want, rel=1e-9)
    assert dense.stationary_energy(correlation=rho) == pytest.approx(want, rel=1e-9)


@pytest.mark.parametrize(("rho", "printed"), [(0.5, 2.96), (0.9, 16.9), (0.99, 63.8)])
def test_mean_of_the_kernel_over_small_angles(rho, printed):
    mean = poisson_mean(rho * GAMMA, PHI)
    assert float(f"{mean:.3g}") == printed
    # Against quadrature of the kernel, ...
    by_quadrature = integrate.quad(lambda x: poisson_kernel(rho * GAMMA, x), 0, PHI, epsabs=0, epsrel=1e-12)[0] / PHI
    assert mean == pytest.approx(by_quadrature, rel=1e-10)
    # ... against the exact recursion on a rule over the angles, ...
    nodes, weights = np.polynomial.legendre.leggauss(24)
    planes = RotRNN(PHI * (1 + nodes[:, None]) / 2, np.repeat([[[1.0], [0.0]]], 24, axis=0), gamma=GAMMA)
    dense = LinearRecurrence(planes.A.dense(), planes.B, heads=24)
    assert mean == pytest.approx(dense.energy_by_head(2500, correlation=rho)[-1] @ weights / 2, rel=1e-8)
    # ... and against draws of angles and inputs: 4000 planes, each its own head and energy.
    rng = np.random.default_rng(17)
    angles = rng.uniform(0, PHI, (4000, 1))
    state = np.zeros((4000, 2))
    noise = rng.standard_normal((4000, 1))
    B = math.sqrt(1 - GAMMA**2)
    cos, sin = np.cos(angles[:, 0]), np.sin(angles[:, 0])
    for _ in range(1500):
        turned = GAMMA * np.stack([cos * state[:, 0] - sin * state[:, 1], sin * state[:, 0] + cos * state[:, 1]], 1)
        state = turned + B * noise * np.array([1.0, 0.0])
        noise = rho * noise + math.sqrt(1 - rho**2) * rng.standard_normal((4000, 1))
    energies = np.sum(state**2, axis=1)
    # Energies are at worst chi^2_1 times a bounded factor: mean +- 4 standard errors of 4000 independent planes.
    assert abs(energies.mean() - mean) < 4 * energies.std() / math.sqrt(4000)
    assert energies.std() / math.sqrt(4000) < 0.04 * mean


def test_mean_over_the_full_circle_is_one_but_rarely_seen():
    r = 0.99 * 0.999
    assert poisson_mean(r, 2 * math.pi) == pytest.approx(1.0, rel=1e-14)
    assert poisson_mean(r, math.pi) == pytest.approx(1.0, rel=1e-14)
    assert poisson_mean(r, 3.0) == pytest.approx(2 / 3 * math.atan((1 + r) / (1 - r) * math.tan(1.5)))
    angles = np.random.default_rng(0).uniform(0, 2 * math.pi, 200001)
    median = np.median(poisson_kernel(r, angles))
    assert median == pytest.approx((1 - r**2) / (1 + r**2), rel=0.02)


@pytest.mark.parametrize("rho", [0.0, 0.9, -0.5, 0.999])
@pytest.mark.parametrize("phase", [PHI, 2 * math.pi])
def test_average_over_angles(rho, phase):
    path = rotrnn_average(300, gamma=0.97, max_phase=phase, correlation=rho)
    assert not path.error.any()
    nodes, weights = np.polynomial.legendre.leggauss(700)
    planes = RotRNN(phase * (1 + nodes[:, None]) / 2, np.ones((700, 2, 1)), gamma=0.97)
    exact = planes.energy_by_head(300, correlation=rho) @ weights / 2
    np.testing.assert_allclose(path.energy, exact, rtol=1e-9, atol=1e-12)
    long = rotrnn_average(3000, gamma=0.97, max_phase=phase, correlation=rho).energy[-1]
    assert long == pytest.approx(poisson_mean(rho * 0.97, phase), rel=1e-9)


def test_average_over_gamma_is_that_of_the_draws():
    found = rotrnn_average(200, gamma_range=(0.9, 0.999))
    assert found.error.max() < 1e-10
    paths = rotrnn(2 * 4000, 1, heads=4000, gamma_range=(0.9, 0.999), seed=8).energy_by_head(200)
    z = (paths.mean(axis=1) - found.energy)[1:] / (paths.std(axis=1)[1:] / math.sqrt(4000))
    assert np.abs(z).max() < z_bound(z.size)


@pytest.mark.parametrize("options", [{}, {"first_step": True}])
@pytest.mark.parametrize(("state_size", "heads"), [(8, 1), (9, 3), (12, 2), (3, 3)])
def test_a_rotrnn_is_an_lru(state_size, heads, options):
    layer = rotrnn(state_size, 4, heads=heads, output_size=5, seed=3, **options)
    other = layer.to_lru()
    assert isinstance(other, LRU)
    inputs = np.random.default_rng(1).standard_normal((3, 50, 4))
    np.testing.assert_allclose(other.outputs(inputs), layer.outputs(inputs), atol=1e-12)
    np.testing.assert_allclose(
        other.energy_by_head(50, correlation=0.8), layer.energy_by_head(50, correlation=0.8), rtol=1e-11
    )
    assert len(set(np.round(other.diagonal.log_modulus.reshape(heads, -1).std(axis=1), 12))) == 1


def test_an_lru_is_a_rotrnn_with_a_head_for_each_unit():
    layer = lru(6, 4, r_min=0.3, r_max=0.99, output_size=5, seed=3)
    inputs = np.random.default_rng(1).standard_normal((50, 4))
    there = layer.to_rotrnn()
    assert there.heads == 6
    np.testing.assert_allclose(there.outputs(inputs), layer.outputs(inputs), atol=1e-12)
    np.testing.assert_allclose(there.energy(50), layer.energy(50), rtol=1e-12)
    back = there.to_lru()
    np.testing.assert_allclose(back.outputs(inputs), layer.outputs(inputs), atol=1e-12)
    with pytest.raises(ValueError, match=r"share one modulus, got 0\.\d+ to 0\.\d+ in head \d; leave heads out"):
        layer.to_rotrnn(heads=2)
    round_trip = rotrnn(8, 4, heads=2, output_size=1, seed=3).to_lru().to_rotrnn(heads=2)
    assert round_trip.heads == 2


def test_a_conjugate_pair_is_one_plane():
    rng = np.random.default_rng(5)
    b = rng.standard_normal(3) + 1j * rng.standard_normal(3)
    c = rng.standard_normal(2) + 1j * rng.standard_normal(2)
    L, theta = math.log(0.95), 0.7
    pair = LRU([L, L], [theta, -theta], [b, b.conj()], np.stack([c, c.conj()], axis=1), normalizer=[1.0, 1.0])
    head = RotRNN(
        [[theta]], [[b.real, b.imag]], np.stack([2 * c.real, -2 * c.imag], axis=1), gamma=0.95, normalized=False
    )
    inputs = rng.standard_normal((60, 3))
    np.testing.assert_allclose(head.outputs(inputs), pair.outputs(inputs), atol=1e-12)
    # Each of the two carries the energy of the plane.
    np.testing.assert_allclose(pair.energy(20), 2 * head.energy(20), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: rotrnn(8, 2, gamma=1.0), "gamma must lie strictly between 0 and 1, got 1.0"),
        (lambda: rotrnn(8, 2, gamma=0.0), "gamma must lie strictly between 0 and 1, got 0.0"),
        (lambda: rotrnn(8, 2, heads=2, gamma=[0.5, np.nan]), "gamma must lie strictly between 0 and 1, got nan"),
        (lambda: rotrnn(8, 2, gamma_range=(0.9, 1.0)), "0 < gamma_min <= gamma_max < 1, got gamma_min=0.9 and gamma_max=1.0"),
        (lambda: rotrnn(8, 2, max_phase=7.0), r"max_phase must lie in \(0, 2 pi\], got 7.0"),
        (lambda: rotrnn(8, 2, max_phase=0.0), "max_phase must lie"),
        (lambda: rotrnn(8, 2, max_phase=np.nan), "max_phase .* got nan"),
        (lambda: rotrnn(9, 2, heads=2), "state_size must be divisible by heads, got 9 states and 2 heads"),
        (lambda: rotrnn(8, 0), "input_size must be at least 1"),
        (lambda: rotrnn(8, 2, rotation="qr"), "rotation must be one of 'expm' or 'cayley', got 'qr'"),
        (lambda: RotRNN([[0.1]], [[[1.0], [0.0]]]), "give exactly one of gamma and log_rate"),
        (lambda: RotRNN([[0.1]], [[[1.0], [0.0]]], gamma=0.5, log_rate=0.1), "give exactly one of gamma and log_rate"),
        (lambda: RotRNN([[np.nan]], [[[1.0], [0.0]]], gamma=0.5), "angles must be finite, got nan"),
        (lambda: RotRNN([[0.1, 0.2]], [[[1.0], [0.0]]], gamma=0.5), r"angles must have shape \(1, 1\)"),
        (lambda: RotRNN([[0.1]], [[[0.0], [0.0]]], gamma=0.5), "B must have a nonzero entry in every head"),
        (lambda: RotRNN([[0.1]], [[[1.0], [0.0]]], gamma=0.5, basis=2 * np.eye(2)[None]), "basis must hold orthogonal"),
        (lambda: RotRNN([[0.1]], [[[1.0], [0.0]]], gamma=0.5, basis=np.eye(3)[None]), r"basis must have shape \(1, 2, 2\)"),
        (lambda: poisson_kernel(1.0, 0.0), "r must lie strictly between -1 and 1, got 1.0"),
        (lambda: poisson_mean(np.nan, 1.0), "r must lie strictly between -1 and 1, got nan"),
        (lambda: rotrnn_average(5, gamma=1.5), "gamma must lie strictly between 0 and 1, got 1.5"),
    ],
)  # fmt: skip
def test_bad_input_is_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
