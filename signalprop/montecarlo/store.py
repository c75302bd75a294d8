r"""Where the draws of a run are kept: in memory, or in a directory that survives a crash at any moment.

A run directory holds::

    manifest.json        the plan and the versions that draw it
    lock                 held by the process that writes here, for as long as it lives
    blocks/000000.bin    the draws of one block
    table.csv            written at the end

A block file is the SHA-256 of the rest in hexadecimal, one line of JSON, and the draws as little-endian float64. It is written
under another name, flushed to disk and renamed, so that a file with its final name is complete; a file whose checksum fails
nevertheless is named in the log and drawn again. All names are made here from numbers, none comes from a plan, and no symbolic
link is followed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import logging
import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._provenance import git_revision, installed_version
from signalprop.montecarlo.blocks import Block
from signalprop.montecarlo.plan import Plan

Floats = NDArray[np.float64]
FORMAT = 1
_DIGITS_BY = ("signalprop", "numpy", "numba")  # another version may round, or draw, differently
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
log = logging.getLogger("signalprop")


class Memory:
    """Draws kept for as long as the process lives: 16 bytes a draw and model."""

    def __init__(self, plan: Plan) -> None:
        self.facts = _facts(plan)
        self._draws: dict[int, Floats] = {}

    def read(self, block: Block) -> Floats | None:
        """The draws of a block, if they were made."""
        return self._draws.get(block.number)

    def write(self, block: Block, draws: Floats) -> None:
        """Keep the draws of a block."""
        self._draws[block.number] = draws

    def close(self) -> None:
        """Nothing to let go of."""


class RunDirectory:
    """Draws kept as files; one process at a time.

    Parameters
    ----------
    path
        Made if it is not there.
    plan
        What is drawn.
    resume
        False refuses a directory that holds a run already.

    Raises
    ------
    ValueError
        The directory holds another plan, the draws of other versions, or a manifest that cannot be read.
    OSError
        Another process works in it, or it cannot be written.
    """

    def __init__(self, path: str | Path, plan: Plan, *, resume: bool = True) -> None:
        self.path = Path(path)
        self._columns = 2 * len(plan.models)
        self._blocks = self.path / "blocks"
        self.path.mkdir(parents=True, exist_ok=True)
        if self._blocks.is_symlink():
            raise ValueError(f"{self._blocks} is a symbolic link; a run keeps its files inside its own directory.")
        self._blocks.mkdir(exist_ok=True)
        self._lock = _lock(self.path)
        try:
            self.facts = self._begin(plan, resume)
            identity = json.dumps([self.facts["plan"], self.facts["versions"]])
            self._identity = hashlib.sha256(identity.encode()).hexdigest()
            for left in self._blocks.glob("*.part"):  # of a process that was killed
                left.unlink()
        except BaseException:
            self.close()
            raise

    def read(self, block: Block) -> Floats | None:
        """The draws of a block whose file is whole; None if it is missing or damaged, which is logged.

        Raises
        ------
        ValueError
            The file is whole but belongs to another run.
        """
        path = self._file(block)
        try:
            content = _read(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            log.warning("%s cannot be read (%s): it is drawn again.", path, error.strerror)
            return None
        checksum, _, rest = content.partition(b"\n")
        if checksum != hashlib.sha256(rest).hexdigest().encode():
            log.warning("%s does not have the checksum it names (%d bytes): it is drawn again.", path, len(content))
            return None
        header, _, payload = rest.partition(b"\n")
        if header != self._header(block):
            raise ValueError(
                f"{path} is whole but belongs to another run: its header is {header[:200].decode(errors='replace')}. "
                "Take it out of the directory, or use an empty one."
            )
        return np.frombuffer(payload, dtype="<f8").reshape(block.rows, self._columns)

    def write(self, block: Block, draws: Floats) -> None:
        """Write the file of a block: complete, or not at all.

        Raises
        ------
        OSError
            The disk is full or the file cannot be written; what was written before stays good.
        """
        rest = self._header(block) + b"\n" + np.ascontiguousarray(draws, dtype="<f8").tobytes()
        self._replace(self._file(block), hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)

    def write_table(self, text: str) -> Path:
        """Write the table of the run as CSV and return its path."""
        path = self.path / "table.csv"
        self._replace(path, text.encode())
        return path

    def close(self) -> None:
        """Give the directory up."""
        os.close(self._lock)

    def _begin(self, plan: Plan, resume: bool) -> dict[str, Any]:
        """Compare with the manifest, or write one."""
        path = self.path / "manifest.json"
        facts = _facts(plan)
        try:
            held = json.loads(_read(path))
            began, versions = held["plan"], {name: held["versions"][name] for name in _DIGITS_BY}
            facts = {**facts, "git_revision": held["git_revision"]}
            readable = held["format"] == FORMAT
        except FileNotFoundError:
            self._replace(path, (json.dumps(facts, indent=2) + "\n").encode())
            return facts
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise ValueError(
                f"{path} cannot be read ({error or type(error).__name__}). Delete it to go on with this plan: every block "
                "file knows its plan, and none of another is used."
            ) from None
        if not readable:
            raise ValueError(
                f"{path} has format {held['format']!r}, this version writes {FORMAT}; use an empty directory."
            )
        if not resume:
            raise ValueError(f"{self.path} holds a run already; resume it, or use an empty directory.")
        if began != facts["plan"]:
            raise ValueError(
                f"{self.path} holds a run of another plan ({_difference(began, facts['plan'])}); use an empty directory."
            )
        if versions != facts["versions"]:
            changed = ", ".join(
                f"{name} {versions[name]}, now {facts['versions'][name]}"
                for name in _DIGITS_BY
                if versions[name] != facts["versions"][name]
            )
            raise ValueError(
                f"{self.path} was begun with {changed}, and digits may differ; go on with that version, or use an empty "
                "directory."
            )
        return facts

    def _file(self, block: Block) -> Path:
        return self._blocks / f"{block.number:06d}.bin"

    def _header(self, block: Block) -> bytes:
        facts = {
            "format": FORMAT,
            "run": self._identity,
            "block": block.number,
            "first": block.pieces[0],
            "last": block.pieces[-1],
            "shape": [block.rows, self._columns],
        }
        return json.dumps(facts).encode()

    def _replace(self, path: Path, content: bytes) -> None:
        part = path.with_name(path.name + ".part")
        try:
            descriptor = _create(part)
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(descriptor)
            os.replace(part, path)
            _sync_directory(path.parent)
        except OSError as error:
            part.unlink(missing_ok=True)
            if error.errno in _NO_SPACE:
                raise OSError(
                    f"no space for {path} ({len(content)} bytes: {error.strerror}). What was drawn before is safe; make "
                    "room and run the same plan in the same directory again."
                ) from error
            raise


def _facts(plan: Plan) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "plan": plan.to_toml(),
        "versions": {name: installed_version(name) for name in _DIGITS_BY},
        "git_revision": git_revision(),
    }


def _difference(held: Any, given: str) -> str:
    """The first line of two plans that is not the same."""
    if not isinstance(held, str):
        return "its plan is no text"
    theirs, ours = held.splitlines(), given.splitlines()
    for name in (line.split(" ")[0] for line in ours + theirs):
        pair = [
            next((line for line in lines if line.startswith(f"{name} =")), f"no {name}") for lines in (theirs, ours)
        ]
        if pair[0] != pair[1]:
            return " against ".join(text if len(text) <= 120 else text[:117] + "..." for text in pair)
    return "in the order of its lines"


def _lock(directory: Path) -> int:
    """Take the lock of a directory; the system takes it back from a process that dies."""
    descriptor = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(descriptor, 200).decode(errors="replace").strip() or "one that does not say its name"
        os.close(descriptor)
        raise BlockingIOError(
            errno.EWOULDBLOCK,
            f"{directory} is in use by another process ({holder}); wait for it, or use another directory",
        ) from None
    except OSError:
        os.close(descriptor)
        raise
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    return descriptor


def _create(path: Path) -> int:
    """A new file, in the place of what a killed process, or a link, may have left there."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o666)
    except FileExistsError:
        path.unlink()
        return os.open(path, flags, 0o666)


def _read(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with open(descriptor, "rb") as file:
        return file.read()


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
