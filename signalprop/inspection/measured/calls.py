"""What every recurrence of a model was given on one run, kept by hooks; and where numbers stop being finite."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from signalprop.inspection.measured.record import Broken
from signalprop.inspection.measured.steps import Precision


@dataclass(frozen=True)
class Call:
    """One call of a module: copies of what it was given, what it gave back, and the precision that it ran in."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    output: Any
    precision: Precision

    def argument(self, place: int, name: str) -> Any:
        """An argument by its place or its name; None where it was left out."""
        return self.args[place] if len(self.args) > place else self.kwargs.get(name)


@dataclass
class Calls:
    """Calls of the modules that are of interest, in their order."""

    found: dict[str, list[Call]] = field(default_factory=dict)
    _open: dict[str, list[tuple[tuple[Any, ...], dict[str, Any], Precision]]] = field(default_factory=dict)

    def listen(self, name: str, module: nn.Module, hooks: list[Any]) -> None:
        """Keep the calls of a module."""

        def before(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            # Copies, because a model may go on to write into what it gave.
            given = (_copied(args), _copied(kwargs), Precision.now(_device(args, kwargs, module)))
            self._open.setdefault(name, []).append(given)

        def after(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            own, named, precision = self._open[name].pop()
            self.found.setdefault(name, []).append(Call(own, named, _copied(output), precision))

        hooks.append(module.register_forward_pre_hook(before, with_kwargs=True))
        hooks.append(module.register_forward_hook(after, with_kwargs=True))


@dataclass
class Watch:
    """The first module that makes numbers that are not finite out of finite ones."""

    broken: Broken | None = None

    def listen(self, model: nn.Module, hooks: list[Any]) -> None:
        """Look at what every module without parts of its own is given and gives."""
        for name, module in model.named_modules():
            if not any(module.children()):
                hooks.append(module.register_forward_hook(self._after(name, module), with_kwargs=True))

    def _after(self, name: str, module: nn.Module) -> Any:
        def look(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
            if self.broken is None and (tensor := first_broken((output,))) is not None:
                given = first_broken((args, kwargs)) is not None
                self.broken = where_broken(tensor, name or type(module).__name__, given, time=_axis(module))

        return look


def first_broken(values: Iterable[Any]) -> Tensor | None:
    """The first tensor in there that is not finite; minus infinity alone is none, since masks are made of it."""
    for value in values:
        if isinstance(value, PackedSequence):
            value = value.data
        if isinstance(value, Tensor):
            if value.is_floating_point() and not bool(torch.isfinite(value).all()) and bool(_bad(value).any()):
                return value
        elif isinstance(value, dict):
            if (found := first_broken(value.values())) is not None:
                return found
        elif isinstance(value, (tuple, list)) and (found := first_broken(value)) is not None:
            return found
    return None


def where_broken(tensor: Tensor, where: str, inputs: bool, *, time: int = 1) -> Broken:
    """The first step at which a tensor (sequences, time, ..) is not finite."""
    bad = _bad(tensor)
    if tensor.ndim < 3:
        kind = "NaN" if bool(torch.isnan(tensor).any()) else "infinite"
        return Broken(where, kind, None, None, inputs)
    bad, tensor = (one if time == 1 else one.transpose(0, 1) for one in (bad, tensor))
    rows = bad.flatten(2).any(2)
    step = int(rows.any(0).int().argmax())
    sequence = int(rows[:, step].int().argmax())
    kind = "NaN" if bool(torch.isnan(tensor[sequence, step]).any()) else "infinite"
    return Broken(where, kind, step + 1, sequence, inputs)


def _bad(tensor: Tensor) -> Tensor:
    return torch.isnan(tensor) | torch.isposinf(tensor)


def _axis(module: nn.Module) -> int:
    return 0 if getattr(module, "batch_first", True) is False else 1


def _copied(value: Any) -> Any:
    if isinstance(value, PackedSequence):
        return PackedSequence(value.data.detach().clone(), *value[1:])
    if isinstance(value, Tensor):
        return value.detach().clone()
    if type(value) in (tuple, list):
        return type(value)(_copied(one) for one in value)
    if type(value) is dict:
        return {name: _copied(one) for name, one in value.items()}
    return value


def _device(args: tuple[Any, ...], kwargs: dict[str, Any], module: nn.Module) -> str:
    for value in (*args, *kwargs.values()):
        if isinstance(value, (Tensor, PackedSequence)):
            found = value.data.device.type if isinstance(value, PackedSequence) else value.device.type
            return str(found)
    return next((str(one.device.type) for one in module.parameters()), "cpu")
