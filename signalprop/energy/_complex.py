"""Kernels for log Q_{n,k} and log S_{n,t}, complex weights; unvalidated, called by `signalprop.energy`.

With m = k + 2, x = m/n, A = sum_{j<m} atanh(j/n) and B = (1/2) sum_{j<m} log(1 - j^2/n^2),

    log Q = B + log( n 2 sinh(A) / ((k+1)(k+2)) ) = B + log1p(eps) + log( sinh(A)/A ),   A = A0 (1 + eps),

and A0 = (k+1)(k+2)/(2n) is the first-order value, so no large logarithms are subtracted. Stirling's series with
phi(x) = (1+x) log(1+x) - x and remainder C(z) = 1/(12 z) - 1/(360 z^3) + ... gives both sums in O(1):

    2A = n [phi(x) + phi(-x)] - atanh(x) + C(n+m) + C(n-m) - 2 C(n)
    2B = n [phi(x) - phi(-x)] - (1/2) log(1-x^2) + C(n+m) - C(n-m)

For x <= 1/8 the combinations of phi are summed as power series, which keeps the *relative* accuracy of log Q
also where Q - 1 is far below the rounding unit.

log S_{n,t} = log sum_{k<=t} g^{2k} Q_{n,k} is summed without O(t) work, by discrete Gauss quadrature on blocks. log Q is
smooth in k, so a block of N consecutive terms over which the summand changes by less than e^8 is summed by
16 terms: the Gauss rule of the uniform measure on N points, exact for polynomials of degree 31. Its nodes are the
eigenvalues of the Jacobi matrix of the discrete Chebyshev (Gram) polynomials, beta_j = j^2 (N^2 - j^2) / (4 (4 j^2 - 1)).
The log of the summand is convex in k (checked numerically), hence largest at an end of a block, and a block whose two
ends are negligible is skipped.

Plain Python here; `signalprop.energy._compiled` holds the same functions compiled.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SMALL_N = 64
SMALL_M = 128
NEAR_EDGE = 16
NODES = 16
DIRECT = 32
FIRST_RULE = 128
LARGEST_CHANGE = 8.0
NEGLIGIBLE = 45.0


def stirling_tail_kernel(z: float) -> float:
    """C(z) - 1/(12 z) for z >= 16; the next term is below 1e-18."""
    w = 1.0 / (z * z)
    return (-1.0 / 360.0 + w * (1.0 / 1260.0 + w * (-1.0 / 1680.0 + w * (1.0 / 1188.0 - w * 691.0 / 360360.0)))) * w / z


def log_sinhc_kernel(a: float) -> float:
    """log(sinh(a)/a), a >= 0."""
    if a < 0.05:
        w = a * a
        return w * (1.0 / 6.0 - w * (1.0 / 180.0 - w * (1.0 / 2835.0 - w / 37800.0)))
    return a + math.log(-math.expm1(-2.0 * a) / (2.0 * a))


def log_q_small_kernel(n: float, k: float) -> float:
    """N < 64 and k + 2 <= 128: positive recurrences for r_m - f_m and r_m + f_m."""
    difference = 0.0
    total = 2.0
    for j in range(1, int(k) + 2):
        step = j / n
        difference, total = difference + step * total, total + step * difference
    return math.log(n * difference / ((k + 1.0) * (k + 2.0)))


def log_q_kernel(n: float, k: int) -> float:
    """Log Q_{n,k} for float n >= 1 (a whole number) and int k >= 0, to 1e-13 max(1, |log Q|)."""
    if k < 2:
        return 0.0
    if n < SMALL_N and k + 2 <= SMALL_M:
        return log_q_small_kernel(n, k)
    m = k + 2.0
    first_order = 0.5 * (k + 1.0) * m / n  # A0
    x = m / n
    up = n + m
    down = n - m
    # The margin 1e-12 n keeps `down` above the rounding of n and m at n ~ 1e18.
    if n < SMALL_N or down < NEAR_EDGE + 1e-12 * n:
        # The falling factorial is zero or below 1e-17 of the rising one.
        if n < SMALL_N:
            remainder = math.lgamma(n) - (n - 0.5) * math.log(n) + n - 0.9189385332046727
        else:
            remainder = 1.0 / (12.0 * n) + stirling_tail_kernel(n)
        log_rising = n * ((1.0 + x) * math.log1p(x) - x) - 0.5 * math.log1p(x)
        log_rising += 1.0 / (12.0 * up) + stirling_tail_kernel(up) - remainder
        return log_rising - math.log(2.0 * first_order)
    tail_up = stirling_tail_kernel(up)
    tail_down = stirling_tail_kernel(down)
    # The 1/(12 z) terms of C, combined exactly.
    c_even = m * m / (6.0 * n * up * down) + (tail_up + tail_down - 2.0 * stirling_tail_kernel(n))
    c_odd = -m / (6.0 * up * down) + (tail_up - tail_down)
    if x <= 0.125:
        w = x * x
        even = (
            w
            * w
            * (
                1 / 6
                + w * (1 / 15 + w * (1 / 28 + w * (1 / 45 + w * (1 / 66 + w * (1 / 91 + w * (1 / 120 + w / 153))))))
            )
        )
        odd = (
            -2.0
            * x
            * w
            * (
                1 / 6
                + w * (1 / 20 + w * (1 / 42 + w * (1 / 72 + w * (1 / 110 + w * (1 / 156 + w * (1 / 210 + w / 272))))))
            )
        )
        atanh_rest = (
            x
            * w
            * (1 / 3 + w * (1 / 5 + w * (1 / 7 + w * (1 / 9 + w * (1 / 11 + w * (1 / 13 + w * (1 / 15 + w / 17)))))))
        )
        half_log = (
            -0.5 * w * (1 + w * (1 / 2 + w * (1 / 3 + w * (1 / 4 + w * (1 / 5 + w * (1 / 6 + w * (1 / 7 + w / 8)))))))
        )
    else:
        log_up = math.log1p(x)
        log_down = math.log1p(-x)
        even = (1.0 + x) * log_up + (1.0 - x) * log_down - x * x
        odd = (1.0 + x) * log_up - (1.0 - x) * log_down - 2.0 * x
        atanh_rest = 0.5 * (log_up - log_down) - x
        half_log = 0.5 * (log_up + log_down)
    eps = (n * even - atanh_rest + c_even) / (2.0 * first_order)
    b = 0.5 * (n * odd - half_log + c_odd)
    return b + math.log1p(eps) + log_sinhc_kernel(first_order * (1.0 + eps))


def log_q_many_kernel(n: Floats, k: Ints, out: Floats) -> None:
    """out[i] = log Q_{n[i], k[i]}; n float64, k int64."""
    for i in range(out.size):
        out[i] = log_q_kernel(n[i], k[i])


def log_sum_path_kernel(log_terms: Floats, t: Ints, out: Floats) -> None:
    """out[i] = log sum_{k<=t[i]} exp(log_terms[k]) for ascending t: one pass, compensated, carried as (top, total)."""
    top = -math.inf
    total = 0.0
    lost = 0.0
    done = 0
    for k in range(log_terms.size):
        if log_terms[k] > top:
            shrink = math.exp(top - log_terms[k])
            total *= shrink
            lost *= shrink
            top = log_terms[k]
        term = math.exp(log_terms[k] - top) - lost
        new_total = total + term
        lost = (new_total - total) - term
        total = new_total
        while done < t.size and t[done] == k:
            out[done] = top + math.log(total)
            done += 1


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
