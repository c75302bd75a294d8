"""How heavy the tail of positive draws is: Hill's estimator of the Pareto index, on the logs of the draws."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import real_array, shown

_FEWEST = 10  # excesses; with fewer the index says nothing


def tail_index(ordered: NDArray[np.float64]) -> tuple[float, float] | None:
    r"""Hill's estimate of alpha in P(y > u) ~ u^{-alpha}, and its standard error, from increasing logs of the draws.

    With the m largest logs l_1, .., l_m above the next one l_0, 1/alpha is the mean of l_i - l_0 and the standard error is
    alpha/sqrt(m); for an exact Pareto tail m alpha/alpha_hat has the law Gamma(m). m = min(N/5, 3 sqrt(N)), as in Pareto
    smoothing (Vehtari et al., arXiv:1507.02646). Below alpha = 2 the draws look as if their variance were infinite, below
    1 as if their mean were: both are finite for a log-normal tail, but the draws seen so far cannot tell.

    Returns
    -------
    (float, float) or None
        None with fewer than ten excesses (fewer than 50 draws, or nearly all of them zero); (inf, inf) where the largest
        draws are all equal.

    Examples
    --------
    >>> levels = (np.arange(2000) + 0.5) / 2000
    >>> alpha, error = tail_index(-np.log1p(-levels) / 1.5)  # quantiles of a Pareto law with index 1.5
    >>> abs(alpha - 1.5) < error
    True
    """
    ordered = real_array(ordered, "ordered", 1, finite=False, empty=True)
    if not (ordered[1:] >= ordered[:-1]).all() or (ordered[-1:] == np.inf).any():
        raise ValueError(f"ordered must be increasing numbers below inf, got {shown(ordered)}.")
    count = ordered.size
    excesses = int(min(count / 5.0, 3.0 * math.sqrt(count)))
    excesses = min(excesses, int(np.isfinite(ordered).sum()) - 1)
    if excesses < _FEWEST:
        return None
    mean = float(np.mean(ordered[-excesses:] - ordered[-excesses - 1]))
    if mean <= 0.0:
        return math.inf, math.inf
    return 1.0 / mean, 1.0 / (mean * math.sqrt(excesses))
