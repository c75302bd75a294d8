"""Real weights: every Wick pairing of tr[G^k (G^k)^T] is a perfect matching of its 2k factors; enumerate all (2k-1)!!.

Pairing two factors identifies their row indices and their column indices; a matching that leaves V free
indices contributes n^V. The matchings that pair only across the two copies are the permutations of the complex case.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from signalprop._threads import thread_map
from signalprop.wick import reference
from signalprop.wick._chains import open_chains, pair_factors, tail_table, unfold, walk_matchings_kernel

MAX_K = 10


def count_cycles(k: int, workers: int | None = None) -> tuple[int, ...]:
    """Number of matchings of 2k factors with V = 0..k+1 free indices; `k` at most 10, checked by the caller."""
    if k < 4:
        return reference.matching_counts(k)
    classes, closings = _tail()

    def branch(first: int) -> NDArray[np.int64]:
        # Everything below the choice "factor 0 is paired with factor `first`".
        other = open_chains(k)
        factors = np.arange(2 * k, dtype=np.uint8)
        factors[1], factors[first] = factors[first], factors[1]
        histogram = np.zeros((2 * k + 1, len(closings)), np.int64)
        if k == 4:  # all four pairings lie inside the 64-bit word
            if first == 1:
                walk_matchings_kernel(k, 0, other, factors, 0, classes, histogram)
        else:
            closed = pair_factors(other, 0, int(factors[1]))
            walk_matchings_kernel(k, 1, other, factors, closed, classes, histogram)
        return histogram

    return unfold(np.sum(list(thread_map(branch, range(1, 2 * k), workers)), axis=0), closings, k)


@cache
def _tail() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return tail_table(reference.perfect_matchings(tuple(range(6))))
