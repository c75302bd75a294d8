"""Tensors of PyTorch that can be filled, and what they are filled with; sharded ones and the meta device included."""

from __future__ import annotations

import math

import torch
from torch import nn

from signalprop._checks import shown
from signalprop.fields import choices
from signalprop.initialization._entries import FIELD_OF_DTYPE

REAL = ("float16", "bfloat16", "float32", "float64")


def require_fillable(tensor: torch.Tensor, generator: torch.Generator | None, name: str) -> None:
    """Refuse a tensor that cannot be filled in place, and call it `name`."""
    if not isinstance(tensor, torch.Tensor):
        raise ValueError(f"{name} must be a torch.Tensor, got {shown(tensor)}.")
    if generator is not None and not isinstance(generator, torch.Generator):
        raise ValueError(f"generator must be a torch.Generator or None, got {shown(generator)}.")
    if nn.parameter.is_lazy(tensor):
        raise ValueError(f"{name} is a lazy parameter without a shape yet; send one batch through its module first.")
    if tensor.layout != torch.strided or tensor.is_nested:
        kind = "a nested tensor" if tensor.is_nested else f"the layout {tensor.layout}"
        raise ValueError(f"{name} must be dense, got {kind}; fill a dense one and convert that.")
    if any(placement.is_partial() for placement in getattr(tensor, "placements", ())):
        raise ValueError(
            f"{name} is a DTensor that is a sum over processes (Partial) and cannot be filled in place; redistribute it first."
        )
    if dtype_name(tensor) not in FIELD_OF_DTYPE:
        raise ValueError(f"{name} must have the dtype {choices(FIELD_OF_DTYPE)}, got {dtype_name(tensor)}.")


def require_own_memory(tensor: torch.Tensor, generator: torch.Generator | None, name: str) -> None:
    """The rest of `require_fillable`, for a tensor whose shape is right."""
    if _overlaps(tensor):
        raise ValueError(
            f"several entries of {name}, of shape {tuple(tensor.shape)} and strides {tuple(tensor.stride())}, share one place in "
            "memory; clone() it first."
        )
    if tensor.is_inference() and not torch.is_inference_mode_enabled():
        raise ValueError(f"{name} was made in inference mode and cannot be filled outside of it; clone() it first.")
    mesh = getattr(tensor, "device_mesh", None)
    if generator is not None and mesh is not None and mesh.device_type == "cpu":
        raise ValueError(
            "PyTorch draws a DTensor on a mesh of CPUs from its own generator, whatever is given; leave generator out and call "
            "torch.manual_seed."
        )


def dtype_name(tensor: torch.Tensor) -> str:
    """``"float32"`` for `torch.float32`."""
    return str(tensor.dtype).removeprefix("torch.")


def _overlaps(tensor: torch.Tensor) -> bool:
    """Whether two entries share a place: i s = j t for steps i, j along strides s, t, the smallest being t/g and s/g."""
    if tensor.dim() == 1:
        return tensor.numel() > 1 and tensor.stride(0) == 0
    (rows, columns), (s, t) = tensor.shape, tensor.stride()
    g = math.gcd(s, t)
    return rows * columns > 1 if g == 0 else t // g < rows and s // g < columns


def gaussian(tensor: torch.Tensor, std: float, generator: torch.Generator | None) -> torch.Tensor:
    """Independent normal entries, E|w|^2 = std^2, in the shape of `tensor` and in float32 at least."""
    drawn = torch.promote_types(tensor.dtype, torch.float32)
    with torch.no_grad():
        # Like the tensor in all but type, so that a sharded one is drawn in its shards and the meta device draws nothing.
        values = torch.empty_like(tensor, dtype=drawn, memory_format=torch.contiguous_format)
        # normal_: variance 1, for complex types split evenly between the two parts.
        return values.normal_(generator=generator).mul_(std)


def whole_like(tensor: torch.Tensor) -> torch.Tensor:
    """An empty tensor of the shape and on the device of `tensor`, in float32 at least; whole where that is in shards."""
    drawn = torch.promote_types(tensor.dtype, torch.float32)
    mesh = getattr(tensor, "device_mesh", None)
    return torch.empty(tensor.shape, dtype=drawn, device=tensor.device if mesh is None else mesh.device_type)


def whole_copy(tensor: torch.Tensor) -> torch.Tensor:
    """The values of `tensor`, gathered where they are in shards."""
    with torch.no_grad():
        found = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor.detach()
        return found.to(torch.promote_types(tensor.dtype, torch.float32), copy=True)


def mean_square(tensor: torch.Tensor) -> float:
    """Mean over the entries of |w|^2; NaN on the meta device.

    Raises
    ------
    ValueError
        Entries that are not finite.
    """
    if tensor.is_meta:
        return math.nan
    with torch.no_grad():
        found = tensor.abs().double().square().mean()
        number = float(found.full_tensor() if hasattr(found, "full_tensor") else found)
    if not math.isfinite(number):
        raise ValueError(
            f"a {tuple(tensor.shape)} parameter of the module is not finite, so what its inputs add is not known; initialize it "
            "before, or give input_std."
        )
    return number


def put_(tensor: torch.Tensor, values: torch.Tensor) -> None:
    """Copy values into a tensor in place, outside of autograd; those of the first process where it is in shards."""
    mesh = getattr(tensor, "device_mesh", None)
    with torch.no_grad():
        if mesh is not None and not hasattr(values, "device_mesh"):
            from torch.distributed.tensor import distribute_tensor

            values = distribute_tensor(values.to(tensor.dtype), mesh, tensor.placements)  # type: ignore[attr-defined]
        tensor.copy_(values)


def orthogonal(tensor: torch.Tensor, blocks: int, gain: float, generator: torch.Generator | None) -> torch.Tensor:
    """Blocks of rows, each orthogonal by Haar measure, or with orthonormal rows or columns, times `gain`."""
    values = whole_like(tensor)
    with torch.no_grad():
        for block in values.chunk(blocks):
            nn.init.orthogonal_(block, generator=generator)
        return values.mul_(gain)


def near_identity(
    tensor: torch.Tensor, blocks: int, gain: float, leak: float | None, generator: torch.Generator | None
) -> torch.Tensor:
    """Square blocks: `gain` times I, or with a leak a: (1 - a) I + a W with Gaussian W of scale `gain`."""
    n = tensor.shape[1]
    with torch.no_grad():
        values = whole_like(tensor)
        eye = torch.eye(n, dtype=values.dtype, device=values.device)
        if leak is None:
            return values.copy_(eye.mul(gain).repeat(blocks, 1))
        values.normal_(generator=generator).mul_(leak * gain / math.sqrt(n))
        return values.add_(eye.repeat(blocks, 1), alpha=1.0 - leak)
