"""Derivatives of the scan, of every order and in both modes, and its `torch.func.vmap`.

The scan is linear in x and y_0, so that its tangent is a scan with the same coefficients; so is the tangent of its adjoint.
Every rule below is made of these two functions and of plain PyTorch, and is differentiated again like any other code.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from signalprop.nn import _scan_operator as operator
from signalprop.nn._forward_mode import allow_tangents, primals, tangent_rule, transformed
from signalprop.nn._scan_operator import before

__all__ = ["scan"]

Triple = tuple[Tensor, Tensor, Tensor]


# Tracers take the call as it stands and look inside at the operator alone, with all of these rules in force.
@torch.compiler.allow_in_graph
def scan(a: Tensor, x: Tensor, initial: Tensor) -> Tensor:
    """y_t = a_t y_{t-1} + x_t from y_0 = `initial`; shapes as in `_scan_operator`."""
    apply: Any = Scan.apply if transformed() else operator.scan  # the latter in half the time for short sequences
    y: Tensor = apply(a, x, initial)
    return y


def adjoint(a: Tensor, y: Tensor, initial: Tensor, g: Tensor) -> Triple:
    """Gradients of a, x and y_0 where that of y is g."""
    apply: Any = Adjoint.apply if transformed() else operator.scan_adjoint
    gradients: Triple = apply(a, y, initial, g)
    return gradients


class Scan(torch.autograd.Function):
    """y_t = a_t y_{t-1} + x_t."""

    @staticmethod
    def forward(a: Tensor, x: Tensor, initial: Tensor) -> Tensor:
        with allow_tangents():
            y: Tensor = operator.scan(a, x, initial)
        return y

    @staticmethod
    def setup_context(ctx: Any, inputs: Triple, output: Tensor) -> None:
        a, _, initial = inputs
        ctx.save_for_backward(a, output, initial)
        ctx.save_for_forward(a, output, initial)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Triple:
        a, y, initial = ctx.saved_tensors
        return adjoint(a, y, initial, g)

    @staticmethod
    def jvp(ctx: Any, da: Tensor | None, dx: Tensor | None, dinitial: Tensor | None) -> Tensor:
        """dy_t = a_t dy_{t-1} + dx_t + da_t y_{t-1}."""
        with tangent_rule(True):
            a, y, initial = primals(ctx)
            drive = torch.zeros_like(y) if dx is None else dx
            if da is not None:
                drive = drive + _times(da, before(y, initial))
            dy: Tensor = scan(a, drive, torch.zeros_like(initial) if dinitial is None else dinitial)
            return dy

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], a: Tensor, x: Tensor, initial: Tensor) -> tuple[Tensor, int]:
        """A batch of batches is one batch; coefficients that all share stay one."""
        size = info.batch_size
        batch = _batch(x, in_dims[1])
        if in_dims[0] is not None or a.shape[0] > 1:
            a = _joined(a, in_dims[0], size, batch)
        y = scan(a, _joined(x, in_dims[1], size, batch), _joined(initial, in_dims[2], size, batch))
        return torch.unflatten(y, 0, (size, batch)), 0


class Adjoint(torch.autograd.Function):
    """Gradients of a, x and y_0 where that of y is g: lambda_t = g_t + conj(a_{t+1}) lambda_{t+1} is that of x."""

    @staticmethod
    def forward(a: Tensor, y: Tensor, initial: Tensor, g: Tensor) -> Triple:
        with allow_tangents():
            gradients: Triple = operator.scan_adjoint(a, y, initial, g)
        return gradients

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Triple) -> None:
        a, y, initial, _ = inputs
        ctx.save_for_backward(a, y, initial, output[1])
        ctx.save_for_forward(a, y, initial, output[1])

    @staticmethod
    def backward(ctx: Any, to_a: Tensor, to_x: Tensor, to_initial: Tensor) -> tuple[Tensor, ...]:
        """With lambda the gradient of x, another scan z gives all four gradients."""
        a, y, initial, lam = ctx.saved_tensors
        z = scan(a, to_x + _times(to_a, before(y, initial)), to_initial)
        of_a = _times(lam, _conj(before(z, to_initial))).sum_to_size(a.shape)
        of_before = _times(lam, _conj(to_a))
        of_y = torch.cat([of_before[:, 1:], torch.zeros_like(of_before[:, :1])], 1)
        of_initial = of_before[:, :1].sum(1)
        return of_a, of_y, of_initial, z

    @staticmethod
    def jvp(
        ctx: Any, da: Tensor | None, dy: Tensor | None, dinitial: Tensor | None, dg: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """dlambda_t = conj(a_{t+1}) dlambda_{t+1} + dg_t + conj(da_{t+1}) lambda_{t+1}: an adjoint again."""
        with tangent_rule(True):
            a, y, initial, lam = primals(ctx)
            drive = torch.zeros_like(y) if dg is None else dg
            if da is not None:
                pulled = _times(_conj(da), lam)  # conj(da_t) lambda_t acts on step t - 1
                drive = drive + torch.cat([pulled[:, 1:], torch.zeros_like(pulled[:, :1])], 1)
            to_a, to_x, to_initial = adjoint(a, y, initial, drive)
            if da is not None:
                to_initial = to_initial + pulled[:, :1].sum(1)
            if dy is not None or dinitial is not None:
                dy = torch.zeros_like(y) if dy is None else dy
                dinitial = torch.zeros_like(initial) if dinitial is None else dinitial
                to_a = to_a + _times(lam, _conj(before(dy, dinitial))).sum_to_size(a.shape)
            return to_a, to_x, to_initial

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *tensors: Tensor) -> tuple[Triple, int]:
        """As one batch, in which each has its own coefficients: their gradients are not to be summed over all."""
        size, rows = info.batch_size, tensors[0].shape[0 if in_dims[0] != 0 else 1]
        batch = _batch(tensors[1], in_dims[1])
        joined = (_joined(each, dim, size, batch) for each, dim in zip(tensors, in_dims, strict=True))
        to_a, to_x, to_initial = (torch.unflatten(each, 0, (size, batch)) for each in adjoint(*joined))
        return (to_a if rows == batch else to_a.sum(1, keepdim=True), to_x, to_initial), 0


# Reverse mode alone, and what `torch.export` leaves, go by the same rules.
operator.scan.register_autograd(Scan.backward, setup_context=Scan.setup_context)
operator.scan_adjoint.register_autograd(Adjoint.backward, setup_context=Adjoint.setup_context)


def _batch(tensor: Tensor, dim: int | None) -> int:
    """Length of the batch axis of a tensor with an axis `dim` of `vmap` in it."""
    return tensor.shape[1 if dim == 0 else 0]


def _joined(tensor: Tensor, dim: int | None, size: int, batch: int) -> Tensor:
    """The axis of `vmap` and that of the batch as one, (size * batch, ...)."""
    tensor = tensor.expand(size, *tensor.shape) if dim is None else tensor.movedim(dim, 0)
    return tensor.expand(size, batch, *tensor.shape[2:]).flatten(0, 1)


def _times(u: Tensor, v: Tensor) -> Tensor:
    if u.ndim < 4:
        return u * v
    (u_re, u_im), (v_re, v_im) = u.unbind(-1), v.unbind(-1)
    return torch.stack([u_re * v_re - u_im * v_im, u_re * v_im + u_im * v_re], -1)


def _conj(u: Tensor) -> Tensor:
    return u if u.ndim < 4 else torch.stack([u[..., 0], -u[..., 1]], -1)
