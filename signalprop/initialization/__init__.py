"""What one does with the energies: scales for the weights of a given width and horizon.

The initializers of PyTorch and JAX, ``initialization.torch`` and ``initialization.jax``, are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from signalprop._extras import installed
from signalprop.initialization.advice import Advice, advise
from signalprop.initialization.budget import depth_budget, width_needed
from signalprop.initialization.propagation import Propagation, propagate
from signalprop.initialization.scale import CRITERIA, SafeScale, safe_scale

__all__ = [
    "CRITERIA",
    "Advice",
    "Propagation",
    "SafeScale",
    "advise",
    "depth_budget",
    "propagate",
    "safe_scale",
    "width_needed",
]

if TYPE_CHECKING:
    from signalprop.initialization import jax as jax
    from signalprop.initialization import torch as torch

_FRAMEWORKS: tuple[Literal["jax"], Literal["torch"]] = ("jax", "torch")


def __getattr__(name: str) -> Any:
    if name in _FRAMEWORKS:
        return import_module(f"signalprop.initialization.{name}")
    raise AttributeError(f"module 'signalprop.initialization' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in _FRAMEWORKS if installed(name))])
