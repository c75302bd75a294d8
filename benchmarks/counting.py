"""Enumeration of Wick pairings: time per permutation of S_k, and per pairing of 2k factors.

Floor: a compiled walk over the same tree that only counts its leaves; the last four levels are one node, as in ours. The
hafnian route sums the hafnian of the covariance of the 2k factors over all paths of indices, for one width n = 2, where the
others have all widths at once.
"""

import itertools
import math

import numpy as np
from numba import njit

from benchmarks.suite import FLOOR, OTHER, OURS, Comparison, Contender
from signalprop.wick import matchings, permutations, reference


@njit(nogil=True)
def permutation_leaves(k, last):
    """Leaves of the tree of permutations: position d takes one of the k - d factors left; the `last` are not walked."""
    below = 1
    for i in range(2, last + 1):
        below *= i
    free = np.arange(k)
    choice = np.arange(k + 1)
    depth = leaves = 0
    while depth >= 0:
        p = choice[depth]
        if depth == k - last:
            leaves += below
            p = k
        if p < k:
            free[depth], free[p] = free[p], free[depth]
            depth += 1
            choice[depth] = depth
        else:
            depth -= 1
            if depth >= 0:
                p = choice[depth]
                free[depth], free[p] = free[p], free[depth]
                choice[depth] = p + 1
    return leaves


@njit(nogil=True)
def matching_leaves(k, last):
    """Leaves of the tree of pairings: the first free factor takes one of the others; the `last` pairs are not walked."""
    below = 1
    for i in range(1, 2 * last, 2):
        below *= i
    free = np.arange(2 * k)
    choice = np.empty(k + 1, np.int64)
    choice[0] = 1
    depth = leaves = 0
    while depth >= 0:
        p = choice[depth]
        if depth == k - last:
            leaves += below
            p = 2 * k
        if p < 2 * k:
            free[2 * depth + 1], free[p] = free[p], free[2 * depth + 1]
            depth += 1
            choice[depth] = 2 * depth + 1
        else:
            depth -= 1
            if depth >= 0:
                p = choice[depth]
                free[2 * depth + 1], free[p] = free[p], free[2 * depth + 1]
                choice[depth] = p + 1
    return leaves


def sympy_counts(k):
    """V(sigma) with SymPy's permutations."""
    from sympy.combinatorics import Permutation

    tau = Permutation([*range(1, k + 1), 0])
    tally = [0] * (k + 2)
    for images in itertools.permutations(range(k)):
        sigma = Permutation([*images, k])
        tally[(sigma * tau * sigma**-1 * tau**-1).cycles] += 1
    return tuple(tally)


def hafnian_moment(k, n=2):
    """E tr[G^k (G^k)^T] for real weights of width n, by hafnians of covariances."""
    from thewalrus import hafnian

    total = 0.0
    for first in itertools.product(range(n), repeat=k + 1):
        for inner in itertools.product(range(n), repeat=k - 1):
            second = (first[0], *inner, first[-1])
            edges = [*itertools.pairwise(first), *itertools.pairwise(second)]
            total += hafnian(np.array([[float(a == b) for a in edges] for b in edges]))
    return total


def comparisons(quick):
    for k in (8, 9, 10) if quick else (8, 9, 10, 11, 12):
        count = math.factorial(k)
        contenders = [
            Contender(
                "compiled walk, one thread", OURS, lambda k=k: permutations.count_cycles(k, workers=1), count, 0.0
            ),
            Contender("compiled walk, all cores", OTHER, lambda k=k: permutations.count_cycles(k), count),
            Contender("counting leaves only, each", OTHER, lambda k=k: permutation_leaves(k, 0), count, 0.0),
            Contender("counting leaves only, 24 at once", FLOOR, lambda k=k: permutation_leaves(k, 4), count, 0.0),
        ]
        if k == 8:
            few = math.factorial(6)
            contenders += [
                Contender("definition in Python (k = 6)", OTHER, lambda: reference.permutation_counts(6), few),
                Contender("SymPy permutations (k = 6)", OTHER, lambda: sympy_counts(6), few),
            ]
        yield Comparison("permutations", "k!", count, "each", contenders, rounds=3)
    for k in (7, 8, 9) if quick else (7, 8, 9, 10):
        count = math.prod(range(1, 2 * k, 2))
        contenders = [
            Contender("compiled walk, one thread", OURS, lambda k=k: matchings.count_cycles(k, workers=1), count, 0.0),
            Contender("compiled walk, all cores", OTHER, lambda k=k: matchings.count_cycles(k), count),
            Contender("counting leaves only, each", OTHER, lambda k=k: matching_leaves(k, 0), count, 0.0),
            Contender("counting leaves only, 105 at once", FLOOR, lambda k=k: matching_leaves(k, 4), count, 0.0),
        ]
        if k == 7:
            contenders.append(
                Contender("definition in Python (k = 5)", OTHER, lambda: reference.matching_counts(5), 945)
            )
            try:
                import thewalrus  # noqa: F401
            except ImportError:
                pass
            else:
                contenders.append(
                    Contender("hafnians, The Walrus (k = 3, n = 2)", OTHER, lambda: hafnian_moment(3), 15)
                )
        yield Comparison("pairings", "(2k-1)!!", count, "each", contenders, rounds=3)
