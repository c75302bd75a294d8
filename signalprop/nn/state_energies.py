"""State energies of all recurrences inside a model, to be logged."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from signalprop.nn._inputs import part, takes_lengths, unwrapped
from signalprop.nn.recurrence import Recurrence

__all__ = ["state_energies"]


def state_energies(model: nn.Module, *inputs: Any, lengths: Tensor | None = None, **keywords: Any) -> dict[str, Tensor]:
    """Mean of ||x_t||^2 at each step, for each recurrence that ``model(*inputs)`` calls; padding is left out.

    Parameters
    ----------
    model
        Any module with layers of `signalprop.nn` in it; called once, without gradients.
    *inputs, **keywords
        What it is called with.
    lengths
        Steps of each sequence, (batch,), where they are padded. Passed to the model if it takes an argument of this name; if
        the inputs already include it, it need not be repeated here.

    Returns
    -------
    dict
        From the name of the layer, as in ``model.named_modules()``, to a tensor (time,): at step t the mean over the sequences
        that have one, up to the longest. The layer of a `Bidirectional` that runs back counts its steps from the end of each
        sequence. A layer that is called again has an entry per call: ``"name"``, ``"name, call 2"``.

    Raises
    ------
    ValueError
        Something other than a module, or lengths that do not fit what a recurrence is given.

    Examples
    --------
    >>> import torch
    >>> from signalprop.nn import LRU, SequenceClassifier
    >>> model = SequenceClassifier(lambda: LRU(16, 32), 16, 10, vocabulary=18, depth=2)
    >>> energies = state_energies(model, torch.randint(18, (4, 100)), torch.tensor([90, 80, 3, 1]))
    >>> {name: tuple(energy.shape) for name, energy in energies.items()}
    {'blocks.0.recurrence': (90,), 'blocks.1.recurrence': (90,)}
    """
    listener = _Listener(lengths)
    eager = unwrapped(part(model, "model"))  # a compiled model would not call what listens inside
    handed = {} if lengths is None or not takes_lengths(eager) else {"lengths": lengths}
    handles = [handle for name, module in model.named_modules() for handle in listener.attach(name, module)]
    try:
        with torch.no_grad():
            eager(*inputs, **handed, **keywords)
    finally:
        for handle in handles:
            handle.remove()
    return listener.found


class _Listener:
    """Collects energies, with the lengths of the innermost module in progress that was given some."""

    def __init__(self, lengths: Tensor | None) -> None:
        self.found: dict[str, Tensor] = {}
        self.lengths = [lengths]

    def attach(self, name: str, module: nn.Module) -> list[torch.utils.hooks.RemovableHandle]:
        handles = []
        if isinstance(module, Recurrence):
            handles.append(module.register_forward_pre_hook(self._recorder(name, module), with_kwargs=True))
        elif unwrapped(module) is module and takes_lengths(module):
            handles.append(module.register_forward_pre_hook(self._enter, with_kwargs=True))
            handles.append(module.register_forward_hook(self._leave, always_call=True))
        return handles

    def _recorder(
        self, name: str, layer: Recurrence
    ) -> Callable[[nn.Module, tuple[Any, ...], Mapping[str, Any]], None]:
        def record(_: nn.Module, given: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
            calls = 1 + sum(each == name or each.startswith(f"{name}, call ") for each in self.found)
            inputs = _argument(layer, given, keywords, "inputs")
            key = name if calls == 1 else f"{name}, call {calls}"
            self.found[key] = layer.state_energy(inputs, self.lengths[-1])

        return record

    def _enter(self, module: nn.Module, given: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        lengths = _argument(module, given, keywords, "lengths")
        self.lengths.append(self.lengths[-1] if lengths is None else lengths)

    def _leave(self, *_: Any) -> None:
        self.lengths.pop()


def _argument(module: nn.Module, given: tuple[Any, ...], keywords: Mapping[str, Any], name: str) -> Any:
    """The argument `name` of a call of the module; None where it was left out."""
    return inspect.signature(module.forward).bind(*given, **keywords).arguments.get(name)
