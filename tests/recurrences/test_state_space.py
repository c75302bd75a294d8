"""S4, S4D-Lin and S5 against their defining formulas, their exact paths against draws, and their averages over time steps."""

import math

import numpy as np
import pytest
from scipy import integrate, linalg, signal

from signalprop.recurrences import (
    drawn_average,
    hippo_legs,
    hippo_normal,
    hippo_normal_modes,
    s4,
    s4d_lin,
    s5,
    state_space_average,
)
from tests.gaussian import z_bound


def test_hippo_legs_entry_by_entry():
    A, B = hippo_legs(7)
    for i in range(7):
        assert B[i] == pytest.approx(math.sqrt(2 * i + 1))
        for j in range(7):
            want = -math.sqrt((2 * i + 1) * (2 * j + 1)) if i > j else -(i + 1) if i == j else 0.0
            assert A[i, j] == pytest.approx(want)


def test_hippo_legs_projects_on_legendre_polynomials():
    """d/dt of the coefficients of f on [0, t] is (A c + B f(t))/t; take f = s^2, whose coefficients are known."""
    A, B = hippo_legs(6)

    def coefficients(t):
        nodes, weights = np.polynomial.legendre.leggauss(12)
        s = t * (1 + nodes) / 2
        basis = np.array([math.sqrt(2 * n + 1) * np.polynomial.legendre.Legendre.basis(n)(nodes) for n in range(6)])
        return basis @ (weights / 2 * s**2)

    t, h = 1.3, 1e-5
    slope = (coefficients(t + h) - coefficients(t - h)) / (2 * h)
    np.testing.assert_allclose(slope, (A @ coefficients(t) + B * t**2) / t, atol=1e-8)


@pytest.mark.parametrize("n", [2, 8, 64])
def test_hippo_normal(n):
    A, _ = hippo_legs(n)
    p = np.sqrt(np.arange(n) + 0.5)
    N = hippo_normal(n)
    np.testing.assert_allclose(N, A + np.outer(p, p), atol=1e-11)
    np.testing.assert_allclose(N @ N.T, N.T @ N, atol=1e-9)
    np.testing.assert_allclose(np.linalg.eigvals(N).real, -0.5, atol=1e-10)
    values, vectors = hippo_normal_modes(n)
    np.testing.assert_allclose(N @ vectors, vectors * values, atol=1e-10)
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(n // 2), atol=1e-12)
    assert (values.imag > 0).all()


@pytest.mark.parametrize("dt", [1e-3, 0.05, 2.0])
def test_s4_is_the_bilinear_rule_and_stable(dt):
    A, B = hippo_legs(16)
    layer = s4(16, dt=dt)
    Ad, Bd, *_ = signal.cont2discrete((A, B[:, None], np.eye(16), 0), dt, method="bilinear")
    np.testing.assert_allclose(layer.A.matrix, Ad, atol=1e-11)
    np.testing.assert_allclose(layer.B, Bd, atol=1e-11)
    # LegS has eigenvalues -1 .. -n, which the bilinear rule maps inside the disc.
    want = max(abs((1 - dt / 2 * m) / (1 + dt / 2 * m)) for m in range(1, 17))
    # A is triangular, so its eigenvalues stand on the diagonal (an eigenvalue solver would lose half its digits).
    assert np.abs(np.diag(layer.A.matrix)).max() == pytest.approx(want, rel=1e-10)
    assert layer.A.spectral_radius() < 1.0


def test_s4d_lin_is_the_zero_order_hold():
    layer = s4d_lin(8, channels=3, dt=[0.01, 0.05, 0.3])
    assert layer.heads == layer.input_size == 3
    for channel, dt in enumerate([0.01, 0.05, 0.3]):
        for n in range(4):
            value = -0.5 + 1j * math.pi * n
            i = 4 * channel + n
            assert layer.A.values[i] == pytest.approx(np.exp(dt * value))
            held = integrate.quad(lambda s, v=value: np.exp(s * v).real, 0, dt)[0] + 1j * integrate.quad(
                lambda s, v=value: np.exp(s * v).imag, 0, dt
            )[0]  # fmt: skip
            assert layer.B[i, channel] == pytest.approx(held)
            assert not np.delete(layer.B[i], channel).any()


def test_s5_is_hippo_normal_in_its_eigenbasis():
    """One time step for all states: the real system of size N has twice the energy of the kept half."""
    n, dt = 8, 0.05
    layer = s5(n, 3, dt=dt, seed=6)
    _, vectors = hippo_normal_modes(n)
    held = (layer.A.values - 1) / hippo_normal_modes(n)[0]
    basis = np.hstack([vectors, vectors.conj()])
    rows = layer.B / held[:, None]
    real_B = basis @ np.vstack([rows, rows.conj()])
    np.testing.assert_allclose(real_B.imag, 0, atol=1e-12)
    N = hippo_normal(n)
    A = linalg.expm(dt * N)
    B = np.linalg.solve(N, A - np.eye(n)) @ real_B.real
    inputs = np.random.default_rng(0).standard_normal((30, 3))
    x = np.zeros(n)
    for u, kept in zip(inputs, layer.run(inputs), strict=True):
        x = A @ x + B @ u
        np.testing.assert_allclose(2 * (vectors @ kept).real, x, atol=1e-11)
        assert 2 * np.sum(np.abs(kept) ** 2) == pytest.approx(np.sum(x**2))


@pytest.mark.parametrize("layer", [s4(8, dt=0.1), s4d_lin(8, channels=3), s5(8, 4)], ids=["s4", "s4d_lin", "s5"])
@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_draws_agree(layer, rho):
    draw = layer.sample(80, samples=3000, seed=1, correlation=rho)
    assert np.abs(draw.z).max() < z_bound(draw.z.size)
    assert layer.stationary_energy(correlation=rho) == pytest.approx(layer.energy(40000, correlation=rho)[-1], rel=1e-6)


@pytest.mark.parametrize("kind", [pytest.param("s4", marks=pytest.mark.slow), "s4d_lin", "s5"])
def test_average_over_time_steps_against_draws(kind):
    exact = state_space_average(kind, 8, 100)
    assert exact.error.max() < 1e-6 * exact.energy.max()
    draw = {
        "s4": lambda seed: s4(8, seed=seed),
        "s4d_lin": lambda seed: s4d_lin(8, seed=seed),
        "s5": lambda seed: s5(8, 1, seed=seed),
    }[kind]
    sampled = drawn_average(draw, 100, draws=600, seed=2)
    z = (sampled.energy - exact.energy)[1:] / sampled.error[1:]
    assert np.abs(z).max() < z_bound(z.size)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: s4(0), "state_size must be at least 1, got 0"),
        (lambda: s4(8, dt=0.0), "dt must be a positive finite number, got 0.0"),
        (lambda: s4(8, dt=math.nan), "dt must be a positive finite number, got nan"),
        (
            lambda: s4(8, dt_range=(0.1, 0.01)),
            r"dt_range must be two numbers 0 < low <= high <= 1e.06, got \(0.1, 0.01\)",
        ),
        (lambda: s4d_lin(7), "state_size must be even, .* got 7"),
        (lambda: s4d_lin(8, channels=2, dt=[0.1] * 3), "dt must be one number or 2 of them"),
        (lambda: s5(7, 1), "state_size must be even, .* got 7"),
        (lambda: state_space_average("s6", 8, 10), "kind must be one of 's4', 's4d_lin' or 's5', got 's6'"),
    ],
)
def test_bad_input_is_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
