"""Gradients carried back, measured and by parameters, as curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from signalprop.inspection.record import LayerReport

_MOST = 6  # layers with a colour of their own
_COLOURS = ("#08519c", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#666666")
_LOWEST = -60.0  # ln of an energy; below it is drawn at the edge


def curves(axes: Axes, layers: Sequence[LayerReport]) -> None:
    """Log-energies over the steps back from the end: medians with bands as measured, dashed by parameters.

    Of many layers six are drawn, spread over the depth of the model.
    """
    measured = [layer for layer in layers if layer.measured is not None and layer.measured.gradient_band is not None]
    chosen = (
        [measured[i] for i in sorted({round(one) for one in np.linspace(0, len(measured) - 1, _MOST)})]
        if measured
        else []
    )
    last = 2.0
    for colour, layer in zip(_COLOURS, chosen, strict=False):
        band = layer.measured.gradient_band if layer.measured is not None else None
        if band is None:
            continue
        low, median, high = (np.maximum(one, 2.0 * _LOWEST) for one in (band.low, band.median, band.high))
        axes.fill_between(band.steps, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(band.steps, median, color=colour, label=f"measured: {layer.name or layer.about}")
        last = max(last, float(band.steps[-1]))
        if layer.gradient is not None:
            inside = layer.gradient.steps <= band.steps[-1]
            axes.plot(
                layer.gradient.steps[inside],
                np.maximum(layer.gradient.log_energy[inside], 2.0 * _LOWEST),
                color=colour,
                linestyle=(0, (4, 3)),
                linewidth=1.1,
            )
    axes.set_xscale("log")
    axes.set_xlim(1.0, last)
    lowest, highest = axes.get_ylim()
    axes.set_ylim(max(lowest, _LOWEST), min(max(highest, 1.0), -_LOWEST))
    axes.set_xlabel("steps back from the end of a sequence (dashed: by parameters)")
    axes.set_ylabel("ln of the energy of a gradient")
    if chosen:
        axes.legend(fontsize=8, loc="lower left")
