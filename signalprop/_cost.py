"""What a call would cost, estimated before it starts; past a bound it is refused in a sentence.

Estimates are within a factor of about three of a current core. The bounds are `DEFAULT_SECONDS` of work and the memory of the
machine; `allow` lifts them for the calls inside it, and commands that can run for long have ``--max-hours``.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from signalprop._checks import positive_float

DEFAULT_SECONDS = 600.0
_PHYSICAL_SHARE = 0.8
_UNKNOWN_MEMORY = 8.0 * 2**30

_seconds: ContextVar[float | None] = ContextVar("seconds", default=None)
_memory: ContextVar[float | None] = ContextVar("memory", default=None)


def allow(*, hours: float | None = None, gigabytes: float | None = None) -> AbstractContextManager[None]:
    """Let the calls inside take up to `hours` of work and `gigabytes` (2^30 bytes) of memory before they are refused.

    Without it a call that is estimated to take more than ten minutes, or more than 80 % of the machine's memory, is refused
    before it starts.

    Raises
    ------
    ValueError
        A bound that is not a positive number.

    Examples
    --------
    >>> import signalprop
    >>> with signalprop.allow(hours=2):
    ...     signalprop.exact.rnn_energy(10, 2, "real")
    Fraction(51, 50)
    """
    seconds = None if hours is None else 3600.0 * positive_float(hours, "hours")
    memory = None if gigabytes is None else 2.0**30 * positive_float(gigabytes, "gigabytes")
    return _allowed(seconds, memory)


@contextmanager
def _allowed(seconds: float | None, memory: float | None) -> Iterator[None]:
    set_seconds = _seconds.set(_seconds.get() if seconds is None else seconds)
    set_memory = _memory.set(_memory.get() if memory is None else memory)
    try:
        yield
    finally:
        _seconds.reset(set_seconds)
        _memory.reset(set_memory)


def refuse_beyond_bounds(
    what: str, *, seconds: float = 0.0, memory: float = 0.0, instead: str = "", default_seconds: float = DEFAULT_SECONDS
) -> None:
    """Raise ValueError if `what` would take more time or more memory than is allowed.

    `instead` is the sentence that names the cheaper method. `default_seconds` is the bound that holds outside `allow`.
    """
    then = f"{instead}{' ' if instead else ''}To"
    allowed = _seconds.get() or default_seconds
    if not seconds <= allowed:
        about = f"about {in_words(seconds)}" if in_words(seconds) != in_words(allowed) else "a little longer"
        are = "is" if in_words(allowed).startswith("1 ") else "are"
        raise ValueError(
            f"{what} would take {about}, and {in_words(allowed)} {are} allowed. "
            f"{then} let it run all the same: with signalprop.allow(hours={_enough(2.0 * seconds / 3600.0)})."
        )
    room = _memory.get() or physical_memory() * _PHYSICAL_SHARE
    if not memory <= room:
        raise ValueError(
            f"{what} would take about {_gigabytes(memory)} of memory, and {_gigabytes(room)} are allowed. "
            f"{then} try all the same: with signalprop.allow(gigabytes={_enough(memory / 2**30)})."
        )


def physical_memory() -> float:
    """Bytes of memory that this machine has; 8 GiB where that is unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return _UNKNOWN_MEMORY


def in_words(seconds: float) -> str:
    """A duration in everyday words: '40 seconds', '12 minutes', '36 hours', '3 years'.

    Examples
    --------
    >>> in_words(600), in_words(4e5), in_words(1e12)
    ('10 minutes', '4.6 days', '31700 years')
    """
    for unit, size, largest in (("second", 1.0, 90.0), ("minute", 60.0, 5400.0), ("hour", 3600.0, 3 * 86400.0),
                                ("day", 86400.0, 2 * 365.25 * 86400.0)):  # fmt: skip
        if seconds < largest:
            count = f"{seconds / size:.2g}" if seconds / size < 9.95 else f"{seconds / size:.0f}"
            return f"{count} {unit}{'' if count == '1' else 's'}"
    years = seconds / (365.25 * 86400.0)
    return f"{float(f'{years:.3g}'):.0f} years" if years < 1e6 else "millions of years"


def _enough(bound: float) -> str:
    """A bound that is at least this, for the line to paste."""
    return f"{math.ceil(bound)}" if bound < 1e6 else f"1e{math.ceil(math.log10(bound))}" if bound < 1e300 else "1e300"


def _gigabytes(size: float) -> str:
    count = size / 2**30
    return f"{count:.2g} GiB" if count < 9.95 else f"{count:.0f} GiB" if count < 1e6 else f"{count:.3g} GiB"
