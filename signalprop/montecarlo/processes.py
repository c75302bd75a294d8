"""Worker processes whose death is noticed at any moment, even while they send a result.

`concurrent.futures` reads the results of all its processes from one pipe: a process that is killed while it writes leaves half a
message there, and the reader waits for the other half for ever. Here each process has a pipe of its own and a thread that
waits for it; the end of a process closes its pipe. What it was working on is handed to a fresh process, at most twice.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

from signalprop._blas import one_blas_thread

_ATTEMPTS = 3  # processes that may die with the same task


class Processes:
    """A few processes and the tasks they are handed; never forked, since a fork would copy locks that running threads hold."""

    def __init__(self, count: int) -> None:
        self._tasks: SimpleQueue[tuple[Future[Any], Any] | None] = SimpleQueue()
        self._ending = False
        self._lock = threading.Lock()
        self._alive: set[Any] = set()
        self._context = multiprocessing.get_context("spawn")
        self._threads = [threading.Thread(target=self._attend, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Hand a task over."""
        future: Future[Any] = Future()
        self._tasks.put((future, (function, arguments)))
        return future

    def stop(self) -> None:
        """Kill the processes; tasks that have not ended are dropped."""
        with self._lock:
            self._ending = True
            for process in self._alive:
                process.kill()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join(1.0)

    def _attend(self) -> None:
        """The life of one process after another, from the parent's side."""
        process: Any = None
        pipe: Any = None
        try:
            while (task := self._tasks.get()) is not None:
                future, work = task
                if self._ending or not future.set_running_or_notify_cancel():
                    future.cancel()
                    continue
                for attempt in range(1, _ATTEMPTS + 1):
                    try:
                        if pipe is None:
                            process, pipe = self._start()
                        pipe.send(work)
                        good, result = pipe.recv()
                    except (EOFError, OSError):  # the process is gone
                        self._bury(process, pipe)
                        process = pipe = None
                        if self._ending or attempt == _ATTEMPTS:
                            future.set_exception(
                                ChildProcessError(
                                    f"{attempt} worker processes died with the same block, perhaps for want of memory; "
                                    "a run with a directory can be resumed."
                                )
                            )
                            break
                    except BaseException as error:  # cannot be sent
                        future.set_exception(error)
                        break
                    else:
                        future.set_result(result) if good else future.set_exception(result)
                        break
        finally:
            self._bury(process, pipe)

    def _start(self) -> tuple[Any, Any]:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        with self._lock:
            if self._ending:
                raise EOFError
            # It is born with Ctrl-C blocked: that is for the parent.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                process.start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self._alive.add(process)
        theirs.close()  # now the end of the process is the end of the pipe
        return process, ours

    def _bury(self, process: Any, pipe: Any) -> None:
        if pipe is not None:
            pipe.close()
        if process is not None:
            with self._lock:
                self._alive.discard(process)
            process.kill()
            process.join()


def _serve(pipe: Any) -> None:
    """The life of a process: it ends with its parent, and BLAS keeps to one thread."""
    parent = multiprocessing.parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    with one_blas_thread():
        while True:
            try:
                function, arguments = pipe.recv()
            except (EOFError, OSError):
                return
            try:
                answer = True, function(*arguments)
            except Exception as error:
                answer = False, error
            try:
                pipe.send(answer)
            except OSError:
                return
            except Exception as error:  # an exception that cannot be pickled
                pipe.send((False, RuntimeError(f"{answer[1]!r} cannot be sent back ({error}).")))
