"""The dense recurrence y_t = W y_{t-1} + x_t: an operator in about 2 log2 T products, its derivatives and its `vmap`.

Arrays are W (N, N), x (B, T, N), y_0 (B, N). The rules are those of `_scan_function` with matrices for numbers.
"""

# No postponed annotations here: PyTorch reads the operator's signature from them.
from typing import Any

import torch
from torch import Tensor

from signalprop.nn._forward_mode import allow_tangents, primals, refuse_tangents, tangent_rule, transformed
from signalprop.nn._log_depth import log_depth
from signalprop.nn._scan_operator import before

__all__ = ["dense_scan"]

Triple = tuple[Tensor, Tensor, Tensor]


def in_plain_pytorch(w: Tensor, x: Tensor, initial: Tensor) -> Tensor:
    """The same by what PyTorch differentiates itself; the oracle of the rules below."""
    x = torch.cat([x[:, :1] + (initial @ w.mT)[:, None], x[:, 1:]], 1)
    return log_depth(lambda a, x: x @ a[0, 0].mT, lambda a: a @ a, w[None, None], x)


@torch.library.custom_op("signalprop::dense_scan", mutates_args=())
def dense_scan_operator(w: Tensor, x: Tensor, initial: Tensor) -> Tensor:
    """y_t = W y_{t-1} + x_t from y_0 = `initial`."""
    refuse_tangents("dense_scan")
    y = in_plain_pytorch(w, x, initial)
    return y.clone() if x.shape[1] < 2 else y  # an operator may not return its own argument


@dense_scan_operator.register_fake
def _(w: Tensor, x: Tensor, initial: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


# Tracers take the call as it stands and look inside at the operator alone, with all of these rules in force.
@torch.compiler.allow_in_graph
def dense_scan(w: Tensor, x: Tensor, initial: Tensor) -> Tensor:
    """y_t = W y_{t-1} + x_t from y_0 = `initial`."""
    apply: Any = DenseScan.apply if transformed() else dense_scan_operator
    y: Tensor = apply(w, x, initial)
    return y


class DenseScan(torch.autograd.Function):
    """y_t = W y_{t-1} + x_t; the gradient lambda of x is the same recurrence with W^T, back in time."""

    @staticmethod
    def forward(w: Tensor, x: Tensor, initial: Tensor) -> Tensor:
        with allow_tangents():
            y: Tensor = dense_scan_operator(w, x, initial)
        return y

    @staticmethod
    def setup_context(ctx: Any, inputs: Triple, output: Tensor) -> None:
        w, _, initial = inputs
        ctx.save_for_backward(w, output, initial)
        ctx.save_for_forward(w, output, initial)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Triple:
        w, y, initial = ctx.saved_tensors
        lam = dense_scan(w.mT, g.flip(1), torch.zeros_like(initial)).flip(1)
        of_w = lam.flatten(0, 1).mT @ before(y, initial).flatten(0, 1)
        return of_w, lam, lam[:, :1].sum(1) @ w  # a sum, so that zero steps give zero

    @staticmethod
    def jvp(ctx: Any, dw: Tensor | None, dx: Tensor | None, dinitial: Tensor | None) -> Tensor:
        """dy_t = W dy_{t-1} + dx_t + dW y_{t-1}."""
        with tangent_rule(True):
            w, y, initial = primals(ctx)
            drive = torch.zeros_like(y) if dx is None else dx
            if dw is not None:
                drive = drive + before(y, initial) @ dw.mT
            dy: Tensor = dense_scan(w, drive, torch.zeros_like(initial) if dinitial is None else dinitial)
            return dy

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], w: Tensor, x: Tensor, initial: Tensor) -> tuple[Tensor, int]:
        """With one W a batch of batches is one batch; with many W, batched products."""
        if in_dims[0] is not None:
            return torch.func.vmap(in_plain_pytorch, in_dims)(w, x, initial), 0
        size = info.batch_size
        x, initial = (
            each.expand(size, *each.shape) if dim is None else each.movedim(dim, 0)
            for each, dim in ((x, in_dims[1]), (initial, in_dims[2]))
        )
        y = dense_scan(w, x.flatten(0, 1), initial.flatten(0, 1))
        return torch.unflatten(y, 0, (size, x.shape[1])), 0


# Reverse mode alone, and what `torch.export` leaves, go by the same rules.
dense_scan_operator.register_autograd(DenseScan.backward, setup_context=DenseScan.setup_context)
