"""A model that is called and left as it was: buffers, plain attributes, random states, and hooks of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

_REGISTERED = ("_parameters", "_buffers", "_modules")


@contextmanager
def untouched(model: nn.Module) -> Iterator[list[Any]]:
    """Inside, call the model at will; hooks put into the list are removed at the end, and all else is put back."""
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers() if not buffer.is_meta]
    registered = [
        (getattr(module, name), dict(getattr(module, name))) for module in model.modules() for name in _REGISTERED
    ]
    attributes = [(module, _plain(module)) for module in model.modules()]
    devices = {tensor.device for tensor in (*model.parameters(), *model.buffers()) if tensor.device.type == "cuda"}
    hooks: list[Any] = []
    try:
        with torch.random.fork_rng(devices=sorted(devices, key=str)):
            yield hooks
    finally:
        for hook in hooks:
            hook.remove()
        for store, before in registered:
            if len(store) != len(before) or any(store.get(name) is not value for name, value in before.items()):
                store.clear()
                store.update(before)
        with torch.no_grad():
            for buffer, copy in buffers:
                if not _same(buffer, copy):
                    buffer.copy_(copy)
        for module, values in attributes:
            _restore(module, values)


def _plain(module: nn.Module) -> dict[str, Any]:
    """Attributes that a forward pass may set: states that a model carries from batch to batch, counters, caches."""
    return {name: value for name, value in vars(module).items() if not _internal(name)}


def _internal(name: str) -> bool:
    return name in _REGISTERED or name.endswith("_hooks") or "_hooks_" in name


def _restore(module: nn.Module, before: dict[str, Any]) -> None:
    now = vars(module)
    for name in [name for name in now if name not in before and not _internal(name)]:
        del now[name]
    for name, value in before.items():
        if name not in now or now[name] is not value:
            now[name] = value


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and bool(torch.equal(one.detach(), other))
