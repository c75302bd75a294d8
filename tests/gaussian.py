"""Laws that the entries of a Gaussian kernel must follow; z-scores and p-values for arrays of entries."""

import numpy as np
from scipy import stats


def assert_real_gaussian(entries, variance):
    """N(0, variance): the sum of squares follows chi^2, the entries the normal law, signs average out."""
    x = np.asarray(entries, dtype=np.float64).ravel()
    assert abs(z_of_power(x, variance)) < 4
    assert abs(x.sum() / np.sqrt(x.size * variance)) < 4
    assert stats.kstest(x, stats.norm(scale=np.sqrt(variance)).cdf).pvalue > 1e-4


def assert_complex_gaussian(entries, variance):
    """Proper complex normal, E|w|^2 = variance: both parts, their independence, and |w|^2 exponential."""
    w = np.asarray(entries, dtype=np.complex128).ravel()
    assert_real_gaussian(w.real, variance / 2)
    assert_real_gaussian(w.imag, variance / 2)
    assert abs(z_of_product(w.real, w.imag, variance / 2)) < 4
    assert stats.kstest(np.abs(w) ** 2, stats.expon(scale=variance).cdf).pvalue > 1e-4


def z_of_power(x, variance):
    """(chi^2_N - N)/sqrt(2N) of the sum of squares."""
    return (np.sum(np.asarray(x, dtype=np.float64) ** 2) / variance - x.size) / np.sqrt(2 * x.size)


def z_of_product(x, y, variance):
    """The sum of x_i y_i over its standard deviation if x and y are independent."""
    return np.sum(np.asarray(x, dtype=np.float64) * np.asarray(y, dtype=np.float64)) / (variance * np.sqrt(x.size))


def z_of_share_within(log_energies, bound, share):
    """Share of the paths (rows) that stay within the bound, against `share`; both the scale and the share are estimates."""
    count = len(log_energies)
    within = np.mean(np.max(log_energies, axis=1) <= np.log(bound))
    # 2000 draws behind the scale (the default of safe_scale).
    return (within - share) / np.sqrt(share * (1 - share) * (1 / count + 1 / 2000))


def z_bound(count):
    """What the largest of `count` standard normal scores passes with a probability of at most one in a million."""
    return stats.norm.isf(0.5e-6 / count)
