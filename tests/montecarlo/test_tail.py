import math

import numpy as np
import pytest
from scipy import stats

from signalprop.montecarlo.tail import tail_index


@pytest.mark.parametrize("alpha", [0.7, 1.5, 4.0])
def test_index_of_pareto_draws_has_the_law_it_claims(alpha):
    # m alpha / alpha_hat is Gamma(m): the error of one estimate is alpha/sqrt(m).
    rng = np.random.default_rng(3)
    count, m = 1000, int(3 * math.sqrt(1000))
    ratios = []
    for _ in range(300):
        found, error = tail_index(np.sort(rng.exponential(1.0 / alpha, count)))
        assert error == pytest.approx(found / math.sqrt(m))
        ratios.append(m * alpha / found)
    assert stats.kstest(ratios, stats.gamma(m).cdf).pvalue > 1e-3


def test_no_index_from_few_draws_or_dead_ones():
    assert tail_index(np.sort(np.random.default_rng(0).normal(size=49))) is None
    assert tail_index(np.full(500, -math.inf)) is None
    half_dead = np.sort(np.concatenate([np.full(900, -math.inf), np.random.default_rng(0).exponential(size=100)]))
    found, error = tail_index(half_dead)
    assert abs(found - 1.0) < 4 * error
    assert tail_index(np.zeros(100)) == (math.inf, math.inf)
