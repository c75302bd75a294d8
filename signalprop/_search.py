"""Integer search."""

from __future__ import annotations

from collections.abc import Callable


def first_true(predicate: Callable[[int], bool], false_at: int) -> int:
    """Smallest integer above `false_at` where a predicate that turns true once, and stays true, is true.

    Doubles until it is true, then bisects: O(log of the answer) calls.

    Examples
    --------
    >>> first_true(lambda k: k * k >= 200, 1)
    15
    """
    low, high = false_at, 2 * false_at
    while not predicate(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if predicate(middle) else (middle, high)
    return high
