"""Exact paths: closed forms against the recursion of covariances, against Lyapunov, against draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from signalprop.recurrences import Dense, Diagonal, LinearRecurrence, Rotations
from tests.gaussian import z_bound

KINDS = ["dense", "complex dense", "diagonal", "rotations"]


def build(kind, seed, *, first=False, modulus=0.95):
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((6, 3))
    if kind == "dense":
        M = rng.standard_normal((6, 6))
        A = Dense(modulus * M / np.abs(np.linalg.eigvals(M)).max())
    elif kind == "complex dense":
        M = rng.standard_normal((6, 6)) + 1j * rng.standard_normal((6, 6))
        A = Dense(modulus * M / np.abs(np.linalg.eigvals(M)).max())
    elif kind == "diagonal":
        A = Diagonal(np.log(rng.uniform(0.2, modulus, 6)), rng.uniform(0, 6.28, 6))
        B = B + 1j * rng.standard_normal((6, 3))
    else:
        basis = np.linalg.qr(rng.standard_normal((2, 3, 3)))[0]
        A = Rotations(np.log(rng.uniform(0.2, modulus, 2)), rng.uniform(0, 6.28, (2, 1)), 3, basis)
    return LinearRecurrence(A, B, first=rng.standard_normal((6, 3)) if first else None, heads=2)


def covariance(seed):
    root = np.random.default_rng(seed).standard_normal((3, 3))
    return root @ root.T


def augmented_energies(rec, horizon, R, rho):
    """The textbook way for AR(1) inputs: a white-noise recurrence of the stacked state (x, u), covariance by covariance."""
    A, n, d = rec.A.dense(), rec.state_size, rec.input_size
    first = rec.B if rec.first is None else rec.first
    big = np.block([[A, rho * rec.B], [np.zeros((d, n)), rho * np.eye(d)]])
    push = np.vstack([rec.B, np.eye(d)])
    noise = (1 - rho**2) * R
    start = np.vstack([first, np.eye(d)])
    P = start @ R @ start.conj().T
    energies = [np.zeros(rec.heads)]
    for _ in range(horizon):
        energies.append(np.real(np.diag(P)[:n]).reshape(rec.heads, -1).sum(axis=1))
        P = big @ P @ big.conj().T + push @ noise @ push.T.conj()
    return np.array(energies)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rho", [0.0, 0.6, -0.8, 0.99])
@pytest.mark.parametrize("first", [False, True])
def test_path_is_that_of_the_augmented_state(kind, rho, first):
    rec, R = build(kind, 3, first=first), covariance(4)
    got = rec.energy_by_head(40, covariance=R, correlation=rho)
    want = augmented_energies(rec, 40, R, rho)
    np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(rec.energy(40, covariance=R, correlation=rho), want.sum(axis=1), rtol=1e-11)
    np.testing.assert_allclose(rec.covariance_path(40, covariance=R, correlation=rho), want.sum(axis=1), rtol=1e-11)


@pytest.mark.parametrize("kind", ["diagonal", "rotations"])
@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_fast_routes_are_the_dense_recursion(kind, rho):
    fast = build(kind, 5, first=True)
    dense = LinearRecurrence(fast.A.dense(), fast.B, first=fast.first, heads=2)
    for name in ("energy_by_head", "energy_variance"):
        got = getattr(fast, name)(30, correlation=rho)
        np.testing.assert_allclose(got, getattr(dense, name)(30, correlation=rho), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(fast.stationary_by_head(correlation=rho), dense.stationary_by_head(correlation=rho))
    np.testing.assert_allclose(fast.forward_energy(20), dense.forward_energy(20), rtol=1e-11)
    np.testing.assert_allclose(fast.forward_energy(20, fast.B), dense.forward_energy(20, fast.B), rtol=1e-11)
    C = np.random.default_rng(0).standard_normal((2, 6))
    np.testing.assert_allclose(fast.gradient_energy(20, C), dense.gradient_energy(20, C), rtol=1e-11)
    inputs = np.random.default_rng(1).standard_normal((4, 9, 3))
    np.testing.assert_allclose(fast.run(inputs), dense.run(inputs), atol=1e-12)
    np.testing.assert_allclose(fast.run(inputs[2]), dense.run(inputs)[2], atol=1e-12)
    assert fast.A.spectral_radius() == pytest.approx(dense.A.spectral_radius(), rel=1e-12)


@settings(max_examples=80, deadline=None)
@given(
    modulus=st.floats(0.0, 1.05),
    phase=st.sampled_from([0.0, 1e-9, 0.3, np.pi, 4.0]),
    rho=st.floats(-0.999, 0.999),
    near=st.sampled_from([None, 0.0, 1e-15, 1e-9, 1e-4]),
    horizon=st.integers(1, 60),
)
def test_coloured_mode_is_its_double_sum(modulus, phase, rho, near, horizon):
    if near is not None:  # lambda next to rho, where the closed form divides two small numbers
        modulus, phase = abs(rho) + near, 0.0 if rho > 0 else np.pi
    value = modulus * np.exp(1j * phase)
    got = LinearRecurrence([value], [[1.0]]).energy(horizon, correlation=rho)
    k = np.arange(horizon)
    overlap = rho ** np.abs(k[:, None] - k)
    powers = value**k
    want = [np.real(powers[:t].conj() @ overlap[:t, :t] @ powers[:t]) for t in range(horizon + 1)]
    scale = np.maximum.accumulate(np.abs(want))
    assert np.max(np.abs(got - want) / np.maximum(scale, 1.0)) < 1e-11


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rho", [0.0, 0.9])
def test_stationary_value_is_the_end_of_a_long_path_and_lyapunov(kind, rho):
    rec, R = build(kind, 8), covariance(9)
    limit = rec.stationary_energy(covariance=R, correlation=rho)
    assert limit == pytest.approx(rec.energy(1500, covariance=R, correlation=rho)[-1], rel=1e-10)
    if rho == 0.0:
        A = rec.A.dense()
        assert limit == pytest.approx(np.trace(linalg.solve_discrete_lyapunov(A, rec.B @ R @ rec.B.conj().T)).real)
    assert rec.stationary_by_head(covariance=R, correlation=rho).sum() == pytest.approx(limit)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_sampled_paths_agree(kind, rho):
    rec = build(kind, 11, first=True)
    draw = rec.sample(12, samples=4000, seed=5, covariance=covariance(12), correlation=rho)
    assert draw.energies.shape == (4000, 13)
    assert draw.z[0] == 0.0
    assert np.abs(draw.z).max() < z_bound(draw.z.size)
    # The claimed variance is the one of the draws: its own standard error is about sqrt(kurtosis/4000) < 10 %.
    np.testing.assert_allclose(draw.energies.std(axis=0)[1:], draw.stderr[1:] * np.sqrt(4000), rtol=0.15)
    np.testing.assert_array_equal(draw.by_head.sum(axis=2), draw.energies)


def test_a_wrong_path_is_seen_by_the_draws():
    rec = build("diagonal", 11)
    draw = rec.sample(12, samples=4000, seed=5, correlation=0.7)
    assert np.abs((draw.mean - rec.energy(12)) / np.where(draw.stderr > 0, draw.stderr, 1)).max() > 10


def test_forward_and_gradient_energy():
    rec = build("dense", 2)
    A, B = rec.A.matrix, rec.B
    for k, share in enumerate(rec.forward_energy(5, B)):
        want = np.linalg.norm(np.linalg.matrix_power(A, k) @ B) ** 2 / np.linalg.norm(B) ** 2
        assert share == pytest.approx(want)
    C = np.ones((1, 6))
    for k, share in enumerate(rec.gradient_energy(5, C)):
        assert share == pytest.approx(np.linalg.norm(C @ np.linalg.matrix_power(A, k)) ** 2 / 6)
    np.testing.assert_allclose(rec.gradient_energy(9), rec.forward_energy(9))
    with pytest.raises(ValueError, match="all zero"):
        rec.forward_energy(2, np.zeros((6, 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_powers(kind):
    A = build(kind, 1).A
    want = np.linalg.matrix_power(A.dense(), 7)
    np.testing.assert_allclose(A.power(7).dense(), want, atol=1e-13)
    np.testing.assert_allclose(A.adjoint().dense(), A.dense().conj().T, atol=1e-13)


def test_a_far_power_costs_no_product():
    A = Rotations(np.array([-1e-12]), np.array([[1e-9]]), 2)
    turn = A.power(10**9).dense() / np.exp(-1e-3)
    np.testing.assert_allclose(turn, [[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]], atol=1e-7)


def test_blocks_of_a_long_path_join(monkeypatch):
    from signalprop.recurrences import decay, paths

    rec = build("diagonal", 4, first=True)
    whole = [rec.energy(100, correlation=r) for r in (0.0, 0.8)] + [rec.forward_energy(100, rec.B)]
    for module in (paths, decay):
        monkeypatch.setattr(module, "BLOCK", 6 * 7)
    parts = [rec.energy(100, correlation=r) for r in (0.0, 0.8)] + [rec.forward_energy(100, rec.B)]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_unstable_recurrences_have_paths_but_no_limit():
    grow = LinearRecurrence([1.1], [[1.0]])
    np.testing.assert_allclose(grow.energy(3), [0, 1, 2.21, 3.6741])
    for A in ([1.1], [[1.1]], [1.0], [[0.0, 1.0], [-1.0, 0.0]]):
        with pytest.raises(ValueError, match=r"needs a spectral radius below 1, got 1"):
            LinearRecurrence(A, np.ones((len(A), 1))).stationary_energy()
    for A in ([1.1], [[1.1]]):
        with pytest.raises(OverflowError, match=r"leaves float64 at step \d+: A has spectral radius 1.1"):
            LinearRecurrence(A, [[1.0]]).energy(10**4)
        with pytest.raises(OverflowError, match="leaves float64 at step"):
            LinearRecurrence(A, [[1.0]]).forward_energy(10**4)
    # A modulus of exactly one is not cut short.
    np.testing.assert_allclose(LinearRecurrence([1.0, -1.0], [[1.0], [1.0]]).energy(5), 2 * np.arange(6))
    assert LinearRecurrence([0.0], [[1.0]]).energy(3).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: LinearRecurrence([[0.5, np.nan], [0, 0.5]], np.eye(2)), r"A must be finite, got nan at position \(0, 1\)"),
        (lambda: LinearRecurrence([0.5, np.inf], np.eye(2)), "A must be finite, got inf at position"),
        (lambda: LinearRecurrence([0.5], [[np.nan]]), "B must be finite, got nan"),
        (lambda: LinearRecurrence([0.5], [[1.0]], [[np.inf]]), "C must be finite, got inf"),
        (lambda: LinearRecurrence([0.5], [[1.0]], first=[[np.nan]]), "first must be finite"),
        (lambda: LinearRecurrence([0.5], [["a"]]), "B must hold numbers"),
        (lambda: LinearRecurrence(np.ones((2, 3)), np.eye(2)), r"A must be square, .* got shape \(2, 3\)"),
        (lambda: LinearRecurrence([0.5], np.eye(2)), "B must have one row for each of the 1 states"),
        (lambda: LinearRecurrence([0.5], [[1.0]], np.eye(2)), "C must have one column for each of the 1 states"),
        (lambda: LinearRecurrence([0.5], [[1.0]], first=np.eye(2)), "first must have the shape of B"),
        (lambda: LinearRecurrence([0.5] * 3, np.eye(3), heads=2), "divisible by heads, got 3 states and 2 heads"),
        (lambda: LinearRecurrence([0.5], [[1.0]], heads=0), "heads must be at least 1"),
        (lambda: build("diagonal", 0).energy(-1), "horizon must be at least 0, got -1"),
        (lambda: build("diagonal", 0).energy(5, correlation=1.0), "correlation must lie strictly between -1 and 1, got 1.0"),
        (lambda: build("diagonal", 0).energy(5, correlation=np.nan), "correlation .* got nan"),
        (lambda: build("diagonal", 0).energy(5, covariance=np.eye(2)), r"covariance must be a real \(3, 3\) matrix"),
        (lambda: build("diagonal", 0).energy(5, covariance=np.diag([1, 1, -1])), "semi-definite, got an eigenvalue of -1"),
        (lambda: build("diagonal", 0).energy(5, covariance=np.triu(np.ones((3, 3)))), "covariance must be symmetric"),
        (lambda: build("diagonal", 0).energy(5, covariance=np.full((3, 3), np.nan)), "covariance must be finite, got nan"),
        (lambda: build("diagonal", 0).run([[1.0, 2.0, np.nan]]), "inputs must be finite, got nan"),
        (lambda: build("diagonal", 0).run(np.full((1, 1, 3), np.nan)), "inputs must be finite, got nan"),
        (lambda: build("diagonal", 0).run(np.ones((4, 2))), "inputs must have shape .* one column of B each"),
        (lambda: build("diagonal", 0).outputs(np.ones((4, 3))), "no readout; give C"),
        (lambda: build("diagonal", 0).sample(4, samples=1), "samples must be at least 2"),
        (lambda: build("diagonal", 0).forward_energy(4, np.ones((2, 1))), "source must have 6 rows"),
        (lambda: LinearRecurrence(build("rotations", 0).A, np.ones((6, 1))), "heads must be the 2 of the rotations"),
        (lambda: LinearRecurrence(build("rotations", 0).A, 1j * np.ones((6, 1)), heads=2), "B and first must be real"),
    ],
)  # fmt: skip
def test_bad_input_is_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
