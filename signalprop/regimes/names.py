"""The regimes by scale alone."""

from __future__ import annotations

import math

SUBCRITICAL_WITHIN = 0.01  # relative distance from infinite width


def regime_by_scale(n: int, k: int) -> str:
    """Critical up to k = 5 sqrt(n), supercritical up to n/10, linear up to 10 n, superlinear beyond.

    "Subcritical", within 1 % of infinite width, is left to the caller, who knows the energy.
    """
    if k >= 10 * n:
        return "superlinear"
    if k <= 5.0 * math.sqrt(n):
        return "critical"
    return "supercritical" if k <= n / 10 else "linear"
