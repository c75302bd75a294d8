"""Lyapunov exponents of step functions: known spectra, three libraries, refusals."""

import math

import numpy as np
import pytest
import torch
from scipy.special import ndtri
from scipy.stats import chi2

from signalprop._streams import stream
from signalprop.cells import lyapunov
from signalprop.meanfield import ginibre_exponents

N = 6
W = 1.8 * stream(0, "a test").standard_normal((N, N)) / math.sqrt(N)
INPUTS = 0.5 * stream(1, "a test").standard_normal((120, N))


def tanh_step(h, x):
    return np.tanh(W @ h + x)


def tanh_jacobian(h, x):
    return (1.0 - np.tanh(W @ h + x) ** 2)[:, None] * W


def exponents(**given):
    return lyapunov(tanh_step, np.zeros(N), INPUTS, **{"jacobian": tanh_jacobian, **given})


def test_independent_gaussian_matrices():
    n, steps = 8, 4000
    ws = stream(2, "a test").standard_normal((steps, n, n)) / math.sqrt(n)
    found = lyapunov(lambda h, w: h, np.zeros(n), 1.7 * ws, jacobian=lambda h, w: w)
    np.testing.assert_allclose(found.null(1.7), ginibre_exponents(n) + math.log(1.7))
    z = found.z(1.7)
    # The R_ii are independent chi variables: n independent normal numbers.
    assert chi2.cdf(z @ z, n) < 0.999
    assert abs(z).max() < ndtri(1.0 - 1e-5)
    assert (abs(found.z(1.6)) > 5.0).any()
    low, high = found.interval(0.999)
    assert ((low < found.null(1.7)) & (found.null(1.7) < high)).all()
    # Batch means estimate the same standard error; their squares are chi squared with 19 degrees of freedom.
    ratio = found.stderr / ((found.exponents - found.null(1.7)) / z)
    assert (chi2.cdf(19.0 * ratio**2, 19) > 1e-4).all()
    assert (chi2.cdf(19.0 * ratio**2, 19) < 1.0 - 1e-4).all()


def test_a_diagonal_map_is_exact():
    factors = np.array([3.0, 1.0, 0.5, 0.1])
    found = lyapunov(lambda h: h, np.zeros(4), 300, jvp=lambda h, v: factors[:, None] * v, burn_in=150)
    np.testing.assert_allclose(found.exponents, np.log(factors), atol=1e-12)
    np.testing.assert_allclose(found.stderr, 0.0, atol=1e-12)
    huge = lyapunov(lambda h: h, np.zeros(4), 300, jvp=lambda h, v: 1e200 * factors[:, None] * v, burn_in=150, count=2)
    np.testing.assert_allclose(huge.exponents, 200.0 * math.log(10.0) + np.log(factors[:2]), rtol=1e-12)


def test_the_sum_of_all_exponents_is_that_of_the_determinants():
    logs, h = [], np.zeros(N)
    for x in INPUTS:
        logs.append(np.linalg.slogdet(tanh_jacobian(h, x))[1])
        h = tanh_step(h, x)
    assert exponents().exponents.sum() == pytest.approx(np.mean(logs), rel=1e-12)
    assert exponents(burn_in=20).exponents.sum() == pytest.approx(np.mean(logs[20:]), rel=1e-12)


def test_libraries_agree():
    jax = pytest.importorskip("jax")
    plain = exponents(burn_in=10, count=4)
    by_products = exponents(jacobian=None, jvp=lambda h, x, v: tanh_jacobian(h, x) @ v, burn_in=10, count=4)
    w = torch.from_numpy(W)
    of_torch = lyapunov(
        lambda h, x: torch.tanh(w @ h + x),
        torch.zeros(N, dtype=torch.float64),
        torch.from_numpy(INPUTS),
        burn_in=10,
        count=4,
    )
    for found in (by_products, of_torch):
        np.testing.assert_allclose(found.exponents, plain.exponents, rtol=1e-9)
        np.testing.assert_allclose(found.stderr, plain.stderr, rtol=1e-9)
    single = jax.numpy.asarray(W, dtype=jax.numpy.float32)
    of_jax = lyapunov(
        lambda h, x: jax.numpy.tanh(single @ h + x),
        jax.numpy.zeros(N, dtype=jax.numpy.float32),
        INPUTS,
        burn_in=10,
        count=4,
    )
    np.testing.assert_allclose(of_jax.exponents, plain.exponents, atol=2e-5)


def test_a_layer_of_pytorch():
    """Its GRU cell, whose kernel may have no forward derivatives, against the matrices of derivatives."""
    torch.manual_seed(0)
    cell = torch.nn.GRUCell(3, 5, dtype=torch.float64)
    inputs = torch.randn(60, 3, dtype=torch.float64)
    found = lyapunov(lambda h, x: cell(x[None], h[None])[0], torch.zeros(5, dtype=torch.float64), inputs, batches=5)
    h, logs = torch.zeros(5, dtype=torch.float64), []
    for x in inputs:
        slopes = torch.autograd.functional.jacobian(lambda h, x=x: cell(x[None], h[None])[0], h)
        logs.append(float(torch.linalg.slogdet(slopes).logabsdet))
        h = cell(x[None], h[None])[0].detach()
    assert found.exponents.sum() == pytest.approx(np.mean(logs), rel=1e-10)
    assert all(parameter.grad is None for parameter in cell.parameters())


def test_the_start_of_the_frame_is_forgotten():
    one, other = exponents(seed=1, burn_in=60, count=2), exponents(seed=2, burn_in=60, count=2)
    np.testing.assert_allclose(one.exponents, other.exponents, atol=1e-3)
    assert np.array_equal(one.exponents, exponents(seed=1, burn_in=60, count=2).exponents)


def test_a_direction_that_is_lost():
    found = lyapunov(lambda h: h, np.zeros(3), 30, jacobian=lambda h: np.diag([2.0, 1.0, 0.0]))
    assert found.exponents[0] == pytest.approx(math.log(2.0), abs=0.1)
    assert found.exponents[2] == -np.inf
    assert np.isnan(found.stderr[2])


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"step": 3}, "step must be a function"),
        ({"jacobian": None}, "one of jacobian and jvp must be given"),
        ({"jvp": tanh_jacobian}, "one of jacobian and jvp must be given .* got both"),
        ({"jacobian": lambda h, x: np.eye(2)}, r"jacobian must give an array of shape \(6, 6\)"),
        ({"step": lambda h, x: h[:2]}, r"step must give an array of shape \(6,\)"),
        ({"step": lambda h: h}, "step must take a state such as the one it got, .*; it raises"),
        ({"step": lambda h, x: h + np.inf}, "the state after a step must be finite"),
        ({"state": "here"}, "state must hold numbers"),
        ({"state": torch.zeros(6)}, "jacobian and jvp are for steps in NumPy"),
        ({"state": torch.zeros(6, dtype=torch.int64), "jacobian": None}, "state must hold real floating-point numbers"),
        ({"inputs": 0}, "inputs must be at least 1"),
        ({"inputs": INPUTS[:10]}, r"at least burn_in \+ batches = 0 \+ 20 steps, got 10"),
        ({"count": 7}, "count must be at most 6"),
        ({"batches": 1}, "batches must be at least 2"),
        ({"burn_in": -1}, "burn_in must be at least 0"),
        ({"progress": 1}, "progress must be a function"),
        ({"inputs": 10**8, "step": lambda h: h}, "would take about"),
    ],
)
def test_refusals(given, sentence):
    whole = {"step": tanh_step, "state": np.zeros(N), "inputs": INPUTS, "jacobian": tanh_jacobian, **given}
    with pytest.raises(ValueError, match=sentence) as caught:
        lyapunov(whole.pop("step"), whole.pop("state"), whole.pop("inputs"), **whole)
    assert "\n" not in str(caught.value)


def test_confidence_and_scale_are_checked():
    with pytest.raises(ValueError, match="confidence must lie"):
        exponents().interval(1.0)
    with pytest.raises(ValueError, match="scale must be"):
        exponents().z(0.0)
