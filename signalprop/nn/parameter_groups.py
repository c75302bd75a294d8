"""Which parameters an optimiser should treat separately."""

from __future__ import annotations

from typing import Any

from torch import nn

from signalprop.nn._inputs import at_least_zero, part
from signalprop.nn.recurrence import Recurrence, dynamics_of

__all__ = ["parameter_groups"]


def parameter_groups(
    module: nn.Module, lr: float, *, weight_decay: float = 0.0, dynamics_factor: float = 1.0
) -> list[dict[str, Any]]:
    """Two groups of parameters for an optimiser of `torch.optim`: the dynamics of all recurrences, and the rest.

    Weight decay would pull nu, theta, g and M of `LRU` and `RotRNN` to zero, that is ``|lambda|`` to 1/e: there is none on them.

    Parameters
    ----------
    module
        Any module, also inside `torch.compile` or a wrapper for data-parallel training.
    lr, weight_decay
        Of the rest; not below zero.
    dynamics_factor
        The learning rate of the dynamics is this times `lr`; a value below one is common practice.

    Returns
    -------
    list of dict
        ``[{"params": rest, ...}, {"params": dynamics, ...}]``. Each parameter that requires a gradient is in exactly one of
        them, and a frozen one in none. A parameter that a name in `Recurrence.dynamics` is computed from
        (`torch.nn.utils.parametrize`, weight norm, spectral norm, pruning) belongs to the dynamics, as does one that a
        recurrence shares with anything else.

    Raises
    ------
    ValueError
        Something other than a module, or a number below zero.

    Examples
    --------
    >>> import torch
    >>> from signalprop.nn import LRU
    >>> groups = parameter_groups(LRU(4, 8), 1e-3, weight_decay=0.05, dynamics_factor=0.25)
    >>> [len(group["params"]) for group in groups]
    [3, 2]
    >>> optimizer = torch.optim.AdamW(groups)
    """
    lr, weight_decay = at_least_zero(lr, "lr"), at_least_zero(weight_decay, "weight_decay")
    dynamics_factor = at_least_zero(dynamics_factor, "dynamics_factor")
    recurrences = (each for each in part(module, "module").modules() if isinstance(each, Recurrence))
    apart = {id(parameter) for layer in recurrences for parameter in dynamics_of(layer)}
    trained = [parameter for parameter in module.parameters() if parameter.requires_grad]
    return [
        {"params": [each for each in trained if id(each) not in apart], "lr": lr, "weight_decay": weight_decay},
        {"params": [each for each in trained if id(each) in apart], "lr": lr * dynamics_factor, "weight_decay": 0.0},
    ]
