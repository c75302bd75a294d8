"""Monte Carlo runs: draws in, estimates with an honest error out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signalprop.montecarlo.plan import Plan

__all__ = ["Plan"]


def __getattr__(name: str) -> Any:
    if name == "Plan":
        from signalprop.montecarlo.plan import Plan

        return Plan
    raise AttributeError(f"module 'signalprop.montecarlo' has no attribute {name!r}")
