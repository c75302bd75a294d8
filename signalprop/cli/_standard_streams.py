"""Standard streams that are closed, or lead to a full disk: an exit code and a sentence, never a traceback.

Exit codes: 141 where the reader of a pipe has gone, as after SIGPIPE; 74 (EX_IOERR) where the output cannot be written; 130 after
Ctrl-C, as after SIGINT.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

NOT_WRITTEN = 74
CTRL_C = 130
READER_GONE = 141
_FAILED = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def open_closed() -> None:
    """Let closed standard streams lead nowhere, so that no file opened later takes their place and gets what is printed."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False, encoding="utf-8")  # noqa: SIM115


def escape_what_cannot_be_encoded() -> None:
    r"""Print a character that a stream has no code for as ``\\xfc``: paths hold any, and some terminals know ASCII alone.

    A stream that hands the bytes of file names through (surrogateescape, as in the C locale) goes on doing so.
    """
    codecs.register_error("signalprop.escape", _bytes_or_escaped)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="signalprop.escape" if stream.errors == "surrogateescape" else "backslashreplace")


def _bytes_or_escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


def is_of_output(error: BaseException) -> bool:
    """Whether an error comes from writing to a standard stream: those of files carry a name, or are sentences."""
    return isinstance(error, OSError) and error.filename is None and error.errno in _FAILED


@contextmanager
def written() -> Iterator[None]:
    """End the process with the exit code of this module where what the block prints cannot be written.

    Raises
    ------
    SystemExit
        After one sentence on standard error, if that can be written, for anything but a reader that has gone.
    """
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader (head, less) has gone
        silence()
        raise SystemExit(READER_GONE) from None
    except OSError as error:
        if not is_of_output(error):
            raise
        silence()
        with contextlib.suppress(OSError):
            print(f"signalprop: the output could not be written: {error.strerror}.", file=sys.stderr, flush=True)
        raise SystemExit(NOT_WRITTEN) from None


def silence() -> None:
    """Let standard output lead nowhere, so that what is left in its buffer can no longer fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
