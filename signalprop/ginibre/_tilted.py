r"""Kernels: ``log ||Z^j e_1||`` of an upper Hessenberg Z, its gradient, and Hamiltonian moves that leave its tilt invariant.

A number of the field is beta real parts e_0 = 1, e_1 = i, e_2 = j, e_3 = k, each in a plane of its own, and
e_a e_b = _SIGN[a][b] e_{a xor b}; entries multiply from the left. With v_r = Z^r e_1/||Z^r e_1|| and l_r = ||Z v_{r-1}||,
backwards a_j = v_j and a_{r-1} = Z^* a_r / l_r, the gradient of log ||Z^j e_1|| is sum_r a_r v_{r-1}^* / l_r: two passes
over Z and one over the vectors, three times the flops of the norm alone.

The coordinates are the real parts of the Gaussian entries, and for each subdiagonal entry s, whose square is chi^2 with d
degrees of freedom, the number x with s = s_0 + x/omega: s_0 = sqrt(d-1) is the mode and omega^2 = 2 the curvature there
(d = 1: a normal, s_0 = 0 and omega = 1; its sign does not matter, a diagonal +-1 takes it to the entries above). In
these the law is nearly standard normal: a move rotates them and their momenta exactly, and kicks the momenta by the
gradient of the tilt and of the rest, so that its length does not shrink as the number of entries grows.

Planes have rows of `width` numbers; rows and columns past those in use are zero, as is everything below the subdiagonal.
"""

from __future__ import annotations

import math

import numpy as np

from signalprop._numba import kernel

_SIGN = np.array(((1.0, 1.0, 1.0, 1.0), (1.0, -1.0, 1.0, -1.0), (1.0, -1.0, -1.0, 1.0), (1.0, 1.0, -1.0, -1.0)))
_FAST = {"reassoc", "contract", "nsz"}
PAD = 4  # rows and columns of zeros past the last


@kernel(fastmath=_FAST, inline="never")
def _dots(z, z0, z1, z2, z3, v, v0, v1, v2, v3, length):  # type: ignore[no-untyped-def]
    """Four inner products of `length` numbers from given places of `z` and `v`."""
    s0 = s1 = s2 = s3 = 0.0
    for q in range(length):
        s0 += z[np.uint64(z0 + q)] * v[np.uint64(v0 + q)]
        s1 += z[np.uint64(z1 + q)] * v[np.uint64(v1 + q)]
        s2 += z[np.uint64(z2 + q)] * v[np.uint64(v2 + q)]
        s3 += z[np.uint64(z3 + q)] * v[np.uint64(v3 + q)]
    return s0, s1, s2, s3


@kernel(fastmath=_FAST, inline="never")
def _add(out, o, x, x0, x1, x2, x3, t0, t1, t2, t3, length):  # type: ignore[no-untyped-def]
    """Add to `out` four multiples of `length` numbers from given places of `x`."""
    for q in range(length):
        out[np.uint64(o + q)] += (
            t0 * x[np.uint64(x0 + q)]
            + t1 * x[np.uint64(x1 + q)]
            + t2 * x[np.uint64(x2 + q)]
            + t3 * x[np.uint64(x3 + q)]
        )


@kernel(fastmath=_FAST, error_model="numpy")
def _norm(z, j, columns, beta, width, v, growth, stop):  # type: ignore[no-untyped-def]
    """``log ||Z^j e_1||``; unit vectors v_r into ``v``, part c of v_r from ``(r beta + c) width`` on, and l_r into `growth`."""
    plane = (columns + PAD) * width
    group = 4 // beta  # rows that make four inner products with the parts of one vector
    for part in range(beta):
        for i in range(min(PAD, width)):
            v[part * width + i] = 0.0
    v[0] = 1.0
    total = 0.0
    for r in range(1, j + 1):
        if stop[0] != 0:
            return 0.0
        active = min(r, columns)  # columns that meet a nonzero number; rows 0..active become nonzero
        x, y = (r - 1) * beta * width, r * beta * width
        for i in range(0, active + 1, group):
            for m in range(group):
                for part in range(beta):
                    v[y + part * width + i + m] = 0.0
            lo = max(0, i - 1)
            for a in range(beta):
                z0 = a * plane + i * width + lo
                if beta == 1:
                    s0, s1, s2, s3 = _dots(
                        z,
                        z0,
                        z0 + width,
                        z0 + 2 * width,
                        z0 + 3 * width,
                        v,
                        x + lo,
                        x + lo,
                        x + lo,
                        x + lo,
                        active - lo,
                    )
                    v[y + i] = s0
                    v[y + i + 1] = s1
                    v[y + i + 2] = s2
                    v[y + i + 3] = s3
                elif beta == 2:
                    z1, x0, x1 = z0 + width, x + lo, x + width + lo
                    s0, s1, s2, s3 = _dots(z, z0, z0, z1, z1, v, x0, x1, x0, x1, active - lo)
                    v[y + a * width + i] += _SIGN[a, 0] * s0
                    v[y + (a ^ 1) * width + i] += _SIGN[a, 1] * s1
                    v[y + a * width + i + 1] += _SIGN[a, 0] * s2
                    v[y + (a ^ 1) * width + i + 1] += _SIGN[a, 1] * s3
                else:
                    x0 = x + lo
                    s0, s1, s2, s3 = _dots(
                        z, z0, z0, z0, z0, v, x0, x0 + width, x0 + 2 * width, x0 + 3 * width, active - lo
                    )
                    v[y + a * width + i] += _SIGN[a, 0] * s0
                    v[y + (a ^ 1) * width + i] += _SIGN[a, 1] * s1
                    v[y + (a ^ 2) * width + i] += _SIGN[a, 2] * s2
                    v[y + (a ^ 3) * width + i] += _SIGN[a, 3] * s3
        square = 0.0
        for part in range(beta):
            for i in range(y + part * width, y + part * width + active + 1):
                square += v[np.uint64(i)] * v[np.uint64(i)]
        inverse = 1.0 / math.sqrt(square)
        for part in range(beta):
            for i in range(y + part * width, y + part * width + active + 1):
                v[np.uint64(i)] *= inverse
        growth[r] = math.sqrt(square)
        total += 0.5 * math.log(square)
    return total


@kernel(fastmath=_FAST, error_model="numpy")
def _gradient(z, j, columns, beta, width, v, growth, adjoint, gradient, stop):  # type: ignore[no-untyped-def]
    """Gradient of ``log ||Z^j e_1||`` after `_norm`, in the layout of `z`; what it holds below the subdiagonal is not used."""
    plane = (columns + PAD) * width
    group = 4 // beta
    for part in range(beta):
        for i in range(min(j, columns) + 1):
            adjoint[(j * beta + part) * width + i] = v[(j * beta + part) * width + i]
    for r in range(j, 0, -1):
        if stop[0] != 0:
            return
        active = min(r, columns)
        x, y = (r - 1) * beta * width, r * beta * width
        inverse = 1.0 / growth[r]
        for part in range(beta):
            for i in range(active + 1):
                adjoint[y + part * width + i] *= inverse
        if r == 1:
            break
        for p in range(beta):
            out = x + p * width
            for q in range(active):
                adjoint[np.uint64(out + q)] = 0.0
            for i in range(0, active + 1, group):
                lo = max(0, i - 1)
                z0 = i * width + lo
                t = y + i
                if beta == 1:
                    _add(
                        adjoint, out + lo, z, z0, z0 + width, z0 + 2 * width, z0 + 3 * width,
                        adjoint[t], adjoint[t + 1], adjoint[t + 2], adjoint[t + 3], active - lo,
                    )  # fmt: skip
                elif beta == 2:
                    t0, t1 = t + p * width, t + (p ^ 1) * width
                    _add(
                        adjoint, out + lo, z, z0, z0 + plane, z0 + width, z0 + plane + width,
                        _SIGN[0, p] * adjoint[t0], _SIGN[1, p] * adjoint[t1],
                        _SIGN[0, p] * adjoint[t0 + 1], _SIGN[1, p] * adjoint[t1 + 1], active - lo,
                    )  # fmt: skip
                else:
                    _add(
                        adjoint, out + lo, z, z0, z0 + plane, z0 + 2 * plane, z0 + 3 * plane,
                        _SIGN[0, p] * adjoint[t + p * width], _SIGN[1, p] * adjoint[t + (p ^ 1) * width],
                        _SIGN[2, p] * adjoint[t + (p ^ 2) * width], _SIGN[3, p] * adjoint[t + (p ^ 3) * width],
                        active - lo,
                    )  # fmt: skip
    step = beta * width
    for i in range(min(j, columns) + 1):
        if stop[0] != 0:
            return
        lo = max(0, i - 1)
        for a in range(beta):
            g = a * plane + i * width
            for q in range(lo, min(j, columns)):
                gradient[np.uint64(g + q)] = 0.0
            for p in range(beta):
                sign = _SIGN[a, p]
                r = max(i, 1)
                while r <= j:
                    # v_{r+2} is the last of four; past the end its multiple is zero.
                    t = r * step + (a ^ p) * width + i
                    x = (r - 1) * step + p * width + lo
                    t0 = sign * adjoint[t]
                    t1 = sign * adjoint[t + step] if r + 1 <= j else 0.0
                    t2 = sign * adjoint[t + 2 * step] if r + 2 <= j else 0.0
                    t3 = sign * adjoint[t + 3 * step] if r + 3 <= j else 0.0
                    x1 = x + step if r + 1 <= j else x
                    x2 = x + 2 * step if r + 2 <= j else x
                    x3 = x + 3 * step if r + 3 <= j else x
                    last = min(r + 3, j, columns)
                    _add(gradient, g + lo, v, x, x1, x2, x3, t0, t1, t2, t3, last - lo)
                    r += 4


@kernel(error_model="numpy")
def _excess(x, d):  # type: ignore[no-untyped-def]
    """How far minus the log-density of a subdiagonal coordinate is from x^2/2, and the derivative of that in x."""
    if d <= 1.0:
        return 0.0, 0.0
    mode = math.sqrt(d - 1.0)
    u = x / (math.sqrt(2.0) * mode)
    if abs(u) < 1e-3:
        rest, slope = u * u * u * (1.0 / 3.0 - u * (0.25 - u * 0.2)), u * u * (1.0 - u * (1.0 - u))
    else:
        rest, slope = math.log(abs(1.0 + u)) - u + 0.5 * u * u, 1.0 / (1.0 + u) - 1.0 + u
    return -(d - 1.0) * rest, -mode * slope / math.sqrt(2.0)


@kernel
def _place(z, x, freedom, active, width):  # type: ignore[no-untyped-def]
    """Write the subdiagonal from its coordinates."""
    for q in range(active):
        d = freedom[q]
        if d > 1.0:
            z[(q + 1) * width + q] = math.sqrt(d - 1.0) + x[q] / math.sqrt(2.0)
        else:
            z[(q + 1) * width + q] = x[q] if d > 0.0 else 0.0


@kernel(fastmath=_FAST)
def _energy(z, x, p, px, freedom, active, columns, beta, width):  # type: ignore[no-untyped-def]
    plane = (columns + PAD) * width
    total = 0.0
    for a in range(beta):
        for i in range(active):
            at = a * plane + i * width
            for q in range(at + i, at + active):
                total += z[np.uint64(q)] * z[np.uint64(q)] + p[np.uint64(q)] * p[np.uint64(q)]
    for q in range(active):
        if freedom[q] > 0.0:
            total += x[q] * x[q] + px[q] * px[q] + 2.0 * _excess(x[q], freedom[q])[0]
    return 0.5 * total


@kernel(fastmath=_FAST)
def _kick(size, tilt, z, x, p, px, gradient, freedom, active, columns, beta, width):  # type: ignore[no-untyped-def]
    plane = (columns + PAD) * width
    force = size * tilt
    for a in range(beta):
        for i in range(active):
            at = a * plane + i * width
            for q in range(at + i, at + active):
                p[np.uint64(q)] += force * gradient[np.uint64(q)]
    for q in range(active):
        d = freedom[q]
        if d > 0.0:
            omega = math.sqrt(2.0) if d > 1.0 else 1.0
            px[q] += force * gradient[(q + 1) * width + q] / omega - size * _excess(x[q], d)[1]


@kernel(fastmath=_FAST)
def _rotate(angle, z, x, p, px, freedom, active, columns, beta, width):  # type: ignore[no-untyped-def]
    plane = (columns + PAD) * width
    c, s = math.cos(angle), math.sin(angle)
    for a in range(beta):
        for i in range(active):
            at = a * plane + i * width
            for q in range(at + i, at + active):
                old = z[np.uint64(q)]
                z[np.uint64(q)] = c * old + s * p[np.uint64(q)]
                p[np.uint64(q)] = c * p[np.uint64(q)] - s * old
    for q in range(active):
        old = x[q]
        x[q] = c * old + s * px[q]
        px[q] = c * px[q] - s * old
    _place(z, x, freedom, active, width)


@kernel
def norms_kernel(z_all, j, columns, beta, out, stop):  # type: ignore[no-untyped-def]
    """``out[m] = log ||Z_m^j e_1||``."""
    width = columns + PAD
    v = np.zeros((j + 1) * beta * width)
    growth = np.empty(j + 1)
    for m in range(z_all.shape[0]):
        if stop[0] != 0:
            return
        out[m] = _norm(z_all[m], j, columns, beta, width, v, growth, stop)


@kernel
def append_kernel(z_all, x_all, normals, below, j, columns, beta, freedom):  # type: ignore[no-untyped-def]
    """Set column j (from 1 on): `normals` of shape (particles, beta, j), subdiagonal entries `below`."""
    width = columns + PAD
    plane = width * width
    d = freedom[j - 1]
    for m in range(z_all.shape[0]):
        for a in range(beta):
            for i in range(j):
                z_all[m, a * plane + i * width + j - 1] = normals[m, a, i]
        x_all[m, j - 1] = math.sqrt(2.0) * (below[m] - math.sqrt(d - 1.0)) if d > 1.0 else below[m]
        _place(z_all[m], x_all[m], freedom, j, width)


@kernel
def moves_kernel(z_all, x_all, normals, uniforms, freedom, tilt, size, steps, j, columns, beta, logs, stop):  # type: ignore[no-untyped-def]
    """One Hamiltonian move of each matrix, target its law times ``||Z^j e_1||^tilt``; returns the mean acceptance probability.

    `size` is the angle of a step, `logs` the values of ``log ||Z^j e_1||``, which are updated; `normals` has a row of
    momenta and `uniforms` a number in [0, 1) per matrix. Once ``stop[0]`` is not zero it returns.
    """
    width = columns + PAD
    plane = width * width
    active = min(j, columns)
    v = np.zeros((j + 1) * beta * width)
    adjoint = np.zeros((j + 1) * beta * width)
    growth = np.empty(j + 1)
    z, p, gradient = np.zeros(beta * plane), np.zeros(beta * plane), np.zeros(beta * plane)
    accepted = 0.0
    for m in range(z_all.shape[0]):
        z[:] = z_all[m]
        x = x_all[m].copy()
        px = normals[m, :active].copy()
        source = active
        for a in range(beta):
            for i in range(active):
                at = a * plane + i * width
                for q in range(at + i, at + active):
                    p[q] = normals[m, source]
                    source += 1
        start = _energy(z, x, p, px, freedom, active, columns, beta, width) - tilt * logs[m]
        _rotate(0.5 * size, z, x, p, px, freedom, active, columns, beta, width)
        for step in range(steps):
            if stop[0] != 0:
                return 0.0
            _norm(z, j, columns, beta, width, v, growth, stop)
            _gradient(z, j, columns, beta, width, v, growth, adjoint, gradient, stop)
            _kick(size, tilt, z, x, p, px, gradient, freedom, active, columns, beta, width)
            last = 0.5 if step == steps - 1 else 1.0
            _rotate(last * size, z, x, p, px, freedom, active, columns, beta, width)
        value = _norm(z, j, columns, beta, width, v, growth, stop)
        change = _energy(z, x, p, px, freedom, active, columns, beta, width) - tilt * value - start
        # A trajectory through a vanishing subdiagonal entry is refused.
        chance = 0.0 if math.isnan(change) else math.exp(min(0.0, -change))
        accepted += chance
        if uniforms[m] < chance:
            z_all[m] = z
            x_all[m] = x
            logs[m] = value
    return accepted / z_all.shape[0]
