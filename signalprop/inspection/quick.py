"""Looking again and again at one model: only the layers that are meant, found once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from signalprop._checks import path_of
from signalprop.inspection.adapters import ADAPTERS
from signalprop.inspection.checkpoints import read_checkpoint
from signalprop.inspection.chosen import chosen
from signalprop.inspection.look import find_layers, no_recurrence
from signalprop.inspection.pytrees import of_model
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site


@dataclass(frozen=True)
class Broken:
    """A layer whose weights are no longer finite.

    Attributes
    ----------
    name, adapter
        As of its report while they were.
    """

    name: str
    adapter: str


class Quick:
    """Reports of the layers that are meant.

    Parameters
    ----------
    settings
        For the adapters.
    adapter
        Name of one, or None.
    patterns
        Names of layers, as `chosen` takes them.
    """

    def __init__(self, settings: Settings, adapter: str | None, patterns: Iterable[str] | None) -> None:
        self.settings, self._patterns = settings, patterns
        self._adapter = None if adapter is None else ADAPTERS.named(adapter, "adapter")
        self._meant: dict[str, list[Broken]] = {}

    def look(self, model: Any) -> list[LayerReport | Broken]:
        """The layers that are meant.

        At the first look a weight that is not finite is refused; later its layer is there by its name alone.

        Raises
        ------
        ValueError
            As for `inspect`; a pattern that fits no layer.
        """
        sites = self._sites(model)
        if not self._meant:
            found = [(site.name, adapter.look(site, self.settings)) for adapter, site in sites]
            meant = chosen([report.name for _, reports in found for report in reports], self._patterns)
            kept = [(name, [one for one in reports if one.name in meant]) for name, reports in found]
            self._meant = {name: [Broken(one.name, one.adapter) for one in some] for name, some in kept if some}
            return [one for _, some in kept for one in some]
        return [one for adapter, site in sites for one in self._later(adapter, site)]

    def _later(self, adapter: Adapter, site: Site) -> list[LayerReport | Broken]:
        known = self._meant.get(site.name, [])
        if not known or not _finite(site):
            return list(known)
        names = {one.name for one in known}
        return [one for one in adapter.look(site, self.settings) if one.name in names]

    def _sites(self, model: Any) -> list[tuple[Adapter, Site]]:
        tensors = read_checkpoint(path_of(model, "model")) if isinstance(model, (str, os.PathLike)) else of_model(model)
        sites = find_layers(tensors, self._adapter)
        if not sites:
            raise ValueError(no_recurrence(tensors, self._adapter))
        return sites


def _finite(site: Site) -> bool:
    return all(
        not np.isnan(values := one.load()).any() and not (values == np.inf).any() for one in site.parameters.values()
    )
