"""What the layers accept; every refusal is one sentence."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.nn.utils.rnn import PackedSequence


def tensor(value: Any, name: str) -> Tensor:
    """Return `value` if it is a tensor of equal lengths."""
    if isinstance(value, PackedSequence) or (isinstance(value, Tensor) and value.is_nested):
        kind = "a PackedSequence" if isinstance(value, PackedSequence) else "a nested tensor"
        raise ValueError(
            f"{name} must be one padded tensor (batch, time, ...), got {kind}: pad it, and give the lengths of the sequences "
            "as lengths= to SequenceClassifier, Bidirectional or state_energies."
        )
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} must be a torch.Tensor, got {type(value).__name__}.")
    return value


def reals(value: Any, name: str, shape: Sequence[str | int]) -> Tensor:
    """Return `value` if it is a tensor of real floating-point numbers of this shape; names in it stand for any length."""
    found = tensor(value, name)
    fits = found.ndim == len(shape) and all(
        want == have for want, have in zip(shape, found.shape, strict=True) if isinstance(want, int)
    )
    if not fits:
        raise ValueError(f"{name} must have shape ({', '.join(map(str, shape))}), got {tuple(found.shape)}.")
    if not found.is_floating_point():
        raise ValueError(f"{name} must be real floating-point numbers, got type {found.dtype}.")
    return found


def lengths_of(lengths: Any, batch: int, steps: int) -> Tensor:
    """`lengths` in int64 if they are `batch` whole numbers in 1..`steps`; values are not looked at while a model is traced."""
    if not isinstance(lengths, Tensor):
        raise ValueError(f"lengths must be a tensor of {batch} whole numbers, got {type(lengths).__name__}.")
    whole = not (lengths.is_floating_point() or lengths.is_complex() or lengths.dtype == torch.bool)
    if lengths.ndim != 1 or lengths.shape[0] != batch or not whole:
        raise ValueError(f"lengths must be {batch} whole numbers, got shape {tuple(lengths.shape)} of {lengths.dtype}.")
    found: Tensor = lengths.long()  # other types have no minimum, or are no index
    if has_numbers(found) and found.numel():
        low, high = int(found.min()), int(found.max())
        if low < 1 or high > steps:
            raise ValueError(f"lengths must lie in 1..{steps}, got {low if low < 1 else high}.")
    return found


def within(sequence: Tensor, lengths: Tensor) -> Tensor:
    """Which steps of a sequence (batch, time, ...) are no padding, (batch, time)."""
    steps = torch.arange(sequence.shape[1], device=sequence.device)
    return steps < lengths.to(sequence.device)[:, None]


def has_numbers(tensor: Tensor) -> bool:
    """Whether values can be looked at: not in a model that is compiled, exported, recorded or transformed, nor on meta."""
    if torch.compiler.is_compiling() or get_proxy_mode() is not None:
        return False
    wrapped: bool = torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return not (wrapped or tensor.is_meta or isinstance(tensor, FakeTensor))


def takes_lengths(module: nn.Module) -> bool:
    """Whether ``module(inputs, lengths)`` is a call it knows."""
    try:
        return "lengths" in inspect.signature(unwrapped(module).forward).parameters
    except (TypeError, ValueError):  # nothing that Python could look into
        return False


def unwrapped(module: nn.Module) -> nn.Module:
    """The module inside `torch.compile` or a wrapper for data-parallel training."""
    while True:
        inner = module._modules.get("_orig_mod") or (
            module._modules.get("module") if len(module._modules) == 1 else None
        )
        if inner is None:
            return module
        module = inner


def flag(value: Any, name: str) -> bool:
    """Return `value` if it is True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {_shown(value)}.")
    return value


def at_least_zero(value: Any, name: str) -> None:
    """Raise unless `value` is a finite number, or a tensor with one, that is not negative."""
    number = isinstance(value, Real) or (isinstance(value, Tensor) and value.numel() == 1)
    if isinstance(value, bool) or not number or not 0.0 <= float(value) < math.inf:
        raise ValueError(f"{name} must be a finite number of at least zero, got {_shown(value)}.")


def probability(value: Any, name: str) -> float:
    """Return `value` if it lies in [0, 1]."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise ValueError(f"{name} must be a probability, got {_shown(value)}.")
    return float(value)


def part(module: Any, name: str) -> nn.Module:
    """Return `module` if it is one."""
    if not isinstance(module, nn.Module):
        raise ValueError(f"{name} must be a torch.nn.Module, got {type(module).__name__}.")
    return module


def _shown(value: Any) -> str:
    """The value for a message; of a tensor or an array its shape."""
    return f"a {type(value).__name__} of shape {tuple(value.shape)}" if hasattr(value, "shape") else repr(value)
