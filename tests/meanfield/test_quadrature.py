"""Against closed forms and mpmath, from variance 1e-12 to 1e12."""

import math

import mpmath
import numpy as np
import pytest
from scipy import special

from signalprop.meanfield import ACTIVATIONS, gaussian_mean, gaussian_pair_mean

Q = np.logspace(-12, 12, 25)


def square(name, slope=False, power=2):
    phi = ACTIVATIONS[name]
    function = phi.slope if slope else phi.value
    return lambda q: gaussian_mean(lambda x: function(x) ** power, q, kinks=phi.kinks)


@pytest.mark.parametrize(
    ("name", "slope", "exact"),
    [
        ("linear", False, lambda q: q),
        ("relu", False, lambda q: q / 2),
        ("leaky_relu", True, lambda q: (1 + 0.01**2) / 2 * np.ones_like(q)),
        # Williams: E erf^2 = 2/pi arcsin(2q/(1+2q)); near q = 0 and infinity by what the arcsine cannot lose.
        ("erf", False, lambda q: 2 / np.pi * np.arctan2(2 * q, np.sqrt(1 + 4 * q))),
        ("erf", True, lambda q: 4 / np.pi / np.sqrt(1 + 4 * q)),
        ("hardtanh", True, lambda q: special.erf(np.sqrt(0.5 / q))),
    ],
)
def test_closed_forms(name, slope, exact):
    assert np.abs(square(name, slope)(Q) / exact(Q) - 1.0).max() < 1e-12


def test_hard_tanh():
    q = mpmath.mpf
    with mpmath.workdps(40):
        want = []
        for one in Q:
            a = 1 / mpmath.sqrt(q(one))
            inside = mpmath.erf(a / mpmath.sqrt(2)) - 2 * a * mpmath.npdf(a)
            want.append(float(q(one) * inside + mpmath.erfc(a / mpmath.sqrt(2))))
    assert np.abs(square("hardtanh")(Q) / want - 1.0).max() < 1e-12


def test_kinks_that_are_told():
    """E max(sqrt(q) z - a, 0)^2 = (q + a^2) (1 - Phi(a/sqrt q)) - a sqrt(q) phi(a/sqrt q), with a kink at no round number."""
    a = 0.3711
    with mpmath.workdps(40):
        want = []
        for q in Q[8:]:
            root = mpmath.sqrt(mpmath.mpf(q))
            want.append(float((q + mpmath.mpf(a) ** 2) * mpmath.ncdf(-a / root) - a * root * mpmath.npdf(a / root)))
    found = gaussian_mean(lambda x: np.maximum(x - a, 0.0) ** 2, Q[8:], kinks=(a,))
    assert np.abs(found / want - 1.0)[np.array(want) > 1e-20].max() < 1e-11


def by_mpmath(function, q):
    """E f(sqrt(q) z) with thirty digits, cut into pieces of another design than ours."""
    with mpmath.workdps(30):
        root = mpmath.sqrt(mpmath.mpf(q))
        ends = {0.0, 14.0}
        ends |= {min(14.0, float(x / root)) for x in (0.25, 0.7, 1.4, 3, 6, 12, 25, 50, 100)} | {1.5, 3.0, 5.0, 8.0}
        half = mpmath.quad(
            lambda z: (function(root * z) + function(-root * z)) * mpmath.exp(-z * z / 2), sorted(ends), maxdegree=8
        )
        return half / mpmath.sqrt(2 * mpmath.pi)


def _gelu(x):
    return x * mpmath.ncdf(x)


@pytest.mark.parametrize(
    ("name", "slope", "power", "function"),
    [
        ("tanh", False, 2, lambda x: mpmath.tanh(x) ** 2),
        ("tanh", True, 2, lambda x: mpmath.sech(x) ** 4),
        ("tanh", True, 4, lambda x: mpmath.sech(x) ** 8),
        ("silu", False, 2, lambda x: (x / (1 + mpmath.exp(-x))) ** 2),
        ("gelu", False, 2, lambda x: _gelu(x) ** 2),
        ("gelu", True, 4, lambda x: (mpmath.ncdf(x) + x * mpmath.npdf(x)) ** 4),
    ],
)
@pytest.mark.parametrize("q", [1e-12, 1e-4, 0.7, 13.0, 1e5, 1e12])
def test_smooth_activations_against_mpmath(name, slope, power, function, q):
    assert float(square(name, slope, power)(q)) == pytest.approx(float(by_mpmath(function, q)), rel=1e-12)


def test_several_functions_and_the_limit_of_variance_zero():
    both = gaussian_mean(lambda x: np.stack([np.cos(x), x**4]), np.array([[0.0, 0.25]]))
    assert both.shape == (2, 1, 2)
    assert both.ravel() == pytest.approx([1.0, math.exp(-0.125), 0.0, 3.0 / 16.0], rel=1e-14)
    assert gaussian_mean(np.sign, 0.0, kinks=(0.0,)) == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("q", [1e-6, 0.3, 5.0, 1e6])
def test_pairs_in_closed_form(q):
    c = np.array([-1.0, -0.999999, -0.3, 0.0, 0.6, 0.99, 1.0 - 1e-9, 1.0])
    erf = gaussian_pair_mean(ACTIVATIONS["erf"].value, q, c)
    assert erf == pytest.approx(2 / np.pi * np.arcsin(2 * q * c / (1 + 2 * q)), rel=1e-10, abs=1e-15)
    slopes = gaussian_pair_mean(ACTIVATIONS["erf"].slope, q, c)
    assert slopes == pytest.approx(4 / np.pi / np.sqrt((1 + 2 * q) ** 2 - (2 * q * c) ** 2), rel=1e-10)
    # Cho and Saul: the arc-cosine kernels of degree 1 and 0.
    angle = np.arccos(c)
    relu = gaussian_pair_mean(ACTIVATIONS["relu"].value, q, c, kinks=(0.0,))
    assert relu == pytest.approx(q / (2 * np.pi) * (np.sin(angle) + (np.pi - angle) * c), rel=1e-10, abs=1e-12 * q)
    steps = gaussian_pair_mean(ACTIVATIONS["relu"].slope, q, c, kinks=(0.0,))
    assert steps == pytest.approx((np.pi - angle) / (2 * np.pi), rel=1e-10, abs=1e-12)


def test_pairs_with_two_kinks_against_sheppard():
    """Hard tanh' is an indicator of a square: the bivariate normal distribution of SciPy."""
    from scipy.stats import multivariate_normal

    for c in (0.2, 0.9, -0.7):
        law = multivariate_normal([0.0, 0.0], [[2.0, 2.0 * c], [2.0 * c, 2.0]])
        want = law.cdf([1.0, 1.0], lower_limit=[-1.0, -1.0], rng=np.random.default_rng(0))
        assert gaussian_pair_mean(ACTIVATIONS["hardtanh"].slope, 2.0, c, kinks=(-1.0, 1.0)) == pytest.approx(
            want, rel=1e-7
        )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gaussian_mean(np.cos, -1.0), "variance must lie between 0 and 1e[+]13, got -1"),
        (lambda: gaussian_mean(np.cos, [1.0, np.nan]), "variance must be finite"),
        (lambda: gaussian_mean(lambda x: x[..., 0], 1.0), "function must give real numbers of the shape"),
        (lambda: gaussian_mean(lambda x: 1 / (x > 100), 1e6), "function must be finite, and at -"),
        (lambda: gaussian_pair_mean(np.cos, 1.0, 1.5), "correlation must lie between -1 and 1, got 1.5"),
        (lambda: gaussian_pair_mean(np.cos, [1.0, 2.0], [0.1, 0.2, 0.3]), "variance and correlation must broadcast"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words), np.errstate(divide="ignore"):
        call()
