"""One way to use all cores: kernels compiled with ``nogil=True`` on a pool of Python threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """Number of processors this process may use (affinity respected)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_map(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None
) -> Iterator[Result]:
    """Yield ``function(item)`` in the order of `items`, computed on `workers` threads (default: all cores)."""
    tasks = list(items)
    count = min(workers or cores(), len(tasks))
    if count <= 1:
        yield from map(function, tasks)
        return
    with ThreadPoolExecutor(count) as pool:
        yield from pool.map(function, tasks)
