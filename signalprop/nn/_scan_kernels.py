"""The recurrence y_t = a_t y_{t-1} + x_t and its adjoint, compiled, for numbers that are one or two real parts.

Arrays are C-contiguous, time is the middle axis. Coefficients have length one along batch or time where they do not vary
there. Two parts (re, im) of a number lie side by side, as in a complex array. A call does the batch items ``rows`` and
the numbers ``columns``; different calls touch different memory.
"""

from __future__ import annotations

import numpy as np

from signalprop._numba import kernel

# Steps of the adjoint that stay in cache. Memory is read in blocks of them forward in time, which processors prefetch, and
# only the recursion inside a block runs backward. Sums over time come block by block, with smaller rounding errors.
_BLOCK = 64


@kernel(fastmath={"contract"})
def real_scan_kernel(a, x, initial, y, rows, columns):  # type: ignore[no-untyped-def]
    """Write y."""
    lo, hi = columns
    state = np.empty(hi - lo, y.dtype)
    for b in range(*rows):
        a_b = a[b if a.shape[0] > 1 else 0]
        state[:] = initial[b, lo:hi]
        for t in range(x.shape[1]):
            a_t, x_t, y_t = a_b[t if a_b.shape[0] > 1 else 0, lo:hi], x[b, t, lo:hi], y[b, t, lo:hi]
            for n in range(hi - lo):
                value = a_t[n] * state[n] + x_t[n]
                state[n] = value
                y_t[n] = value


@kernel(fastmath={"contract"})
def pair_scan_kernel(a, x, initial, y, rows, columns):  # type: ignore[no-untyped-def]
    """Write y, for numbers of two parts."""
    lo, hi = 2 * columns[0], 2 * columns[1]
    count = columns[1] - columns[0]
    state = np.empty(hi - lo, y.dtype)
    for b in range(*rows):
        a_b = a[b if a.shape[0] > 1 else 0]
        state[:] = initial[b, lo:hi]
        for t in range(x.shape[1]):
            a_t, x_t, y_t = a_b[t if a_b.shape[0] > 1 else 0, lo:hi], x[b, t, lo:hi], y[b, t, lo:hi]
            for n in range(count):
                re = a_t[2 * n] * state[2 * n] - a_t[2 * n + 1] * state[2 * n + 1] + x_t[2 * n]
                im = a_t[2 * n] * state[2 * n + 1] + a_t[2 * n + 1] * state[2 * n] + x_t[2 * n + 1]
                state[2 * n] = re
                state[2 * n + 1] = im
                y_t[2 * n] = re
                y_t[2 * n + 1] = im


@kernel(fastmath={"contract"})
def real_adjoint_kernel(a, y, initial, g, to_a, to_x, to_initial, rows, columns):  # type: ignore[no-untyped-def]
    """Write the gradients of all three arguments, given the gradient g of y; `to_a` is not yet summed over the batch."""
    lo, hi = columns
    varies, steps = to_a.shape[1] > 1, y.shape[1]
    carried = np.empty(hi - lo, y.dtype)
    total = np.empty(hi - lo, y.dtype)
    for b in range(*rows):
        a_b = a[b if a.shape[0] > 1 else 0]
        carried[:] = 0.0
        to_a[b, :, lo:hi] = 0.0
        for last in range(steps, 0, -_BLOCK):
            first = max(0, last - _BLOCK)
            for t in range(first, last):
                g_t, x_t = g[b, t, lo:hi], to_x[b, t, lo:hi]
                for n in range(hi - lo):
                    x_t[n] = g_t[n]
            for t in range(last - 1, first - 1, -1):
                a_t, x_t = a_b[t if a_b.shape[0] > 1 else 0, lo:hi], to_x[b, t, lo:hi]
                for n in range(hi - lo):
                    value = x_t[n] + carried[n]
                    x_t[n] = value
                    carried[n] = a_t[n] * value
            total[:] = 0.0
            for t in range(first, last):
                x_t, before = to_x[b, t, lo:hi], y[b, t - 1, lo:hi] if t > 0 else initial[b, lo:hi]
                for n in range(hi - lo):
                    total[n] += x_t[n] * before[n]
                if varies:
                    to_a[b, t, lo:hi] = total
                    total[:] = 0.0
            if not varies:
                to_a[b, 0, lo:hi] += total
        to_initial[b, lo:hi] = carried


@kernel(fastmath={"contract"})
def pair_adjoint_kernel(a, y, initial, g, to_a, to_x, to_initial, rows, columns):  # type: ignore[no-untyped-def]
    """As `real_adjoint_kernel` for numbers of two parts: the same with conj(a) and conj(y)."""
    lo, hi = 2 * columns[0], 2 * columns[1]
    varies, steps = to_a.shape[1] > 1, y.shape[1]
    carried = np.empty(hi - lo, y.dtype)
    total = np.empty(hi - lo, y.dtype)
    for b in range(*rows):
        a_b = a[b if a.shape[0] > 1 else 0]
        carried[:] = 0.0
        to_a[b, :, lo:hi] = 0.0
        for last in range(steps, 0, -_BLOCK):
            first = max(0, last - _BLOCK)
            for t in range(first, last):
                g_t, x_t = g[b, t, lo:hi], to_x[b, t, lo:hi]
                for n in range(hi - lo):
                    x_t[n] = g_t[n]
            for t in range(last - 1, first - 1, -1):
                a_t, x_t = a_b[t if a_b.shape[0] > 1 else 0, lo:hi], to_x[b, t, lo:hi]
                for n in range(0, hi - lo, 2):
                    re = x_t[n] + carried[n]
                    im = x_t[n + 1] + carried[n + 1]
                    x_t[n] = re
                    x_t[n + 1] = im
                    carried[n] = a_t[n] * re + a_t[n + 1] * im
                    carried[n + 1] = a_t[n] * im - a_t[n + 1] * re
            total[:] = 0.0
            for t in range(first, last):
                x_t, before = to_x[b, t, lo:hi], y[b, t - 1, lo:hi] if t > 0 else initial[b, lo:hi]
                for n in range(0, hi - lo, 2):
                    total[n] += x_t[n] * before[n] + x_t[n + 1] * before[n + 1]
                    total[n + 1] += x_t[n + 1] * before[n] - x_t[n] * before[n + 1]
                if varies:
                    to_a[b, t, lo:hi] = total
                    total[:] = 0.0
            if not varies:
                to_a[b, 0, lo:hi] += total
        to_initial[b, lo:hi] = carried
