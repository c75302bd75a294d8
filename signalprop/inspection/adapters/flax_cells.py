"""Cells of Flax: gates by name, ``hi``, ``hf``, ``hg``, ``ho`` of an LSTM and ``hr``, ``hz``, ``hn`` of a GRU.

Read as the cells of PyTorch that they are: `flax.linen.OptimizedLSTMCell`, `LSTMCell`, `GRUCell`; a kernel of Flax is the
transpose, and its one bias stands where PyTorch adds two, but for the candidate of a GRU, which has two there as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from signalprop.inspection.adapters._torch_names import TorchLayer
from signalprop.inspection.adapters.gated_cells import layer_report
from signalprop.inspection.decays import coarsest
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site, joined
from signalprop.inspection.tensors import Array, Stored, Tensors

_GATES = {"flax-lstm": "ifgo", "flax-gru": "rzn"}


def _find(name: str) -> Callable[[Tensors, bool], Iterator[Site]]:
    gates = _GATES[name]

    def find(tensors: Tensors, forced: bool) -> Iterator[Site]:
        for one in tensors:
            home, found, rest = one.rpartition(f"h{gates[0]}.kernel")
            if not found or rest or (home and not home.endswith(".")):
                continue
            home = home.removesuffix(".")
            parts = {
                f"{side}{gate}.{part}": tensors[full]
                for side in "hi"
                for gate in gates
                for part in ("kernel", "bias")
                if (full := joined(home, f"{side}{gate}.{part}")) in tensors
            }
            if all(_square(parts.get(f"h{gate}.kernel")) for gate in gates):
                yield Site(home, parts, tensors)

    return find


def _square(tensor: Stored | None) -> bool:
    return tensor is not None and len(tensor.shape) == 2 and tensor.shape[0] == tensor.shape[1]


def _look(name: str) -> Callable[[Site, Settings], list[LayerReport]]:
    def look(site: Site, settings: Settings) -> list[LayerReport]:
        layer = TorchLayer("", 0, dict(_as_torch(site, _GATES[name])))
        report = layer_report(site, layer, settings, 1.0)
        read = tuple(one.name for one in site.parameters.values())
        return [replace(report, adapter=name, parameters=read)]

    return look


def _as_torch(site: Site, gates: str) -> Iterator[tuple[str, Stored]]:
    """The parameters as PyTorch stacks them."""
    units = site.parameters[f"h{gates[0]}.kernel"].shape[0]
    storage = coarsest(one.real_type for one in site.parameters.values()).name
    for role, side, part in (
        ("weight_hh", "h", "kernel"),
        ("weight_ih", "i", "kernel"),
        ("bias_ih", "i", "bias"),
        ("bias_hh", "h", "bias"),
    ):
        found = [site.parameters.get(f"{side}{gate}.{part}") for gate in gates]
        if any(one is not None for one in found):
            rows = next(one.shape for one in found if one is not None)
            shape = (len(gates) * units, rows[0]) if part == "kernel" else (len(gates) * units,)
            yield role, Stored(role, shape, storage, _stack(found, units))


def _stack(found: list[Stored | None], units: int) -> Callable[[], Array]:
    def load() -> Array:
        parts = [np.zeros(units) if one is None else one.numbers().T for one in found]
        return np.concatenate(parts)

    return load


FLAX_LSTM = Adapter(about="LSTM cells of Flax", find=_find("flax-lstm"), look=_look("flax-lstm"), cites="gated")
FLAX_GRU = Adapter(about="GRU cells of Flax", find=_find("flax-gru"), look=_look("flax-gru"), cites="gated")
