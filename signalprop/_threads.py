"""One way to use all cores: kernels that release the interpreter lock, on a few threads that can be told to stop.

Python sees Ctrl-C in the main thread, and only between two of its own instructions. So work is done on other threads, and
whoever waits for them can leave at any moment: tasks that have not begun are dropped, and running ones are told to stop.
A task is told by its flag, an array of one number that compiled loops look at (`stop_flag`), or by `go_on` between two steps
in Python.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Item = TypeVar("Item")
Result = TypeVar("Result")
Flag = NDArray[np.int64]

GLANCE = 0.2  # seconds of waiting after which Python is asked for a Ctrl-C
FAREWELL = 1.0  # seconds that threads told to stop are waited for; then they are left behind
_AHEAD = 4  # tasks per thread that are begun before the earliest is asked for
_own = threading.local()
_never = np.zeros(1, np.int64)
_left: list[threading.Thread] = []


class Stopped(BaseException):
    """Raised inside a task that was told to stop; nobody waits for its result."""


def cores() -> int:
    """Number of processors this process may use (affinity respected)."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def stop_flag() -> Flag:
    """The flag of the task that this thread works on: its number is not zero once the task should stop."""
    flag: Flag = getattr(_own, "flag", _never)
    return flag


def go_on() -> None:
    """Leave the task that this thread works on, by `Stopped`, if it was told to stop."""
    if stop_flag()[0]:
        raise Stopped


def left_behind() -> bool:
    """Whether a thread that was told to stop is still inside a task; a process should then end without waiting for it."""
    return any(thread.is_alive() for thread in _left)


def first_done(futures: Iterable[Future[Result]]) -> set[Future[Result]]:
    """Wait until some of the tasks are done.

    It waits in slices: a Ctrl-C at the moment when a wait begins is noticed only once that wait ends.
    """
    waiting = list(futures)
    while not (done := wait(waiting, GLANCE, FIRST_COMPLETED).done):
        pass
    return done


def result_of(future: Future[Result]) -> Result:
    """Wait for a task, as `first_done` does, and return its result or raise its exception."""
    first_done([future])
    return future.result()


def thread_map(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int | None = None, *, inline: bool = True
) -> Iterator[Result]:
    """Yield ``function(item)`` in the order of `items`, computed on `workers` threads (default: all cores).

    An exception in a task is raised here. After one, after Ctrl-C, and when the generator is closed, no further task is begun
    and running ones are told to stop. With `inline` a single task, or all tasks of a single worker, are done by the calling
    thread, which saves a tenth of a millisecond; Ctrl-C then waits for a task to end.
    """
    tasks = list(items)
    count = min(workers or cores(), len(tasks))
    if count <= 1 and inline:
        yield from map(function, tasks)
        return
    threads = Threads(count)
    try:
        begun: deque[Future[Result]] = deque()
        for task in tasks:
            begun.append(threads.submit(function, task))
            if len(begun) >= _AHEAD * count:
                yield result_of(begun.popleft())
        while begun:
            yield result_of(begun.popleft())
    finally:
        threads.stop()


class Threads:
    """A few threads and the tasks they are handed; daemons, so that a process can end while one is inside a long task."""

    def __init__(self, count: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]] | None] = SimpleQueue()
        self._flag = np.zeros(1, np.int64)
        self._threads = [
            threading.Thread(target=self._work, name=f"signalprop-{index}", daemon=True) for index in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., Result], *arguments: Any) -> Future[Result]:
        """Hand a task over."""
        future: Future[Result] = Future()
        self._tasks.put((future, function, arguments))
        return future

    def tell(self) -> None:
        """Drop the tasks that have not begun, and tell the others to stop."""
        self._flag[0] = 1

    def stop(self) -> None:
        """As `tell`, and wait at most a second for the tasks."""
        self.tell()
        for _ in self._threads:
            self._tasks.put(None)
        deadline = time.monotonic() + FAREWELL
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        _left[:] = [thread for thread in (*_left, *self._threads) if thread.is_alive()]

    def _work(self) -> None:
        _own.flag = self._flag
        while (task := self._tasks.get()) is not None:
            future, function, arguments = task
            del task
            if self._flag[0]:
                future.cancel()
            elif future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*arguments))
                except BaseException as error:
                    future.set_exception(error)
            del future, function, arguments
