"""log S_{n,t} = log sum_{k<=t} g^{2k} Q_{n,k}, complex weights, without O(t) work: discrete Gauss quadrature on blocks.

log Q is smooth in k, so a block of N consecutive terms over which the summand changes by less than e^8 is summed by
16 terms: the Gauss rule of the uniform measure on N points, exact for polynomials of degree 31. Its nodes are the
eigenvalues of the Jacobi matrix of the discrete Chebyshev (Gram) polynomials, beta_j = j^2 (N^2 - j^2) / (4 (4 j^2 - 1)).
The log of the summand is convex in k (checked numerically), hence largest at an end of a block, and a block whose two
ends are negligible is skipped.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from signalprop._complex_energy import log_q_kernel

Floats = NDArray[np.float64]

NODES = 16
DIRECT = 32
FIRST_RULE = 128
LARGEST_CHANGE = 8.0
NEGLIGIBLE = 45.0


@cache
def block_rules() -> Floats:
    """Nodes (offsets from the first of the N points) and weights of the rules for N = 2^0 .. 2^60, shape (61, 2, 16).

    Rules with N <= 16 points are not used and left empty.
    """
    rules = np.zeros((61, 2, NODES))
    j = np.arange(1.0, NODES)
    for power in range(5, 61):
        points = 2.0**power
        # In units of the half length, so that large N does not lose digits.
        beta = j**2 * (1.0 - (j / points) ** 2) / (4.0 * j**2 - 1.0)
        nodes, vectors = np.linalg.eigh(np.diag(np.sqrt(beta), 1) + np.diag(np.sqrt(beta), -1))
        rules[power, 0] = 0.5 * (points - 1.0) + 0.5 * points * nodes
        rules[power, 1] = points * vectors[0] ** 2
    return rules


def log_s_kernel(n: float, log_scale: float, t: int, rules: Floats) -> float:
    """Log S_{n,t} for float n and one t; the running total is carried as (top, total)."""
    # The log of the summand is convex: its largest value is at one of the two ends.
    top = max(0.0, log_q_kernel(n, t) + 2.0 * t * log_scale)
    total = 0.0
    ends = np.zeros(128, np.int64)  # stack of blocks [end - 2^power, end)
    powers = np.zeros(128, np.int64)
    depth = 0
    start = t + 1
    power = 0
    # Cut [0, t] from the right into blocks aligned to powers of two, small ones at the right end.
    while start > 0:
        if start & 1:
            ends[depth] = start
            powers[depth] = power
            depth += 1
            start -= 1
        start >>= 1
        power += 1
    for i in range(depth):
        ends[i] <<= powers[i]
    while depth > 0:
        depth -= 1
        power = powers[depth]
        points = 1 << power
        last = ends[depth] - 1
        first = ends[depth] - points
        if points > DIRECT:
            left = log_q_kernel(n, first) + 2.0 * first * log_scale
            right = log_q_kernel(n, last) + 2.0 * last * log_scale
            if max(left, right) + power * 0.6931471805599453 < top - NEGLIGIBLE:
                continue
            middle = first + points // 2
            centre = log_q_kernel(n, middle) + 2.0 * middle * log_scale
            change = max(left, right, centre) - min(left, right, centre)
            if first < FIRST_RULE or change > LARGEST_CHANGE:
                ends[depth] = middle
                powers[depth] = power - 1
                ends[depth + 1] = last + 1
                powers[depth + 1] = power - 1
                depth += 2
                continue
        count = NODES if points > DIRECT else points
        for node in range(count):
            if points > DIRECT:
                k = first + rules[power, 0, node]
                weight = rules[power, 1, node]
            else:
                k = first + node
                weight = 1.0
            term = log_q_kernel(n, k) + 2.0 * k * log_scale
            if term > top:
                total *= math.exp(top - term)
                top = term
            total += weight * math.exp(term - top)
    return top + math.log(total)


def log_s_many_kernel(n: Floats, log_scale: float, t: NDArray[np.int64], rules: Floats, out: Floats) -> None:
    """out[i] = log S_{n[i], t[i]}."""
    for i in range(out.size):
        out[i] = log_s_kernel(n[i], log_scale, t[i], rules)
