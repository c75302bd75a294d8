"""A recurrence whose states cannot be reached: gradients lead from its output at the last step to its inputs."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from signalprop._streams import stream
from signalprop.inspection.measured.calls import Call

Floats = NDArray[np.float64]
LONGEST = 4096  # steps, the last ones: the graph of all of them is held
_CACHES = ("cache_params", "past_key_values", "past_key_value", "inference_params", "cache", "state")


@dataclass(frozen=True)
class Sequence:
    """What a module was given, (sequences, time, features), and how it is called again with other numbers in its place.

    `near` is the number of last steps that may pass beside the state: one, or the width of a convolution over time.
    """

    inputs: Tensor
    outputs: Tensor
    again: Callable[[Tensor], Tensor]
    near: int


def sequence_of(module: nn.Module, call: Call, most: int = LONGEST) -> Sequence | None:
    """The sequence in a call, cut to its last steps; None where no argument or no output is one."""
    place = next((i for i, one in enumerate(call.args) if _is_sequence(one)), None)
    key = None if place is not None else next((name for name, one in call.kwargs.items() if _is_sequence(one)), None)
    if place is None and key is None:
        return None
    inputs: Tensor = call.args[place] if place is not None else call.kwargs[str(key)]
    outputs = _output(call.output, inputs.shape[:2])
    if outputs is None:
        return None
    steps = inputs.shape[1]
    cut = max(0, steps - most)
    args = [_cut(one, steps, cut) for one in call.args]
    kwargs = {name: _cut(one, steps, cut) for name, one in _without_caches(module, call.kwargs).items()}
    shape = (inputs.shape[0], steps - cut)

    def again(x: Tensor) -> Tensor:
        mine, named = list(args), dict(kwargs)
        if place is not None:
            mine[place] = x
        else:
            named[str(key)] = x
        found = _output(module(*mine, **named), torch.Size(shape))
        if found is None:
            raise ValueError("it does not give a sequence when it is called again")
        return found

    near = max((int(one.kernel_size[0]) for one in module.modules() if isinstance(one, nn.Conv1d)), default=1)
    return Sequence(inputs[:, cut:], outputs[:, cut:], again, near)


def output_gradients(
    given: Sequence, call: Call, first: Tensor, last: Tensor, cotangents: int, seed: int = 0
) -> Floats:
    """Log of ||d<v, y_T>/dx_{T-k}||^2 relative to k = near, (cotangents * sequences, steps - near); NaN before the start.

    Columns of the answer are k - near, so that the first one is 0.
    """
    sequences, steps = given.inputs.shape[:2]
    with torch.enable_grad(), call.precision.again():
        x = given.inputs.detach().clone().requires_grad_()
        y = given.again(x)
        ends = y[torch.arange(sequences), (last - 1).to(y.device)]
        draws = stream(seed, "output cotangents", ends.shape[-1]).standard_normal((cotangents, *ends.shape))
        columns = max(steps - given.near, 0)
        logs = np.full((cotangents, sequences, columns), math.nan)
        for c, draw in enumerate(draws):
            v = torch.from_numpy(draw).to(ends.device, ends.dtype)
            (gradient,) = torch.autograd.grad(ends, x, v, retain_graph=c + 1 < cotangents, allow_unused=True)
            energy = np.zeros((sequences, steps)) if gradient is None else _energies(gradient)
            for b in range(sequences):
                back = energy[b, int(first[b]) : int(last[b])][::-1][given.near :]
                with np.errstate(divide="ignore", invalid="ignore"):
                    own = np.log(back)
                    logs[c, b, : len(own)] = own - own[0] if len(own) and own[0] > -math.inf else own
    return logs.reshape(-1, columns)


def _energies(gradient: Tensor) -> Floats:
    return np.asarray(gradient.double().flatten(2).square().sum(-1).cpu().numpy())


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.ndim >= 3


def _output(value: Any, shape: torch.Size) -> Tensor | None:
    """The first sequence of this many sequences and steps in what a module gives back."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else (value,)
    for one in parts:
        if isinstance(one, Tensor) and _is_sequence(one) and one.shape[:2] == shape:
            return one
    return None


def _cut(value: Any, steps: int, cut: int) -> Any:
    """Its last steps, of a tensor with as many along its second axis."""
    if cut and isinstance(value, Tensor) and value.ndim >= 2 and value.shape[1] == steps:
        return value[:, cut:]
    return value


def _without_caches(module: nn.Module, kwargs: dict[str, Any]) -> dict[str, Any]:
    """A cache that the first call has filled would go on from there; states in lists are copies from before that call."""
    parameters = inspect.signature(module.forward).parameters
    return {
        name: None
        if name in _CACHES
        and not isinstance(one, (Tensor, list, tuple, dict))
        and name in parameters
        and parameters[name].default is None
        else one
        for name, one in kwargs.items()
    }
