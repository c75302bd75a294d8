"""A structured state matrix knows its radius, powers and limit; of any other only what float64 can decide is said."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import linalg

from signalprop.recurrences import (
    Dense,
    Diagonal,
    LinearRecurrence,
    Rotations,
    ScaledUnitary,
    Triangular,
    gaussian,
    hippo_legs,
    lru,
    orthogonal,
    rotrnn,
    s4,
)
from tests.gaussian import z_bound


def driven(A):
    size = A.size if hasattr(A, "size") and not isinstance(A, np.ndarray) else len(A)
    return LinearRecurrence(A, np.eye(size) / math.sqrt(size))


def haar(n, seed, *, unitary=False):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, n)) + (1j * rng.standard_normal((n, n)) if unitary else 0.0)
    return np.linalg.qr(M)[0]


# Orthogonal and unitary: no stationary energy, in any draw and in whatever dress.


def test_no_haar_draw_has_a_stationary_energy():
    """800 draws, n <= 40; by rounded eigenvalues 19 of them had one."""
    for seed in range(800):
        layer = orthogonal(1 + seed % 40, seed=seed)
        assert layer.A.spectral_radius() == 1.0
        with pytest.raises(ValueError, match="needs a spectral radius below 1, got 1: the energy does not settle"):
            layer.stationary_energy()


@pytest.mark.parametrize("unitary", [False, True])
def test_an_orthogonal_matrix_in_disguise_is_not_decided_by_rounding(unitary):
    """The same matrices as anonymous dense ones: exact zeros or intervals, never a number."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(60):
            n = 1 + seed % 30
            for A in (haar(n, seed, unitary=unitary), linalg.block_diag(haar(n, seed, unitary=unitary), 0.5)):
                with pytest.raises(ValueError, match=r"float64 cannot decide|got 1: the energy"):
                    driven(A).stationary_energy()
                with pytest.raises(ValueError, match=r"float64 cannot decide|got 1: the energy"):
                    driven(A).stationary_energy(correlation=0.5)


def test_values_on_the_circle_are_on_it():
    """e^{i theta} has a modulus of 1 +- 1e-16 in float64; 1 - |lambda|^2 would be noise."""
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 400)
    assert (np.abs(np.exp(1j * angles)) < 1.0).any()
    for theta in angles:
        for A in ([np.exp(1j * theta)], np.diag([np.exp(1j * theta), 0.5])):
            with pytest.raises(ValueError, match="needs a spectral radius below 1"):
                driven(A).stationary_energy()


@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_permutations_and_cycles_are_exact(n):
    rng = np.random.default_rng(n)
    P = np.eye(n)[rng.permutation(n)]
    assert Dense(P).radius() == (0.0, 0.0)
    weights = 2.0 ** rng.integers(-3, 3, n)
    cycle = np.roll(np.diag(weights), 1, axis=0)
    assert Dense(cycle).spectral_radius() == pytest.approx(np.prod(weights) ** (1 / n), rel=1e-14)
    assert Dense(cycle).radius().below_one == (
        None if np.prod(weights) == 1.0 and n > 1 else np.prod(weights) < 1.0
    ) or (np.prod(weights) == 1.0)


def test_scaled_unitary_is_its_closed_form():
    for gamma, n, seed in ((0.9, 5, 0), (1 - 1e-12, 8, 1), (0.5, 1, 2)):
        layer = orthogonal(n, gamma=gamma, seed=seed)
        assert isinstance(layer.A, ScaledUnitary)
        limit = 1 / Fraction(1 - Fraction(gamma) ** 2)
        assert layer.stationary_energy() == pytest.approx(float(limit), rel=1e-12)
        want = [float(sum(Fraction(gamma) ** (2 * k) for k in range(t))) for t in range(40)]
        np.testing.assert_allclose(layer.energy(39), want, rtol=1e-12)
        np.testing.assert_allclose(layer.gradient_energy(30), gamma ** (2 * np.arange(31)), rtol=1e-11)
        assert layer.A.power(10**6).spectral_radius() == pytest.approx(gamma**10**6, rel=1e-9)
        np.testing.assert_allclose(layer.A.power(13).dense(), np.linalg.matrix_power(layer.A.dense(), 13), atol=1e-13)
        assert isinstance(layer.A.adjoint(), ScaledUnitary)
    # By the general route: correlated inputs, and heads told apart.
    layer, dense = orthogonal(6, gamma=0.9), driven(orthogonal(6, gamma=0.9).A.dense())
    for rho in (0.0, 0.7):
        np.testing.assert_allclose(layer.energy(50, correlation=rho), dense.energy(50, correlation=rho), rtol=1e-12)
        assert layer.stationary_energy(correlation=rho) == pytest.approx(
            dense.stationary_energy(correlation=rho), rel=1e-12
        )
    halves = LinearRecurrence(layer.A, layer.B, heads=2)
    assert halves.stationary_by_head().sum() == pytest.approx(layer.stationary_energy(), rel=1e-12)


def test_layers_turned_into_another_keep_their_structure():
    layer = rotrnn(12, 3, heads=2, gamma=0.99, output_size=2)
    there = layer.to_lru()
    assert isinstance(there.A, Diagonal)
    assert isinstance(there.to_rotrnn(heads=2).A, Rotations)
    assert isinstance(lru(6, 3).to_rotrnn().A, Rotations)
    for A in (layer.A, there.A, orthogonal(5).A, Triangular(np.tril(np.ones((3, 3))))):
        assert type(A.adjoint()) is type(A)
        assert type(A.power(5)) is type(A)
        assert A.power(5).radius().log_high == pytest.approx(5 * A.radius().log_high, abs=1e-12)


# Triangular: the diagonal is the spectrum, however far from normal.


@pytest.mark.parametrize("dt", [0.001, 0.1, 3.0])
@pytest.mark.parametrize("n", [16, 128, 256])
def test_s4_is_triangular_at_every_size(n, dt):
    layer = s4(n, dt=dt)
    assert not np.triu(layer.A.matrix, 1).any()
    want = max(abs(1 - dt * (i + 1) / 2) / (1 + dt * (i + 1) / 2) for i in range(n))
    assert layer.A.spectral_radius() == pytest.approx(want, rel=1e-14)
    assert isinstance(layer.A, Triangular)


def test_s4_settles_where_it_says():
    """A route without Lyapunov: the path itself, long after the transient that non-normality makes."""
    layer = s4(128, dt=0.1)
    assert layer.A.spectral_radius() == pytest.approx(0.95 / 1.05, rel=1e-14)
    for rho in (0.0, 0.9):
        assert layer.stationary_energy(correlation=rho) == pytest.approx(
            layer.energy(6000, correlation=rho)[-1], rel=1e-10
        )


def test_bilinear_rule_in_fractions():
    """Forward substitution on the exact LegS of scale sqrt(2i+1) taken out, which is rational."""
    n, dt = 24, Fraction(1, 10)
    A = [
        [Fraction(-(2 * j + 1)) if i > j else Fraction(-(i + 1)) if i == j else Fraction(0) for j in range(n)]
        for i in range(n)
    ]
    half = dt / 2
    exact = [[Fraction(0)] * n for _ in range(n)]
    for j in range(n):
        for i in range(j, n):
            right = (i == j) + half * A[i][j] + sum(half * A[i][m] * exact[m][j] for m in range(j, i))
            exact[i][j] = right / (1 - half * A[i][i])
    root = np.sqrt(2 * np.arange(n) + 1)
    want = np.array([[float(x) for x in row] for row in exact]) * root[:, None] / root
    np.testing.assert_allclose(s4(n, dt=0.1).A.matrix, want, atol=1e-13)


def test_a_dense_matrix_with_a_side_of_zeros_is_triangular():
    rng = np.random.default_rng(0)
    L = np.tril(3.0 * rng.standard_normal((60, 60)), -1) + np.diag(rng.uniform(-0.9, 0.9, 60))
    for A in (L, L.T, L + 1j * np.tril(L, -1)):
        op = driven(A).A
        assert isinstance(op, Triangular)
        assert op.spectral_radius() == pytest.approx(np.abs(np.diag(L)).max(), rel=1e-14)
        assert not isinstance(Dense(A), Triangular)
        assert Dense(A).spectral_radius() == pytest.approx(np.abs(np.diag(L)).max(), rel=1e-14)
    assert (
        abs(np.abs(np.linalg.eigvals(L + 1e-14)).max() - np.abs(np.diag(L)).max()) > 1e-3
    )  # what rounding makes of it
    assert driven(np.tril(np.ones((5, 5)), -1)).A.spectral_radius() == 0.0
    nilpotent = driven(np.tril(np.ones((5, 5)), -1))
    assert nilpotent.stationary_energy() == pytest.approx(nilpotent.energy(5)[-1], rel=1e-14)


def test_zeros_in_any_order_split_the_matrix():
    """A block triangular matrix with its states shuffled, as a stacked state (x, u) of AR(1) inputs is one."""
    rng = np.random.default_rng(1)
    A, rho = 0.5 * haar(4, 0), 0.97
    stacked = np.block([[A, rho * rng.standard_normal((4, 3))], [np.zeros((3, 4)), rho * np.eye(3)]])
    order = rng.permutation(7)
    for matrix in (stacked, stacked[np.ix_(order, order)]):
        assert Dense(matrix).spectral_radius() == pytest.approx(rho, rel=1e-15)
    nilpotent = np.tril(rng.standard_normal((9, 9)), -1)
    order = rng.permutation(9)
    assert Dense(nilpotent[np.ix_(order, order)]).spectral_radius() == 0.0
    normal = np.block([[0.3 * haar(3, 1), np.zeros((3, 2))], [np.zeros((2, 3)), 0.8 * haar(2, 2)]])
    assert Dense(normal).spectral_radius() == pytest.approx(0.8, rel=1e-12)


# Any other matrix: intervals that hold, values that are right or refused.


def exact_spectrum(n, seed, spread):
    """A = V D V^-1 with known eigenvalues, the more non-normal the larger `spread`."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.1, 0.9, n) * rng.choice([-1.0, 1.0], n)
    V = haar(n, seed + 1000) @ np.diag(np.geomspace(1.0, spread, n)) @ haar(n, seed + 2000)
    return V @ np.diag(values) @ np.linalg.inv(V), np.abs(values).max()


@pytest.mark.parametrize("spread", [1.0, 30.0, 1e4])
def test_intervals_hold_the_radius(spread):
    for seed in range(40):
        A, radius = exact_spectrum(2 + seed % 15, seed, spread)
        low, high = Dense(A).radius()
        slack = 1e-14 * spread**2  # by which rounding moved the eigenvalues when A was made
        assert low - slack <= math.log(radius) <= high + slack
        assert Dense(A).spectral_radius() == pytest.approx(radius, rel=1e-6)
        for g in (0.999 / radius, 1.001 / radius):
            assert Dense(g * A).radius(only_side_of_one=True).below_one == (g * radius < 1.0)


def test_imprimitive_matrices_have_lower_bounds():
    M = np.array([[0.5, 0.2], [0.1, 0.3]])
    for period in (2, 3, 5, 7):
        A = np.kron(np.roll(np.eye(period), 1, axis=0), M)
        assert Dense(A).spectral_radius() == pytest.approx(np.abs(np.linalg.eigvals(M)).max(), rel=1e-10)


def test_a_defective_matrix_is_enclosed():
    T = haar(4, 5)
    jordan = 0.9 * np.eye(4) + np.diag(np.ones(3), 1)
    low, high = Dense(T @ jordan @ T.T).radius()
    assert math.exp(low) <= 0.9 <= math.exp(high) < 1.0
    with pytest.raises(
        ValueError, match=r"cannot tell the spectral radius of this matrix to six digits, only that it is between 0\.9"
    ):
        Dense(T @ jordan @ T.T).spectral_radius()


def test_rounding_above_the_diagonal_is_not_taken_for_the_matrix():
    """LegS by a solver that leaves 5e-14 above the diagonal: the radius is refused, the limit needs none and is right."""
    A, B = hippo_legs(128)
    one = np.eye(128)
    solved = np.linalg.solve(one - 0.05 * A, np.hstack([one + 0.05 * A, 0.1 * B[:, None]]))
    full = LinearRecurrence(solved[:, :-1], solved[:, -1:])
    assert np.abs(np.triu(full.A.matrix, 1)).max() > 0.0
    with pytest.raises(ValueError, match="cannot tell the spectral radius of this matrix to six digits"):
        full.A.spectral_radius()
    assert full.stationary_energy() == pytest.approx(s4(128, dt=0.1).stationary_energy(), rel=1e-9)


def limit_or_refusal(layer):
    try:
        return layer.stationary_energy(), ""
    except ValueError as error:
        return None, str(error)


def test_limits_of_gaussian_draws_are_right_or_refused():
    """300 draws around the edge, n <= 40, no warning: against the Schur route of SciPy where that is sure of itself."""
    settled = refused = 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(300):
            layer = gaussian(1 + seed % 40, "real" if seed % 2 else "complex", scale=1.0, seed=seed)
            radius = np.abs(np.linalg.eigvals(layer.A.matrix)).max()
            limit, refusal = limit_or_refusal(layer)
            if refusal:
                assert "needs a spectral radius below 1, got" in refusal or "six digits" in refusal
                assert radius > 1.0 - 1e-9
                refused += 1
                continue
            settled += 1
            assert radius < 1.0
            P = linalg.solve_discrete_lyapunov(layer.A.matrix, layer.B @ layer.B.conj().T, method="bilinear")
            assert limit == pytest.approx(np.trace(P).real, rel=1e-6)
    assert settled > 50
    assert refused > 50


@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-13])
def test_near_the_edge_the_limit_is_right_or_refused(gap):
    rng = np.random.default_rng(0)
    for seed in range(20):
        Q = haar(6, seed)
        eigenvalues = np.append(rng.uniform(-0.9, 0.9, 5), 1.0 - gap)
        A = Q @ np.diag(eigenvalues) @ Q.T
        b = np.abs(Q.T @ np.ones(6)) ** 2  # symmetric A: sum of b_i/(1 - lambda_i^2)
        want = math.fsum(b / ((1.0 - eigenvalues) * (1.0 + eigenvalues)))
        layer = LinearRecurrence(A, np.ones((6, 1)))
        limit, refusal = limit_or_refusal(layer)
        if refusal:
            assert gap < 1e-8
            assert "float64 cannot" in refusal
        else:
            assert limit == pytest.approx(want, rel=1e-5)


def test_a_matrix_that_grows_first_is_right_or_refused():
    for off, sure in ((10.0, True), (1e3, True), (1e9, False)):
        layer = LinearRecurrence([[0.5, off], [0.0, 0.25]], np.eye(2))
        # P_22 = 16/15; P_12 = off P_22 a/(1 - ab); P_11 = (1 + 2 a off P_12 + off^2 P_22)/(1 - a^2)
        p22 = 16 / 15
        p12 = off * p22 * 0.25 / (1 - 0.125)
        want = (1 + 2 * 0.5 * off * p12 + off**2 * p22) / 0.75 + p22
        assert layer.energy(300)[-1] == pytest.approx(want, rel=1e-12)
        limit, refusal = limit_or_refusal(layer)
        if refusal:
            assert not sure
            assert "six digits" in refusal
        else:
            assert limit == pytest.approx(want, rel=1e-6)


def test_a_stored_diagonal_keeps_its_digits():
    for a in (1 - 1e-12, -(1 - 1e-15), 0.3):
        want = float(1 / (1 - Fraction(a) ** 2))
        for A in ([[a]], np.diag([a, 0.0])):
            assert LinearRecurrence(A, np.eye(len(A))).stationary_by_head().sum() == pytest.approx(
                want + len(A) - 1, rel=1e-12
            )


def test_draws_settle_at_the_limit():
    """Sampled after the transient, with the exact variance: a route that solves no equation."""
    for layer in (gaussian(6, "real", scale=0.6, seed=2), orthogonal(6, gamma=0.8), s4(6, dt=0.5)):
        draw = layer.sample(200, samples=2000, seed=1)
        z = (draw.mean[-1] - layer.stationary_energy()) / draw.stderr[-1]
        assert abs(z) < z_bound(1)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Triangular(np.ones((2, 2))), "exact zeros on one side of its diagonal"),
        (lambda: ScaledUnitary(np.ones((2, 2))), r"got Q\* Q off the identity by 2"),
        (lambda: ScaledUnitary(np.eye(2), math.nan), "log_gamma must lie between"),
        (lambda: ScaledUnitary(np.ones((2, 3))), "unitary must be square"),
        (lambda: Dense([[np.nan]]), "matrix must be finite, got nan"),
        (lambda: Dense([[1.0, 2.0]]), "matrix must be square"),
        (lambda: Diagonal([0.0, np.inf], [0.0, 0.0]), "log_modulus must be finite, got inf"),
        (lambda: Diagonal([-1.0], [0.0, 0.0]), "phase must have one angle for each of the 1 units"),
        (lambda: Diagonal([1000.0], [0.0]), "log_modulus must be at most 350"),
        (lambda: Rotations([-1.0], [[0.1]], 2, 1.0001 * np.eye(2)[None]), "basis must hold orthogonal"),
        (lambda: Diagonal([-1.0], [0.0]).power(-1), "k must be at least 0"),
    ],
)
def test_bad_operators_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_power_that_leaves_float64_says_so():
    with pytest.raises(OverflowError, match="A to the power of 2000 leaves float64"):
        Dense([[10.0]]).power(2000)
