"""Initializers of recurrent weights for PyTorch, in the manner of `torch.nn.init`; PyTorch is an extra, ``torch``.

Loaded when it is first used, as ``signalprop.initialization.torch``.
"""

from __future__ import annotations

import math
from typing import TypeVar, Unpack

from signalprop._checks import shown
from signalprop._extras import required

with required("signalprop.initialization.torch", "torch"):
    import torch
    from torch import nn

from signalprop.initialization._entries import EntryScale, ScaleOptions

__all__ = ["ginibre_", "init_recurrent_"]

AnyTensor = TypeVar("AnyTensor", bound=torch.Tensor)


def ginibre_(
    tensor: AnyTensor,
    horizon: int | None = None,
    *,
    scale: float | None = None,
    generator: torch.Generator | None = None,
    **options: Unpack[ScaleOptions],
) -> AnyTensor:
    r"""Fill a recurrent kernel with independent Gaussian entries, E|w_ij|^2 = g^2/n, g from `safe_scale`.

    Parameters
    ----------
    tensor
        Shape (n, n), or (gates * n, n) with square gates stacked as in ``weight_hh_l0`` of `torch.nn.RNN`, `GRU` and `LSTM`;
        at most four; each gate then has fan-in n. Filled in place, outside of autograd.
        float16, bfloat16, float32 and float64 take real weights; complex64 and complex128 take complex weights, real and
        imaginary part independent with variance g^2/(2n) each. Drawn in float32 at least, then rounded to the type.
        A DTensor (FSDP2, tensor parallel) is filled shard by shard, n being the width of the whole kernel; on the meta device
        only shape and type are checked, as by `torch.nn.init`.
    horizon
        Number of steps T the signal should survive, 1 <= T <= 1e6.
    scale
        g itself, instead of `horizon`: ``scale=1.0`` is Glorot.
    generator
        Source of the random numbers, on the device of `tensor`; PyTorch's own where it is left out.
    **options
        ``criterion``, ``model``, ``tolerance``, ``quantile``, ``bound`` of `safe_scale`, with its defaults. For anything
        further call `safe_scale` and give its answer as `scale`.

    Returns
    -------
    torch.Tensor
        `tensor`.

    Raises
    ------
    ValueError
        Another shape or type, a tensor that is sparse, lazy or has entries that share memory, both or neither of
        `horizon` and `scale`, an option that the criterion does not read, or values out of range.

    Examples
    --------
    >>> import torch
    >>> w = ginibre_(torch.empty(512, 512), 200, criterion="bounded", generator=torch.Generator().manual_seed(0))
    >>> round(float(w.square().sum(1).mean().sqrt()), 2)      # g
    0.87
    """
    _fill_(tensor, _std(tensor, EntryScale(horizon, scale, options), generator), generator)
    return tensor


def init_recurrent_(
    module: nn.Module,
    horizon: int | None = None,
    *,
    scale: float | None = None,
    generator: torch.Generator | None = None,
    **options: Unpack[ScaleOptions],
) -> list[str]:
    r"""Fill every recurrent kernel of a module by `ginibre_`: all layers and directions of RNN, GRU, LSTM and their cells.

    Input kernels and biases stay as they are. Nothing is changed if any kernel cannot be filled.

    Parameters
    ----------
    module
        A `torch.nn.RNN`, `GRU`, `LSTM`, `RNNCell`, `GRUCell`, `LSTMCell`, or a module that holds some.
    horizon, scale, generator, **options
        As in `ginibre_`; the scale is worked out for the width of each kernel.

    Returns
    -------
    list of str
        Names of the parameters that were filled, as in ``module.named_parameters()``.

    Raises
    ------
    ValueError
        No recurrent kernel in the module; an LSTM with ``proj_size``, whose recurrent kernel is not square; a kernel that is
        computed from other parameters (weight norm, pruning); or as `ginibre_`.

    Notes
    -----
    The scale is that of the linear recurrence h <- W h. It is exact there and right for tanh as long as signals are small.

    For GRU and LSTM it promises nothing (H). Their state is kept by a gate, not by W: each step multiplies it by
    sigmoid(b + ..), which is 1/2 for the usual bias b = 0, so 2^{-T} of it is left after T steps whatever W is. What
    counts for a memory of T steps is the bias of that gate (the forget gate of an LSTM, the update gate of a GRU): about
    log T, as 1 - sigmoid(log T) = 1/(T + 1); or, to have memories of all lengths up to T, log u with u uniform in [1, T - 1]
    for each unit (Tallec and Ollivier, arXiv:1804.11188). PyTorch adds ``bias_ih`` and ``bias_hh``; the gates are stacked as
    input, forget, cell, output (LSTM) and reset, update, new (GRU).

    Examples
    --------
    >>> import math
    >>> import torch
    >>> from torch import nn
    >>> init_recurrent_(nn.RNN(8, 64, num_layers=2), 100, criterion="bounded")
    ['weight_hh_l0', 'weight_hh_l1']

    The forget gate of an LSTM, for a memory of 100 steps:

    >>> lstm = nn.LSTM(8, 64)
    >>> with torch.no_grad():
    ...     _ = lstm.bias_hh_l0[64:128].fill_(math.log(100)), lstm.bias_ih_l0[64:128].zero_()
    """
    if not isinstance(module, nn.Module):
        raise ValueError(f"module must be a torch.nn.Module, got {shown(module)}.")
    scales = EntryScale(horizon, scale, options)
    kernels = _recurrent_kernels(module)
    stds = [_std(kernel, scales, generator, name) for name, kernel in kernels.items()]
    for kernel, std in zip(kernels.values(), stds, strict=True):
        _fill_(kernel, std, generator)
    return list(kernels)


def _std(tensor: torch.Tensor, scales: EntryScale, generator: torch.Generator | None, name: str = "tensor") -> float:
    """Standard deviation of the entries; refuses a tensor that cannot be filled, and calls it `name`."""
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
    std = scales.std(tensor.shape, str(tensor.dtype).removeprefix("torch."), name=name)
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
    return std


def _overlaps(matrix: torch.Tensor) -> bool:
    """Whether two entries share a place: i s = j t for steps i, j along strides s, t, the smallest being t/g and s/g."""
    (rows, columns), (s, t) = matrix.shape, matrix.stride()
    g = math.gcd(s, t)
    return rows * columns > 1 if g == 0 else t // g < rows and s // g < columns


def _fill_(tensor: torch.Tensor, std: float, generator: torch.Generator | None) -> None:
    drawn = torch.promote_types(tensor.dtype, torch.float32)
    with torch.no_grad():
        # Like the tensor in all but type, so that a sharded one is drawn in its shards and the meta device draws nothing.
        values = torch.empty_like(tensor, dtype=drawn, memory_format=torch.contiguous_format)
        # normal_: variance 1, for complex types split evenly between the two parts.
        tensor.copy_(values.normal_(generator=generator).mul_(std))


def _recurrent_kernels(module: nn.Module) -> dict[str, torch.Tensor]:
    """Recurrent kernels by name; one that several modules share appears once."""
    kernels: dict[str, torch.Tensor] = {}
    seen: set[torch.Tensor] = set()
    for prefix, part in module.named_modules():
        own = dict(part.named_parameters(recurse=False))
        for name in _kernel_names(part):
            full = f"{prefix}.{name}" if prefix else name
            if name not in own:
                raise ValueError(
                    f"{full} is computed from other parameters (weight norm, pruning or the like); "
                    "fill it before it is reparametrised."
                )
            if getattr(part, "proj_size", 0) > 0:
                raise ValueError(
                    f"{full} has shape {tuple(own[name].shape)}: with proj_size={part.proj_size} the recurrent kernel is not "
                    "square and no scale is known for it."
                )
            if own[name] not in seen:
                seen.add(own[name])
                kernels[full] = own[name]
    if not kernels:
        raise ValueError(
            f"{type(module).__name__} holds no RNN, GRU, LSTM or cell of these; fill kernels of your own by ginibre_."
        )
    return kernels


def _kernel_names(module: nn.Module) -> list[str]:
    if isinstance(module, nn.RNNCellBase):
        return ["weight_hh"]
    if isinstance(module, nn.RNNBase):
        directions = ("", "_reverse") if module.bidirectional else ("",)
        return [f"weight_hh_l{layer}{end}" for layer in range(module.num_layers) for end in directions]
    return []
