"""What the operators of this package need for transforms and forward mode beyond what PyTorch does by itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

__all__ = ["allow_tangents", "primals", "refuse_tangents", "tangent_rule", "transformed"]

_state = threading.local()

# PyTorch runs the `jvp` rule of a function with forward mode switched off, also for another `jvp` around it, whose tangents
# would be lost in silence. Inside this, a rule that takes its saved tensors from `primals` is right at every order.
tangent_rule = forward_ad._set_fwd_grad_enabled


def transformed() -> bool:
    """Whether a transform of `torch.func` or forward mode is on; the registered reverse mode of an operator knows neither."""
    active: bool = torch._C._are_functorch_transforms_active()
    return active or forward_ad._current_level >= 0


def primals(ctx: Any) -> tuple[Tensor, ...]:
    """What a function saved, without the tangents of the `jvp` in progress; those of one around it stay."""
    unpack: Any = forward_ad.unpack_dual
    return tuple(unpack(each, level=0).primal for each in ctx.saved_tensors)


@contextmanager
def allow_tangents() -> Iterator[None]:
    """Around the call of an operator by a function that has a rule for tangents."""
    before, _state.allowed = getattr(_state, "allowed", False), True
    try:
        yield
    finally:
        _state.allowed = before


def refuse_tangents(operator: str) -> None:
    """Raise where the bare operator, all that an exported program holds, would drop tangents in silence."""
    if forward_ad._current_level >= 0 and not getattr(_state, "allowed", False):
        raise NotImplementedError(
            f"{operator} has no forward mode inside an exported program; differentiate the model that was exported."
        )
