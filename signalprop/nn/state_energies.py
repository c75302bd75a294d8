"""State energies of all recurrences inside a model, to be logged."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from signalprop.nn.recurrence import Recurrence

__all__ = ["state_energies"]


@torch.no_grad()
def state_energies(model: nn.Module, *inputs: Any) -> dict[str, Tensor]:
    """Mean of ||x_t||^2 over the batch at each step, for each recurrence that ``model(*inputs)`` calls.

    Parameters
    ----------
    model
        Any module with layers of `signalprop.nn` in it; called once, without gradients.
    *inputs
        What it is called with.

    Returns
    -------
    dict
        From the name of the layer, as in ``model.named_modules()``, to a tensor (time,). The layer of a `Bidirectional` that
        runs back counts its steps from the end.

    Examples
    --------
    >>> import torch
    >>> from signalprop.nn import LRU, SequenceClassifier
    >>> model = SequenceClassifier(lambda: LRU(16, 32), 16, 10, vocabulary=18, depth=2)
    >>> {name: tuple(energy.shape) for name, energy in state_energies(model, torch.randint(18, (4, 100))).items()}
    {'blocks.0.recurrence': (100,), 'blocks.1.recurrence': (100,)}
    """
    found: dict[str, Tensor] = {}

    def listen(name: str, layer: Recurrence) -> torch.utils.hooks.RemovableHandle:
        def record(_: nn.Module, arguments: tuple[Tensor, ...]) -> None:
            found[name] = layer.state_energy(arguments[0])

        return layer.register_forward_pre_hook(record)

    handles = [listen(name, layer) for name, layer in model.named_modules() if isinstance(layer, Recurrence)]
    try:
        model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found
