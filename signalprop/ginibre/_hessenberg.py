r"""Log-norms of H^r e_1, r = 1..k, for an upper Hessenberg H over any field, several steps in one pass over H.

Row i of v_r = H v_{r-1} needs v_{r-1} from row i-1 on, so `_STEPS` steps advance together from the bottom rows up: when
all rows below row q are done, v_r is known from row q+r-1 on. Rows come in panels of `_LANES`, each panel stored column
by column from the column before its diagonal on. The far columns of a panel multiply four vectors at once, so that an
entry of H is read once for all steps; the near ones, `_WINDOW` columns at most, follow step by step.

A number of the field is beta real parts e_0 = 1, e_1 = i, e_2 = j, e_3 = k, each in an array of its own, and
e_a e_b = _SIGN[a][b] e_{a xor b}; entries of H multiply from the left. The vector is normalised once per pass, and the
norm of each step is read off: over so few steps nothing overflows or vanishes.

The innermost product keeps panel rows in vector registers over all its columns. numba compiles no Python loop to that, so
it is written in LLVM's vectors, which are the same on every processor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from signalprop._numba import kernel, primitive

_LANES = 8
_STEPS = 8  # a multiple of four
_WINDOW = _LANES + _STEPS
_STRIP = 512  # columns whose vectors stay in the first cache
_PAD = _LANES
_FAST = {"reassoc", "contract", "nsz"}
_SIGN = ((1, 1, 1, 1), (1, -1, 1, -1), (1, -1, -1, 1), (1, 1, -1, -1))


def _product(planes: tuple[int, ...], vectors: int, unroll: int) -> Any:
    """Compiled ``y_{a xor b}[l] += _SIGN[a][b] sum_j H_a[l, j] x_b[j]``, a in `planes`, b < `vectors`, lo <= l < hi.

    ``H_a[l, j]`` is ``h[at_h + (a - planes[0]) size + _LANES j + l]``, ``x_b[j]`` is ``v[at_x + b width + j]``, ``y_c[l]``
    is ``v[at_y + c width + l]`` and j runs up to `columns`, rounded up to a multiple of `unroll`.
    """
    index, lane = ir.IntType(64), ir.VectorType(ir.DoubleType(), _LANES)
    lane_index, pick = ir.VectorType(index, _LANES), ir.VectorType(ir.IntType(32), _LANES)
    flags = tuple(sorted(_FAST))

    def generate(context: Any, b: ir.IRBuilder, signature: Any, args: Any) -> Any:
        h, v = (context.make_array(signature.args[i])(context, b, args[i]).data for i in (0, 3))
        _, at_h, size, _, at_x, at_y, width, columns, lo, hi = args

        def plus(start: Any, stride: Any, times: int) -> Any:
            return b.add(start, b.mul(stride, index(times)))

        def splat(scalar: Any) -> Any:
            vector = ir.VectorType(scalar.type, _LANES)(ir.Undefined)
            return b.shuffle_vector(b.insert_element(vector, scalar, ir.IntType(32)(0)), vector, pick([0] * _LANES))

        def lanes_at(start: Any) -> Any:
            return b.bitcast(b.gep(v, [start]), lane.as_pointer())

        entry, head = b.block, b.append_basic_block()
        body, done = b.append_basic_block(), b.append_basic_block()
        b.branch(head)
        b.position_at_end(head)
        j = b.phi(index)
        j.add_incoming(index(0), entry)
        keys = [(u, a, m) for u in range(unroll) for m in range(vectors) for a in range(len(planes))]
        sums = {key: b.phi(lane) for key in keys}
        for total in sums.values():
            total.add_incoming(lane([0.0] * _LANES), entry)
        b.cbranch(b.icmp_signed("<", j, columns), body, done)

        b.position_at_end(body)
        for u in range(unroll):
            column = b.add(j, index(u))
            start = plus(at_h, column, _LANES)
            entries = [
                b.load(b.bitcast(b.gep(h, [plus(start, size, a)]), lane.as_pointer()), align=8)
                for a in range(len(planes))
            ]
            for m in range(vectors):
                x = splat(b.load(b.gep(v, [b.add(plus(at_x, width, m), column)])))
                for a, numbers in enumerate(entries):
                    total = sums[u, a, m]
                    total.add_incoming(b.fadd(total, b.fmul(numbers, x, flags=flags), flags=flags), body)
        j.add_incoming(b.add(j, index(unroll)), body)
        b.branch(head)

        b.position_at_end(done)
        lanes = lane_index(list(range(_LANES)))
        wanted = b.and_(b.icmp_signed(">=", lanes, splat(lo)), b.icmp_signed("<", lanes, splat(hi)))
        for c in range(vectors):
            target = lanes_at(plus(at_y, width, c))
            before = after = b.load(target, align=8)
            for u in range(unroll):
                for a, plane in enumerate(planes):
                    add = b.fadd if _SIGN[plane][c ^ plane] > 0 else b.fsub
                    after = add(after, sums[u, a, c ^ plane], flags=flags)
            b.store(b.select(wanted, after, before), target, align=8)
        return context.get_dummy_value()

    def build(
        typing: Any,
        h: Any,
        at_h: Any,
        size: Any,
        v: Any,
        at_x: Any,
        at_y: Any,
        width: Any,
        columns: Any,
        lo: Any,
        hi: Any,
    ) -> Any:
        i = types.int64
        return types.void(h, i, i, v, i, i, i, i, i, i), generate

    @primitive(build)
    def product(h, at_h, size, v, at_x, at_y, width, columns, lo, hi):  # type: ignore[no-untyped-def]
        columns = -(-max(0, columns) // unroll) * unroll
        sums = {}
        for a, plane in enumerate(planes):
            start = at_h + a * size
            block = h[start : start + _LANES * columns].reshape(columns, _LANES)
            for m in range(vectors):
                x = v[at_x + m * width : at_x + m * width + columns]
                sums[plane, m] = x @ block
        for (plane, m), total in sums.items():
            target = at_y + (m ^ plane) * width
            v[target + lo : target + hi] += _SIGN[plane][m] * total[lo:hi]

    return product


# Enough sums at once to hide the latency of a multiply-add, few enough for sixteen registers. Four vectors are four
# steps (real), two steps (complex) or one (quaternion), and c xor a never leaves a step.
_plane_0, _plane_1, _plane_2, _plane_3 = (_product((a,), 4, 1) for a in range(4))
_real_step = _product((0,), 1, 4)
_complex_step = _product((0, 1), 2, 1)


@kernel
def hessenberg_kernel(k, h_all, below_all, scale, out, stop):  # type: ignore[no-untyped-def]
    """Write ``log ||(scale H)^r e_1||`` into ``out[sample, r]``, r = 1..k.

    Column j of H above and on the diagonal is ``h_all[part, sample, j(j+1)/2 ..]``, below it ``below_all[sample, j]``.
    Once ``stop[0]`` is not zero it returns, with the rest of `out` as it was.
    """
    beta, count, entries = h_all.shape
    columns = below_all.shape[1]
    flat = h_all.reshape(-1)
    # Row i, part c of v_r is v[(r beta + c) width + _PAD + i]; nothing but zeros past the rows in use.
    width = _PAD + columns + 2 * _LANES + _WINDOW
    v = np.zeros((_STEPS + 1) * beta * width)
    # Column j of panel t, which holds rows t _LANES .., is panels[starts[t] + _LANES j ..], from j = t _LANES - 1 on.
    starts = np.empty(columns // _LANES + 1, np.int64)
    size = 0
    for t in range(starts.shape[0]):
        starts[t] = size - _LANES * (t * _LANES - 1)
        size += _LANES * (columns - t * _LANES + 1 + _WINDOW)
    panels = np.zeros(beta * size)
    for sample in range(count):
        _fill_panels(panels, size, starts, flat, entries, beta, count, sample, below_all[sample], scale)
        v[:] = 0.0
        v[_PAD] = 1.0
        log_norm = 0.0
        step = 0
        while step < k:
            if stop[0] != 0:
                return
            steps = min(_STEPS, k - step)
            active = min(step + steps, columns)  # columns that meet a nonzero number; rows 0..active become nonzero
            last = active // _LANES
            for t in range(last, -1, -1):
                _far_columns(panels, size, starts[t], v, width, beta, t * _LANES, steps, active)
                _near_columns(panels, size, starts, v, width, beta, t * _LANES, steps, active)
            log_norm = _norms(v, width, beta, steps, active, log_norm, out[sample, step + 1 :])
            step += steps


@kernel
def _fill_panels(panels, size, starts, flat, entries, beta, count, sample, below, scale):  # type: ignore[no-untyped-def]
    for part in range(beta):
        source = (part * count + sample) * entries
        for j in range(below.shape[0]):
            for t in range(j // _LANES + 1):
                target = part * size + starts[t] + _LANES * j
                for i in range(min(_LANES, j + 1 - t * _LANES)):
                    panels[np.uint64(target + i)] = scale * flat[np.uint64(source + i)]
                source += min(_LANES, j + 1 - t * _LANES)
    for j in range(below.shape[0]):
        panels[starts[(j + 1) // _LANES] + _LANES * j + (j + 1) % _LANES] = scale * below[j]


@kernel
def _far_columns(panels, size, start, v, width, beta, row, steps, active):  # type: ignore[no-untyped-def]
    """Begin all steps of a panel: v_r = its columns where the vectors of all steps are known, times v_{r-1}."""
    for part in range(beta, (steps + 1) * beta):
        at = part * width + _PAD + row
        for i in range(_LANES):
            v[np.uint64(at + i)] = 0.0
    for j in range(row - 1 + _WINDOW, active, _STRIP):
        n = min(_STRIP, active - j)
        h = start + _LANES * j
        for part in range(0, steps * beta, 4):
            x = part * width + _PAD + j
            y = (part + beta) * width + _PAD + row
            _plane_0(panels, h, size, v, x, y, width, n, 0, _LANES)
            if beta > 1:
                _plane_1(panels, h + size, size, v, x, y, width, n, 0, _LANES)
            if beta > 2:
                _plane_2(panels, h + 2 * size, size, v, x, y, width, n, 0, _LANES)
                _plane_3(panels, h + 3 * size, size, v, x, y, width, n, 0, _LANES)


@kernel
def _near_columns(panels, size, starts, v, width, beta, row, steps, active):  # type: ignore[no-untyped-def]
    """Finish step r on rows row+r-1 .. row+r+_LANES-2 (from row 0 in the first panel), r = 1, 2, .."""
    last = active // _LANES
    for r in range(1, steps + 1):
        first = row + r - 1 if row else 0
        stop = row + r - 1 + _LANES
        for t in range(first // _LANES, min((stop - 1) // _LANES, last) + 1):
            lo, hi = max(0, first - t * _LANES), min(_LANES, stop - t * _LANES)
            skip = max(0, lo - 1) // 4 * 4 if beta == 1 else lo  # columns before the first of these rows
            j = t * _LANES - 1 + skip
            n = min(_WINDOW - skip, active - j)
            h = starts[t] + _LANES * j
            x = (r - 1) * beta * width + _PAD + j
            y = r * beta * width + _PAD + t * _LANES
            if beta == 1:
                _real_step(panels, h, size, v, x, y, width, n, lo, hi)
            elif beta == 2:
                _complex_step(panels, h, size, v, x, y, width, n, lo, hi)
            else:
                _plane_0(panels, h, size, v, x, y, width, n, lo, hi)
                _plane_1(panels, h + size, size, v, x, y, width, n, lo, hi)
                _plane_2(panels, h + 2 * size, size, v, x, y, width, n, lo, hi)
                _plane_3(panels, h + 3 * size, size, v, x, y, width, n, lo, hi)


@kernel(fastmath=_FAST)
def _norms(v, width, beta, steps, active, log_norm, out):  # type: ignore[no-untyped-def]
    """Log-norms of all steps; the last vector, normalised, becomes v_0."""
    square = 1.0
    for r in range(1, steps + 1):
        square = 0.0
        for part in range(r * beta, (r + 1) * beta):
            at = part * width + _PAD
            for i in range(at, at + active + 1):
                square += v[np.uint64(i)] * v[np.uint64(i)]
        out[r - 1] = log_norm + 0.5 * math.log(square)
    inverse = 1.0 / math.sqrt(square)
    for part in range(beta):
        at = part * width + _PAD
        for i in range(at, at + active + 1):
            v[np.uint64(i)] = v[np.uint64(i + steps * beta * width)] * inverse
    return log_norm + 0.5 * math.log(square)
