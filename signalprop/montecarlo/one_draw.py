r"""What one draw of W does, as opposed to the average over draws.

A path is the log-energy L_k = log(||W^k x||^2/||x||^2), k = 0..T, of one draw at g = 1. At another scale the energy of the
linear recurrence is e^{L_k + 2k log g}; that of the driven one, for one input direction reused at every step,
sum_{j<=k} e^{L_j + 2j log g}/(k+1). Both grow with g, so each draw has a largest scale that keeps its whole path at or
below a bound, and a quantile of those scales keeps a given share of the draws there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._threads import thread_map
from signalprop.models import Model, as_model

Floats = NDArray[np.float64]
_BLOCK = 64


def scaled_path(log_energies: Floats, log_g: float | Floats, model: str) -> Floats:
    """Log-energies (last axis: k = 0, 1, ..) at scale 1 turned into those of `model` ("rnn", "driven") at scale g."""
    steps = np.arange(log_energies.shape[-1])
    terms: Floats = log_energies + 2.0 * steps * np.asarray(log_g)[..., None]
    if as_model(model) is Model.RNN:
        return terms
    sums: Floats = np.logaddexp.accumulate(terms, axis=-1) - np.log1p(steps)
    return sums


def largest_log_scales(log_energies: Floats, horizons: ArrayLike, log_bound: float, model: str) -> Floats:
    r"""Largest log g with which each draw keeps its energy at or below the bound for 1 <= k <= T.

    Parameters
    ----------
    log_energies
        Paths at scale 1, shape (draws, K+1).
    horizons
        Increasing horizons T, 1 <= T <= K.
    log_bound
        Natural log of the bound.
    model
        ``"rnn"``: min_{k<=T} (log bound - L_k)/(2k). ``"driven"``: Newton's iteration on
        max_{k<=T} log(sum_{j<=k} e^{L_j + 2j log g}/(k+1)) = log bound, an increasing convex function of log g.

    Returns
    -------
    float64
        Shape (draws, len(horizons)).
    """
    wanted = np.asarray(horizons, dtype=np.int64)
    last = int(wanted[-1])
    out = np.empty((len(log_energies), wanted.size))
    if as_model(model) is Model.DRIVEN:
        from signalprop.montecarlo._driven import driven_kernel  # numba: not needed for the linear recurrence

    def fill(start: int) -> None:
        part = slice(start, start + _BLOCK)
        paths = np.ascontiguousarray(log_energies[part, : last + 1])
        if as_model(model) is Model.RNN:
            each = (log_bound - paths[:, 1:]) / (2.0 * np.arange(1, last + 1))
            out[part] = np.minimum.accumulate(each, axis=1)[:, wanted - 1]
        else:
            driven_kernel(paths, wanted, log_bound, out[part])

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
        Share and log g for each of the (increasing) horizons.
    """
    wanted = np.asarray(horizons, dtype=np.int64)
    steps = 2.0 * np.arange(1, wanted[-1] + 1)
    paths = log_energies[:, 1 : wanted[-1] + 1]
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
