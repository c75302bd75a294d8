"""Checkpoints: all that the rest of a training depends on, sealed and replaced in one move."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from signalprop._directory import DamagedError, Directory
from signalprop.training import log

__all__ = ["Checkpoint"]

NAME = "checkpoint.pt"
_SLACK = 1 << 24  # bytes beyond weights and their averages: losses, names, generators


@dataclass
class Checkpoint:
    """State of a training after a step. The order of the data follows from seed and step, and is not kept.

    The file is one line, the SHA-256 of the rest, and then what `torch.save` writes.
    """

    origin: str
    """Digest of the settings, the data, the versions and the code: see `signalprop._directory`."""
    step: int
    losses: list[float]
    """Of the batches since the last row of the log."""
    log: dict[str, Any]
    """Size and SHA-256 of the log that belongs to it."""
    model: dict[str, Tensor]
    optimiser: dict[str, Any]
    random: list[Tensor]
    """State of the generators: of the CPU, and of the GPU if there is one in use."""

    def write(self, directory: Directory) -> None:
        """Replace the checkpoint of a directory: a crash leaves the old one or the new one."""
        content = io.BytesIO()
        torch.save(vars(self), content)
        directory.write_sealed(NAME, content.getvalue())

    @classmethod
    def read(cls, directory: Directory, model: nn.Module, steps: int) -> tuple[Checkpoint, bytes]:
        """The checkpoint of a directory, read as data (never as code), and the log up to it.

        Raises
        ------
        FileNotFoundError
            There is none.
        ValueError
            A checkpoint or a log that is damaged or of another training, or a log that does not belong to the checkpoint.
        """
        path = directory.path / NAME
        weights = sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())
        try:
            content = directory.read_sealed(NAME, 8 * weights + _SLACK)
        except DamagedError as error:
            raise ValueError(f"{error} {_ANEW}") from None
        try:
            found = cls(**torch.load(io.BytesIO(content), weights_only=True, map_location="cpu"))
            origin, step, mark = str(found.origin), int(found.step), {**found.log}
            size, digest, found.step = int(mark["bytes"]), str(mark["sha256"]), step
        except Exception as error:
            raise ValueError(f"{path} is not a checkpoint of a training ({type(error).__name__}). {_ANEW}") from None
        if origin != directory.origin:
            raise ValueError(
                f"{path} belongs to a training with other settings, data or versions than {directory.path} now names. {_ANEW}"
            )
        if not 0 <= step <= steps:
            raise ValueError(f"{path} is from step {step}, but the training has {steps} steps. {_ANEW}")
        rows = _rows(directory, size, step)
        if hashlib.sha256(rows).hexdigest() != digest:
            raise ValueError(
                f"{directory.path / log.NAME} is not the log that the checkpoint of step {step} goes with: it was damaged or "
                f"changed. {_ANEW}"
            )
        return found, rows

    def restore(self, model: nn.Module, optimiser: torch.optim.Optimizer, device: torch.device) -> None:
        """Put all of it back.

        Raises
        ------
        ValueError
            The state of another model.
        """
        try:
            model.load_state_dict(self.model)
            optimiser.load_state_dict(self.optimiser)
            torch.set_rng_state(self.random[0])
            if device.type == "cuda" and len(self.random) > 1:
                torch.cuda.set_rng_state(self.random[1], device)
        except Exception as error:  # what PyTorch raises for states that do not fit differs by version
            first = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".:")
            raise ValueError(f"{NAME} is the state of another model ({first}). {_ANEW}") from None


_ANEW = "Put the right file back, or start anew in another directory."


def _rows(directory: Directory, size: int, step: int) -> bytes:
    """The log up to the checkpoint; rows written after it are made again."""
    path = directory.path / log.NAME
    try:
        content = directory.read(log.NAME, 2 * size + _SLACK)
    except FileNotFoundError:
        raise ValueError(f"{path} is gone, but the checkpoint of step {step} needs it. {_ANEW}") from None
    except DamagedError as error:
        raise ValueError(f"{error} {_ANEW}") from None
    if len(content) < size:
        raise ValueError(
            f"{path} has {len(content)} bytes, but the checkpoint of step {step} needs {size}: rows are missing. {_ANEW}"
        )
    return content[:size]


def random_states(device: torch.device) -> list[Tensor]:
    """What `Checkpoint.random` keeps."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return states
