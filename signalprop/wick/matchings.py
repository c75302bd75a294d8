"""Real weights: every Wick pairing of tr[G^k (G^k)^T] is a perfect matching of its 2k factors; enumerate all (2k-1)!!.

Pairing two factors identifies their row indices and their column indices; a matching that leaves V free
indices contributes n^V. The matchings that pair only across the two copies are the permutations of the complex case.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from signalprop._threads import thread_map
from signalprop.wick import reference
from signalprop.wick._chains import join_in_word_kernel, open_chains, pair_factors, tail_rank_kernel, tail_table, unfold

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
                _matching_kernel(k, 0, other, factors, 0, classes, histogram)
        else:
            closed = pair_factors(other, 0, int(factors[1]))
            _matching_kernel(k, 1, other, factors, closed, classes, histogram)
        return histogram

    return unfold(np.sum(list(thread_map(branch, range(1, 2 * k), workers)), axis=0), closings, k)


@cache
def _tail() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return tail_table(reference.perfect_matchings(tuple(range(6))))


@njit(nogil=True, cache=True)
def _matching_kernel(k, start, other, factors, closed_before, classes, histogram):  # type: ignore[no-untyped-def]
    """Depth-first walk: at depth d factors[2d] takes factors[p], p > 2d, which is swapped to place 2d+1."""
    last = k - 4
    local = np.zeros(4 * k, np.uint8)
    # Positions of the ends once those of the first factor (0, 1) and of factor j are gone.
    order = np.zeros(8, np.int64)
    for j in range(1, 8):
        position = 0
        for end in range(2, 16):
            if end // 2 == j:
                order[j] |= np.int64(15) << (4 * end)
            else:
                order[j] |= np.int64(position) << (4 * end)
                position += 1
    choice = np.empty(k + 1, np.int64)
    closed = np.empty(k + 1, np.int64)
    undo = np.empty((k + 1, 4), np.uint8)
    depth = start
    choice[depth] = 2 * depth + 1
    closed[depth] = closed_before
    while True:
        if depth == last:
            word = np.int64(0)
            for i in range(8):
                slot = 2 * np.int64(factors[2 * last + i])
                local[slot] = 2 * i
                local[slot + 1] = 2 * i + 1
            for i in range(8):
                slot = 2 * np.int64(factors[2 * last + i])
                word |= np.int64(local[other[slot]]) << (8 * i)
                word |= np.int64(local[other[slot + 1]]) << (8 * i + 4)
            for j in range(1, 8):
                rows, row_closed = join_in_word_kernel(word, 0, 2 * j)
                both, column_closed = join_in_word_kernel(rows, 1, 2 * j + 1)
                rank = tail_rank_kernel(both, 0xFFFC ^ (3 << (2 * j)), order[j])
                histogram[closed[depth] + row_closed + column_closed, classes[rank]] += 1
            choice[depth] = 2 * k
        p = choice[depth]
        if p < 2 * k:
            factor = factors[p]
            factors[p] = factors[2 * depth + 1]
            factors[2 * depth + 1] = factor
            x = 2 * factors[2 * depth]
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
            choice[depth] = 2 * depth + 1
        else:
            depth -= 1
            if depth < start:
                return
            x = 2 * factors[2 * depth]
            y = 2 * factors[2 * depth + 1]
            other[undo[depth, 2]] = x + 1
            other[undo[depth, 3]] = y + 1
            other[undo[depth, 0]] = x
            other[undo[depth, 1]] = y
            p = choice[depth]
            factor = factors[2 * depth + 1]
            factors[2 * depth + 1] = factors[p]
            factors[p] = factor
            choice[depth] = p + 1
