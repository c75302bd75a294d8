"""The recurrence y_t = a_t y_{t-1} + x_t in about 2 log2 T parallel steps, in plain PyTorch.

Neighbours are joined, y_{2i+1} = (a_{2i+1} a_{2i}) y_{2i-1} + (a_{2i+1} x_{2i} + x_{2i+1}), which is the same recurrence over
half the steps; the other half follows from it. Two to three times the arithmetic of the plain loop, whatever T is.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Multiply = Callable[[Tensor, Tensor], Tensor]


def log_depth(multiply: Multiply, square: Callable[[Tensor], Tensor], a: Tensor, x: Tensor) -> Tensor:
    """Return y for y_{-1} = 0; time is axis 1 of `x`, and of `a` where a varies in time.

    Parameters
    ----------
    multiply
        ``multiply(a, x)``, linear in x; coefficients that vary in time are combined by it as well.
    square
        ``a -> a a`` for coefficients that do not vary in time; axis 1 of `a` then has length one.
    """
    steps = x.shape[1]
    if steps < 2:
        return x
    varies = a.shape[1] > 1
    a_even, a_odd = (a[:, 0::2], a[:, 1::2]) if varies else (a, a)
    x_even, x_odd = x[:, 0::2], x[:, 1::2]
    half = steps // 2
    pairs = multiply(a_odd, x_even[:, :half]) + x_odd
    products = multiply(a_odd, a_even[:, :half]) if varies else square(a)
    y_odd = log_depth(multiply, square, products, pairs)
    rest = (steps + 1) // 2 - 1
    y_even = multiply(a_even[:, 1:] if varies else a, y_odd[:, :rest]) + x_even[:, 1:]
    y_even = torch.cat([x_even[:, :1], y_even], 1)
    joined = torch.stack([y_even[:, :half], y_odd], 2).flatten(1, 2)
    return joined if steps % 2 == 0 else torch.cat([joined, y_even[:, half:]], 1)
