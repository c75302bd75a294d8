"""Ctrl-C on the command line: out within two seconds with exit code 130, and a sentence if there is something to say.

Python raises KeyboardInterrupt in the main thread, between two of its own instructions. Where that thread is inside one long
call (LAPACK, a sort of all draws, a slow disk), the system still tells another thread that the key was pressed, and after
`PATIENCE` it ends the process. No more is lost than in a crash, and a crash loses nothing that was promised: files are
replaced in one move. A call that keeps the lock of the interpreter is waited for; none here keeps it for long.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from signalprop.cli._standard_streams import CTRL_C

PATIENCE = 1.0  # seconds from the key to the end of a process that has not heard it

_words: list[Callable[[], str]] = []
_heard: list[int] = []
_SHOW_CURSOR = "\x1b[?25h"  # which a bar hides


@contextmanager
def saying(words: Callable[[], str]) -> Iterator[None]:
    """Say these words if Ctrl-C ends the block, and end the process with exit code 130.

    Raises
    ------
    SystemExit
        Instead of KeyboardInterrupt.
    """
    _words.append(words)
    try:
        yield
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):
            print(f"\n{words()}", file=sys.stderr, flush=True)
        raise SystemExit(CTRL_C) from None
    finally:
        _words.pop()


def watch() -> None:
    """Leave in time from now on, wherever the main thread is; call it from there, once."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # not ours, or ignored as after nohup
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _hear)
    threading.Thread(target=_attend, args=(reader,), name="signalprop-ctrl-c", daemon=True).start()


def _hear(number: int, frame: FrameType | None) -> None:
    _heard.append(number)
    signal.default_int_handler(number, frame)


def _attend(reader: int) -> None:
    while True:
        if signal.SIGINT not in os.read(reader, 1):
            continue
        deadline = time.monotonic() + PATIENCE
        while not _heard and time.monotonic() < deadline:
            time.sleep(0.05)
        if not _heard:
            _end()
        _heard.clear()


def _end() -> None:
    """End the process from a thread that is not the main one."""
    with contextlib.suppress(Exception):
        bar = _SHOW_CURSOR if sys.stderr.isatty() else ""
        text = f"{bar}\n{_words[-1]()}\n" if _words else f"{bar}\n"
        os.write(2, text.encode(errors="backslashreplace"))
    os._exit(CTRL_C)
