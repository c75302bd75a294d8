"""Say where a sequence first stops being finite."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def is_finite(tensor: Tensor) -> bool:
    """Whether no entry is NaN or infinite; one pass over memory, and one wait for the device."""
    tensor = tensor.detach()
    # NaN and infinities survive a sum; where the sum itself overflows, look again.
    return math.isfinite(tensor.sum(dtype=_wide(tensor)).item()) or bool(tensor.isfinite().all())


def require_finite(tensor: Tensor, what: str, error: type[Exception], advice: str) -> None:
    """Raise `error` with the first step of the tensor (batch, time, ...) at which `what` is not finite."""
    if is_finite(tensor):
        return
    broken = ~tensor.detach().isfinite().flatten(2).all(2)
    step = int(broken.any(0).int().argmax())
    item = int(broken[:, step].int().argmax())
    numbers = tensor.detach()[item, step].flatten()
    value = numbers[~numbers.isfinite()][0].item()
    raise error(f"{what} become {value} at step {step} of batch item {item} (both counted from 0); {advice}")


def _wide(tensor: Tensor) -> torch.dtype | None:
    return torch.promote_types(tensor.dtype, torch.float32) if tensor.is_floating_point() else None
