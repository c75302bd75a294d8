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


def first_true_near(predicate: Callable[[int], bool], false_at: int, guess: int) -> int:
    """As `first_true`, with a few calls where the answer is near `guess`: brackets it by growing steps, then bisects.

    Examples
    --------
    >>> first_true_near(lambda k: k * k >= 200, 1, 17)
    15
    """
    guess = max(guess, false_at + 1)
    step = max(1, guess // 32)
    low, high = false_at, guess
    if predicate(guess):
        while high - step > false_at:
            if not predicate(high - step):
                low = high - step
                break
            high, step = high - step, 2 * step
    else:
        low, high = guess, guess + step
        while not predicate(high):
            step *= 2
            low, high = high, high + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if predicate(middle) else (middle, high)
    return high
