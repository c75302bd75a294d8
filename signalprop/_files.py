"""Text files that a user hands in: read whole, whatever they are, or refused with a sentence."""

from __future__ import annotations

import os
import stat
import tomllib
from typing import Any

from signalprop._checks import path_of

LARGEST = 1 << 24  # bytes of a file of settings or of a plan


def require_regular(path: str | os.PathLike[str]) -> None:
    """Refuse folders, pipes and devices, which would block a reader or never end.

    Raises
    ------
    FileNotFoundError
        Nothing is there.
    ValueError
        Something else than a file.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise ValueError(f"{os.fspath(path)} is a folder, not a file.")
    if not stat.S_ISREG(mode):
        raise ValueError(f"{os.fspath(path)} is a pipe or a device, not a file; save its content to a file first.")


def read_text(path: str | os.PathLike[str], largest: int = LARGEST) -> str:
    """The text of a file in UTF-8, with or without a byte order mark.

    Raises
    ------
    OSError
        It cannot be read.
    ValueError
        No path; it is no regular file, larger than `largest` bytes, or no UTF-8.
    """
    path = path_of(path, "path")
    require_regular(path)
    with path.open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"{os.fspath(path)} has more than {largest} bytes, too many for what it should hold.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{os.fspath(path)} is not text in UTF-8 (byte {content[error.start]:#04x} at place {error.start}); save it as UTF-8."
        ) from None


def parse_toml(text: str, what: str) -> dict[str, Any]:
    """A TOML document; `what` is what the message calls it.

    Raises
    ------
    ValueError
        Not TOML, or lists nested beyond reason.
    """
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError(f"{what} is not a TOML file: it is nested too deeply.") from None
    except ValueError as error:
        raise ValueError(f"{what} is not a TOML file: {str(error).rstrip('.')}.") from None
