"""Exact energies of 2 x 2 real Gaussian weights, by a route that shares nothing with the package.

G = (x I + N)/sqrt(2) with N = y J + u S_1 + v S_2 (J the quarter turn, S_1 and S_2 two reflections) and x, y, u, v independent
standard normal. N^2 = D I with D = r^2 - y^2, r^2 = u^2 + v^2, so that 2^{k/2} G^k = P I + R N with
P = sum_j C(k, 2j) x^{k-2j} D^j and R = sum_j C(k, 2j+1) x^{k-2j-1} D^j; tr N = 0 and tr N N^T = 2 (r^2 + y^2). E r^{2i} = 2^i i!.
"""

from fractions import Fraction
from functools import cache
from math import comb, factorial


def rnn_energy(k: int) -> Fraction:
    """E tr[G^k (G^k)^T] / 2^{k+1}, with entries of G of variance 1."""
    even, odd = ([comb(k, 2 * j + shift) for j in range((k - shift) // 2 + 1)] for shift in (0, 1))
    p = sum(c * normal(k - m) * mean_power(m) for m, c in enumerate(squared(even)))
    r = sum(c * normal(k - 1 - m) * mean_power_times_length(m) for m, c in enumerate(squared(odd)))
    return Fraction(2 * (p + r), 2**k * 2 ** (k + 1))


def squared(polynomial: list[int]) -> list[int]:
    out = [0] * max(0, 2 * len(polynomial) - 1)
    for i, a in enumerate(polynomial):
        for j, b in enumerate(polynomial):
            out[i + j] += a * b
    return out


@cache
def normal(m: int) -> int:
    """E x^{2m} = (2m-1)!!."""
    return factorial(2 * m) // (factorial(m) << m)


@cache
def length(i: int) -> int:
    """E r^{2i}."""
    return factorial(i) << i


@cache
def mean_power(m: int) -> int:
    """E D^m."""
    return sum(comb(m, i) * (-1) ** (m - i) * length(i) * normal(m - i) for i in range(m + 1))


@cache
def mean_power_times_length(m: int) -> int:
    """E D^m (r^2 + y^2)."""
    return sum(
        comb(m, i) * (-1) ** (m - i) * (length(i + 1) * normal(m - i) + length(i) * normal(m - i + 1))
        for i in range(m + 1)
    )
