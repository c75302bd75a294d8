"""Kernels: the largest scale that keeps the driven recurrence of one draw at or below a bound."""

from __future__ import annotations

import math

import numpy as np

from signalprop._numba import kernel


@kernel
def _highest_kernel(path, last, log_g):  # type: ignore[no-untyped-def]
    """Largest log(sum_{j<=k} e^{L_j + 2j log g}/(k+1)) over 1 <= k <= last, and its derivative in log g."""
    top = 0.0  # the running sum is e^top * total, its derivative e^top * slope
    total = 1.0
    slope = 0.0
    highest = -np.inf
    steepness = 0.0
    for k in range(1, last + 1):
        term = path[k] + 2.0 * k * log_g
        if term > top:
            shrink = math.exp(top - term)
            total = total * shrink + 1.0
            slope = slope * shrink + 2.0 * k
            top = term
        else:
            part = math.exp(term - top)
            total += part
            slope += 2.0 * k * part
        value = top + math.log(total / (k + 1.0))
        if value > highest:
            highest = value
            steepness = slope / total
    return highest, steepness


@kernel
def driven_kernel(paths, horizons, log_bound, out):  # type: ignore[no-untyped-def]
    """out[draw, i] = largest log g with log(sum_{j<=k} e^{L_j + 2j log g}/(k+1)) <= log_bound for 1 <= k <= horizons[i]."""
    for draw in range(paths.shape[0]):
        path = paths[draw]
        log_g = np.inf
        start = 1
        for column in range(horizons.size):
            last = horizons[column]
            # The last term alone bounds the sum from below, so the root is at or left of this.
            for k in range(start, last + 1):
                log_g = min(log_g, (log_bound + math.log(k + 1.0) - path[k]) / (2.0 * k))
            start = last + 1
            # Newton from the right of the root of an increasing convex function descends to it.
            for _ in range(200):
                highest, steepness = _highest_kernel(path, last, log_g)
                excess = highest - log_bound
                if excess <= 0.0:
                    break
                step = excess / steepness
                log_g -= step
                if step <= 1e-9:  # convergence is quadratic: the next step would be below the rounding
                    break
            out[draw, column] = log_g
