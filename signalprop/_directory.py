r"""A directory that outlives its process: one writer at a time, and no damaged file goes unnoticed.

`signalprop run` and `signalprop train` keep their work in one of these. What holds for both:

- A lock: a second process is refused and told who holds it. The system frees it when the holder dies. On a file system without
  locks a file named ``lock.held`` takes its place; that one stays behind when its process is killed, and the refusal says so.
- What decides the numbers is in one JSON file: the kind of directory, the format, the plan or the settings and data, the
  versions of the numerical libraries and a fingerprint of the code. It begins with the SHA-256 of the rest; any other plan,
  version or code is refused. Its digest, the `origin`, is repeated in every other file that is read back.
- A sealed file is the SHA-256 of the rest in hexadecimal, a line end, and the rest.
- A file is written under a random new name, where no link can be waiting, flushed to disk and renamed: a crash leaves the old
  file or the new one.
- Only regular files are read, never through a symbolic link, and only up to a size known in advance.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import socket
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from signalprop._files import replace
from signalprop._provenance import code_fingerprint, git_revision, installed_version

FORMAT = 2
KINDS = {"run": "manifest.json", "training": "settings.json"}  # kind -> the file that says what decides the numbers
LARGEST_ORIGIN = 1 << 26
_PART = re.compile(r".+\.[0-9a-f]{16}\.part")
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)


class DamagedError(ValueError):
    """A file that exists but is not what was written; `reason` continues the sentence after its path."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} {reason}.")
        self.reason = reason


class Directory:
    """A directory with a lock.

    Parameters
    ----------
    path
        Created if it does not exist.
    kind
        One of `KINDS`.
    again
        What to do after making room on a full disk, in words.

    Raises
    ------
    ValueError
        An empty path, a path that is not a folder, a directory of another kind.
    OSError
        Another process works in it, or it cannot be written.
    """

    def __init__(self, path: str | os.PathLike[str], kind: str, again: str) -> None:
        if not os.fspath(path):
            raise ValueError("the directory has no name; name a folder.")
        self.path, self.kind, self._again = Path(path), kind, again
        self.origin = ""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise ValueError(f"{self.path} is not a folder; name another directory.") from None
        self._held: Path | None = None
        self._lock = self._take()
        try:
            for other, name in KINDS.items():
                if other != kind and os.path.lexists(self.path / name):
                    raise ValueError(f"{self.path} holds a {other}; use another directory for a {kind}.")
            self.sweep()
        except BaseException:
            self.close()
            raise

    def sweep(self, folder: str = ".") -> None:
        """Remove what a killed process left half-written in a folder of the directory: names such as `replace` makes."""
        for left in (self.path / folder).iterdir():
            if _PART.fullmatch(left.name) and not left.is_dir():
                left.unlink()

    def begin(
        self,
        facts: dict[str, Any],
        libraries: Sequence[str],
        differ: Callable[[dict[str, Any], dict[str, Any]], str | None],
        mend: str,
    ) -> dict[str, Any]:
        """Compare `facts` and the versions of `libraries` with those the directory was begun with; write them if it is new.

        Parameters
        ----------
        facts
            What decides the numbers besides versions and code.
        libraries
            Distributions whose version may change digits.
        differ
            Takes the recorded and the given facts; returns a sentence that refuses them, or None.
        mend
            What to do about a damaged file, as a sentence.

        Returns
        -------
        dict
            The facts of the directory: those recorded before, if there were any.
        """
        path = self.path / KINDS[self.kind]
        try:
            held = self.read_json(path.name)
        except FileNotFoundError:
            held = None
        except DamagedError as error:
            raise ValueError(f"{error} {mend}") from None
        except OSError as error:
            raise ValueError(f"{path} cannot be read ({error.strerror}). {mend}") from None
        given = {
            "format": FORMAT,
            "kind": self.kind,
            **facts,
            "versions": {name: installed_version(name) for name in libraries},
            "code": code_fingerprint(),
            "git_revision": git_revision(),
        }
        if held is None:
            self.write_json(path.name, given)
            self.origin = _origin(given)
            return given
        if held.get("format") != FORMAT:
            raise ValueError(
                f"{path} has format {held.get('format')!r}, this version writes {FORMAT}; use an empty directory."
            )
        try:
            sentence = differ(held, given) or self._aged(held, given)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(
                f"{path} is not what signalprop writes ({type(error).__name__}: {error}). {mend}"
            ) from None
        if sentence:
            raise ValueError(sentence)
        self.origin = _origin(held)
        return held

    def _aged(self, held: dict[str, Any], given: dict[str, Any]) -> str | None:
        """The sentence that refuses other versions or other code."""
        old, new = held["versions"], given["versions"]
        changed = [f"{name} {old.get(name)}, now {new[name]}" for name in new if old.get(name) != new[name]]
        if changed:
            return (
                f"{self.path} was begun with {', '.join(changed)}, and digits may differ; go on with that version, or use an "
                "empty directory."
            )
        if held["code"] != given["code"]:
            one, two = (facts["git_revision"] or "unknown" for facts in (held, given))
            revisions = f"revision {one}, now {two}" if one != two else f"revision {one}, changed since"
            return (
                f"{self.path} was begun with other code of signalprop ({revisions}), and numbers may differ; go on with that "
                "code, or use an empty directory."
            )
        return None

    def read(self, name: str, largest: int) -> bytes:
        """A file of the directory, whole.

        Raises
        ------
        FileNotFoundError
            It does not exist.
        DamagedError
            Not a regular file, or larger than it can be.
        OSError
            It cannot be read.
        """
        path = self.path / name
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise DamagedError(path, "is a symbolic link, which is not followed") from None
            if error.errno == errno.ENXIO:
                raise DamagedError(path, "is a socket, not a file") from None
            raise
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise DamagedError(path, "is not a regular file")
        with open(descriptor, "rb") as file:
            if status.st_size > largest:
                raise DamagedError(path, f"has {status.st_size} bytes, more than the {largest} it can have")
            return file.read(largest + 1)

    def read_sealed(self, name: str, largest: int) -> bytes:
        """The content of a sealed file; raises as `read`, and `DamagedError` where the checksum does not match."""
        checksum, _, rest = self.read(name, largest + 65).partition(b"\n")
        if checksum != hashlib.sha256(rest).hexdigest().encode():
            raise DamagedError(self.path / name, f"does not match its checksum ({len(rest)} bytes)")
        return rest

    def read_json(self, name: str) -> dict[str, Any]:
        """The content of a file of `write_json`; raises as `read_sealed`."""
        path, content = self.path / name, self.read(name, LARGEST_ORIGIN)
        try:
            found = json.loads(content)
            found.pop("sha256")
            intact = _sealed_json(found) == content
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedError(path, f"cannot be read ({error or type(error).__name__})") from None
        if not intact:
            raise DamagedError(path, "cannot be read (it does not match its checksum)")
        return dict(found)

    def replace(self, name: str, content: bytes) -> None:
        """Write a file: complete, or not at all.

        Raises
        ------
        OSError
            The disk is full or the file cannot be written, which leaves the old file as it was; or the lock was taken away.
        """
        path = self.path / name
        self._own()
        try:
            replace(path, content)
        except OSError as error:
            raise self._explained(error, path, len(content)) from error

    def write_sealed(self, name: str, rest: bytes) -> None:
        """Write a sealed file, as `replace`."""
        self.replace(name, hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        """Write JSON that begins with the SHA-256 of the rest, as `replace`."""
        self.replace(name, _sealed_json(content))

    def append(self, name: str, content: bytes) -> None:
        """Add to the end of a file; it is on disk when this returns.

        Raises
        ------
        OSError
            As `replace`; a part of `content` may have been written.
        """
        path = self.path / name
        self._own()
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(descriptor, "ab") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
        except OSError as error:
            raise self._explained(error, path, len(content)) from error

    def close(self) -> None:
        """Release the directory."""
        if self._held is not None:
            self._held.unlink(missing_ok=True)
        os.close(self._lock)

    def __enter__(self) -> Directory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _explained(self, error: OSError, path: Path, size: int) -> OSError:
        if error.errno in _NO_SPACE:
            return OSError(
                f"no space for {path} ({size} bytes: {error.strerror}). What was done before is safe; make room and "
                f"{self._again}."
            )
        return error

    def _own(self) -> None:
        """Refuse to write where the lock has been taken away."""
        try:
            mine = os.path.samestat(os.fstat(self._lock), os.stat(self.path / "lock", follow_symlinks=False))
        except FileNotFoundError:
            mine = False
        if not mine:
            raise OSError(
                f"the lock of {self.path} was removed meanwhile: another process may be working there; nothing more is written."
            )

    def _take(self) -> int:
        """Take the lock; the system frees it when the process dies."""
        path = self.path / "lock"
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            descriptor = os.open(path, flags, 0o666)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise ValueError(f"{path} is a symbolic link; remove it.") from None
            raise
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ValueError(f"{path} is not a regular file; remove it.")
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise self._in_use(os.read(descriptor, 200)) from None
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    raise OSError(error.errno, f"{path} cannot be locked: {error.strerror}") from None
                self._take_without_system(error)
            os.ftruncate(descriptor, 0)
            os.write(descriptor, _me())
            self._lock = descriptor
            self._own()
        except OSError as error:
            os.close(descriptor)
            raise self._explained(error, path, len(_me())) from None
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _take_without_system(self, reason: OSError) -> None:
        """Where the file system has no locks: a file that only one process can make."""
        path = self.path / "lock.held"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except FileExistsError:
            try:
                holder = self.read(path.name, 200)
            except (OSError, ValueError):
                holder = b""
            raise OSError(
                errno.EWOULDBLOCK,
                f"{_in_use(self.path, holder)}. Its file system has no locks ({reason.strerror}), so after a crash {path} stays "
                "behind: if no such process is left, delete it",
            ) from None
        with open(descriptor, "wb") as file:
            file.write(_me())
        self._held = path

    def _in_use(self, holder: bytes) -> BlockingIOError:
        return BlockingIOError(
            errno.EWOULDBLOCK, f"{_in_use(self.path, holder)}; wait for it, or use another directory"
        )


def _origin(facts: dict[str, Any]) -> str:
    """Digest of what decides the numbers; the code counts by its files, not by its revision."""
    decisive = {name: value for name, value in facts.items() if name != "git_revision"}
    return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()


def _in_use(path: Path, holder: bytes) -> str:
    name = holder.decode(errors="replace").strip() or "which one is not known"
    return f"{path} is in use by another process ({name})"


def _me() -> bytes:
    return f"process {os.getpid()} on {socket.gethostname()}\n".encode()


def _sealed_json(content: dict[str, Any]) -> bytes:
    digest = hashlib.sha256(json.dumps(content, indent=2).encode()).hexdigest()
    return (json.dumps({"sha256": digest, **content}, indent=2) + "\n").encode()
