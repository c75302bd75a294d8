r"""E||W^k x||^4 for complex weights: a sum of non-negative terms over partitions of 2k+2 in at most two hooks.

With K = k+1 and the Frobenius coordinates (a_1 > a_2 | b_1 > b_2), a_1+a_2+b_1+b_2 = 2K-2, D_1 = a_1-a_2, D_2 = b_1-b_2, and
h_ij = a_i+b_j+1,

  n^{2k} n(n+1) E||W^k x||^4 = sum over (a|b), a+b = 2K-1, b <= k, of 2k/(K a(a-1)) w(a, b)
                             + sum over D_1 >= D_2 of d(a_1, a_2, b_1, b_2) w(a_1, b_1) w(a_2, b_2)
  w(a, b) = prod_{j=-b}^{a} (n+j)
  d = 8 D_2^2 [6 a_1 a_2 + D_1^2 + 3(a_1+a_2) + 2] / [(D_1^2-1)(D_1^2-4) h_11 h_12 h_21 h_22]                 D_1 > D_2
  d = (2/K^2) (1 - 4D a_2(a_1+1)/[(D+1)(D+2)(K^2-D^2)]) - [D = 1] 2 a_1 b_1/[K^2 (K^2-1)]                     D_1 = D_2 = D

where D_1 and D_2 have the same parity. Status V, equal to the loop equations for k <= 9, all n; the derivation rests on rational
identities that were checked at random points in two prime fields.
"""

from __future__ import annotations

import math

import numpy as np
from flint import fmpq, fmpz

from signalprop._numba import kernel


def fourth_moment(n: int, k: int) -> fmpq:
    """E||W^k x||^4 as a fraction, k >= 1."""
    size = k + 1
    rise, fall = [fmpz(n)], [fmpz(1)]  # w(a, b) = rise[a] fall[b]
    for j in range(1, 2 * size):
        rise.append(rise[-1] * (n + j))
        fall.append(fall[-1] * (n - j))
    total = fmpq(0)
    for b in range(min(size, n)):
        a = 2 * size - 1 - b
        total += fmpq(2 * k * rise[a] * fall[b], size * a * (a - 1))
    for d1 in range(1, 2 * size):
        for d2 in range(2 - d1 % 2, d1 + 1, 2):
            rest = (2 * size - 2 - d1 - d2) // 2
            part = fmpq(0)
            for a2 in range(max(0, rest + d2 - n + 1), rest + 1):
                b2 = rest - a2
                numerator, denominator = _coefficient(size, a2 + d1, a2, b2 + d2, b2)
                part += fmpq(rise[a2 + d1] * rise[a2] * fall[b2 + d2] * fall[b2] * numerator, denominator)
            total += part
    return total / (fmpz(n) ** (2 * k + 1) * (n + 1))


def _coefficient(size: int, a1: int, a2: int, b1: int, b2: int) -> tuple[int, int]:
    d1, d2 = a1 - a2, b1 - b2
    if d1 > d2:
        hooks = (a1 + b1 + 1) * (a1 + b2 + 1) * (a2 + b1 + 1) * (a2 + b2 + 1)
        return 8 * d2**2 * (6 * a1 * a2 + d1**2 + 3 * (a1 + a2) + 2), (d1**2 - 1) * (d1**2 - 4) * hooks
    above = (d1 + 1) * (d1 + 2) * (size**2 - d1**2)
    numerator, denominator = 2 * (above - 4 * d1 * a2 * (a1 + 1)), size**2 * above
    if d1 == 1:
        numerator, denominator = (
            numerator * (size**2 - 1) - 2 * a1 * b1 * above,
            denominator * (size**2 - 1),
        )
    return numerator, denominator


@kernel
def log_fourth_moment_kernel(n, k):  # type: ignore[no-untyped-def]
    """Log of E||W^k x||^4 for a float n and k >= 1, from the logs of the products w, each factor divided by n."""
    size = k + 1
    rise, fall = np.zeros(2 * size), np.zeros(2 * size)
    for j in range(1, 2 * size):
        rise[j] = rise[j - 1] + math.log1p(j / n)
        fall[j] = fall[j - 1] + math.log1p(-j / n) if j < n else -np.inf
    top = rise[2 * size - 1]  # the largest product of all: log rise is convex
    total = 0.0
    for b in range(size):
        a = 2.0 * size - 1.0 - b
        total += 2.0 * k / (size * a * (a - 1.0)) * math.exp(rise[2 * size - 1 - b] + fall[b] - top)
    square = float(size) ** 2
    for d1 in range(1, 2 * size):
        for d2 in range(2 - d1 % 2, d1 + 1, 2):
            rest = (2 * size - 2 - d1 - d2) // 2
            above = (d1 + 1.0) * (d1 + 2.0) * (square - float(d1) ** 2)
            below = (float(d1) ** 2 - 1.0) * (float(d1) ** 2 - 4.0)
            for a2 in range(rest + 1):
                b2 = rest - a2
                weight = rise[a2 + d1] + rise[a2] + fall[b2 + d2] + fall[b2] - top
                if weight < -60.0:
                    continue
                x, y, u, v = float(a2 + d1), float(a2), float(b2 + d2), float(b2)
                if d1 > d2:
                    hooks = (x + u + 1.0) * (x + v + 1.0) * (y + u + 1.0) * (y + v + 1.0)
                    d = 8.0 * d2 * d2 * (6.0 * x * y + d1 * d1 + 3.0 * (x + y) + 2.0) / (below * hooks)
                else:
                    d = 2.0 / square * (1.0 - 4.0 * d1 * y * (x + 1.0) / above)
                    if d1 == 1:
                        d -= 2.0 * x * u / (square * (square - 1.0))
                total += d * math.exp(weight)
    return top + math.log(total) - math.log1p(1.0 / n)
