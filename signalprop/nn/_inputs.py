"""What the layers accept; every refusal is one sentence."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import get_proxy_mode
from torch.nn.utils.rnn import PackedSequence

from signalprop._checks import finite_number, shown
from signalprop._cost import refuse_beyond_bounds


def tensor(value: Any, name: str) -> Tensor:
    """Return `value` if it is one dense tensor, with sequences of equal lengths."""
    if isinstance(value, PackedSequence) or (isinstance(value, Tensor) and value.is_nested):
        kind = "a PackedSequence" if isinstance(value, PackedSequence) else "a nested tensor"
        raise ValueError(
            f"{name} must be one padded tensor (batch, time, ...), got {kind}: pad it, and give the lengths of the sequences "
            "as lengths= to SequenceClassifier, Bidirectional or state_energies."
        )
    if not isinstance(value, Tensor):
        raise ValueError(f"{name} must be a torch.Tensor, got {type(value).__name__}.")
    if value.layout != torch.strided:
        raise ValueError(f"{name} must be a dense tensor, got the layout {value.layout}.")
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


def of_type(inputs: Tensor, parameter: Tensor) -> None:
    """Refuse inputs of another type than the parameters, unless autocast or a dispatched tensor decides on types."""
    if inputs.dtype != parameter.dtype and not torch.is_autocast_enabled(inputs.device.type):
        raise ValueError(
            f"inputs must have the type of the parameters, {parameter.dtype}, got {inputs.dtype}; convert either, or use "
            "torch.autocast."
        )


def within(sequence: Tensor, lengths: Tensor) -> Tensor:
    """Which steps of a sequence (batch, time, ...) are not padding, (batch, time)."""
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


def at_least_zero(value: Any, name: str) -> Any:
    """Return `value` as a float, or as the tensor that it is, if it is a finite number that is not negative."""
    single = value.detach().to_dense().reshape(()) if isinstance(value, Tensor) and value.numel() == 1 else value
    number = finite_number(single, name, "a finite number of at least zero")
    if number < 0.0:
        raise ValueError(f"{name} must be a finite number of at least zero, got {shown(value)}.")
    return value if isinstance(value, Tensor) else number


def probability(value: Any, name: str) -> float:
    """Return `value` if it lies in [0, 1]."""
    number = finite_number(value, name, "a probability")
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must be a probability, got {shown(value)}.")
    return number


def refuse_beyond_memory(numbers: int, what: str, device: torch.device | str | None) -> None:
    """Refuse parameters or states that do not fit into memory; on the meta device there is nothing to fit."""
    where = torch.get_default_device() if device is None else torch.device(device)
    if where.type != "meta":
        refuse_beyond_bounds(what, memory=4.0 * numbers)


def part(module: Any, name: str) -> nn.Module:
    """Return `module` if it is one."""
    if not isinstance(module, nn.Module):
        raise ValueError(f"{name} must be a torch.nn.Module, got {type(module).__name__}.")
    return module
