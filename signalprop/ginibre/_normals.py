"""Normal numbers in pieces, so that a task can be told to stop between two of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from signalprop._threads import go_on

_PIECE = 1 << 23  # numbers drawn in a tenth of a second


def fill_normal(rng: np.random.Generator, out: NDArray[np.float64], scale: float = 1.0) -> NDArray[np.float64]:
    """Fill a contiguous array with independent normal numbers of standard deviation `scale`, as one call would."""
    flat = out.reshape(-1)
    for start in range(0, flat.size, _PIECE):
        part = flat[start : start + _PIECE]
        rng.standard_normal(out=part)
        if scale != 1.0:
            part *= scale
        go_on()
    return out
