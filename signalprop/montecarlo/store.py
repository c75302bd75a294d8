r"""Where the draws of a run are kept: in memory, or in a directory that survives a crash at any moment.

A run directory holds::

    manifest.json        the plan, the versions and the code that draw it
    lock                 held by the process that writes here, for as long as it lives
    blocks/000000.bin    the draws of one block
    table.csv            written at the end

`signalprop._directory` describes how files are written, read and locked. A block file is sealed: a checksum, one line of JSON,
and the draws as little-endian float64. One whose checksum fails is named in the log and drawn again. All names are made here from
numbers; none comes from a plan.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._directory import DamagedError, Directory
from signalprop._provenance import git_revision, installed_version
from signalprop.montecarlo.blocks import Block
from signalprop.montecarlo.plan import Plan

Floats = NDArray[np.float64]
_DIGITS_BY = ("signalprop", "numpy", "scipy", "numba")  # another version may round, or draw, differently
_LARGEST_HEADER = 1000
log = logging.getLogger("signalprop")


class Memory:
    """Draws kept for as long as the process lives: 16 bytes per draw and model."""

    def __init__(self, plan: Plan) -> None:
        versions = {name: installed_version(name) for name in _DIGITS_BY}
        self.facts: dict[str, Any] = {"plan": plan.to_toml(), "versions": versions, "git_revision": git_revision()}
        self._draws: dict[int, Floats] = {}

    def read(self, block: Block) -> Floats | None:
        """The draws of a block, if they were made."""
        return self._draws.get(block.number)

    def write(self, block: Block, draws: Floats) -> None:
        """Keep the draws of a block."""
        self._draws[block.number] = draws

    def close(self) -> None:
        """No resources to release."""


class RunDirectory:
    """Draws kept as files of a `Directory`.

    Parameters
    ----------
    path
        Created if it does not exist.
    plan
        What is drawn.
    resume
        False refuses a directory that holds a run already.

    Raises
    ------
    ValueError
        The directory holds another plan, the draws of other versions or other code, a training, or a manifest that cannot be
        read.
    OSError
        Another process works in it, or it cannot be written.
    """

    def __init__(self, path: str | Path, plan: Plan, *, resume: bool = True) -> None:
        self._columns = 2 * len(plan.models)
        self._directory = Directory(path, "run", "run the same plan in the same directory again")
        self.path = self._directory.path
        blocks = self.path / "blocks"
        try:
            if blocks.is_symlink():
                raise ValueError(f"{blocks} is a symbolic link; a run keeps its files inside its own directory.")
            blocks.mkdir(exist_ok=True)
            self._directory.sweep("blocks")

            def differ(held: dict[str, Any], given: dict[str, Any]) -> str | None:
                if not resume:
                    return f"{self.path} holds a run already; resume it, or use an empty directory."
                if held["plan"] == given["plan"]:
                    return None
                difference = _difference(held["plan"], given["plan"])
                return f"{self.path} holds a run of another plan ({difference}); use an empty directory."

            mend = (
                "Delete it to go on with this plan: every block file knows its plan, versions and code, and blocks of another "
                "are not used."
            )
            self.facts = self._directory.begin({"plan": plan.to_toml()}, _DIGITS_BY, differ, mend)
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
        name = _name(block)
        path = self.path / name
        try:
            rest = self._directory.read_sealed(name, _LARGEST_HEADER + 8 * block.rows * self._columns)
        except FileNotFoundError:
            return None
        except DamagedError as error:
            log.warning("%s %s: it is drawn again.", path, error.reason)
            return None
        except OSError as error:
            log.warning("%s cannot be read (%s): it is drawn again.", path, error.strerror)
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
            The disk is full or the file cannot be written; what was written before stays intact.
        """
        payload = np.ascontiguousarray(draws, dtype="<f8").tobytes()
        self._directory.write_sealed(_name(block), self._header(block) + b"\n" + payload)

    def write_table(self, text: str) -> Path:
        """Write the table of the run as CSV and return its path."""
        self._directory.replace("table.csv", text.encode())
        return self.path / "table.csv"

    def close(self) -> None:
        """Release the directory."""
        self._directory.close()

    def _header(self, block: Block) -> bytes:
        facts = {
            "run": self._directory.origin,
            "block": block.number,
            "first": block.pieces[0],
            "last": block.pieces[-1],
            "shape": [block.rows, self._columns],
        }
        return json.dumps(facts).encode()


def _name(block: Block) -> str:
    return f"blocks/{block.number:06d}.bin"


def _difference(held: Any, given: str) -> str:
    """The first line of two plans that is not the same."""
    if not isinstance(held, str):
        return "its plan is not text"
    theirs, ours = held.splitlines(), given.splitlines()
    for name in (line.split(" ")[0] for line in ours + theirs):
        pair = [
            next((line for line in lines if line.startswith(f"{name} =")), f"no {name}") for lines in (theirs, ours)
        ]
        if pair[0] != pair[1]:
            return " against ".join(text if len(text) <= 120 else text[:117] + "..." for text in pair)
    return "in the order of its lines"
