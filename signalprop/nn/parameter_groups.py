"""Which parameters an optimiser should treat apart."""

from __future__ import annotations

from typing import Any

from torch import nn

from signalprop.nn.recurrence import Recurrence

__all__ = ["parameter_groups"]


def parameter_groups(
    module: nn.Module, lr: float, *, weight_decay: float = 0.0, dynamics_factor: float = 1.0
) -> list[dict[str, Any]]:
    """Two groups of parameters for an optimiser of `torch.optim`: the dynamics of all recurrences, and the rest.

    Weight decay would pull nu, theta, g and M of `LRU` and `RotRNN` to zero, that is ``|lambda|`` to 1/e: there is none on them.

    Parameters
    ----------
    module
        Any module.
    lr, weight_decay
        Of the rest.
    dynamics_factor
        The learning rate of the dynamics is this times `lr`; below one it is the common practice.

    Returns
    -------
    list of dict
        ``[{"params": rest, ...}, {"params": dynamics, ...}]``.

    Examples
    --------
    >>> import torch
    >>> from signalprop.nn import LRU
    >>> groups = parameter_groups(LRU(4, 8), 1e-3, weight_decay=0.05, dynamics_factor=0.25)
    >>> [len(group["params"]) for group in groups]
    [3, 2]
    >>> optimizer = torch.optim.AdamW(groups)
    """
    apart = {
        id(parameter)
        for part in module.modules()
        if isinstance(part, Recurrence)
        for name, parameter in part.named_parameters(recurse=False)
        if name in part.dynamics
    }
    rest = [parameter for parameter in module.parameters() if id(parameter) not in apart]
    dynamics = [parameter for parameter in module.parameters() if id(parameter) in apart]
    return [
        {"params": rest, "lr": lr, "weight_decay": weight_decay},
        {"params": dynamics, "lr": lr * dynamics_factor, "weight_decay": 0.0},
    ]
