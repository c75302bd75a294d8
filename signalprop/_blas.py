"""One BLAS thread while anything in this process draws: the cores belong to the thread pool, and the digits stay the same.

BLAS keeps one thread count for the whole process, so several threads that each set it and put it back would disturb each
other; the first one in sets it, the last one out puts it back.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import threadpoolctl

_lock = threading.Lock()
_inside = 0
_limits: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread while any thread of this process is inside."""
    global _inside, _limits  # noqa: PLW0603 (so is the thread count)
    with _lock:
        if _inside == 0:
            _limits = threadpoolctl.threadpool_limits(1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                # Newer versions of threadpoolctl let only the thread that set the limit restore it, and ignore others silently.
                release = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
                if release is not None:
                    release(force=True)
                _limits.restore_original_limits()


def one_blas_thread_if(needed: bool) -> AbstractContextManager[None]:
    """`one_blas_thread` if `needed`, else nothing: finding the BLAS libraries takes milliseconds."""
    return one_blas_thread() if needed else nullcontext()
