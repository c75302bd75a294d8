"""Slow enumerations written from the definition, in plain Python; the compiled kernels are tested against them for ever.

They share no code and no idea with the kernels: the complex one multiplies permutations and counts the cycles
of a commutator, the real one merges sets of indices.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations

Permutation = tuple[int, ...]


def compose(p: Permutation, q: Permutation) -> Permutation:
    """The permutation ``i -> p(q(i))``."""
    return tuple(p[i] for i in q)


def inverse(p: Permutation) -> Permutation:
    """The permutation that undoes `p`."""
    result = [0] * len(p)
    for i, image in enumerate(p):
        result[image] = i
    return tuple(result)


def cycles(p: Permutation) -> int:
    """Number of cycles of `p`, fixed points included."""
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
    size = len(sigma) + 1
    tau = tuple((m + 1) % size for m in range(size))
    extended = (*sigma, size - 1)
    return cycles(compose(compose(inverse(tau), inverse(extended)), compose(tau, extended)))


def permutation_counts(k: int) -> tuple[int, ...]:
    """Permutations of S_k with V = 0..k+1; cost k! k.

    Examples
    --------
    >>> permutation_counts(3)
    (0, 0, 5, 0, 1)
    """
    tally = Counter(commutator_cycles(sigma) for sigma in permutations(range(k)))
    return tuple(tally[v] for v in range(k + 2))


def perfect_matchings(items: tuple[int, ...]) -> Iterator[list[tuple[int, int]]]:
    """All ways to split `items` into pairs.

    Examples
    --------
    >>> len(list(perfect_matchings((0, 1, 2, 3))))
    3
    """
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for position, mate in enumerate(rest):
        for others in perfect_matchings(rest[:position] + rest[position + 1 :]):
            yield [(first, mate), *others]


def free_indices(k: int, pairing: list[tuple[int, int]]) -> int:
    """Number of classes of indices of tr[G^k (G^k)^T] that `pairing` leaves free.

    Factor m < k is G with indices (i_m, i_{m+1}); factor k+m is the other copy with (j_m, j_{m+1});
    i_0 = j_0 and i_k = j_k. Every pair of factors merges their first and their second indices.

    Examples
    --------
    >>> free_indices(1, [(0, 1)])
    2
    """
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

    Examples
    --------
    >>> matching_counts(2)
    (0, 2, 0, 1)
    """
    tally = Counter(free_indices(k, pairing) for pairing in perfect_matchings(tuple(range(2 * k))))
    return tuple(tally[v] for v in range(k + 2))
