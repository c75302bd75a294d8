"""Means with their intervals over seeds."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats


def interval(values: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """Mean and its t interval; of no width where all values agree or there is one only."""
    mean, count = float(values.mean()), len(values)
    if count == 1:
        return mean, mean, mean
    half = float(stats.t.ppf(0.5 + 0.5 * confidence, count - 1) * values.std(ddof=1) / math.sqrt(count))
    return mean, mean - half, mean + half
