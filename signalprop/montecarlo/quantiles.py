"""Quantiles of one draw from a sample of draws: a level that is median-unbiased, and an interval that holds for every law.

The level is that of Hyndman and Fan's type 8 (The American Statistician 50, 1996): with N draws it interpolates between the order
statistics around place q(N + 1/3) + 1/3, which for every smooth law is about as likely too high as too low. At q = 1/2 it is the
median. The interval rests on the number of draws below the quantile, which is binomial(N, q).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
CONFIDENCE = 0.95


class Quantile(NamedTuple):
    """A quantile of one draw.

    Attributes
    ----------
    q
        Which.
    level
        Its estimate; NaN where it lies beyond the draws: q below 2/3 or above N - 1/3 in N + 1/3.
    low, high
        Ends of an interval that holds it with probability 95 % at least; -inf or inf where the draws do not reach so far.
    """

    q: float
    level: float
    low: float
    high: float


def quantile_levels(ordered: Floats, quantiles: Sequence[float], confidence: float = CONFIDENCE) -> list[Quantile]:
    """The quantiles of increasing draws; draws at -inf are values like others."""
    found = []
    for q in quantiles:
        below, above = order_ranks(ordered.size, float(q), confidence)
        low = float(ordered[below]) if below >= 0 else -math.inf
        high = float(ordered[above]) if above < ordered.size else math.inf
        found.append(Quantile(float(q), quantile_level(ordered, float(q)), low, high))
    return found


def quantile_level(ordered: Floats, q: float) -> float:
    """Median-unbiased estimate of the q-quantile from increasing draws; NaN if it lies beyond them."""
    place = (ordered.size + 1.0 / 3.0) * q - 2.0 / 3.0  # from 0 on
    if not -1e-9 <= place <= ordered.size - 1.0 + 1e-9:
        return math.nan
    place = min(max(place, 0.0), ordered.size - 1.0)
    at = min(int(place), ordered.size - 2)
    share, low, high = place - at, float(ordered[at]), float(ordered[at + 1])
    if share < 1e-9 or low == high:  # also two draws at -inf
        return low
    return low + share * (high - low) if low > -math.inf else low


def quantile_interval(ordered: Floats, p: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Confidence interval of the p-quantile from sorted draws: order statistics, exact binomial.

    Raises
    ------
    ValueError
        Too few draws to have order statistics on both sides.
    """
    count = ordered.size
    below, above = order_ranks(count, p, confidence)
    if below < 0 or above >= count:
        raise ValueError(
            f"{count} samples do not reach the quantile {max(p, 1.0 - p):.6g} with an interval around it; "
            f"take at least {math.ceil(8.0 / min(p, 1.0 - p))} samples."
        )
    return float(ordered[below]), float(ordered[above])


@lru_cache(maxsize=256)
def order_ranks(count: int, p: float, confidence: float) -> tuple[int, int]:
    """Positions (from 0) of the order statistics of `count` draws around the p-quantile; outside the draws if too few.

    The number of draws below the quantile is binomial(count, p): the positions are its two quantiles, the lower one less 1.
    """
    tail = 0.5 * (1.0 - confidence)
    return _binomial_quantile(tail, count, p) - 1, _binomial_quantile(1.0 - tail, count, p)


def _binomial_quantile(share: float, count: int, p: float) -> int:
    """Smallest m with P(binomial(count, p) <= m) >= share; `scipy.stats` has it too, and takes half a second to load."""
    from scipy import special

    m: int = max(0, math.ceil(special.bdtrik(share, count, p)) - 2)
    while special.bdtr(m, count, p) < share:
        m += 1
    return m
