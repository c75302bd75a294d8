"""Random ListOps expressions, thousands of trees at a time, level by level.

The law is that of the published generator: a node above the last level is an operator with probability 1/4, with 2..max_args
arguments and one of four operators, all uniform, and else a uniform digit; trees outside the window of lengths are rejected.
Shapes are drawn first, so that rejected trees cost no tokens, and a tree is given up at the level where it gets too long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signalprop._streams import cell_key, generator
from signalprop.tasks._grammar import END_CODE, FIRST_DIGIT, FIRST_OPERATOR, OPERATORS, Grammar

OPERATOR_P = 0.25
CANDIDATES = 4096
_MIN, _MAX, _MED, _SUM = range(4)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Accepted expressions: codes one after the other, and length and value of each."""

    codes: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    values: NDArray[np.int64]


@dataclass(slots=True)
class _Level:
    """Nodes of one depth, those with one parent side by side: their trees, and how many arguments each has (0: a digit)."""

    tree: NDArray[np.int64]
    arguments: NDArray[np.int64]


def draw_chunk(grammar: Grammar, seed: int, chunk: int) -> Drawn:
    """What is accepted of chunk number `chunk`, `CANDIDATES` trees; depends on the arguments alone."""
    facts = (grammar.max_depth, grammar.max_args, grammar.min_length, grammar.max_length)
    rng = generator(seed, cell_key("listops", *facts), chunk)
    return _fill(_shapes(grammar, rng), rng)


def _shapes(grammar: Grammar, rng: np.random.Generator) -> list[_Level]:
    """Levels of the accepted trees, from the roots down; trees are renumbered 0, 1, ..."""
    length = np.zeros(CANDIDATES, dtype=np.int64)
    tree = np.arange(CANDIDATES)
    levels = []
    for depth in range(1, grammar.max_depth + 1):
        arguments = np.zeros(len(tree), dtype=np.int64)
        if depth < grammar.max_depth:
            operators = np.flatnonzero(rng.random(len(tree)) < OPERATOR_P)
            arguments[operators] = rng.integers(2, grammar.max_args + 1, size=len(operators))
        levels.append(_Level(tree, arguments))
        length += np.bincount(tree, 1 + (arguments > 0), minlength=CANDIDATES).astype(np.int64)
        below = np.bincount(tree, arguments, minlength=CANDIDATES).astype(np.int64)
        given_up = length + below >= grammar.max_length
        length[given_up] = grammar.max_length
        tree = np.repeat(tree, np.where(given_up[tree], 0, arguments))
    accepted = (length > grammar.min_length) & (length < grammar.max_length)
    number = np.cumsum(accepted) - 1
    kept = [(level, accepted[level.tree]) for level in levels]
    return [_Level(number[level.tree[keep]], level.arguments[keep]) for level, keep in kept if keep.any()]


def _fill(levels: list[_Level], rng: np.random.Generator) -> Drawn:
    """Draw digits and operators, work out values and lengths from the leaves up, and lay out the tokens from the roots down."""
    if not levels:
        return Drawn(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64))
    digits = [rng.integers(0, 10, size=len(level.tree)) for level in levels]
    operators = [rng.integers(0, len(OPERATORS), size=np.count_nonzero(level.arguments)) for level in levels]

    sizes = [np.ones(len(level.tree), dtype=np.int64) for level in levels]
    values = [digit.copy() for digit in digits]
    for d in range(len(levels) - 2, -1, -1):
        inner = np.flatnonzero(levels[d].arguments)
        if len(inner):
            counts = levels[d].arguments[inner]
            starts = np.cumsum(counts) - counts
            sizes[d][inner] = 2 + np.add.reduceat(sizes[d + 1], starts)
            values[d][inner] = _apply(operators[d], values[d + 1], starts, counts)

    codes = np.empty(int(sizes[0].sum()), dtype=np.uint8)
    place = np.cumsum(sizes[0]) - sizes[0]
    for d, level in enumerate(levels):
        inner = np.flatnonzero(level.arguments)
        codes[place] = FIRST_DIGIT + digits[d]
        codes[place[inner]] = FIRST_OPERATOR + operators[d]
        codes[place[inner] + sizes[d][inner] - 1] = END_CODE
        if len(inner):
            counts = level.arguments[inner]
            before = np.cumsum(sizes[d + 1]) - sizes[d + 1]
            first = before[np.cumsum(counts) - counts]
            place = np.repeat(place[inner] + 1 - first, counts) + before
    return Drawn(codes, sizes[0], values[0])


def _apply(
    operators: NDArray[np.int64], arguments: NDArray[np.int64], starts: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Operator number i of the arguments starts[i] .. starts[i] + counts[i] - 1."""
    owner = np.repeat(np.arange(len(starts)) * 10, counts)
    ordered = np.sort(owner + arguments) - owner
    lower, upper = ordered[starts + (counts - 1) // 2], ordered[starts + counts // 2]
    choices = {
        _MIN: ordered[starts],
        _MAX: ordered[starts + counts - 1],
        _MED: (lower + upper) // 2,
        _SUM: np.add.reduceat(arguments, starts) % 10,
    }
    return np.choose(operators, [choices[kind] for kind in range(4)])
