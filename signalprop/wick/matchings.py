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
BRANCHED = 9  # below, the whole walk takes less time than its branches


def count_cycles(k: int, workers: int | None = None) -> tuple[int, ...]:
    """Number of matchings of 2k factors with V = 0..k+1 free indices; `k` at most 10, checked by the caller.

    The two copies of the path can be exchanged, i <-> i+k, without changing V. That takes the matchings with pairs (0, p) and
    (k, q) to those with (0, q+k) and (k, p+k) (mod 2k), so only one of two such branches is walked.
    """
    if k < 4:
        return reference.matching_counts(k)
    classes, closings = _tail()

    def walked(start: int, other: NDArray[np.uint8], factors: NDArray[np.uint8], closed: int) -> NDArray[np.int64]:
        histogram = np.zeros((2 * k + 1, len(closings)), np.int64)
        walk_matchings_kernel(k, start, other, factors, closed, classes, histogram)
        return histogram

    if k < BRANCHED:
        return unfold(walked(0, open_chains(k), np.arange(2 * k, dtype=np.uint8), 0), closings, k)

    def branch(pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
        other = open_chains(k)
        taken = [factor for pair in pairs for factor in pair]
        factors = np.array(taken + [i for i in range(2 * k) if i not in taken], dtype=np.uint8)
        closed = sum(pair_factors(other, f, g) for f, g in pairs)
        exchanged = sorted(tuple(sorted(((f + k) % (2 * k), (g + k) % (2 * k)))) for f, g in pairs)
        same = exchanged == sorted(tuple(sorted(pair)) for pair in pairs)
        return walked(len(pairs), other, factors, closed) * (1 if same else 2)

    def other_copy(i: int) -> int:
        return (i + k) % (2 * k)

    rest = [i for i in range(2 * k) if i not in (0, k)]
    branches = [[(0, k)]]
    branches += [[(0, p), (k, q)] for p in rest for q in rest if p != q and (p, q) <= (other_copy(q), other_copy(p))]
    return unfold(np.sum(list(thread_map(branch, branches, workers)), axis=0), closings, k)


@cache
def _tail() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return tail_table(reference.perfect_matchings(tuple(range(6))))
