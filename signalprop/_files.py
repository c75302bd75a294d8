"""Files outside the directories of runs and trainings: read whole or refused with a sentence, written whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from signalprop._checks import path_of

LARGEST = 1 << 24  # bytes of a file of settings or of a plan


def require_regular(path: str | os.PathLike[str]) -> None:
    """Refuse folders, pipes and devices, which would block a reader or never end.

    Raises
    ------
    FileNotFoundError
        There is nothing at this path.
    ValueError
        Something other than a file.
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
        Not a path, or not a regular file of at most `largest` bytes in UTF-8.
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


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The JSON object in a file.

    Raises
    ------
    OSError
        It cannot be read.
    ValueError
        Not a JSON object.
    """
    try:
        found = json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)} is not JSON ({error}).") from None
    if not isinstance(found, dict):
        raise ValueError(f"{os.fspath(path)} holds no JSON object.")
    return found


@contextmanager
def our_own(path: object) -> Iterator[None]:
    """For a block that reads a file of this package: say so where the file is damaged or missing.

    Raises
    ------
    ValueError
        The file cannot be read; the message says what to do.
    """
    try:
        yield
    except Exception as error:  # zip, zlib and NumPy raise what they like for damaged files
        raise ValueError(
            f"{path}, which comes with signalprop, cannot be read ({type(error).__name__}: {error}); install signalprop again."
        ) from error


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file that takes its place at `path` when the block ends without an error; a crash leaves what was there.

    Until then it has a random new name, where no link can be waiting, and it is on disk before it takes its place.

    Raises
    ------
    OSError
        It cannot be written; the name in the error is `path`.
    """
    path = Path(path)
    part = path.with_name(f"{path.name[:50]}.{secrets.token_hex(8)}.part")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        with open(os.open(part, flags, 0o666), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
        _sync(path.parent)
    except OSError as error:
        part.unlink(missing_ok=True)
        if error.filename is not None:
            error.filename, error.filename2 = os.fspath(path), None
        raise
    except BaseException:  # Ctrl-C
        part.unlink(missing_ok=True)
        raise


def replace(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file as `replacing` does."""
    with replacing(path) as file:
        file.write(content)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
