r"""Width-free sampler of the path ||W^k' x|| / ||x||, k' = 0..k: its cost does not depend on n.

Householder (Arnoldi) reflections turn W, started at x, into an upper Hessenberg matrix H without changing the law:
||W^k x||/||x|| has the law of ||H^k e_1||, where sqrt(n) H has independent entries, Gaussian of the field with
E|.|^2 = 1 on and above the diagonal, and H_{j+1,j} (j = 1, 2, ..) has squared modulus chi^2_{n-j} (real),
Gamma(n-j) (complex), chi^2_{4(n-j)}/4 (quaternion), zero once j >= n. Status P.

The state is carried as a unit vector and the log of its norm, so nothing overflows. H^k e_1 lives in the first
min(k+1, n) coordinates; the cost is O(k min(k,n)^2) flops and O(min(k,n)^2) random numbers a sample.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from signalprop.fields import Field

_CHUNK_NUMBERS = 1 << 18
_LARGEST_NUMBERS = 1 << 27
_FAST = {"reassoc", "contract", "nsz"}


def samples_per_chunk(n: int, k: int, field: Field) -> int:
    """Samples of one chunk: a function of the cell alone, so that the digits never depend on the workers.

    Raises
    ------
    ValueError
        If the random numbers of a single sample would take more than 1 GiB.
    """
    numbers = field.beta * _entries(min(k, n))
    if numbers > _LARGEST_NUMBERS:
        raise ValueError(
            f"k must be at most {_largest_k(field)} for method='krylov' with {field.value} weights (1 GiB a sample), "
            f"got {k}; use signalprop.rnn_energy for the exact mean."
        )
    return max(1, min(512, _CHUNK_NUMBERS // max(1, numbers)))


def draw_chunk(n: int, k: int, field: Field, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Log-norms ``log ||W^k' x||/||x||`` of `count` samples, shape (count, k+1)."""
    out = np.zeros((count, k + 1))
    columns = min(k, n)
    if columns == 0:
        return out
    normals = rng.standard_normal((field.beta, count, _entries(columns)))
    # In units where each part of a Gaussian entry has variance one: |H_{j+1,j}|^2 ~ chi^2 with beta (n-j) degrees.
    shape = 0.5 * field.beta * (n - 1.0 - np.arange(columns))
    below = np.sqrt(2.0 * rng.standard_gamma(shape, size=(count, columns)))
    step_log = -0.5 * math.log(field.beta * n)
    kernel: Any = {"real": _real_kernel, "complex": _complex_kernel, "quaternion": _quaternion_kernel}[field.value]
    kernel(k, *normals, below, step_log, out)
    return out


def _entries(columns: int) -> int:
    return columns * (columns + 1) // 2


def _largest_k(field: Field) -> int:
    return math.isqrt(2 * _LARGEST_NUMBERS // field.beta) - 1


# Column j of H is stored at j(j+1)/2 .. +j (rows 0..j, the diagonal last); the entry below the diagonal is below[j].
# Four columns are taken at once, so that the running vector is read and written once for four multiply-adds.


@njit(nogil=True, cache=True, fastmath=_FAST)
def _real_kernel(k, h_all, below_all, step_log, out):  # type: ignore[no-untyped-def]
    columns = below_all.shape[1]
    x = np.zeros(columns + 4)
    y = np.zeros(columns + 4)
    for sample in range(out.shape[0]):
        h = h_all[sample]
        below = below_all[sample]
        x[:] = 0.0
        x[0] = 1.0
        log_norm = 0.0
        for step in range(1, k + 1):
            active = min(step, columns)
            y[: active + 1] = 0.0
            j = 0
            while j + 4 <= active:
                start = j * (j + 1) // 2
                c0 = h[start : start + j + 1]
                start += j + 1
                c1 = h[start : start + j + 2]
                start += j + 2
                c2 = h[start : start + j + 3]
                start += j + 3
                c3 = h[start : start + j + 4]
                x0, x1, x2, x3 = x[j], x[j + 1], x[j + 2], x[j + 3]
                for i in range(j + 1):
                    y[i] += x0 * c0[i] + x1 * c1[i] + x2 * c2[i] + x3 * c3[i]
                y[j + 1] += x0 * below[j] + x1 * c1[j + 1] + x2 * c2[j + 1] + x3 * c3[j + 1]
                y[j + 2] += x1 * below[j + 1] + x2 * c2[j + 2] + x3 * c3[j + 2]
                y[j + 3] += x2 * below[j + 2] + x3 * c3[j + 3]
                y[j + 4] += x3 * below[j + 3]
                j += 4
            while j < active:
                start = j * (j + 1) // 2
                c0 = h[start : start + j + 1]
                x0 = x[j]
                for i in range(j + 1):
                    y[i] += x0 * c0[i]
                y[j + 1] += x0 * below[j]
                j += 1
            square = 0.0
            for i in range(active + 1):
                square += y[i] * y[i]
            log_norm += 0.5 * math.log(square) + step_log
            out[sample, step] = log_norm
            inverse = 1.0 / math.sqrt(square)
            for i in range(active + 1):
                x[i] = y[i] * inverse


@njit(nogil=True, cache=True, fastmath=_FAST)
def _complex_kernel(k, re_all, im_all, below_all, step_log, out):  # type: ignore[no-untyped-def]
    columns = below_all.shape[1]
    xr, xi = np.zeros(columns + 4), np.zeros(columns + 4)
    yr, yi = np.zeros(columns + 4), np.zeros(columns + 4)
    for sample in range(out.shape[0]):
        re, im = re_all[sample], im_all[sample]
        below = below_all[sample]
        xr[:] = 0.0
        xi[:] = 0.0
        xr[0] = 1.0
        log_norm = 0.0
        for step in range(1, k + 1):
            active = min(step, columns)
            yr[: active + 1] = 0.0
            yi[: active + 1] = 0.0
            j = 0
            while j + 4 <= active:
                start = j * (j + 1) // 2
                r0, m0 = re[start : start + j + 1], im[start : start + j + 1]
                start += j + 1
                r1, m1 = re[start : start + j + 2], im[start : start + j + 2]
                start += j + 2
                r2, m2 = re[start : start + j + 3], im[start : start + j + 3]
                start += j + 3
                r3, m3 = re[start : start + j + 4], im[start : start + j + 4]
                a0, a1, a2, a3 = xr[j], xr[j + 1], xr[j + 2], xr[j + 3]
                b0, b1, b2, b3 = xi[j], xi[j + 1], xi[j + 2], xi[j + 3]
                for i in range(j + 1):
                    yr[i] += (
                        a0 * r0[i]
                        - b0 * m0[i]
                        + a1 * r1[i]
                        - b1 * m1[i]
                        + a2 * r2[i]
                        - b2 * m2[i]
                        + a3 * r3[i]
                        - b3 * m3[i]
                    )
                    yi[i] += (
                        a0 * m0[i]
                        + b0 * r0[i]
                        + a1 * m1[i]
                        + b1 * r1[i]
                        + a2 * m2[i]
                        + b2 * r2[i]
                        + a3 * m3[i]
                        + b3 * r3[i]
                    )
                i = j + 1
                yr[i] += a0 * below[j] + a1 * r1[i] - b1 * m1[i] + a2 * r2[i] - b2 * m2[i] + a3 * r3[i] - b3 * m3[i]
                yi[i] += b0 * below[j] + a1 * m1[i] + b1 * r1[i] + a2 * m2[i] + b2 * r2[i] + a3 * m3[i] + b3 * r3[i]
                i = j + 2
                yr[i] += a1 * below[j + 1] + a2 * r2[i] - b2 * m2[i] + a3 * r3[i] - b3 * m3[i]
                yi[i] += b1 * below[j + 1] + a2 * m2[i] + b2 * r2[i] + a3 * m3[i] + b3 * r3[i]
                i = j + 3
                yr[i] += a2 * below[j + 2] + a3 * r3[i] - b3 * m3[i]
                yi[i] += b2 * below[j + 2] + a3 * m3[i] + b3 * r3[i]
                yr[j + 4] += a3 * below[j + 3]
                yi[j + 4] += b3 * below[j + 3]
                j += 4
            while j < active:
                start = j * (j + 1) // 2
                r0, m0 = re[start : start + j + 1], im[start : start + j + 1]
                a0, b0 = xr[j], xi[j]
                for i in range(j + 1):
                    yr[i] += a0 * r0[i] - b0 * m0[i]
                    yi[i] += a0 * m0[i] + b0 * r0[i]
                yr[j + 1] += a0 * below[j]
                yi[j + 1] += b0 * below[j]
                j += 1
            square = 0.0
            for i in range(active + 1):
                square += yr[i] * yr[i] + yi[i] * yi[i]
            log_norm += 0.5 * math.log(square) + step_log
            out[sample, step] = log_norm
            inverse = 1.0 / math.sqrt(square)
            for i in range(active + 1):
                xr[i] = yr[i] * inverse
                xi[i] = yi[i] * inverse


@njit(nogil=True, cache=True, fastmath=_FAST)
def _quaternion_kernel(k, p_all, q_all, r_all, s_all, below_all, step_log, out):  # type: ignore[no-untyped-def]
    """Entries p + qi + rj + sk multiply the vector from the left."""
    columns = below_all.shape[1]
    x = np.zeros((4, columns + 4))
    y = np.zeros((4, columns + 4))
    for sample in range(out.shape[0]):
        p_h, q_h, r_h, s_h = p_all[sample], q_all[sample], r_all[sample], s_all[sample]
        below = below_all[sample]
        x[:] = 0.0
        x[0, 0] = 1.0
        log_norm = 0.0
        y0, y1, y2, y3 = y[0], y[1], y[2], y[3]
        for step in range(1, k + 1):
            active = min(step, columns)
            y[:, : active + 1] = 0.0
            for j in range(active):
                start = j * (j + 1) // 2
                p, q = p_h[start : start + j + 1], q_h[start : start + j + 1]
                r, s = r_h[start : start + j + 1], s_h[start : start + j + 1]
                a, b, c, d = x[0, j], x[1, j], x[2, j], x[3, j]
                for i in range(j + 1):
                    y0[i] += p[i] * a - q[i] * b - r[i] * c - s[i] * d
                    y1[i] += p[i] * b + q[i] * a + r[i] * d - s[i] * c
                    y2[i] += p[i] * c - q[i] * d + r[i] * a + s[i] * b
                    y3[i] += p[i] * d + q[i] * c - r[i] * b + s[i] * a
                y0[j + 1] += below[j] * a
                y1[j + 1] += below[j] * b
                y2[j + 1] += below[j] * c
                y3[j + 1] += below[j] * d
            square = 0.0
            for i in range(active + 1):
                square += y0[i] * y0[i] + y1[i] * y1[i] + y2[i] * y2[i] + y3[i] * y3[i]
            log_norm += 0.5 * math.log(square) + step_log
            out[sample, step] = log_norm
            inverse = 1.0 / math.sqrt(square)
            for part in range(4):
                for i in range(active + 1):
                    x[part, i] = y[part, i] * inverse
