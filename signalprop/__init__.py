"""Signal propagation in finite-width linear recurrences: exact energies, sampling, and what they mean for a scale.

Every statement says how sure it is. Status P, proved; V, verified in a stated range, not proved; H, heuristic.

The public names are loaded when first used, so that ``import signalprop`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signalprop import (
        cells,
        citations,
        energy,
        exact,
        fields,
        initialization,
        inspection,
        meanfield,
        moments,
        montecarlo,
        precise,
        recurrences,
        regimes,
        spread,
        symbolic,
        tasks,
        verify,
        wick,
    )
    from signalprop import nn as nn
    from signalprop import training as training
    from signalprop._cost import allow
    from signalprop.citations import cite
    from signalprop.energy import lru_energy, rnn_energy
    from signalprop.fields import Field
    from signalprop.initialization import advise, depth_budget, safe_scale, width_needed
    from signalprop.inspection import Inspection, inspect
    from signalprop.montecarlo.estimate import Estimate
    from signalprop.montecarlo.run import run
    from signalprop.montecarlo.sampling import Sample, sample

__version__ = "0.1.0"

_HOMES = {
    "allow": "signalprop._cost",
    "cite": "signalprop.citations",
    "rnn_energy": "signalprop.energy",
    "lru_energy": "signalprop.energy",
    "Field": "signalprop.fields",
    "advise": "signalprop.initialization",
    "depth_budget": "signalprop.initialization",
    "safe_scale": "signalprop.initialization",
    "width_needed": "signalprop.initialization",
    "Inspection": "signalprop.inspection",
    "inspect": "signalprop.inspection",
    "Estimate": "signalprop.montecarlo.estimate",
    "run": "signalprop.montecarlo.run",
    "Sample": "signalprop.montecarlo.sampling",
    "sample": "signalprop.montecarlo.sampling",
}
_NEED_TORCH = ("nn", "training")  # not in __all__, which must be importable without it
_MODULES = (
    "cells",
    "citations",
    "energy",
    "exact",
    "fields",
    "initialization",
    "inspection",
    "meanfield",
    "moments",
    "montecarlo",
    "precise",
    "recurrences",
    "regimes",
    "spread",
    "symbolic",
    "tasks",
    "verify",
    "wick",
)

__all__ = [
    "Estimate",
    "Field",
    "Inspection",
    "Sample",
    "advise",
    "allow",
    "cells",
    "citations",
    "cite",
    "depth_budget",
    "energy",
    "exact",
    "fields",
    "initialization",
    "inspect",
    "inspection",
    "lru_energy",
    "meanfield",
    "moments",
    "montecarlo",
    "precise",
    "recurrences",
    "regimes",
    "rnn_energy",
    "run",
    "safe_scale",
    "sample",
    "spread",
    "symbolic",
    "tasks",
    "verify",
    "wick",
    "width_needed",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES or name in _NEED_TORCH:
        return import_module(f"signalprop.{name}")
    raise AttributeError(f"module 'signalprop' has no attribute {name!r}")


def __dir__() -> list[str]:
    from signalprop._extras import installed

    return sorted([*__all__, *(_NEED_TORCH if installed("torch") else ())])
