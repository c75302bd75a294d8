"""Values given by their natural logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import flag

LARGEST_LOG = float(np.log(np.finfo(np.float64).max))
SMALLEST_LOG = float(np.log(np.finfo(np.float64).tiny))


def from_logs(log_values: NDArray[np.float64], log: bool, what: str = "the energy") -> Any:
    """The logs themselves if `log`, else their exponentials; a scalar for a 0-d array.

    Raises
    ------
    OverflowError
        If an exponential is outside the range of float64.
    """
    if flag(log, "log"):
        return log_values[()]
    if log_values.size:
        for worst in (float(log_values.max()), float(log_values.min())):
            if not SMALLEST_LOG <= worst <= LARGEST_LOG and worst != -np.inf:
                raise OverflowError(
                    f"{what} e^{worst:.6g} is outside the range of float64; use log=True for its natural logarithm."
                )
    return np.exp(log_values)[()]
