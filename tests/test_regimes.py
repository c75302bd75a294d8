import math

import numpy as np
import pytest
from scipy import integrate

from signalprop import energy, regimes


@pytest.mark.parametrize("field", ["complex", "real", "quaternion"])
def test_lru_limit_is_the_integral_of_the_rnn_limit(field):
    for c in (1e-3, 0.04, 0.0499, 0.0501, 0.06, 0.5, 1.0, 3.0, 6.0, 12.0):
        area, _ = integrate.quad(
            lambda x: float(regimes.critical_rnn(x, field)), 0.0, c, epsabs=0.0, epsrel=1e-12, limit=200
        )
        assert float(regimes.critical_lru(c, field)) == pytest.approx(area, rel=1e-10), c


@pytest.mark.parametrize(("field", "order"), [("complex", 1.0), ("quaternion", 0.5)])
def test_distance_to_the_limit_shrinks_with_the_width(field, order):
    # The leading correction is O(1/n) for n -> infinity along k = c sqrt(n) with c fixed up to rounding of k.
    gaps = []
    for root in (20, 40, 80):
        n, k = root * root, 2 * root
        gaps.append(abs(float(regimes.critical_rnn(2.0, field) / energy.rnn_energy(n, k, field)) - 1.0))
    assert gaps[0] > 1.7 * gaps[1] > 1.7 * 1.7 * gaps[2]


def test_real_weights_share_the_limit_but_slower():
    # sqrt(n)(Q^R/Q^C - 1) tends to about 0.0336, 0.334, 6.9 at c = 0.5, 1, 2.
    for c, want in ((0.5, 0.0336), (1.0, 0.334), (2.0, 6.9)):
        n = 4000**2
        k = round(c * 4000)
        ratio = energy.rnn_energy(n, k, "real") / energy.rnn_energy(n, k)
        assert 4000 * (ratio - 1.0) == pytest.approx(want, rel=0.02)


def test_two_term_law_within_its_stated_error():
    for n in (1000, 30_000):
        k = np.round(np.linspace(0.5, 8.0, 16) * math.sqrt(n)).astype(int)
        assert np.max(np.abs(regimes.two_term_rnn(n, k, log=True) - energy.rnn_energy(n, k, "real", log=True))) < 0.04
    k = np.round(np.linspace(0.5, 5.0, 16) * 10).astype(int)
    assert np.max(np.abs(regimes.two_term_rnn(100, k) / energy.rnn_energy(100, k, "real") - 1.0)) < 0.12


def test_two_term_law_against_its_definition():
    for n in (1, 2, 39, 40, 41, 1000):
        for k in (0, 1, 5, 60):
            product = math.fsum(math.log1p(2.0 * j / n) for j in range(k + 1))
            want = np.logaddexp(energy.rnn_energy(n, k, log=True), product - math.log(2 * k + 1)) if k else 0.0
            assert regimes.two_term_rnn(n, k, log=True) == pytest.approx(want, rel=1e-11, abs=1e-12)


def test_values_at_zero_and_shapes():
    assert regimes.critical_rnn(0.0) == 1.0
    assert regimes.critical_lru(0.0) == 0.0
    assert regimes.critical_rnn([[0.0, 1.0]]).shape == (1, 2)
    assert regimes.critical_lru(np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("law", [regimes.critical_rnn, regimes.critical_lru])
@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf, [1.0, -2.0]])
def test_bad_ratio(law, bad):
    with pytest.raises(ValueError, match=r"c = k/sqrt\(n\) must be finite and at least 0, got "):
        law(bad)


@pytest.mark.parametrize("law", [regimes.critical_rnn, regimes.critical_lru])
def test_ratio_beyond_float64(law):
    with pytest.raises(OverflowError, match=r"the limit at c = 60 exceeds float64; the largest c is 3"):
        law(60.0)


def test_two_term_overflow():
    with pytest.raises(OverflowError, match="use log=True"):
        regimes.two_term_rnn(1, 300)
