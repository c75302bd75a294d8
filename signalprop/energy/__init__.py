"""Exact energies in double precision: Q_{n,k} of the recurrence h <- W h and S_{n,t} of h <- W h + x.

The same two names as in `signalprop.exact`; arrays broadcast, and ``log=True`` returns natural logarithms, which
never overflow. ``lru_energy`` is the energy of a *dense* recurrence with a fresh input at each step.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, assert_never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import INT64_LIMIT, broadcast, positive_float, whole_numbers
from signalprop._logs import from_logs
from signalprop._threads import thread_map
from signalprop.energy import _plain
from signalprop.energy._complex import block_rules
from signalprop.fields import Field, as_field, by_field

MAX_ZONAL_K = 20_000
MAX_ZONAL_T = 5_000
_CHUNK = 1 << 16
# Work that plain Python does in a few hundredths of a second: values, rows of the zonal sums, sums by blocks.
_PLAIN_VALUES = 2_000
_PLAIN_ROWS = 5_000
_PLAIN_SUMS = 20
_LONGEST_PATH = 2_000_000
_PATH_ADVANTAGE = 300  # summing one t by blocks costs about as much as this many terms of a path


def rnn_energy(n: ArrayLike, k: ArrayLike, field: str = "real", *, scale: float = 1.0, log: bool = False) -> Any:
    r"""Mean signal energy of a linear recurrence after k steps, exact at finite width.

    .. math:: Q_{n,k} = \tfrac1n E\lVert (gW)^k x\rVert^2 = g^{2k} n^{-(k+1)} E\,\mathrm{tr}[G^k (G^k)^*]

    W is n x n with independent Gaussian entries, E|w_ij|^2 = 1/n, and E x x* = I. By duality of W and W* the same
    number is the mean factor on the energy of a gradient carried back through k steps.

    Parameters
    ----------
    n, k
        Width and recurrent depth; whole numbers or arrays of them, broadcast against each other. 1 <= n <= 1e18;
        0 <= k <= 1e18 (complex), 0 <= k <= 20000 (real, quaternion).
    field
        ``"real"`` (the default, as in deep-learning frameworks), ``"complex"`` or ``"quaternion"`` weights.
    scale
        g, the factor on every weight.
    log
        Return the natural logarithm.

    Returns
    -------
    float64
        An array of the broadcast shape, a scalar for scalars.

    Raises
    ------
    ValueError
        n < 1, k < 0, values that are not whole (NaN included), a scale that is not positive, an unknown field.
    OverflowError
        The value leaves the range of float64 and ``log`` is false.

    Notes
    -----
    Complex: M_k = (n(n+1)..(n+k+1) - n(n-1)..(n-k-1)) / ((k+1)(k+2)) (P), evaluated in O(1) by Stirling's
    series without cancellation. Real and quaternion: a sum of O(k^2) non-negative terms over the partitions
    (a, b, 1^c) of k+1 (V: equal to the loop equations for k <= 33; quaternion by duality n -> -2n). Many k at
    one n share their prefix products. \|error of log Q\| <= 1e-13 max(1, \|log Q\|) at scale 1; any other scale adds the
    rounding of 2 k log g.

    Examples
    --------
    >>> float(rnn_energy(2500, 250, "complex")).__round__(2)
    8229.53
    >>> rnn_energy(100, [0, 1, 2], "real")
    array([1.  , 1.  , 1.0002])
    """
    kind = as_field(field)
    log_scale = float(np.log(positive_float(scale, "scale")))
    widths, depths = _pair(
        n, k, "k", by_field(kind, real=MAX_ZONAL_K, complex=INT64_LIMIT, quaternion=MAX_ZONAL_K), kind
    )
    out = _log_rnn(widths, depths, kind)
    return from_logs(out + 2.0 * depths * log_scale if log_scale else out, log)


def lru_energy(n: ArrayLike, t: ArrayLike, field: str = "real", *, scale: float = 1.0, log: bool = False) -> Any:
    r"""Mean energy of a dense linear recurrence driven by a fresh input at every step, after t steps.

    .. math:: S_{n,t} = \tfrac1n E\lVert h(t)\rVert^2 = \sum_{k=0}^{t} g^{2k} Q_{n,k},
              \qquad h(t) = gW h(t-1) + x(t),\; h(0) = x(0)

    The first state is an input, so there are t + 1 terms and S_{n,0} = 1.

    Parameters
    ----------
    n, t
        Width and time; whole numbers or arrays of them, broadcast. 1 <= n <= 1e18; 0 <= t <= 1e18 (complex),
        0 <= t <= 5000 (real, quaternion).
    field, scale, log
        As in `rnn_energy`.

    Returns
    -------
    float64
        An array of the broadcast shape, a scalar for scalars.

    Raises
    ------
    ValueError, OverflowError
        As in `rnn_energy`.

    Notes
    -----
    Complex weights: a single large t is summed by discrete Gauss quadrature on blocks, in about 40 us whatever t is (a few ms
    for up to 20 values, which are done in plain Python before numba has loaded); neighbouring t of one n, and the other fields,
    share one pass over k <= max t with compensated summation. Not the diagonal LRU layer of Orvieto et al. (arXiv:2303.06349),
    which shares the name in the literature.

    Examples
    --------
    >>> lru_energy(100, [0, 1, 2], "complex")
    array([1.    , 2.    , 3.0001])
    """
    kind = as_field(field)
    log_scale = float(np.log(positive_float(scale, "scale")))
    widths, times = _pair(
        n, t, "t", by_field(kind, real=MAX_ZONAL_T, complex=INT64_LIMIT, quaternion=MAX_ZONAL_T), kind
    )
    summed_by_blocks = by_field(kind, real=False, complex=True, quaternion=False)

    kernels = _kernels(times.size > _PLAIN_SUMS)

    def sums(width: int, wanted: NDArray[np.int64]) -> NDArray[np.float64]:
        out = np.empty(wanted.size)
        if summed_by_blocks and wanted[-1] > min(_PATH_ADVANTAGE * wanted.size, _LONGEST_PATH):
            kernels.log_s_many_kernel(np.full(wanted.size, float(width)), log_scale, wanted, block_rules(), out)
            return out
        steps = np.arange(wanted[-1] + 1)
        log_terms = _log_rnn(np.full_like(steps, width), steps, kind) + 2.0 * steps * log_scale
        kernels.log_sum_path_kernel(log_terms, wanted, out)
        return out

    return from_logs(_by_width(widths, times, sums, threaded=summed_by_blocks), log)


def _log_rnn(widths: NDArray[np.int64], depths: NDArray[np.int64], kind: Field) -> NDArray[np.float64]:
    match kind:
        case Field.COMPLEX:
            return _log_rnn_complex(widths, depths)
        case Field.REAL:
            return _log_rnn_zonal(widths, depths, quaternion=False)
        case Field.QUATERNION:
            return _log_rnn_zonal(widths, depths, quaternion=True)
        case _:
            assert_never(kind)


def _log_rnn_complex(widths: NDArray[np.int64], depths: NDArray[np.int64]) -> NDArray[np.float64]:
    flat_n, flat_k = widths.astype(np.float64).ravel(), np.ascontiguousarray(depths).ravel()
    out = np.empty(flat_k.size)
    compute = _kernels(flat_k.size > _PLAIN_VALUES).log_q_many_kernel

    def fill(start: int) -> None:
        part = slice(start, start + _CHUNK)
        compute(flat_n[part], flat_k[part], out[part])

    for _ in thread_map(fill, range(0, out.size, _CHUNK)):
        pass
    return out.reshape(depths.shape)


def _log_rnn_zonal(widths: NDArray[np.int64], depths: NDArray[np.int64], *, quaternion: bool) -> NDArray[np.float64]:
    """Real weights, or quaternion ones at -2n."""
    worth_compiling = float(np.sum(depths, dtype=np.float64)) > _PLAIN_ROWS
    chosen = _kernels(worth_compiling)

    def energies(width: int, wanted: NDArray[np.int64]) -> NDArray[np.float64]:
        logs = chosen.prefix_logs_kernel(float(width), quaternion, int(wanted[-1]) + 2)
        out = np.empty(wanted.size)
        # The cost grows like k^2: deal the k out in turn, so that the threads finish together.
        hands = [slice(i, None, 32) for i in range(min(32, wanted.size))]

        def fill(hand: slice) -> None:
            part = np.empty(wanted[hand].size)
            chosen.zonal_log_q_many_kernel(logs, np.ascontiguousarray(wanted[hand]), part)
            out[hand] = part

        for _ in thread_map(fill, hands if wanted[-1] > 100 and worth_compiling else [slice(None)]):
            pass
        return out

    return _by_width(widths, depths, energies, threaded=False)


def _kernels(worth_compiling: bool) -> ModuleType:
    """The kernels, compiled or plain: with little to do, plain Python is done before numba has loaded."""
    return import_module("signalprop.energy._compiled") if worth_compiling else _plain


def _by_width(
    widths: NDArray[np.int64],
    steps: NDArray[np.int64],
    compute: Callable[[int, NDArray[np.int64]], NDArray[np.float64]],
    threaded: bool,
) -> NDArray[np.float64]:
    """Call ``compute(width, sorted distinct steps)`` once for each distinct width and put the answers in place."""
    flat_n, flat_k = widths.ravel(), steps.ravel()
    out = np.empty(flat_k.size)
    order = np.lexsort((flat_k, flat_n))
    groups = np.split(order, np.flatnonzero(np.diff(flat_n[order])) + 1) if order.size else []

    def one(group: NDArray[np.intp]) -> None:
        wanted, back = np.unique(flat_k[group], return_inverse=True)
        out[group] = compute(int(flat_n[group[0]]), wanted)[back]

    for _ in thread_map(one, groups, None if threaded else 1):
        pass
    return out.reshape(steps.shape)


def _pair(
    n: ArrayLike, k: ArrayLike, name: str, maximum: int, kind: Field
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    widths = whole_numbers(n, "n", 1, beyond="Use signalprop.exact, which has no bound on n.")
    law = "Past c ~ sqrt(log n), regimes.two_term_rnn gives the real energy to a few per cent."
    beyond = by_field(kind, real=law, complex="", quaternion="")
    steps = whole_numbers(k, name, 0, maximum, beyond)
    widths, steps = broadcast({"n": widths, name: steps})
    return widths, steps
