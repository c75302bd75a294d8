"""Numbers of kernels and their powers against definitions."""

import numpy as np
import pytest

from signalprop.inspection import power_energy
from signalprop.inspection.kernels import kernel_numbers
from signalprop.inspection.paths import EnergyPath, log_grid, path_of

RNG = np.random.default_rng(3)


def stepped(W, steps, source=None):
    state = np.eye(len(W)) if source is None else source
    start, out, log = np.sum(np.abs(state) ** 2), [], 0.0
    for _ in range(steps):
        state = W @ state
        size = np.linalg.norm(state)
        state, log = state / size, log + 2.0 * np.log(size)
        out.append(log - np.log(start))
    return np.array(out)


def test_orthogonal_and_gaussian():
    n = 200
    Q = np.linalg.qr(RNG.standard_normal((n, n)))[0]
    found = kernel_numbers(1.5 * Q, "kernel")
    assert found.scale == pytest.approx(1.5)
    assert found.radius == pytest.approx(1.5)
    assert found.largest == pytest.approx(1.5)
    assert found.effective_width == np.inf
    assert found.departure == pytest.approx(0.0, abs=1e-6)
    gauss = kernel_numbers(RNG.standard_normal((n, n)) / np.sqrt(n), "kernel")
    assert gauss.spread == pytest.approx(1.0, rel=0.1)  # MATH: v -> 1
    assert gauss.effective_width == pytest.approx(n, rel=0.1)
    assert gauss.departure == pytest.approx(np.sqrt(0.5), rel=0.05)  # sum |lambda|^2 -> n/2


def test_departure_is_that_of_the_schur_form():
    from scipy.linalg import schur

    W = RNG.standard_normal((30, 30))
    T = schur(W, output="complex")[0]
    above = np.linalg.norm(np.triu(T, 1)) / np.linalg.norm(W)
    assert kernel_numbers(W, "kernel").departure == pytest.approx(above)


def test_a_kernel_of_zeros():
    found = kernel_numbers(np.zeros((4, 4)), "kernel")
    assert (found.scale, found.radius) == (0.0, 0.0)
    path = power_energy(np.zeros((4, 4)), 100)
    assert path.by_e == path.by_hundred == 1
    assert path.grown is None


@pytest.mark.parametrize("g", [0.9, 0.99, 1.0, 1.03])
@pytest.mark.parametrize("inputs", [None, 2])
def test_paths_of_powers_are_those_of_steps(g, inputs):
    n = 24
    W = g * RNG.standard_normal((n, n)) / np.sqrt(n)
    source = None if inputs is None else RNG.standard_normal((n, inputs))
    path = power_energy(W, 700, source)
    wanted = stepped(W, 700, source)
    np.testing.assert_allclose(path.log_energy, wanted[path.steps - 1], atol=1e-8)
    for found, hit in (
        (path.by_e, wanted <= -1.0),
        (path.by_hundred, wanted <= -np.log(100)),
        (path.grown, wanted >= np.log(100)),
    ):
        inside = hit[: path.reach]
        if found is None:
            assert not inside[path.steps - 1].any()
        else:
            # Exact where the path is monotone from one point of the grid to the next.
            assert hit[found - 1]
            assert not hit[found - 2]


def test_few_kept_powers_bound_the_crossing_by_the_grid(monkeypatch):
    from signalprop.inspection import kernels

    W = 0.999 * np.linalg.qr(RNG.standard_normal((16, 16)))[0]
    exact = power_energy(W, 10_000)
    monkeypatch.setattr(kernels, "_KEPT", 0)
    rough = power_energy(W, 10_000)
    assert exact.by_e == int(np.ceil(0.5 / -np.log(0.999)))
    assert exact.by_e <= rough.by_e <= 1.26 * exact.by_e
    np.testing.assert_allclose(rough.log_energy, exact.log_energy)


def test_log_grid():
    grid = log_grid(1000)
    assert list(grid[:12]) == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]
    assert grid[-1] == 1000
    assert (np.diff(grid) > 0).all()
    assert (grid[1:] / grid[:-1] <= 2.0).all()


@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.3, 5.0])
def test_crossings_of_a_formula(rate):
    path = path_of(lambda steps: -rate * steps, 10**6)
    assert path.by_e == int(np.ceil(1.0 / rate))
    assert path.by_hundred == int(np.ceil(np.log(100) / rate))
    assert path.grown is None
    assert path.log_at(777) == pytest.approx(-rate * 777, rel=1e-9)
    assert isinstance(path, EnergyPath)
