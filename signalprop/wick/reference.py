"""Slow enumerations written from the definition, in plain Python; the compiled kernels are tested against them for ever.

They share no code and no idea with the kernels: the complex one multiplies permutations and counts the cycles
of a commutator, the real one merges sets of indices.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations

from signalprop._checks import listed, permutation_of, shown, whole_number, whole_tuple
from signalprop._cost import refuse_beyond_bounds

Permutation = tuple[int, ...]
Pairing = Sequence[tuple[int, int]]

_MOST_POINTS = 10**6
_MOST_ITEMS = 200
_PERMUTATION_SECONDS = 1e-6  # per permutation and point
_MATCHING_SECONDS = 1e-6  # per matching and pair of classes
_INSTEAD = "moments.trace_polynomial gives the same numbers by a formula."


def compose(p: Permutation, q: Permutation) -> Permutation:
    """The permutation ``i -> p(q(i))``.

    Raises
    ------
    ValueError
        Not permutations of equally many points 0, 1, ..

    Examples
    --------
    >>> compose((1, 2, 0), (1, 0, 2))
    (2, 1, 0)
    """
    outer, inner = permutation_of(p, "p", _MOST_POINTS), permutation_of(q, "q", _MOST_POINTS)
    if len(outer) != len(inner):
        raise ValueError(f"p and q must permute equally many points, got {len(outer)} and {len(inner)}.")
    return _compose(outer, inner)


def inverse(p: Permutation) -> Permutation:
    """The permutation that undoes `p`; anything but a permutation is refused.

    Examples
    --------
    >>> inverse((1, 2, 0))
    (2, 0, 1)
    """
    return _inverse(permutation_of(p, "p", _MOST_POINTS))


def cycles(p: Permutation) -> int:
    """Number of cycles of `p`, fixed points included; anything but a permutation is refused.

    Examples
    --------
    >>> cycles((1, 0, 2))
    2
    """
    return _cycles(permutation_of(p, "p", _MOST_POINTS))


def _compose(p: Permutation, q: Permutation) -> Permutation:
    return tuple(p[i] for i in q)


def _inverse(p: Permutation) -> Permutation:
    result = [0] * len(p)
    for i, image in enumerate(p):
        result[image] = i
    return tuple(result)


def _cycles(p: Permutation) -> int:
    seen: set[int] = set()
    count = 0
    for start in range(len(p)):
        if start not in seen:
            count += 1
            while start not in seen:
                seen.add(start)
                start = p[start]
    return count


def commutator_cycles(sigma: Permutation) -> int:
    """V(sigma): the number of cycles of [tau^{-1}, sigma~^{-1}] in S_{k+1}.

    tau is the long cycle ``m -> m+1 mod k+1`` and sigma~ extends `sigma` by one fixed point (here k).

    Examples
    --------
    >>> commutator_cycles((0, 1)), commutator_cycles((1, 0))
    (3, 1)
    """
    return _commutator_cycles(permutation_of(sigma, "sigma", _MOST_POINTS))


def _commutator_cycles(sigma: Permutation) -> int:
    size = len(sigma) + 1
    tau = tuple((m + 1) % size for m in range(size))
    extended = (*sigma, size - 1)
    return _cycles(_compose(_compose(_inverse(tau), _inverse(extended)), _compose(tau, extended)))


def permutation_counts(k: int) -> tuple[int, ...]:
    """Permutations of S_k with V = 0..k+1; cost k! k. More than ten minutes of work is refused (see `signalprop.allow`).

    Examples
    --------
    >>> permutation_counts(3)
    (0, 0, 5, 0, 1)
    """
    depth = whole_number(k, "k", 0, _MOST_ITEMS // 2, _INSTEAD)
    _refuse_long("permutation_counts", depth, _PERMUTATION_SECONDS * math.factorial(depth) * (depth + 3))
    tally = Counter(_commutator_cycles(sigma) for sigma in permutations(range(depth)))
    return tuple(tally[v] for v in range(depth + 2))


def perfect_matchings(items: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    """All ways to split `items`, at most 200 whole numbers, into pairs; none where their number is odd.

    Examples
    --------
    >>> len(list(perfect_matchings((0, 1, 2, 3))))
    3
    """
    return _perfect_matchings(whole_tuple(items, "items", _MOST_ITEMS))


def _perfect_matchings(items: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for position, mate in enumerate(rest):
        for others in _perfect_matchings(rest[:position] + rest[position + 1 :]):
            yield [(first, mate), *others]


def free_indices(k: int, pairing: Pairing) -> int:
    """Number of classes of indices of tr[G^k (G^k)^T] that `pairing` leaves free.

    Factor m < k is G with indices (i_m, i_{m+1}); factor k+m is the other copy with (j_m, j_{m+1});
    i_0 = j_0 and i_k = j_k. Every pair of factors merges their first and their second indices.

    Raises
    ------
    ValueError
        `pairing` does not split the 2k factors 0, .., 2k-1 into k pairs.

    Examples
    --------
    >>> free_indices(1, [(0, 1)])
    2
    """
    depth = whole_number(k, "k", 0, _MOST_ITEMS // 2, _INSTEAD)
    pairs = [whole_tuple(pair, "pairing", _MOST_ITEMS) for pair in listed(pairing, "pairing", "pairs")]
    if any(len(pair) != 2 for pair in pairs) or sorted(sum(pairs, ())) != list(range(2 * depth)):
        raise ValueError(f"pairing must split the {2 * depth} factors 0, 1, .. into k pairs, got {shown(pairing)}.")
    return _free_indices(depth, pairs)


def _free_indices(k: int, pairing: Sequence[Sequence[int]]) -> int:
    classes = [{("i", m)} for m in range(k + 1)] + [{("j", m)} for m in range(k + 1)]

    def merge(a: tuple[str, int], b: tuple[str, int]) -> None:
        with_a = next(group for group in classes if a in group)
        with_b = next(group for group in classes if b in group)
        if with_a is not with_b:
            classes.remove(with_b)
            with_a |= with_b

    def indices(factor: int) -> tuple[tuple[str, int], tuple[str, int]]:
        path, m = ("i", factor) if factor < k else ("j", factor - k)
        return (path, m), (path, m + 1)

    merge(("i", 0), ("j", 0))
    merge(("i", k), ("j", k))
    for f, g in pairing:
        for a, b in zip(indices(f), indices(g), strict=True):
            merge(a, b)
    return len(classes)


def matching_counts(k: int) -> tuple[int, ...]:
    """Perfect matchings of the 2k factors with V = 0..k+1 free indices; cost (2k-1)!! k^2.

    More than ten minutes of work is refused (see `signalprop.allow`).

    Examples
    --------
    >>> matching_counts(2)
    (0, 2, 0, 1)
    """
    depth = whole_number(k, "k", 0, _MOST_ITEMS // 2, _INSTEAD)
    _refuse_long("matching_counts", depth, _MATCHING_SECONDS * math.prod(range(1, 2 * depth, 2)) * (depth + 2) ** 2)
    tally = Counter(_free_indices(depth, pairing) for pairing in _perfect_matchings(tuple(range(2 * depth))))
    return tuple(tally[v] for v in range(depth + 2))


def _refuse_long(what: str, k: int, seconds: float) -> None:
    refuse_beyond_bounds(f"wick.reference.{what} at k = {k}", seconds=seconds, instead=_INSTEAD)
