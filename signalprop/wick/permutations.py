"""Complex weights: every Wick pairing of tr[G^k (G^k)*] is a permutation; enumerate all k! of them.

Pairing factor m of one copy of the path with factor sigma(m) of the other leaves V(sigma) free indices, and
V is the number of cycles of the commutator [tau^{-1}, sigma~^{-1}] in S_{k+1} (tau the long cycle, sigma~ the
extension of sigma by one fixed point), so the histogram of V is a row of Hultman numbers.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from signalprop._threads import thread_map
from signalprop.wick import reference
from signalprop.wick._chains import join_in_word_kernel, open_chains, pair_factors, tail_rank_kernel, tail_table, unfold

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
                _permutation_kernel(k, 0, other, free, 0, classes, histogram)
        else:
            closed = pair_factors(other, 0, int(free[0]))
            _permutation_kernel(k, 1, other, free, closed, classes, histogram)
        return histogram

    return unfold(np.sum(list(thread_map(branch, range(k), workers)), axis=0), closings, k)


@cache
def _tail() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return tail_table([(i, 3 + sigma[i]) for i in range(3)] for sigma in permutations(range(3)))


@njit(nogil=True, cache=True)
def _permutation_kernel(k, start, other, free, closed_before, classes, histogram):  # type: ignore[no-untyped-def]
    """Depth-first walk: at depth d factor d of the first copy takes free[p], p >= d, of the second copy."""
    last = k - 4
    local = np.zeros(4 * k, np.uint8)
    for end in range(8):
        local[2 * last + end] = end
    # Positions of the ends once ends 0, 1 and those of second-copy factor j are gone.
    order = np.zeros(4, np.int64)
    for j in range(4):
        position = 0
        for end in range(2, 16):
            if end // 2 == 4 + j:
                order[j] |= np.int64(15) << (4 * end)
            else:
                order[j] |= np.int64(position) << (4 * end)
                position += 1
    choice = np.empty(k + 1, np.int64)
    closed = np.empty(k + 1, np.int64)
    undo = np.empty((k + 1, 4), np.uint8)
    depth = start
    choice[depth] = depth
    closed[depth] = closed_before
    while True:
        if depth == last:
            word = np.int64(0)
            for i in range(4):
                slot = 2 * np.int64(free[last + i])
                local[slot] = 8 + 2 * i
                local[slot + 1] = 9 + 2 * i
            for end in range(8):
                word |= np.int64(local[other[2 * last + end]]) << (4 * end)
            for i in range(4):
                slot = 2 * np.int64(free[last + i])
                word |= np.int64(local[other[slot]]) << (32 + 8 * i)
                word |= np.int64(local[other[slot + 1]]) << (36 + 8 * i)
            for j in range(4):
                rows, row_closed = join_in_word_kernel(word, 0, 8 + 2 * j)
                both, column_closed = join_in_word_kernel(rows, 1, 9 + 2 * j)
                rank = tail_rank_kernel(both, 0xFFFC ^ (3 << (8 + 2 * j)), order[j])
                histogram[closed[depth] + row_closed + column_closed, classes[rank]] += 1
            choice[depth] = k
        p = choice[depth]
        if p < k:
            factor = free[p]
            free[p] = free[depth]
            free[depth] = factor
            x = 2 * depth
            y = 2 * factor
            far_x = other[x]
            far_y = other[y]
            other[far_x] = far_y
            other[far_y] = far_x
            count = closed[depth] + (far_x == y)
            undo[depth, 0] = far_x
            undo[depth, 1] = far_y
            far_x = other[x + 1]
            far_y = other[y + 1]
            other[far_x] = far_y
            other[far_y] = far_x
            count += far_x == y + 1
            undo[depth, 2] = far_x
            undo[depth, 3] = far_y
            depth += 1
            closed[depth] = count
            choice[depth] = depth
        else:
            depth -= 1
            if depth < start:
                return
            x = 2 * depth
            y = 2 * free[depth]
            other[undo[depth, 2]] = x + 1
            other[undo[depth, 3]] = y + 1
            other[undo[depth, 0]] = x
            other[undo[depth, 1]] = y
            p = choice[depth]
            factor = free[depth]
            free[depth] = free[p]
            free[p] = factor
            choice[depth] = p + 1
