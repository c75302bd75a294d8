"""Open chains of identified indices: the state that both Wick enumerations walk through.

A factor of the trace owns two *slots*, its row index and its column index. Neighbouring factors share an
index, so before any pairing the slots are linked two by two into open chains. Pairing two factors identifies
their row slots and their column slots: each identification joins two chains at their end points, or closes
one chain, and a closed chain is one free index, worth a factor n. A chain is known by its end points alone
(``other[end]`` is the opposite end), so joining and undoing cost O(1).

The last three pairings are not walked. When 16 chain ends are left the state fits into one 64-bit word (a
nibble per end), one more pairing is made inside the word, and the 12 ends that remain form one of 11!! = 10395
perfect matchings, whose rank looks up how many indices each of the possible completions closes.

All compiled code of the enumerations is in this file: numba's cache on disk is keyed by the file of the compiled function
alone, and would not notice a change of a helper elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain as flatten
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from signalprop._numba import kernel, primitive

TAIL_ENDS = 12
TAIL_STATES = 10395


def _count_zeros(typing_context: Any, word: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), build


@primitive(_count_zeros)
def _trailing_zeros(word):  # type: ignore[no-untyped-def]
    return (int(word) & -int(word)).bit_length() - 1


@kernel(inline="always")
def join_in_word_kernel(word, x, y):  # type: ignore[no-untyped-def]
    """Identify ends `x` and `y` of the nibble-packed state; returns the new state and 1 if a chain closed."""
    far_x = (word >> (4 * x)) & 15
    far_y = (word >> (4 * y)) & 15
    word &= ~((15 << (4 * far_x)) | (15 << (4 * far_y)))
    return word | (far_y << (4 * far_x)) | (far_x << (4 * far_y)), np.int64(far_x == y)


@kernel(inline="always")
def tail_rank_kernel(word, mask, order):  # type: ignore[no-untyped-def]
    """Rank in [0, 10395) of the matching of the 12 ends in `mask`.

    `order` holds in nibble e the position of end e among the 12. Removing an end lowers the position of all
    ends above it by one, which is one subtraction on the whole word; nibbles outside `mask` hold 15 so that
    they never borrow.
    """
    word, order = int(word), int(order)  # in plain Python NumPy's numbers would overflow; compiled, this does nothing
    rank = 0
    for width in (11, 9, 7, 5, 3):
        low = _trailing_zeros(mask)
        partner = (word >> (4 * low)) & 15
        rank = rank * width + ((order >> (4 * partner)) & 15) - 1
        mask ^= (1 << low) | (1 << partner)
        order -= 0x1111111111111110 << (4 * low)
        order -= 0x1111111111111110 << (4 * partner)
    return rank


@kernel
def _tail_counts_kernel(completions, counts):  # type: ignore[no-untyped-def]
    """counts[rank, v]: completions (each six pairs of ends) that close v chains of matching number `rank`."""
    partner = np.empty(TAIL_ENDS, np.int64)
    ends = np.empty(TAIL_ENDS, np.int64)
    digits = np.zeros(6, np.int64)
    for rank in range(TAIL_STATES):
        # Unrank: digits in base 3, 5, 7, 9, 11 from the last choice to the first.
        rest = rank
        for level in range(4, -1, -1):
            digits[level] = rest % (11 - 2 * level)
            rest //= 11 - 2 * level
        used = 0
        low = 0
        for level in range(6):
            while used >> low & 1:
                low += 1
            mate = low + 1
            skip = digits[level]
            while used >> mate & 1 or skip > 0:
                skip -= 1 - (used >> mate & 1)
                mate += 1
            used |= (1 << low) | (1 << mate)
            partner[low] = mate
            partner[mate] = low
        for row in range(completions.shape[0]):
            for end in range(TAIL_ENDS):
                ends[end] = partner[end]
            closed = 0
            for pair in range(6):
                x, y = completions[row, pair]
                far_x, far_y = ends[x], ends[y]
                closed += far_x == y
                ends[far_x] = far_y
                ends[far_y] = far_x
            counts[rank, closed] += 1


def tail_table(completions: Iterable[Iterable[tuple[int, int]]]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Class of each of the 10395 tail states, and for each class how many completions close v chains.

    Parameters
    ----------
    completions
        Each completion as three pairs of factors numbered 0..5; factor f has ends 2f (row) and 2f+1 (column).

    Returns
    -------
    (classes, closings)
        ``closings[classes[rank], v]`` completions of state `rank` close v chains.
    """
    pairs = [
        list(flatten.from_iterable(((2 * a, 2 * b), (2 * a + 1, 2 * b + 1)) for a, b in one)) for one in completions
    ]
    counts = np.zeros((TAIL_STATES, 7), np.int64)
    _tail_counts_kernel(np.asarray(pairs, np.int64), counts)
    closings, classes = np.unique(counts, axis=0, return_inverse=True)
    return classes.astype(np.uint8).ravel(), closings


def open_chains(k: int, order: Sequence[int] | None = None) -> NDArray[np.uint8]:
    """Far ends of the 2k chains of tr[G^k (G^k)*]: slots 2f (row) and 2f+1 (column) of factors f = 0..2k-1.

    Factors 0..k-1 are G along the path i_0..i_k, factors k..2k-1 the conjugated copy along j_0..j_k; the trace
    closes the two paths at i_0 = j_0 and i_k = j_k. With `order`, label f stands for the factor ``order[f]``.
    """
    other = np.empty(4 * k, np.uint8)
    labels = np.arange(2 * k) if order is None else np.argsort(order)

    def link(a: int, b: int) -> None:
        a, b = (int(2 * labels[slot // 2] + slot % 2) for slot in (a, b))
        other[a], other[b] = b, a

    for start in (0, k):
        for m in range(start, start + k - 1):
            link(2 * m + 1, 2 * m + 2)
    link(0, 2 * k)
    link(2 * k - 1, 4 * k - 1)
    return other


def pair_factors(other: NDArray[np.uint8], f: int, g: int) -> int:
    """Pair factors `f` and `g` in place; returns how many chains that closes (0, 1 or 2)."""
    closed = 0
    for x, y in ((2 * f, 2 * g), (2 * f + 1, 2 * g + 1)):
        far_x, far_y = int(other[x]), int(other[y])
        other[far_x], other[far_y] = far_y, far_x
        closed += far_x == y
    return closed


def unfold(histogram: NDArray[np.int64], closings: NDArray[np.int64], k: int) -> tuple[int, ...]:
    """Turn ``histogram[closed, class]`` into the number of pairings with V = 0..k+1 free indices."""
    totals = [0] * (histogram.shape[0] + closings.shape[1])
    for closed, row in enumerate(histogram.tolist()):
        for number, closing in zip(row, closings.tolist(), strict=True):
            for extra, ways in enumerate(closing):
                totals[closed + extra] += number * ways
    return tuple(totals[: k + 2])


@kernel(inline="always")
def _positions_kernel(factor):  # type: ignore[no-untyped-def]
    """Nibble by nibble the position of each of the 16 ends once those of factor 0 and of `factor` are gone."""
    order = np.int64(0)
    position = 0
    for end in range(2, 16):
        if end // 2 == factor:
            order |= np.int64(15) << (4 * end)
        else:
            order |= np.int64(position) << (4 * end)
            position += 1
    return order


@kernel(inline="always")
def _pair_kernel(other, x, y, undo, depth):  # type: ignore[no-untyped-def]
    """Pair the factors whose row slots are `x` and `y`; returns how many chains that closes, and records how to undo it."""
    far_x = other[x]
    far_y = other[y]
    other[far_x] = far_y
    other[far_y] = far_x
    count = np.int64(far_x == y)
    undo[depth, 0] = far_x
    undo[depth, 1] = far_y
    far_x = other[x + 1]
    far_y = other[y + 1]
    other[far_x] = far_y
    other[far_y] = far_x
    count += far_x == y + 1
    undo[depth, 2] = far_x
    undo[depth, 3] = far_y
    return count


@kernel(inline="always")
def _unpair_kernel(other, x, y, undo, depth):  # type: ignore[no-untyped-def]
    """Undo `_pair_kernel`."""
    other[undo[depth, 2]] = x + 1
    other[undo[depth, 3]] = y + 1
    other[undo[depth, 0]] = x
    other[undo[depth, 1]] = y


@kernel(inline="always")
def _tail_kernel(word, j, order, closed, classes, histogram):  # type: ignore[no-untyped-def]
    """Pair factor 0 of the word with factor `j` and count the completions of what remains."""
    rows, row_closed = join_in_word_kernel(word, 0, 2 * j)
    both, column_closed = join_in_word_kernel(rows, 1, 2 * j + 1)
    rank = tail_rank_kernel(both, 0xFFFC ^ (3 << (2 * j)), order)
    histogram[closed + row_closed + column_closed, classes[rank]] += 1


@kernel
def walk_permutations_kernel(k, start, other, free, closed_before, classes, histogram):  # type: ignore[no-untyped-def]
    """Depth-first walk: at depth d factor d of the first copy takes free[p], p >= d, of the second copy."""
    last = k - 4
    local = np.zeros(4 * k, np.uint8)
    for end in range(8):
        local[2 * last + end] = end
    order = np.zeros(8, np.int64)
    for j in range(4, 8):
        order[j] = _positions_kernel(j)
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
            for j in range(4, 8):
                _tail_kernel(word, j, order[j], closed[depth], classes, histogram)
            choice[depth] = k
        p = choice[depth]
        if p < k:
            factor = free[p]
            free[p] = free[depth]
            free[depth] = factor
            count = closed[depth] + _pair_kernel(other, 2 * depth, 2 * factor, undo, depth)
            depth += 1
            closed[depth] = count
            choice[depth] = depth
        else:
            depth -= 1
            if depth < start:
                return
            factor = free[depth]
            _unpair_kernel(other, 2 * depth, 2 * factor, undo, depth)
            p = choice[depth]
            free[depth] = free[p]
            free[p] = factor
            choice[depth] = p + 1


@kernel
def walk_matchings_kernel(k, start, other, factors, closed_before, classes, histogram):  # type: ignore[no-untyped-def]
    """Depth-first walk: at depth d factors[2d] takes factors[p], p > 2d, which is swapped to place 2d+1."""
    last = k - 4
    local = np.zeros(4 * k, np.uint8)
    order = np.zeros(8, np.int64)
    for j in range(1, 8):
        order[j] = _positions_kernel(j)
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
                _tail_kernel(word, j, order[j], closed[depth], classes, histogram)
            choice[depth] = 2 * k
        p = choice[depth]
        if p < 2 * k:
            factor = factors[p]
            factors[p] = factors[2 * depth + 1]
            factors[2 * depth + 1] = factor
            count = closed[depth] + _pair_kernel(other, 2 * factors[2 * depth], 2 * factor, undo, depth)
            depth += 1
            closed[depth] = count
            choice[depth] = 2 * depth + 1
        else:
            depth -= 1
            if depth < start:
                return
            factor = factors[2 * depth + 1]
            _unpair_kernel(other, 2 * factors[2 * depth], 2 * factor, undo, depth)
            p = choice[depth]
            factors[2 * depth + 1] = factors[p]
            factors[p] = factor
            choice[depth] = p + 1
