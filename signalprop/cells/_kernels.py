"""Paths of one draw: states, slopes of each step, a tangent carried forward and a gradient carried back.

One step of every cell, linearised, is

    carried' = keep * carried + sum over gates of through_g * (W_g d),

where d is what the weights meet: h in all cells. Cells with one state carry h itself. An LSTM carries c, its output gate is left
out of that sum, and dh' = read * dc' + through_o * (W_o dh). `coefficients` of a step has keep, read and the through_g as rows.
"""

from __future__ import annotations

import math

import numpy as np

from signalprop._numba import kernel
from signalprop.cells.catalogue import ERF, GRU, HARDTANH, LSTM, RECTIFIER, SILU, TANH

_REORDER = {"reassoc", "contract", "nsz"}  # sums in any order: lanes of a processor each add up a part
_LARGEST = 1e300
_ROOT_HALF, _TWO_OVER_ROOT_PI, _ONE_OVER_ROOT_TWO_PI = (
    math.sqrt(0.5),
    2.0 / math.sqrt(math.pi),
    0.5 / math.sqrt(0.5 * math.pi),
)


@kernel
def _tanh_kernel(a):  # type: ignore[no-untyped-def]
    """Value of tanh and slope, which keeps its digits where tanh is nearly 1."""
    value = math.tanh(a)
    if abs(value) < 0.9:
        return value, (1.0 - value) * (1.0 + value)
    decay = math.exp(-2.0 * abs(a))
    return value, 4.0 * decay / (1.0 + decay) ** 2


@kernel
def _sigmoid_kernel(a):  # type: ignore[no-untyped-def]
    """The gate and 1 minus it, each with its digits."""
    decay = math.exp(-abs(a))
    large, small = 1.0 / (1.0 + decay), decay / (1.0 + decay)
    return (large, small) if a >= 0.0 else (small, large)


@kernel
def _activation_kernel(code, below, a):  # type: ignore[no-untyped-def]
    """Value and slope of the activation of a cell with one gate; `below` is the slope of a rectifier below zero."""
    if code == TANH:
        return _tanh_kernel(a)
    if code == RECTIFIER:
        return (a, 1.0) if a > 0.0 else (below * a, below)
    if code == HARDTANH:
        return min(max(a, -1.0), 1.0), 1.0 if abs(a) < 1.0 else 0.0
    if code == ERF:
        return math.erf(a), _TWO_OVER_ROOT_PI * math.exp(-a * a)
    if code == SILU:
        gate, rest = _sigmoid_kernel(a)
        return a * gate, gate * (1.0 + a * rest)
    share = 0.5 * math.erfc(-a * _ROOT_HALF)  # GELU
    return a * share, share + a * _ONE_OVER_ROOT_TWO_PI * math.exp(-0.5 * a * a)


@kernel(fastmath=_REORDER)
def _product_kernel(w, x, p):  # type: ignore[no-untyped-def]
    """Write W x into p."""
    rows, n = w.shape
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        a0 = a1 = a2 = a3 = 0.0
        for j in range(n):
            u = x[j]
            a0 += w[i, j] * u
            a1 += w[i + 1, j] * u
            a2 += w[i + 2, j] * u
            a3 += w[i + 3, j] * u
        p[i], p[i + 1], p[i + 2], p[i + 3] = a0, a1, a2, a3
    for i in range(whole, rows):
        a0 = 0.0
        for j in range(n):
            a0 += w[i, j] * x[j]
        p[i] = a0


@kernel(fastmath=_REORDER)
def _products_kernel(w, x, y, p, q):  # type: ignore[no-untyped-def]
    """Write W x into p and W y into q, in one pass over W, which is what takes the time."""
    rows, n = w.shape
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
        for j in range(n):
            u, v = x[j], y[j]
            a0 += w[i, j] * u
            b0 += w[i, j] * v
            a1 += w[i + 1, j] * u
            b1 += w[i + 1, j] * v
            a2 += w[i + 2, j] * u
            b2 += w[i + 2, j] * v
            a3 += w[i + 3, j] * u
            b3 += w[i + 3, j] * v
        p[i], p[i + 1], p[i + 2], p[i + 3] = a0, a1, a2, a3
        q[i], q[i + 1], q[i + 2], q[i + 3] = b0, b1, b2, b3
    for i in range(whole, rows):
        a0 = b0 = 0.0
        for j in range(n):
            a0 += w[i, j] * x[j]
            b0 += w[i, j] * y[j]
        p[i], q[i] = a0, b0


@kernel(fastmath=_REORDER)
def _transposed_kernel(w, m, out):  # type: ignore[no-untyped-def]
    """Add W^T m to `out`."""
    rows, n = w.shape
    whole = rows - rows % 4
    for i in range(0, whole, 4):
        c0, c1, c2, c3 = m[i], m[i + 1], m[i + 2], m[i + 3]
        for j in range(n):
            out[j] += c0 * w[i, j] + c1 * w[i + 1, j] + c2 * w[i + 2, j] + c3 * w[i + 3, j]
    for i in range(whole, rows):
        for j in range(n):
            out[j] += m[i] * w[i, j]


@kernel(fastmath=_REORDER)
def _fresh_products_kernel(normals, std, x, y, p, q):  # type: ignore[no-untyped-def]
    """What a fresh Gaussian W gives: (W x)_i and (W y)_i are Gaussian with the covariances of x and y, times std^2."""
    xx = yy = xy = 0.0
    for j in range(x.size):
        xx += x[j] * x[j]
        yy += y[j] * y[j]
        xy += x[j] * y[j]
    along = xy / math.sqrt(xx) if xx > 0.0 else 0.0
    across = math.sqrt(max(yy - along * along, 0.0))
    length = math.sqrt(xx)
    for i in range(p.size):
        p[i] = std * length * normals[0, i]
        q[i] = std * (along * normals[0, i] + across * normals[1, i])


@kernel
def _rescaled_kernel(d, e):  # type: ignore[no-untyped-def]
    """Divide (d, e) by its length, and return twice the logarithm of that; -inf, and nothing is divided, at length zero."""
    largest = 0.0
    for j in range(d.size):
        largest = max(largest, abs(d[j]))
    for j in range(e.size):
        largest = max(largest, abs(e[j]))
    if largest == 0.0:
        return -np.inf
    total = 0.0
    for j in range(d.size):
        total += (abs(d[j]) / largest) ** 2
    for j in range(e.size):
        total += (abs(e[j]) / largest) ** 2
    length = largest * math.sqrt(total)
    for j in range(d.size):
        d[j] /= length
    for j in range(e.size):
        e[j] /= length
    return 2.0 * math.log(largest) + math.log(total)


@kernel
def _step_kernel(code, leak, below, x, p, hidden, h, c, out):  # type: ignore[no-untyped-def]
    """One step of the states, in place, and its coefficients; False once a state is beyond the floats.

    x is what inputs and biases add per gate, p the products W_g h one after the other, `hidden` the bias that a reset gate meets.
    """
    n, inside = h.size, True
    for i in range(n):
        if code == GRU:  # r, z, n
            r, r_rest = _sigmoid_kernel(x[0, i] + p[i])
            z, z_rest = _sigmoid_kernel(x[1, i] + p[n + i])
            y = p[2 * n + i] + hidden[i]
            k, slope = _tanh_kernel(x[2, i] + r * y)
            out[0, i] = z
            out[2, i] = z_rest * slope * r * r_rest * y
            out[3, i] = z * z_rest * (h[i] - k)
            out[4, i] = z_rest * slope * r
            h[i] = z_rest * k + z * h[i]
        elif code == LSTM:  # i, f, g, o
            a, a_rest = _sigmoid_kernel(x[0, i] + p[i])
            f, f_rest = _sigmoid_kernel(x[1, i] + p[n + i])
            k, slope = _tanh_kernel(x[2, i] + p[2 * n + i])
            o, o_rest = _sigmoid_kernel(x[3, i] + p[3 * n + i])
            out[0, i] = f
            out[2, i] = a * a_rest * k
            out[3, i] = f * f_rest * c[i]
            out[4, i] = a * slope
            c[i] = f * c[i] + a * k
            shown, shown_slope = _tanh_kernel(c[i])
            out[1, i] = o * shown_slope
            out[5, i] = o * o_rest * shown
            h[i] = o * shown
        else:
            value, slope = _activation_kernel(code, below, x[0, i] + p[i])
            out[0, i] = 1.0 - leak
            out[2, i] = leak * slope
            h[i] = (1.0 - leak) * h[i] + leak * value
            inside = inside and abs(h[i]) < _LARGEST
    return inside


@kernel
def _tangent_kernel(code, coefficients, q, dh, dc):  # type: ignore[no-untyped-def]
    """The tangent after a step, in place, from q = W_g dh one after the other."""
    n = dh.size
    for i in range(n):
        if code == LSTM:
            dc[i] = (
                coefficients[0, i] * dc[i]
                + coefficients[2, i] * q[i]
                + coefficients[3, i] * q[n + i]
                + coefficients[4, i] * q[2 * n + i]
            )
            dh[i] = coefficients[1, i] * dc[i] + coefficients[5, i] * q[3 * n + i]
        else:
            dh[i] *= coefficients[0, i]
            for g in range(coefficients.shape[0] - 2):
                dh[i] += coefficients[2 + g, i] * q[g * n + i]


@kernel
def forward_kernel(code, leak, below, w, normals, std, inputs, hidden, h, c, dh, dc, total, logs, stop):  # type: ignore[no-untyped-def]
    """States and tangent over the steps of `inputs`, in place; `logs` are log-energies after each, from `total` on.

    Without `normals` the weights are w; with them, a fresh Gaussian W of standard deviation `std` at each step. Returns the
    number of steps after which the states were still finite.
    """
    steps, gates, n = inputs.shape
    p, q, coefficients = np.empty(gates * n), np.empty(gates * n), np.empty((2 + gates, n))
    for t in range(steps):
        if stop[0]:
            return t
        if normals.shape[0] > 0:
            _fresh_products_kernel(normals[t], std, h, dh, p, q)
        else:
            _products_kernel(w, h, dh, p, q)
        if not _step_kernel(code, leak, below, inputs[t], p, hidden, h, c, coefficients):
            return t
        if total > -np.inf:
            _tangent_kernel(code, coefficients, q, dh, dc)
            total += _rescaled_kernel(dh, dc)
        logs[t] = total
    return steps


@kernel
def states_kernel(code, leak, below, w, inputs, hidden, h, c, coefficients, stop):  # type: ignore[no-untyped-def]
    """States over the steps of `inputs`, in place, and the coefficients of each step; returns as `forward_kernel`."""
    steps, gates, n = inputs.shape
    p = np.empty(gates * n)
    for t in range(steps):
        if stop[0]:
            return t
        _product_kernel(w, h, p)
        if not _step_kernel(code, leak, below, inputs[t], p, hidden, h, c, coefficients[t]):
            return t
    return steps


@kernel
def backward_kernel(code, w, coefficients, dh, dc, total, logs, stop):  # type: ignore[no-untyped-def]
    """A gradient over the steps of `coefficients`, from the last to the first, in place; `logs` in the order of going back."""
    steps, rows, n = coefficients.shape
    gates = rows - 2
    m, before = np.empty(gates * n), np.empty(n)
    for back in range(steps):
        if stop[0]:
            return
        one = coefficients[steps - 1 - back]
        if total > -np.inf:
            for i in range(n):
                if code == LSTM:
                    dc[i] += one[1, i] * dh[i]
                    m[i], m[n + i], m[2 * n + i] = one[2, i] * dc[i], one[3, i] * dc[i], one[4, i] * dc[i]
                    m[3 * n + i] = one[5, i] * dh[i]
                    dc[i] *= one[0, i]
                    before[i] = 0.0
                else:
                    for g in range(gates):
                        m[g * n + i] = one[2 + g, i] * dh[i]
                    before[i] = one[0, i] * dh[i]
            _transposed_kernel(w, m, before)
            dh[:] = before
            total += _rescaled_kernel(dh, dc)
        logs[back] = total


@kernel
def linear_kernel(leak, w, normals, std, d, total, logs, stop):  # type: ignore[no-untyped-def]
    """A tangent of h' = (1 - leak) h + leak W h, real or complex, in place; a gradient if w is transposed."""
    p, none = np.empty_like(d), np.empty_like(d[:0])
    for t in range(logs.size):
        if stop[0]:
            return
        if total > -np.inf:
            if normals.shape[0] > 0:  # d has length 1
                p[:] = std * normals[t]
            else:
                _product_kernel(w, d, p)
            for i in range(d.size):
                d[i] = (1.0 - leak) * d[i] + leak * p[i]
            total += _rescaled_kernel(d, none)
        logs[t] = total
