"""What the recurrences of a model remember, and for how long: a look into any model, in memory or in a file.

One small file per family of layers, in `ADAPTERS`; what a family has in common with others stands in `decays` (units that
decay on their own) and `kernels` (dense matrices). Names are loaded when first used; neither PyTorch nor JAX is needed for
files of safetensors and NumPy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from signalprop.inspection.adapters import ADAPTERS
    from signalprop.inspection.bounds import assert_horizon
    from signalprop.inspection.callbacks import MemoryCallback, MemoryTrainerCallback
    from signalprop.inspection.checkpoints import read_checkpoint
    from signalprop.inspection.collapse import Collapse
    from signalprop.inspection.inspection import Inspection
    from signalprop.inspection.kernels import power_energy
    from signalprop.inspection.look import find_layers, inspect
    from signalprop.inspection.record import Adapter, LayerReport, Settings, Site
    from signalprop.inspection.transfer import TransferCheck, transfer_check
    from signalprop.inspection.watcher import Watcher, watch

_HOMES = {
    "ADAPTERS": "adapters",
    "Adapter": "record",
    "Inspection": "inspection",
    "LayerReport": "record",
    "MemoryCallback": "callbacks",
    "MemoryTrainerCallback": "callbacks",
    "Settings": "record",
    "Site": "record",
    "Collapse": "collapse",
    "TransferCheck": "transfer",
    "transfer_check": "transfer",
    "Watcher": "watcher",
    "assert_horizon": "bounds",
    "find_layers": "look",
    "inspect": "look",
    "power_energy": "kernels",
    "read_checkpoint": "checkpoints",
    "watch": "watcher",
}

__all__ = [
    "ADAPTERS",
    "Adapter",
    "Collapse",
    "Inspection",
    "LayerReport",
    "MemoryCallback",
    "MemoryTrainerCallback",
    "Settings",
    "Site",
    "TransferCheck",
    "Watcher",
    "assert_horizon",
    "find_layers",
    "inspect",
    "power_energy",
    "read_checkpoint",
    "transfer_check",
    "watch",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"signalprop.inspection.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'signalprop.inspection' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
