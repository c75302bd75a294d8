"""Kernels for log Q_{n,k}, real and quaternion weights: the sum over partitions (a, b, 1^c) of k+1, O(k^2) per value.

MATH: M^R_k = (1/(2k+1)) prod_{j<=k}(n+2j) + sum d(a,b,c) prod_{j<a}(n+2j) prod_{j<b}(n-1+2j) prod_{i<=c}(n-1-i).
Divided factor by factor by n the three products become prefix products p_a, q_b, s_c that all k share. With
K = k+1, D = a-b and e = K-D = 2b+c the denominator of d depends on (K, D) alone and its numerator collapses to
a *linear* function of b,

    P = 2e(2D-1)(4D+e+3) + 8b(e^2 + 2De - 2D^2 - 3D),          d(D=0) = 2(3K+1-4b) / (3(K^2-1)),

so that one pass over b needs the two sums of p q s and of b p q s only. (Expand P with a = b+D, c = e-2b.)
A common factor exp(-theta), theta = (log of the largest product of K factors)/K, is given to every factor; it
cancels because a+b+c = K, and by log-convexity of the growing products nothing overflows and only terms below
1e-300 of the total underflow.

Plain Python here; `signalprop.energy._compiled` holds the same functions compiled.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def prefix_kernel(offset: float, step: float, scale: float, out: Floats) -> None:
    """out[a] = sum_{j<a} log(1 + (offset + step j)/scale), compensated; -inf from the first factor <= 0 on."""
    total = 0.0
    lost = 0.0
    out[0] = 0.0
    for a in range(1, out.size):
        shift = (offset + step * (a - 1)) / scale
        if shift <= -1.0:
            out[a:] = -np.inf
            return
        term = math.log1p(shift) - lost
        new_total = total + term
        lost = (new_total - total) - term
        total = new_total
        out[a] = total


def prefix_logs_kernel(n: float, quaternion: bool, size: int) -> Floats:
    """Logs of p_a, q_b, s_c for indices 0..size-1, as a (3, size) array."""
    logs = np.empty((3, size))
    if quaternion:
        prefix_kernel(0.0, -1.0, n, logs[0])
        prefix_kernel(1.0, -2.0, 2.0 * n, logs[1])
        prefix_kernel(2.0, 1.0, 2.0 * n, logs[2])
    else:
        prefix_kernel(0.0, 2.0, n, logs[0])
        prefix_kernel(-1.0, 2.0, n, logs[1])
        prefix_kernel(-2.0, -1.0, n, logs[2])
    return logs


def two_sums_kernel(p: Floats, q: Floats, s: Floats, count: int) -> tuple[float, float]:
    """sum_b p[b] q[b] s[count-b] and sum_b b p[b] q[b] s[count-b], b = 1..count."""
    terms = p[1 : count + 1] * q[1 : count + 1] * s[:count][::-1]
    return float(terms.sum()), float(terms @ np.arange(1.0, count + 1.0))


def two_sums_loop_kernel(p: Floats, q: Floats, s: Floats, count: int) -> tuple[float, float]:
    """`two_sums_kernel` in the form that is compiled: it makes no arrays."""
    plain = 0.0
    weighted = 0.0
    for b in range(1, count + 1):
        term = p[b] * q[b] * s[count - b]
        plain += term
        weighted += b * term
    return plain, weighted


def zonal_log_q_kernel(logs: Floats, k: int) -> float:
    """Log Q_{n,k} from the prefix logs (all fields of shape (3, size), size >= k+2)."""
    if k < 2:
        return 0.0
    size = k + 1  # K
    top = float(max(logs[0, size], logs[2, size]))
    theta = top / size
    p = np.empty(size + 1)
    q = np.empty(size + 1)
    s_even = np.empty(size // 2 + 1)
    s_odd = np.empty(size // 2 + 1)
    for a in range(size + 1):
        p[a] = math.exp(logs[0, a] - a * theta)
        q[a] = math.exp(logs[1, a] - a * theta)
        value = math.exp(logs[2, a] - a * theta)
        if a % 2 == 0:
            s_even[a // 2] = value
        else:
            s_odd[a // 2] = value
    total = p[size] / (2.0 * k + 1.0)
    big = np.float64(size)
    for gap in range(size - 1):  # D = a - b
        e = size - gap
        count = e // 2
        s = s_even if e % 2 == 0 else s_odd
        plain, weighted = two_sums_kernel(p[gap:], q, s, count)
        if gap == 0:
            total += ((6.0 * big + 2.0) * plain - 8.0 * weighted) / (3.0 * (big - 1.0) * (big + 1.0))
        else:
            d = np.float64(gap)
            f = np.float64(e)
            constant = 2.0 * f * (2.0 * d - 1.0) * (4.0 * d + f + 3.0)
            slope = 8.0 * (f * f + 2.0 * d * f - 2.0 * d * d - 3.0 * d)
            total += (
                (constant * plain + slope * weighted)
                / ((2.0 * d + 3.0) * (2.0 * d - 1.0))
                / ((big + d) * (big + d + 1.0))
                / ((f - 1.0) * f)
            )
    return top + math.log(total)


def zonal_log_q_many_kernel(logs: Floats, k: Ints, out: Floats) -> None:
    """out[i] = log Q at one n for each k[i]."""
    for i in range(k.size):
        out[i] = zonal_log_q_kernel(logs, k[i])
