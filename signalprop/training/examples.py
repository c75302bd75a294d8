"""Examples of a task as tensors: which ones a training step takes, and rows of a part cut to the longest of them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signalprop._streams import cell_key, generator
from signalprop.tasks import Split, Task


def batch_of(task: Task, seed: int, step: int, batch: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, targets and lengths of training step `step`; the last incomplete batch of a pass is left out."""
    passes, place = divmod(step - 1, len(task.train) // batch)
    order = _order(seed, passes, len(task.train))
    return tensors(task.train, task, order[place * batch : (place + 1) * batch], device)


@lru_cache(maxsize=1)
def _order(seed: int, passes: int, count: int) -> NDArray[np.int64]:
    """The order of the examples in a pass."""
    return generator(seed, cell_key("order"), passes).permutation(count)


def tensors(part: Split, task: Task, rows: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of a part, cut to the longest of them; padding of targets becomes 0."""
    lengths = part.lengths[rows]
    steps = int(lengths.max())
    inputs = part.inputs[rows, :steps].astype(np.int64 if task.symbols else np.float32)
    targets = part.targets[rows, :steps] if part.targets.ndim == 2 else part.targets[rows]
    targets = targets.astype(np.int64 if task.classes else np.float32)
    if targets.ndim == 2:
        targets[np.arange(steps) >= lengths[:, None]] = 0
    first, second, third = (torch.from_numpy(made).to(device) for made in (inputs, targets, lengths))
    return first, second, third
