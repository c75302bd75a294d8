"""Who draws the blocks: threads, processes, the workers of a Dask cluster, or any executor with ``submit``."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from signalprop._checks import shown
from signalprop._extras import missing
from signalprop._threads import Threads, cores
from signalprop.montecarlo.processes import Processes

KINDS = ("threads", "processes", "dask://HOST:PORT", "tls://HOST:PORT")
_PROTOCOLS = {"dask": "tcp", "tls": "tls"}  # what a name of an executor begins with -> how Dask calls it
_SCHEDULER_TIMEOUT = "10s"
_FOREIGN_WINDOW = 128  # tasks that wait in an executor whose size is not known


@contextmanager
def pool(executor: Any, workers: int | None) -> Iterator[tuple[Callable[..., Any], int]]:
    """The `submit` of the executor, and how many tasks to keep waiting in it.

    Threads and processes are made here and ended here; an executor or a Dask client that was handed in is left running.

    Raises
    ------
    ValueError
        An unknown name, or an object that is not an executor.
    """
    count = workers or cores()
    own: Threads | Processes
    if executor is None or (isinstance(executor, str) and executor == "threads"):
        own = Threads(count)
    elif isinstance(executor, str) and executor == "processes":
        own = Processes(count)
    elif isinstance(executor, str):
        scheme, _, address = executor.partition("://")
        if scheme not in _PROTOCOLS or not address:
            raise ValueError(
                f"executor must be one of {', '.join(KINDS)}, an executor or a Dask client, got {shown(executor)}."
            )
        with _client(_PROTOCOLS[scheme], address) as client:
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
        raise ValueError(
            f"executor must be one of {', '.join(KINDS)}, an executor or a Dask client, got {shown(executor)}."
        )
    try:
        yield own.submit, 2 * count
    finally:
        own.stop()


@contextmanager
def _client(protocol: str, address: str) -> Iterator[Any]:
    """A Dask client; certificates for TLS come from Dask's configuration."""
    try:
        distributed = import_module("distributed")
    except ImportError:
        raise ValueError(missing("executor='dask://..'", "distributed")) from None
    if protocol == "tls":
        _require_certificates(distributed.Security(), address)
    try:
        client = distributed.Client(f"{protocol}://{address}", timeout=_SCHEDULER_TIMEOUT)
    except ssl.SSLError as error:
        raise ValueError(f"the certificates for 'tls://{address}' cannot be used ({error}).") from None
    except (OSError, ValueError) as error:
        hint = "" if protocol == "tls" else f" If it speaks TLS, the executor is 'tls://{address}'."
        raise ValueError(f"no Dask scheduler answers at {address} ({error}).{hint}") from None
    except RuntimeError as error:  # the configuration demands encryption
        raise ValueError(f"executor='dask://{address}' is not allowed here ({error}); use 'tls://{address}'.") from None
    try:
        yield client
    finally:
        client.close(timeout=1)  # it may wait for tasks that nobody waits for


def _require_certificates(security: Any, address: str) -> None:
    """Refuse TLS where Dask's configuration names no certificates, or files that do not exist."""
    named = {
        "CA_FILE": security.tls_ca_file,
        "CLIENT__CERT": security.tls_client_cert,
        "CLIENT__KEY": security.tls_client_key,
    }
    variables = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": value for name, value in named.items()}
    unset = [name for name, value in variables.items() if not value]
    if unset:
        raise ValueError(f"executor='tls://{address}' needs certificates: set {', '.join(unset)} to their files.")
    for name, value in variables.items():
        if "\n" not in value and not os.path.isfile(value):  # Dask takes the text of a certificate, too
            raise ValueError(f"{name} names {value!r}, which does not exist.")
