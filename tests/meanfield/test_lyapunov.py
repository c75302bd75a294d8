import math

import numpy as np
import pytest
from scipy import special

from signalprop.meanfield import ginibre_exponents


def by_qr(n, field, steps, rng):
    """log R_ii of every step: independent from step to step, of the law of log(chi) each."""
    frame, logs = np.eye(n), []
    for _ in range(steps):
        w = rng.standard_normal((n, n)) / math.sqrt(n)
        if field == "complex":
            w = (w + 1j * rng.standard_normal((n, n)) / math.sqrt(n)) / math.sqrt(2.0)
        frame, r = np.linalg.qr(w @ frame)
        logs.append(np.log(np.abs(np.diag(r))))
    return np.array(logs)


@pytest.mark.parametrize(("field", "beta"), [("real", 1), ("complex", 2)])
def test_products_by_qr(field, beta):
    n, steps = 8, 4000
    logs = by_qr(n, field, steps, np.random.default_rng(11))
    # Var log R_ii = trigamma(beta (n-i+1)/2)/4.
    stderr = np.sqrt(special.polygamma(1, 0.5 * beta * np.arange(n, 0, -1)) / 4.0 / steps)
    z = (logs.mean(axis=0) - ginibre_exponents(n, field)) / stderr
    assert np.abs(z).max() < 3.5
    assert np.sum(z**2) < 26.0  # chi-square of 8: 1 in 1000


def test_the_sum_is_the_mean_log_determinant():
    # E log |det W|^2 of complex W is a sum of psi at whole numbers: harmonic numbers less Euler's constant.
    n = 12
    harmonic = [sum(1.0 / j for j in range(1, m)) - np.euler_gamma for m in range(1, n + 1)]
    assert 2.0 * ginibre_exponents(n, "complex").sum() == pytest.approx(sum(harmonic) - n * math.log(n), rel=1e-13)


def test_known_values():
    assert ginibre_exponents(8)[:2] == pytest.approx([-0.0651, -0.1416], abs=5e-5)
    assert ginibre_exponents(1).tolist() == pytest.approx([-0.5 * (np.euler_gamma + math.log(2.0))])
    for field in ("real", "complex", "quaternion"):
        exponents = ginibre_exponents(50, field)
        assert (np.diff(exponents) < 0).all()
    assert ginibre_exponents(10**5)[0] == pytest.approx(-0.5e-5, rel=1e-3)  # -1/(2 beta n) at the top


@pytest.mark.parametrize(
    ("n", "field", "words"), [(0, "real", "n must be at least 1"), (4, "octonion", "field must be one of")]
)
def test_refusals(n, field, words):
    with pytest.raises(ValueError, match=words):
        ginibre_exponents(n, field)
