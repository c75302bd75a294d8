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
BRANCHED = 10  # below, the whole walk takes less time than its branches


def count_cycles(k: int, workers: int | None = None) -> tuple[int, ...]:
    """Number of permutations in S_k with V = 0..k+1 free indices; `k` at most 12, checked by the caller.

    Read backwards, both paths are paths again: i -> k-1-i on both sides of sigma keeps V. It maps sigma(0) = a, sigma(k-1) = b
    to sigma(0) = k-1-b, sigma(k-1) = k-1-a, so only one of two such branches is walked.
    """
    if k < 4:
        return reference.permutation_counts(k)
    classes, closings = _tail()

    def walked(start: int, other: NDArray[np.uint8], free: NDArray[np.uint8], closed: int) -> NDArray[np.int64]:
        histogram = np.zeros((2 * k + 1, len(closings)), np.int64)
        walk_permutations_kernel(k, start, other, free, closed, classes, histogram)
        return histogram

    second = np.arange(k, 2 * k, dtype=np.uint8)
    if k < BRANCHED:
        return unfold(walked(0, open_chains(k), second, 0), closings, k)
    # The two ends of the first copy come first.
    chains = open_chains(k, (0, k - 1, *range(1, k - 1), *range(k, 2 * k)))

    def branch(ends: tuple[int, int]) -> NDArray[np.int64]:
        other = chains.copy()
        free = np.array([*(k + end for end in ends), *(k + i for i in range(k) if i not in ends)], dtype=np.uint8)
        closed = sum(pair_factors(other, label, int(free[label])) for label in (0, 1))
        mirrored = (k - 1 - ends[1], k - 1 - ends[0])
        return walked(2, other, free, closed) * (1 if ends == mirrored else 2)

    pairs = [(a, b) for a in range(k) for b in range(k) if a != b and (a, b) <= (k - 1 - b, k - 1 - a)]
    return unfold(np.sum(list(thread_map(branch, pairs, workers)), axis=0), closings, k)


@cache
def _tail() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return tail_table([(i, 3 + sigma[i]) for i in range(3)] for sigma in permutations(range(3)))
