r"""Linear recurrences over time, y_t = a_t y_{t-1} + x_t, with gradients of every order.

On a CPU the loop is compiled, forward and adjoint, and runs on as many threads as ``torch.get_num_threads()`` says; the result
does not depend on how many. `torch.compile` sees one operator. On other devices the recurrence takes about 2 log2 T parallel
steps (`log_depth_scan`).
"""

from __future__ import annotations

import torch
from torch import Tensor

from signalprop.nn._inputs import tensor
from signalprop.nn._scan_function import scan
from signalprop.nn._scan_operator import in_parallel

__all__ = ["linear_scan", "log_depth_scan", "rotation_scan"]

_WIDE = (torch.float32, torch.float64, torch.complex64, torch.complex128)


def linear_scan(coefficients: Tensor, inputs: Tensor, initial: Tensor | None = None) -> Tensor:
    r"""The states y_t = a_t y_{t-1} + x_t, t = 1..T, of N independent scalar recurrences, real or complex.

    Parameters
    ----------
    coefficients
        a, of shape (N,), (T, N) or (B, T, N); axes of length one broadcast.
    inputs
        x, of shape (B, T, N).
    initial
        y_0, of shape (B, N); zero where it is left out.

    Returns
    -------
    torch.Tensor
        y, of shape (B, T, N) and of the common type of the arguments. Types of 16 bits are computed in float32.

    Raises
    ------
    ValueError
        Shapes that do not fit, or a type without arithmetic in float32, float64, complex64 or complex128.

    Notes
    -----
    Time O(B T N). With g the gradient of y and all but a fixed, the gradient of x is lambda_t = g_t + conj(a_{t+1})
    lambda_{t+1}, that of a_t is lambda_t conj(y_{t-1}), that of y_0 is conj(a_1) lambda_1; nothing but y is kept for them.

    Examples
    --------
    >>> import torch
    >>> linear_scan(torch.tensor([0.5]), torch.ones(1, 4, 1)).flatten()
    tensor([1.0000, 1.5000, 1.7500, 1.8750])
    """
    a, x, y_0, wanted = _prepared(coefficients, inputs, initial, pairs=False)
    if x.is_complex():
        y = torch.view_as_complex(scan(*(torch.view_as_real(each.resolve_conj()) for each in (a, x, y_0))))
    else:
        y = scan(a, x, y_0)
    return y.to(wanted)


def rotation_scan(decay: Tensor, angle: Tensor, inputs: Tensor, initial: Tensor | None = None) -> Tensor:
    r"""The states y_t = r_t R(theta_t) y_{t-1} + x_t of N independent planes, R the rotation by an angle, all in real numbers.

    This is `linear_scan` with a = r exp(i theta), where a complex number is the pair of its real and imaginary part.

    Parameters
    ----------
    decay, angle
        r and theta, each of shape (N,), (T, N) or (B, T, N); axes of length one broadcast.
    inputs
        x, of shape (B, T, N, 2).
    initial
        y_0, of shape (B, N, 2); zero where it is left out.

    Returns
    -------
    torch.Tensor
        y, of shape (B, T, N, 2) and of the common type of the arguments. Types of 16 bits are computed in float32.

    Raises
    ------
    ValueError
        Shapes that do not fit, or a type that is not real.

    Examples
    --------
    >>> import math, torch
    >>> quarter = torch.tensor([math.pi / 2])
    >>> impulse = torch.tensor([[[[1.0, 0.0]], [[0.0, 0.0]]]])
    >>> rotation_scan(torch.tensor([0.5]), quarter, impulse)[0, 1, 0].round(decimals=3)      # half as long, turned left
    tensor([-0.0000, 0.5000])
    """
    for name, value in (("decay", decay), ("angle", angle), ("inputs", inputs), ("initial", initial)):
        if (name == "initial" and value is None) or tensor(value, name).is_floating_point():
            continue
        if value is not None:
            raise ValueError(f"{name} must hold real numbers, got type {value.dtype}.")
    if inputs.ndim != 4 or inputs.shape[-1] != 2:
        raise ValueError(f"inputs must have shape (batch, time, planes, 2), got {tuple(inputs.shape)}.")
    if any(1 not in pair and pair[0] != pair[1] for pair in zip(decay.shape[::-1], angle.shape[::-1], strict=False)):
        raise ValueError(f"decay and angle must fit each other, got {tuple(decay.shape)} and {tuple(angle.shape)}.")
    wide = torch.promote_types(torch.promote_types(decay.dtype, angle.dtype), torch.float32)
    decay, angle = decay.to(wide), angle.to(wide)
    rotation = torch.stack([decay * angle.cos(), decay * angle.sin()], -1)
    a, x, y_0, wanted = _prepared(rotation, inputs, initial, pairs=True, name_a="decay and angle")
    y: Tensor = scan(a, x, y_0)
    return y.to(wanted)


def log_depth_scan(coefficients: Tensor, inputs: Tensor, initial: Tensor | None = None) -> Tensor:
    """`linear_scan` by about 2 log2 T parallel steps of plain PyTorch, on any device.

    `linear_scan` calls it where there is no compiled loop. Call it where only tensor operations work: `torch.func`, forward mode.

    Parameters
    ----------
    coefficients, inputs, initial
        As in `linear_scan`.

    Returns
    -------
    torch.Tensor
        As in `linear_scan`.

    Raises
    ------
    ValueError
        As `linear_scan`.

    Examples
    --------
    >>> import torch
    >>> log_depth_scan(torch.tensor([0.5]), torch.ones(1, 4, 1)).flatten()
    tensor([1.0000, 1.5000, 1.7500, 1.8750])
    """
    a, x, y_0, wanted = _prepared(coefficients, inputs, initial, pairs=False)
    return in_parallel(a, x, y_0).to(wanted)


def _prepared(
    a: Tensor, x: Tensor, initial: Tensor | None, *, pairs: bool, name_a: str = "coefficients"
) -> tuple[Tensor, Tensor, Tensor, torch.dtype]:
    """Arguments of one type; a of three axes, of length one where it does not vary; and the type that is wanted back."""
    for name, value in ((name_a, a), ("inputs", x), ("initial", initial)):
        if name != "initial" or value is not None:
            tensor(value, name)
    tail = (2,) if pairs else ()
    if x.ndim != 3 + len(tail):
        raise ValueError(f"inputs must have shape (batch, time, numbers), got {tuple(x.shape)}.")
    batch, steps, numbers = x.shape[:3]
    shape = a.shape[: a.ndim - len(tail)]
    full = (batch, steps, numbers)[3 - len(shape) :] if 1 <= len(shape) <= 3 else ()
    if not full or any(have not in (1, want) for have, want in zip(shape, full, strict=True)):
        raise ValueError(
            f"{name_a} must have shape ({numbers},), ({steps}, {numbers}) or ({batch}, {steps}, {numbers}) for inputs of "
            f"shape {tuple(x.shape)}, got {tuple(shape)}."
        )
    if initial is None:
        initial = x.new_zeros((batch, numbers, *tail))
    elif initial.shape != (batch, numbers, *tail):
        raise ValueError(f"initial must have shape {(batch, numbers, *tail)}, got {tuple(initial.shape)}.")
    wanted = torch.promote_types(torch.promote_types(a.dtype, x.dtype), initial.dtype)
    wide = torch.promote_types(wanted, torch.float32)
    if wide not in _WIDE or not (wanted.is_floating_point or wanted.is_complex):
        raise ValueError(
            f"{name_a}, inputs and initial must hold real or complex numbers of up to 128 bits, got {a.dtype}, {x.dtype} and "
            f"{initial.dtype}."
        )
    a = a.reshape((1,) * (3 - len(shape)) + a.shape).expand(-1, -1, numbers, *tail)
    return a.to(wide), x.to(wide), initial.to(wide), wanted
