"""Complex weights: every Wick pairing of tr[G^k (G^k)*] is a permutation; enumerate all k! of them.

Pairing factor m of one copy of the path with factor sigma(m) of the other leaves V(sigma) free indices, and
V is the number of cycles of the commutator [tau^{-1}, sigma~^{-1}] in S_{k+1} (tau the long cycle, sigma~ the
extension of sigma by one fixed point), so the histogram of V is a row of Hultman numbers.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from signalprop._threads import thread_map
from signalprop.wick import reference
from signalprop.wick._chains import open_chains, pair_factors, tail_table, unfold, walk_permutations_kernel

MAX_K = 12


def count_cycles(k: int, workers: int | None = None) -> tuple[int, ...]:
    """Number of permutations in S_k with V = 0..k+1 free indices; `k` at most 12, checked by the caller."""
    if k < 4:
        return reference.permutation_counts(k)
    classes, closings = _tail()

    def branch(first: int) -> NDArray[np.int64]:
        # Everything below the choice sigma(0) = first.
        other = open_chains(k)
        free = np.arange(k, 2 * k, dtype=np.uint8)
        free[0], free[first] = free[first], free[0]
        histogram = np.zeros((2 * k + 1, len(closings)), np.int64)
        if k == 4:  # all four pairings lie inside the 64-bit word
            if first == 0:
                walk_permutations_kernel(k, 0, other, free, 0, classes, histogram)
        else:
            closed = pair_factors(other, 0, int(free[0]))
            walk_permutations_kernel(k, 1, other, free, closed, classes, histogram)
        return histogram

    return unfold(np.sum(list(thread_map(branch, range(k), workers)), axis=0), closings, k)


@cache
def _tail() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return tail_table([(i, 3 + sigma[i]) for i in range(3)] for sigma in permutations(range(3)))
