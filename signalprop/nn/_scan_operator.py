"""The scan y_t = a_t y_{t-1} + x_t and its adjoint as operators of PyTorch: opaque to tracers, without derivatives.

Numbers are real, arrays (B, T, N), or pairs (re, im) of real parts, arrays (B, T, N, 2). Coefficients have length one along
batch or time where they do not vary there. On a CPU the loop is compiled; on other devices it takes about 2 log2 T parallel
steps of plain PyTorch, forward and adjoint.
"""

# No postponed annotations here: PyTorch reads the operators' signatures from them.
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signalprop._threads import thread_map
from signalprop.nn import _scan_kernels as kernels
from signalprop.nn._forward_mode import refuse_tangents
from signalprop.nn._log_depth import log_depth

# Real parts per thread below which starting the thread costs more than it saves.
_WORTH_A_THREAD = 2**18


@torch.library.custom_op("signalprop::scan", mutates_args=())
def scan(a: Tensor, x: Tensor, initial: Tensor) -> Tensor:
    """y_t = a_t y_{t-1} + x_t from y_0 = `initial`."""
    refuse_tangents("scan")
    if x.ndim < 4:
        return _unshared(in_parallel(a, x, initial), x)
    as_complex = (torch.view_as_complex(each.contiguous()) for each in (a, x, initial))
    return torch.view_as_real(_unshared(in_parallel(*as_complex), x))


@scan.register_kernel("cpu")
def _(a: Tensor, x: Tensor, initial: Tensor) -> Tensor:
    refuse_tangents("scan")
    y = _like(x)
    kernel = kernels.pair_scan_kernel if x.ndim == 4 else kernels.real_scan_kernel
    _run(kernel, x, (a, x, initial, y))
    return y


@torch.library.custom_op("signalprop::scan_adjoint", mutates_args=())
def scan_adjoint(a: Tensor, y: Tensor, initial: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a, x and `initial`, where that of y is `g`."""
    refuse_tangents("scan_adjoint")
    if y.ndim < 4:
        to_a, to_x, to_initial = _adjoint_in_parallel(a, y, initial, g)
        return to_a, _unshared(to_x, g), to_initial
    as_complex = (torch.view_as_complex(each.contiguous()) for each in (a, y, initial, g))
    to_a, to_x, to_initial = (torch.view_as_real(each.resolve_conj()) for each in _adjoint_in_parallel(*as_complex))
    return to_a, _unshared(to_x, g), to_initial


@scan_adjoint.register_kernel("cpu")
def _(a: Tensor, y: Tensor, initial: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    refuse_tangents("scan_adjoint")
    to_a = y.new_empty((y.shape[0], *a.shape[1:]))
    to_x, to_initial = _like(y), _like(initial)
    kernel = kernels.pair_adjoint_kernel if y.ndim == 4 else kernels.real_adjoint_kernel
    _run(kernel, y, (a, y, initial, g, to_a, to_x, to_initial))
    return to_a.sum(0, keepdim=True) if a.shape[0] != y.shape[0] else to_a, to_x, to_initial


@scan.register_fake
def _(a: Tensor, x: Tensor, initial: Tensor) -> Tensor:
    return _like(x)


@scan_adjoint.register_fake
def _(a: Tensor, y: Tensor, initial: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return _like(a), _like(y), _like(initial)


def in_parallel(a: Tensor, x: Tensor, initial: Tensor) -> Tensor:
    """The scan in about 2 log2 T parallel steps, for real or complex numbers (B, T, N)."""
    x = torch.cat([x[:, :1] + a[:, :1] * initial[:, None], x[:, 1:]], 1)
    return log_depth(torch.mul, torch.square, a, x)


def before(y: Tensor, initial: Tensor) -> Tensor:
    """y_{t-1} at each step t."""
    return torch.cat([initial[:, None], y], 1)[:, : y.shape[1]]


def _adjoint_in_parallel(a: Tensor, y: Tensor, initial: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """lambda_t = g_t + conj(a_{t+1}) lambda_{t+1} is a scan back in time."""
    a = a.conj()
    later = a.flip(1).roll(1, 1) if a.shape[1] > 1 else a
    to_x = in_parallel(later, g.flip(1), torch.zeros_like(initial)).flip(1)
    to_a = (to_x * before(y, initial).conj()).sum_to_size(a.shape)
    to_initial = (a[:, :1] * to_x[:, :1]).sum(1)  # a sum, so that zero steps give zero
    return to_a, to_x, to_initial


def _unshared(tensor: Tensor, other: Tensor) -> Tensor:
    """An operator may not return its own argument, which a scan of one step does."""
    return tensor.clone() if tensor.untyped_storage().data_ptr() == other.untyped_storage().data_ptr() else tensor


def _like(tensor: Tensor) -> Tensor:
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _flat(tensor: Tensor, pairs: bool) -> NDArray[np.floating]:
    """As the kernels want it: contiguous, the two parts of a pair side by side along the last axis; no copy if it is so."""
    tensor = tensor.detach().contiguous()
    array: NDArray[np.floating] = (tensor.flatten(-2) if pairs else tensor).numpy()
    return array


def _run(kernel: Callable[..., None], x: Tensor, tensors: tuple[Tensor, ...]) -> None:
    """Run the kernel on rectangles of batch and numbers, one per thread."""
    arrays = [_flat(each, pairs=x.ndim == 4) for each in tensors]
    batch, numbers = x.shape[0], x.shape[2]
    workers = max(1, min(torch.get_num_threads(), x.numel() // _WORTH_A_THREAD))
    if batch >= workers:
        tasks = [(rows, (0, numbers)) for rows in _split(batch, workers)]
    else:
        tasks = [((0, batch), columns) for columns in _split(numbers, workers)]
    for _ in thread_map(lambda task: kernel(*arrays, *task), tasks, workers):
        pass


def _split(length: int, parts: int) -> list[tuple[int, int]]:
    ends = [length * i // parts for i in range(parts + 1)]
    return list(pairwise(ends))
