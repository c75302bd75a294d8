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

from signalprop._checks import INT64_LIMIT, listed, probability, real_array, shown, whole_number

Floats = NDArray[np.float64]
CONFIDENCE = 0.95


class Quantile(NamedTuple):
    """A quantile of one draw.

    Attributes
    ----------
    q
        Its probability.
    level
        Its estimate; NaN where it lies beyond the draws: q below 2/3 or above N - 1/3 in N + 1/3.
    low, high
        Ends of an interval that holds it with a probability of at least 95 %; -inf or inf where the draws do not reach that far.
    """

    q: float
    level: float
    low: float
    high: float


def quantile_levels(ordered: Floats, quantiles: Sequence[float], confidence: float = CONFIDENCE) -> list[Quantile]:
    """The quantiles of increasing draws; draws at -inf are values like any other."""
    draws, found = _increasing(ordered), []
    for each in listed(quantiles, "quantiles", "probabilities"):
        q = probability(each, "quantiles")
        below, above = order_ranks(draws.size, q, confidence)
        low = float(draws[below]) if below >= 0 else -math.inf
        high = float(draws[above]) if above < draws.size else math.inf
        found.append(Quantile(q, _level(draws, q), low, high))
    return found


def quantile_level(ordered: Floats, q: float) -> float:
    """Median-unbiased estimate of the q-quantile from increasing draws; NaN if it lies beyond them."""
    return _level(_increasing(ordered), probability(q, "q"))


def _level(ordered: Floats, q: float) -> float:
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
    draws, share = _increasing(ordered), probability(p, "p")
    below, above = order_ranks(draws.size, share, confidence)
    if below < 0 or above >= draws.size:
        raise ValueError(
            f"{draws.size} samples are too few for an interval around the quantile {max(share, 1.0 - share):.6g}; "
            f"take at least {math.ceil(8.0 / min(share, 1.0 - share))} samples."
        )
    return float(draws[below]), float(draws[above])


def order_ranks(count: int, p: float, confidence: float) -> tuple[int, int]:
    """Positions (from 0) of the order statistics of `count` draws around the p-quantile; outside the draws if too few.

    The number of draws below the quantile is binomial(count, p): the positions are its two quantiles, the lower one less 1.
    """
    size = whole_number(count, "count", 1, INT64_LIMIT)
    return _ranks(size, probability(p, "p"), probability(confidence, "confidence"))


@lru_cache(maxsize=256)
def _ranks(count: int, p: float, confidence: float) -> tuple[int, int]:
    tail = 0.5 * (1.0 - confidence)
    return _binomial_quantile(tail, count, p) - 1, _binomial_quantile(1.0 - tail, count, p)


def _binomial_quantile(share: float, count: int, p: float) -> int:
    """Smallest m with P(binomial(count, p) <= m) >= share; `scipy.stats` has it too, and takes half a second to load."""
    from scipy import special

    m: int = max(0, math.ceil(special.bdtrik(share, count, p)) - 2)
    while special.bdtr(m, count, p) < share:
        m += 1
    return m


def _increasing(ordered: Floats) -> Floats:
    """The draws, checked: one axis, at least two, in non-decreasing order."""
    draws = real_array(ordered, "ordered", 1, finite=False)
    if draws.size < 2 or not (draws[1:] >= draws[:-1]).all():
        raise ValueError(f"ordered must be at least two increasing numbers, got {shown(ordered)}.")
    return draws
