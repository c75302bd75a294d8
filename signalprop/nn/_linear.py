"""Numbers from a layer to a `LinearRecurrence` and back."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from signalprop.nn._reset import fill_
from signalprop.nn.recurrence import Recurrence
from signalprop.recurrences import LinearRecurrence

Kind = TypeVar("Kind", bound=LinearRecurrence)


def numbers(layer: Recurrence, name: str) -> NDArray[np.float64]:
    """A parameter of a layer in float64, gathered where it is sharded."""
    value: Tensor = getattr(layer, name).detach()
    if value.is_meta:
        raise ValueError(f"{name} of {layer} is on the meta device and has no numbers: draw the parameters first.")
    if hasattr(value, "full_tensor"):
        value = value.full_tensor()
    found: NDArray[np.float64] = value.double().cpu().numpy()
    return found


@torch.no_grad()
def assign(layer: Recurrence, **values: ArrayLike) -> None:
    """Put numbers into parameters of a layer, in their type and place; C is left as drawn where it is None."""
    for name, value in values.items():
        if value is not None:
            parameter: Tensor = getattr(layer, name)
            fill_(parameter, torch.from_numpy(np.array(value, np.float64)).to(parameter.device, parameter.dtype))


def of_kind(recurrence: Any, kind: type[Kind], wanted: str) -> Kind:
    """`recurrence` if it can be a layer, with as many outputs as inputs where it has a readout."""
    if not isinstance(recurrence, kind):
        raise ValueError(f"recurrence must be {wanted}, got {type(recurrence).__name__}.")
    if recurrence.C is not None and len(recurrence.C) != recurrence.input_size:
        raise ValueError(
            f"a layer has as many outputs as inputs, got a recurrence of {recurrence.input_size} inputs and "
            f"{len(recurrence.C)} outputs."
        )
    return recurrence


def require_no_first_step(recurrence: LinearRecurrence, layer: str) -> None:
    """Raise where the first step of a recurrence is another one."""
    if recurrence.first is not None:
        raise ValueError(f"{layer} starts as it goes on; give a recurrence without a first step of its own.")
