r"""What one draw of W does, as opposed to the average over draws.

A path is the log-energy L_k = log(||W^k x||^2/||x||^2), k = 0..T, of one draw at g = 1. At another scale the energy of the
linear recurrence is e^{L_k + 2k log g}; that of the driven one, for one input direction reused at every step,
sum_{j<=k} e^{L_j + 2j log g}/(k+1). Both grow with g, so each draw has a largest scale that keeps its whole path at or
below a bound, and a quantile of those scales keeps a given share of the draws there.
"""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import any_array, log_array, real_array, real_number, shown, whole_numbers
from signalprop._threads import thread_map
from signalprop.models import Model, as_model

Floats = NDArray[np.float64]
_BLOCK = 64


def scaled_path(log_energies: Floats, log_g: float | Floats, model: str) -> Floats:
    """Log-energies (last axis: k = 0, 1, ..) at scale 1 turned into those of `model` ("rnn", "driven") at scale g."""
    paths = log_array(log_energies, "log_energies", None)
    logs = real_array(log_g, "log_g", None)
    if paths.ndim < 1:
        raise ValueError(
            f"log_energies must be paths of numbers, steps along the last axis, got {shown(log_energies)}."
        )
    steps = np.arange(paths.shape[-1])
    if not np.isfinite(2.0 * steps[-1] * np.abs(logs).max()):
        raise ValueError(f"log_g must be such that 2 k log_g is finite, got {shown(log_g)}.")
    try:
        terms: Floats = paths + 2.0 * steps * logs[..., None]
    except ValueError:
        raise ValueError(
            f"log_g must have a number for each path or one for all, got shape {logs.shape} for paths of shape {paths.shape}."
        ) from None
    match kind := as_model(model):
        case Model.RNN:
            return terms
        case Model.DRIVEN:
            sums: Floats = np.logaddexp.accumulate(terms, axis=-1) - np.log1p(steps)
            return sums
        case _:
            assert_never(kind)


def largest_log_scales(log_energies: Floats, horizons: ArrayLike, log_bound: float, model: str) -> Floats:
    r"""Largest log g with which each draw keeps its energy at or below the bound for 1 <= k <= T.

    Parameters
    ----------
    log_energies
        Paths at scale 1, shape (draws, K+1).
    horizons
        Horizons T, 1 <= T <= K, in non-decreasing order.
    log_bound
        Natural log of the bound.
    model
        ``"rnn"``: min_{k<=T} (log bound - L_k)/(2k). ``"driven"``: Newton's iteration on
        max_{k<=T} log(sum_{j<=k} e^{L_j + 2j log g}/(k+1)) = log bound, an increasing convex function of log g.

    Returns
    -------
    float64
        Shape (draws, len(horizons)).

    Raises
    ------
    ValueError
        Paths that are not a table of real numbers, a horizon past their end or out of order, or a bound that is not a number.
    """
    energies = _paths(log_energies)
    wanted, log_bound = _wanted(horizons, energies), _bound(log_bound)
    last = int(wanted[-1])
    out = np.empty((len(energies), wanted.size))
    match kind := as_model(model):
        case Model.RNN:

            def scales(paths: Floats, part: slice) -> None:
                each = (log_bound - paths[:, 1:]) / (2.0 * np.arange(1, last + 1))
                out[part] = np.minimum.accumulate(each, axis=1)[:, wanted - 1]

        case Model.DRIVEN:
            from signalprop.montecarlo._driven import driven_kernel  # numba: not needed for the linear recurrence

            def scales(paths: Floats, part: slice) -> None:
                driven_kernel(paths, wanted, log_bound, out[part])

        case _:
            assert_never(kind)

    def fill(start: int) -> None:
        part = slice(start, start + _BLOCK)
        scales(np.ascontiguousarray(energies[part, : last + 1]), part)

    for _ in thread_map(fill, range(0, len(out), _BLOCK)):
        pass
    return out


def held_share(log_energies: Floats, horizons: ArrayLike, log_bound: float) -> tuple[Floats, Floats]:
    r"""The largest share of draws that one g keeps inside [1/bound, bound] for all k <= T, and the log of that g.

    A draw is inside for max_k (-log bound - L_k)/(2k) <= log g <= min_k (log bound - L_k)/(2k): an interval, possibly empty.
    The best g lies in most of them. Over N draws the share is biased upwards by O(1/sqrt(N)) at most.

    Returns
    -------
    (float64, float64)
        Share and log g for each of the horizons, in their order.

    Raises
    ------
    ValueError
        As `largest_log_scales`, or no path at all.
    """
    energies = _paths(log_energies)
    wanted, log_bound = _wanted(horizons, energies), _bound(log_bound)
    if len(energies) == 0:
        raise ValueError("held_share needs at least one path.")
    steps = 2.0 * np.arange(1, wanted[-1] + 1)
    paths = energies[:, 1 : wanted[-1] + 1]
    high = np.minimum.accumulate((log_bound - paths) / steps, axis=1)[:, wanted - 1]
    low = np.maximum.accumulate((-log_bound - paths) / steps, axis=1)[:, wanted - 1]
    shares, log_scales = np.empty(wanted.size), np.empty(wanted.size)
    for column in range(wanted.size):
        possible = low[:, column] <= high[:, column]
        opens, closes = np.sort(low[possible, column]), np.sort(high[possible, column])
        if opens.size == 0:  # no draw at all can be held: name the scale of the typical draw
            shares[column], log_scales[column] = 0.0, np.median(high[:, column])
            continue
        # The count of open intervals is largest at some left end.
        count = np.searchsorted(opens, opens, side="right") - np.searchsorted(closes, opens, side="left")
        best = np.flatnonzero(count == count.max())
        shares[column] = count.max() / len(paths)
        log_scales[column] = opens[best[best.size // 2]]
    return shares, log_scales


def _bound(log_bound: float) -> float:
    bound = real_number(log_bound, "log_bound")
    if not math.isfinite(bound) or bound <= 0.0:
        raise ValueError(f"log_bound must be positive and finite, got {shown(log_bound)}.")
    return bound


def _paths(log_energies: Floats) -> Floats:
    """The paths in float64; refuses anything but a table of real numbers."""
    what = "log_energies must be an array of real numbers of shape (draws, K + 1)"
    array = any_array(
        np.ma.getdata(log_energies) if np.ma.isMaskedArray(log_energies) else log_energies, "log_energies", what
    )
    if array.ndim != 2 or array.dtype.kind not in "iuf" or np.ma.isMaskedArray(log_energies):
        raise ValueError(f"{what}, got {type(log_energies).__name__} of shape {array.shape} and type {array.dtype}.")
    return log_array(array, "log_energies", 2, empty=True)


def _wanted(horizons: ArrayLike, log_energies: Floats) -> NDArray[np.int64]:
    """Horizons as whole numbers in order, within the paths."""
    longest = np.shape(log_energies)[1] - 1
    wanted = np.atleast_1d(whole_numbers(horizons, "horizons", 1, longest, "That is where the paths end."))
    if wanted.ndim != 1 or wanted.size == 0 or (np.diff(wanted) < 0).any():
        raise ValueError(f"horizons must be a list in increasing order with at least one entry, got {shown(horizons)}.")
    return wanted
