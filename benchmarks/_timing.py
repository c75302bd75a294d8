"""Best and median of repeated runs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds(call: Callable[[], object], repeats: int = 3) -> float:
    """Median wall time of `repeats` calls, after one call to warm up."""
    call()
    return once(call, repeats)


def once(call: Callable[[], object], repeats: int = 1) -> float:
    """Median wall time of `repeats` calls without a warm-up."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def nice(value: float) -> str:
    """Seconds in a readable unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        if value * factor >= 1.0:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"
