"""What the energies are for: scales for the weights of a given width and horizon.

Everything is loaded on first use, the initializers of PyTorch and JAX (``initialization.torch`` and
``initialization.jax``) included: the command line reads only the names of the criteria.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from signalprop._extras import installed

__all__ = [
    "CRITERIA",
    "STARTS",
    "Advice",
    "CellAdvice",
    "Found",
    "Propagation",
    "Request",
    "SafeScale",
    "ScaleCriterion",
    "Start",
    "advise",
    "depth_budget",
    "propagate",
    "safe_scale",
    "width_needed",
]

if TYPE_CHECKING:
    from signalprop.initialization import jax as jax
    from signalprop.initialization import torch as torch
    from signalprop.initialization._cell_advice import CellAdvice
    from signalprop.initialization.advice import Advice, advise
    from signalprop.initialization.budget import depth_budget, width_needed
    from signalprop.initialization.criteria import CRITERIA, Found, Request, ScaleCriterion
    from signalprop.initialization.propagation import Propagation, propagate
    from signalprop.initialization.scale import SafeScale, safe_scale
    from signalprop.initialization.starts import STARTS, Start

_HOMES = {
    "CRITERIA": "criteria",
    "Advice": "advice",
    "CellAdvice": "_cell_advice",
    "Found": "criteria",
    "Propagation": "propagation",
    "Request": "criteria",
    "STARTS": "starts",
    "SafeScale": "scale",
    "ScaleCriterion": "criteria",
    "Start": "starts",
    "advise": "advice",
    "depth_budget": "budget",
    "propagate": "propagation",
    "safe_scale": "scale",
    "width_needed": "budget",
}
_FRAMEWORKS: tuple[Literal["jax"], Literal["torch"]] = ("jax", "torch")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"signalprop.initialization.{_HOMES[name]}"), name)
    if name in _FRAMEWORKS:
        return import_module(f"signalprop.initialization.{name}")
    raise AttributeError(f"module 'signalprop.initialization' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in _FRAMEWORKS if installed(name))])
