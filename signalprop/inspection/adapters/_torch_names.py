"""Recurrent layers by PyTorch's names of their parameters: ``weight_hh_l0``, ``weight_hh_l1_reverse``, ``weight_hh``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from signalprop.inspection.record import Site, joined
from signalprop.inspection.tensors import Stored, Tensors

_KERNEL = re.compile(r"(?:(?P<home>.*)\.)?weight_hh(?P<suffix>(?:_l(?P<layer>\d+)(?:_reverse)?)?)")
_ROLES = ("weight_ih", "bias_ih", "bias_hh", "weight_hr")


@dataclass(frozen=True)
class TorchLayer:
    """One layer and direction: its suffix ``_l0_reverse``, its number, and its parameters by role."""

    suffix: str
    number: int
    parameters: dict[str, Stored]

    @property
    def blocks(self) -> int:
        """Gates that are stacked in its kernel; 0 where it is not a stack of square ones."""
        rows, columns = self.parameters["weight_hh"].shape
        projection = self.parameters.get("weight_hr")
        units = projection.shape[1] if projection is not None else columns
        return rows // units if units and rows % units == 0 else 0


def torch_layers(tensors: Tensors, home: str) -> list[TorchLayer]:
    """The layers and directions of a module, from the first to the last."""
    found = []
    for name, tensor in tensors.items():
        match = _KERNEL.fullmatch(name)
        if match is None or (match["home"] or "") != home or len(tensor.shape) != 2 or not tensor.floating:
            continue
        suffix = match["suffix"]
        parameters = {"weight_hh": tensor}
        parameters |= {role: tensors[one] for role in _ROLES if (one := joined(home, f"{role}{suffix}")) in tensors}
        found.append(TorchLayer(suffix, int(match["layer"] or 0), parameters))
    return sorted(found, key=lambda layer: (layer.number, layer.suffix))


def torch_sites(tensors: Tensors, blocks: int, accept: Callable[[Site], bool] = lambda site: True) -> Iterator[Site]:
    """Modules whose recurrent kernels are stacks of so many square ones."""
    homes = dict.fromkeys((match["home"] or "") for name in tensors if (match := _KERNEL.fullmatch(name)))
    for home in homes:
        layers = torch_layers(tensors, home)
        if not layers or any(layer.blocks != blocks for layer in layers):
            continue
        parameters = {f"{role}{layer.suffix}": one for layer in layers for role, one in layer.parameters.items()}
        site = Site(home, parameters, tensors)
        if accept(site):
            yield site
