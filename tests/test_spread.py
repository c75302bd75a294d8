"""The relative variance of one draw: floating point against fractions, its expansion and its limit against both."""

import math

import numpy as np
import pytest

from signalprop import exact, sample, spread
from signalprop.fields import Field


def exactly(n, k, field):
    ratio = exact.energy_variance(n, k, field) / exact.rnn_energy(n, k, field) ** 2
    return math.log(ratio.numerator) - math.log(ratio.denominator)


@pytest.mark.parametrize("n", [1, 2, 5, 40, 1000, 10**6, 10**18])
@pytest.mark.parametrize("k", [1, 2, 3, 8, 20, 45])
def test_complex_against_fractions(n, k):
    assert spread.relative_variance(n, k, "complex", log=True) == pytest.approx(
        exactly(n, k, "complex"), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize("field", ["real", "quaternion"])
@pytest.mark.parametrize(("n", "k"), [(1, 2), (7, 5), (100, 12), (10**15, 3)])
def test_loop_equations_against_fractions(field, n, k):
    assert spread.relative_variance(n, k, field, log=True) == pytest.approx(exactly(n, k, field), abs=1e-12)


@pytest.mark.parametrize("k", [40, 60])
def test_expansion_and_sum_meet(k):
    # On both sides of k = 0.02 sqrt(n), where the one takes over from the other.
    n = round((k / spread._SERIES_C) ** 2)
    below, above = (
        math.exp(spread.relative_variance(m, k, "complex", log=True)) * m for m in (n + n // 1000, n - n // 1000)
    )
    assert above == pytest.approx(below, rel=1e-5)
    assert above > below


def test_start_is_certain():
    assert spread.relative_variance(10, 0, "real") == 0.0
    assert spread.relative_variance(10, 0, "complex", log=True) == -math.inf


@pytest.mark.parametrize("c", [0.05, 0.299, 0.301, 0.5])
def test_limit_by_its_series_and_by_its_integral(c):
    s = c * c
    root = math.sinh(s / 2.0) / (s / 2.0)
    integral = spread._critical_integral(s) * math.exp(2.0 * s) / (c * root**2)
    series = sum(a * c ** (2 * i + 1) for i, a in enumerate(spread._CRITICAL_SERIES))
    assert integral == pytest.approx(series, rel=1e-6)
    assert spread.critical_variance(c) == pytest.approx(series, rel=1e-6)


@pytest.mark.parametrize("c", [0.25, 0.5, 1.0, 1.5, 2.0])
def test_limit_is_where_the_sum_goes(c):
    # sqrt(n) v = g + h/sqrt(n) + .., at widths n and 4n: the first order cancels.
    near, far = (
        math.exp(spread.relative_variance(round((k / c) ** 2), k, "complex", log=True)) * k / c for k in (100, 200)
    )
    assert 2.0 * far - near == pytest.approx(spread.critical_variance(c), rel=2e-3)


@pytest.mark.parametrize(("c", "share"), [(0.5, 2e-3), (1.0, 2e-3), (1.5, 0.01), (3.0, 0.1)])
def test_limit_takes_over_from_the_sum(c, share):
    n = round((spread.MAX_SUM_K / c) ** 2)
    summed, limit = (
        spread.log_relative_variance(n, k, Field.COMPLEX) for k in (spread.MAX_SUM_K, spread.MAX_SUM_K + 1)
    )
    assert limit - summed == pytest.approx(0.0, abs=share + 3.0 * c / spread.MAX_SUM_K * (1.0 + c * c))


def test_far_limit():
    assert spread._log_critical_variance(12.0) == pytest.approx(spread._log_critical_variance(12.000001), abs=0.01)
    assert spread.critical_variance(8.0) == pytest.approx(2.0 * math.exp(64.0), rel=0.01)


@pytest.mark.parametrize(("n", "k"), [(16, 2), (100, 8), (10**6, 200)])
def test_against_draws(n, k):
    # The sample variance of a light tail, within six of its standard errors.
    energies = np.exp(2.0 * sample(n, k, "complex", samples=20_000 if k < 100 else 1_000, seed=3).log_norms[:, -1])
    ratio = energies / energies.mean()
    error = math.sqrt((np.mean((ratio - 1.0) ** 4) - ratio.var() ** 2) / ratio.size)
    assert abs(ratio.var() - spread.relative_variance(n, k, "complex")) < 6.0 * error


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spread.relative_variance(10, 13, "real"), r"k must be at most 12, got 13\. No closed form"),
        (lambda: spread.relative_variance(100, 401, "complex"), r"k must be at most 400, got 401\. There the"),
        (lambda: spread.relative_variance(0, 1, "complex"), "n must be at least 1"),
        (lambda: spread.relative_variance(10, -1, "complex"), "k must be at least 0"),
        (lambda: spread.relative_variance(10, 1, "octonion"), "field must be one of"),
        (lambda: spread.critical_variance(0.0), "c must be a positive finite number"),
        (lambda: spread.critical_variance(math.nan), "c must be a positive finite number"),
        (lambda: spread.critical_variance(13.0), "c must be at most 12, got 13.0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
