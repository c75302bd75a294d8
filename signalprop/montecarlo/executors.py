"""Who draws the blocks: threads, processes, the workers of a Dask cluster, or any executor with ``submit``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from signalprop._extras import missing
from signalprop._threads import Threads, cores
from signalprop.montecarlo.processes import Processes

KINDS = ("threads", "processes", "dask://HOST:PORT")
_SCHEDULER_TIMEOUT = "10s"
_FOREIGN_WINDOW = 128  # tasks that wait in an executor whose size is not known


@contextmanager
def pool(executor: Any, workers: int | None) -> Iterator[tuple[Callable[..., Any], int]]:
    """The `submit` of the executor, and how many tasks to keep waiting in it.

    Threads and processes are made here and ended here; an executor or a Dask client that was handed in is left running.

    Raises
    ------
    ValueError
        An unknown name, or an object that is no executor.
    """
    count = workers or cores()
    own: Threads | Processes
    if executor is None or executor == "threads":
        own = Threads(count)
    elif executor == "processes":
        own = Processes(count)
    elif isinstance(executor, str):
        if not executor.startswith("dask://") or not executor.removeprefix("dask://"):
            raise ValueError(
                f"executor must be one of {', '.join(KINDS)}, an executor or a Dask client, got {executor!r}."
            )
        with _client(executor.removeprefix("dask://")) as client:
            yield client.get_executor(pure=False).submit, _FOREIGN_WINDOW
        return
    elif hasattr(
        executor, "get_executor"
    ):  # a Dask client; its tasks are not pure: a block of a later run is a new task
        yield executor.get_executor(pure=False).submit, _FOREIGN_WINDOW
        return
    elif hasattr(executor, "submit"):
        known = getattr(executor, "_max_workers", None)
        yield executor.submit, 2 * known if isinstance(known, int) else _FOREIGN_WINDOW
        return
    else:
        raise ValueError(f"executor must be one of {', '.join(KINDS)}, an executor or a Dask client, got {executor!r}.")
    try:
        yield own.submit, 2 * count
    finally:
        own.stop()


@contextmanager
def _client(address: str) -> Iterator[Any]:
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise ValueError(missing("executor='dask://..'", "distributed")) from None
    try:
        client = distributed.Client(f"tcp://{address}", timeout=_SCHEDULER_TIMEOUT)
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {address} ({error}).") from None
    try:
        yield client
    finally:
        client.close(timeout=1)  # it may wait for tasks that nobody waits for
