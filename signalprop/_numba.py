"""The one decorator of every compiled kernel: numba without the interpreter lock, and a cache that nothing depends on.

numba's own ``cache=True`` refuses to define a function where no directory can be written, and stops on a damaged file or a
full disk. Here a cache that is missing, damaged, or cannot be written means that the kernel is compiled anew. A data file
carries its checksum and the signature it belongs to: a flipped bit is noticed before the code runs, and so is a file that
two processes wrote at once on their first start. The cache is keyed by the file of the compiled function alone, so a kernel
and the compiled functions that it calls live in one file.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
from collections.abc import Callable
from typing import Any

from numba import config, njit
from numba.core import caching
from numba.extending import intrinsic

_FunctionCache: Any = caching.FunctionCache  # numba has no types
_IndexDataCacheFile: Any = caching.IndexDataCacheFile
log = logging.getLogger("signalprop")


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """``numba.njit(nogil=True, **options)``, kept on disk where that is possible; bare or with options."""

    def compiled(python: Callable[..., Any]) -> Any:
        dispatcher = njit(nogil=True, **options)(python)
        try:
            dispatcher._cache = _Cache(python)
        except Exception as error:  # no directory can be written
            log.debug("%s is compiled in each process: %s", python.__qualname__, error)
        return dispatcher

    return compiled if function is None else compiled(function)


def primitive(build: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """`numba.extending.intrinsic` of `build`, beside its definition in plain Python, which is decorated.

    numba runs kernels in plain Python where it is told not to compile (NUMBA_DISABLE_JIT=1), and has no other way to run an
    intrinsic there.
    """

    def chosen(definition: Callable[..., Any]) -> Any:
        return definition if getattr(config, "DISABLE_JIT", False) else intrinsic(build)

    return chosen


class _Cache(_FunctionCache):  # type: ignore[misc]
    """Every failure to read means that there is nothing to read, every failure to write that nothing is kept."""

    def __init__(self, python: Callable[..., Any]) -> None:
        super().__init__(python)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _File(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # whatever unpickling a damaged file may raise
            log.debug("%s is compiled anew: %r", self._name, error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except Exception as error:  # disk full, directory gone or read-only, a damaged index
            log.debug("%s is not kept on disk: %r", self._name, error)


class _File(_IndexDataCacheFile):  # type: ignore[misc]
    """Index and data files as numba's, but a data file is the SHA-256 of the rest, its key, and the data."""

    def save(self, key: Any, data: Any) -> None:
        try:
            super().save(key, (key, data))
        except (OSError, MemoryError):
            raise
        except Exception:  # a damaged index
            self.flush()
            super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        held = super().load(key)
        return held[1] if held is not None and held[0] == key else None

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(content).digest() + content)

    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            digest, content = file.read(32), file.read()
        return pickle.loads(content) if hashlib.sha256(content).digest() == digest else None
