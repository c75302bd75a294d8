"""Checkpoints: all that the rest of a training depends on, replaced in one move."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from signalprop.training.settings import Settings, differences

__all__ = ["Checkpoint"]

VERSION = 1


@dataclass
class Checkpoint:
    """State of a training after a step. The order of the data follows from seed and step, and is not kept."""

    settings: dict[str, Any]
    step: int
    losses: list[float]
    """Of the batches since the last row of the log."""
    model: dict[str, Tensor]
    optimiser: dict[str, Any]
    random: list[Tensor]
    """State of the generators: of the CPU, and of the GPU if there is one in use."""

    def write(self, path: Path) -> None:
        """Write to a temporary name, flush, rename: a crash leaves the old checkpoint or the new one."""
        temporary = path.with_suffix(".tmp")
        with temporary.open("wb") as file:
            torch.save({"version": VERSION, **vars(self)}, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    @classmethod
    def read(cls, path: Path, settings: Settings) -> Checkpoint:
        """The checkpoint at `path`, read as data (never as code), if it belongs to a training with these settings.

        Raises
        ------
        ValueError
            Other settings (the message names them), or not a checkpoint of this package.
        """
        try:
            content = torch.load(path, weights_only=True, map_location="cpu")
            version = content.pop("version")
            found = cls(**content)
        except Exception as error:
            raise ValueError(
                f"{path} is not a checkpoint of a training ({type(error).__name__}); move it away."
            ) from None
        if version != VERSION:
            raise ValueError(
                f"{path} is a checkpoint of version {version}, this signalprop reads {VERSION}; start anew."
            )
        other = differences(found.settings, settings.as_dict())
        if other:
            raise ValueError(
                f"{path} belongs to a training with {'; '.join(other)}. Go on with those settings, or choose another directory."
            )
        return found

    def restore(self, model: nn.Module, optimiser: torch.optim.Optimizer, device: torch.device) -> None:
        """Put all of it back."""
        model.load_state_dict(self.model)
        optimiser.load_state_dict(self.optimiser)
        torch.set_rng_state(self.random[0])
        if device.type == "cuda" and len(self.random) > 1:
            torch.cuda.set_rng_state(self.random[1], device)


def random_states(device: torch.device) -> list[Tensor]:
    """What `Checkpoint.random` keeps."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return states
