"""Long products and the pair (n, k), as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import broadcast, whole_numbers

Floats = NDArray[np.float64]


def widths_and_depths(n: ArrayLike, k: ArrayLike, name: str = "k", smallest: int = 0) -> tuple[Floats, Floats]:
    """Checked, broadcast and converted to float64."""
    widths, depths = broadcast({"n": whole_numbers(n, "n", 1), name: whole_numbers(k, name, smallest)})
    return widths.astype(np.float64), depths.astype(np.float64)


def phi(c: Floats) -> Floats:
    """phi(c) = (1+c) log(1+c) - c to about 1e-13 relative; small c by a series."""
    series = c**2 * (0.5 - c * (1 / 6 - c * (1 / 12 - c * (1 / 20 - c / 30))))
    return np.where(c < 2e-3, series, (1.0 + c) * np.log1p(c) - c)


def log_rising(z: Floats, m: Floats) -> Floats:
    """Log of z(z+1)..(z+m-1)/z^m = log Gamma(z+m) - log Gamma(z) - m log z, to about 1e-12 relative for z >= 1/2."""
    from scipy import special  # the names of the regimes do not need it

    large = np.maximum(z, 20.0)

    def tail(w: Floats) -> Floats:
        return 1.0 / (12.0 * w) - 1.0 / (360.0 * w**3) + 1.0 / (1260.0 * w**5) - 1.0 / (1680.0 * w**7)

    ratio = m / large
    stirling = large * phi(ratio) - 0.5 * np.log1p(ratio) + tail(large + m) - tail(large)
    small = np.minimum(z, 20.0)
    direct = special.gammaln(small + m) - special.gammaln(small) - m * np.log(small)
    return np.where(z >= 20.0, stirling, direct)
