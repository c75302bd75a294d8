"""What is left of a state after k steps, and the thread limit that products of small matrices want."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np

from signalprop.recurrences.arguments import MODE_SECONDS, MULTIPLICATION_SECONDS, STEP_SECONDS, check_path
from signalprop.recurrences.dense_operators import Array, Dense, ScaledUnitary
from signalprop.recurrences.operators import Operator
from signalprop.recurrences.power_sums import BLOCK, Floats


def decay(A: Operator, start: Array, steps: int) -> Floats:
    """Energy of the columns of `start` under powers of A (dense), or of mode weights under those of the moduli."""
    path: Floats
    largest = float(np.abs(start).max())
    if largest == 0.0:
        raise ValueError("the starting vectors are all zero, so the share that is left is undefined.")
    start = start / largest  # squares of huge or tiny entries would leave float64
    if isinstance(A, ScaledUnitary):
        with np.errstate(over="ignore"):
            path = np.exp(2.0 * A.log_gamma * np.arange(steps + 1))
    elif isinstance(A, Dense):
        check_path("a path", steps, STEP_SECONDS + MULTIPLICATION_SECONDS * A.size**2 * start.shape[1])
        path = np.empty(steps + 1)
        state = start
        with np.errstate(over="ignore", invalid="ignore"):
            for step in range(steps + 1):
                path[step] = np.sum(np.abs(state) ** 2)
                state = A.apply(state)
    else:
        check_path("a path", steps, MODE_SECONDS * len(start))
        rate, size = 2.0 * A.modes.log_modulus, max(1, BLOCK // len(start))
        blocks = [np.arange(low, min(low + size, steps + 1))[:, None] for low in range(0, steps + 1, size)]
        with np.errstate(over="ignore"):
            path = np.concatenate([np.exp(k * rate) @ start for k in blocks])
    if not np.isfinite(path).all():
        raise OverflowError(
            f"the energy leaves float64 at step {np.flatnonzero(~np.isfinite(path))[0]}; shorten the horizon."
        )
    return np.asarray(path / path[0])


def one_thread_if_small(size: int) -> AbstractContextManager[Any]:
    """One BLAS thread while matrices are small: splitting such products over threads costs more than the products."""
    if size > 256:
        return nullcontext()
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits


@cache
def _controller() -> Any:
    """The libraries of this process, looked for once: NumPy's BLAS is loaded long before."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
