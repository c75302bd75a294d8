"""The picture of an `Inspection`: the memory of every layer on one axis of steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from signalprop._house_style import house_style
from signalprop.inspection.findings import verdict
from signalprop.inspection.measured.curves import curves
from signalprop.inspection.page import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from signalprop.inspection.inspection import Inspection
    from signalprop.inspection.record import LayerReport

_BAND, _LINE, _HUNDRED, _NEVER = "#9ecae1", "#08519c", "#6baed6", "#D55E00"
_MOST_NAMES = 60  # rows with a name


def picture(found: Inspection) -> Figure:
    """One row per layer: the memories of its units as a band, their middle half darker, and the layer from 1/e to 1 % left."""
    layers = found.layers
    with house_style():
        height = 1.4 + 0.28 * min(max(len(layers), 3), 80)
        if found.run is None:
            figure = Figure(figsize=(7.2, height))
            axes = figure.subplots()
        else:
            figure = Figure(figsize=(7.2, height + 3.4))
            axes, below = figure.subplots(2, 1, height_ratios=[height, 3.4])
            curves(below, layers)
        limit = _limit(found)
        for row, layer in enumerate(layers):
            _row(axes, row, layer, limit)
        if found.settings.horizon is not None:
            axes.axvline(found.settings.horizon, color="0.35", linestyle=(0, (4, 3)), linewidth=1.1)
            axes.annotate(
                "horizon", (found.settings.horizon, -0.75), color="0.35", fontsize=8, ha="center", va="bottom"
            )
        axes.set_xscale("log")
        axes.set_xlim(0.5, 2.2 * limit)
        axes.set_ylim(len(layers) - 0.4, -0.8)
        every = math.ceil(len(layers) / _MOST_NAMES)
        axes.set_yticks(range(0, len(layers), every), [short(layer) for layer in layers[::every]])
        axes.set_xlabel("steps until 1/e of the energy is left (thin line: until 1 %)")
        axes.set_title(found.source, fontsize=9.5)
        for row, layer in enumerate(layers):
            if len(layers) <= 24:
                axes.annotate(
                    verdict(layer, found.settings)[1],
                    (1.01, row),
                    xycoords=("axes fraction", "data"),
                    fontsize=8,
                    va="center",
                )
    return figure


def _limit(found: Inspection) -> float:
    """The largest step to show: that of the longest memory that ends, and of the horizon."""
    ends = [10.0, float(found.settings.horizon or 1)]
    for layer in found.layers:
        if layer.units is not None:
            memory = layer.units.memory
            ends.append(float(memory[np.isfinite(memory)].max(initial=1.0)))
        for path in (layer.gradient, layer.forward):
            if path is not None:
                ends += [float(one) for one in (path.by_e, path.by_hundred, path.grown) if one is not None]
    return min(max(ends), 1e7)


def _row(axes: Axes, row: int, layer: LayerReport, limit: float) -> None:
    if layer.units is not None:
        memory = np.clip(layer.units.memory.ravel(), 0.5, 2.0 * limit)
        low, first, third, high = np.quantile(memory, [0.0, 0.25, 0.75, 1.0])
        axes.barh(row, high - low, left=low, height=0.34, color=_BAND, alpha=0.55, linewidth=0)
        axes.barh(row, third - first, left=first, height=0.34, color=_BAND, linewidth=0)
        never = int(layer.units.never(math.inf).sum())
        if never:
            axes.plot([2.0 * limit], [row], marker=">", color=_NEVER, markersize=6, clip_on=False)
    path = layer.gradient
    if path is None:
        return
    if path.grown is not None:
        axes.plot([path.grown], [row], marker="X", color=_NEVER, markersize=7, linewidth=0)
        return
    begin = path.by_e if path.by_e is not None else 2.0 * limit
    end = path.by_hundred if path.by_hundred is not None else 2.0 * limit
    axes.plot([begin, end], [row, row], color=_HUNDRED, linewidth=1.2)
    axes.plot([begin], [row], marker="o" if path.by_e is not None else ">", color=_LINE, markersize=5.5, linewidth=0)
