"""The scan on a CPU as an operator of PyTorch: opaque to `torch.compile`, differentiable any number of times.

Numbers are real, arrays (B, T, N), or pairs (re, im) of real parts, arrays (B, T, N, 2). Coefficients have length one along
batch or time where they do not vary there.
"""

# No postponed annotations here: PyTorch reads the operators' signatures from them.
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signalprop._threads import thread_map
from signalprop.nn import _scan_kernels as kernels

# Real parts per thread below which starting the thread costs more than it saves.
_WORTH_A_THREAD = 2**18


@torch.library.custom_op("signalprop::scan", mutates_args=(), device_types="cpu")
def scan(a: Tensor, x: Tensor, initial: Tensor) -> Tensor:
    """y_t = a_t y_{t-1} + x_t from y_0 = `initial`."""
    y = _like(x)
    kernel = kernels.pair_scan_kernel if x.ndim == 4 else kernels.real_scan_kernel
    _run(kernel, x, (a, x, initial, y))
    return y


@torch.library.custom_op("signalprop::scan_adjoint", mutates_args=(), device_types="cpu")
def scan_adjoint(a: Tensor, y: Tensor, initial: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a, x and `initial`, where that of y is `g`."""
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


def _keep_for_adjoint(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    a, _, initial = inputs
    ctx.save_for_backward(a, output, initial)


def _adjoint(ctx: Any, g: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    a, y, initial = ctx.saved_tensors
    gradients: tuple[Tensor, Tensor, Tensor] = scan_adjoint(a, y, initial, g)
    return gradients


def _keep_for_second(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    a, y, initial, _ = inputs
    ctx.save_for_backward(a, y, initial, output[1])


def _second(ctx: Any, to_a: Tensor, to_x: Tensor, to_initial: Tensor) -> tuple[Tensor, ...]:
    """Adjoint of `scan_adjoint`: with lambda the gradient of x, another scan z gives all four gradients."""
    a, y, initial, lam = ctx.saved_tensors
    z = scan(a, to_x + _times(to_a, _before(y, initial)), to_initial)
    of_a = _times(lam, _conj(_before(z, to_initial))).sum_to_size(a.shape)
    of_before = _times(lam, _conj(to_a))
    of_y = torch.cat([of_before[:, 1:], torch.zeros_like(of_before[:, :1])], 1)
    of_initial = of_before[:, :1].sum(1)
    return of_a, of_y, of_initial, z


scan.register_autograd(_adjoint, setup_context=_keep_for_adjoint)
scan_adjoint.register_autograd(_second, setup_context=_keep_for_second)


def _before(y: Tensor, initial: Tensor) -> Tensor:
    return torch.cat([initial[:, None], y], 1)[:, : y.shape[1]]


def _times(u: Tensor, v: Tensor) -> Tensor:
    if u.ndim < 4:
        return u * v
    (u_re, u_im), (v_re, v_im) = u.unbind(-1), v.unbind(-1)
    return torch.stack([u_re * v_re - u_im * v_im, u_re * v_im + u_im * v_re], -1)


def _conj(u: Tensor) -> Tensor:
    return u if u.ndim < 4 else torch.stack([u[..., 0], -u[..., 1]], -1)


def _like(tensor: Tensor) -> Tensor:
    return torch.empty_like(tensor, memory_format=torch.contiguous_format)


def _flat(tensor: Tensor, pairs: bool) -> NDArray[np.floating]:
    """As the kernels want it: contiguous, the two parts of a pair side by side along the last axis; no copy if it is so."""
    tensor = tensor.detach().contiguous()
    array: NDArray[np.floating] = (tensor.flatten(-2) if pairs else tensor).numpy()
    return array


def _run(kernel: Callable[..., None], x: Tensor, tensors: tuple[Tensor, ...]) -> None:
    """Run the kernel on rectangles of batch and numbers, one a thread."""
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
