"""The picture of `CellAdvice`: what is left of a gradient against the steps that it is carried back, by start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from signalprop.initialization import _cell_table
from signalprop.initialization._cell_text import _name
from signalprop.initialization._cell_words import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from signalprop.initialization._cell_advice import CellAdvice


def cell_figure(advice: CellAdvice) -> Figure:
    """Medians over draws with a band of 90 % of them; the horizon as a vertical line."""
    from matplotlib.figure import Figure

    from signalprop._house_style import house_style

    with house_style():
        figure = Figure(figsize=(7.0, 4.4), layout="constrained")
        axes = figure.subplots()
        steps = np.unique(np.geomspace(1, max(advice.horizon, _cell_table.HORIZONS[-1]), 60).astype(int))
        for place, name in enumerate(advice.left):
            found = [_cell_table.left(advice.cell, name, advice.n, int(t), advice.input_std) for t in steps]
            low, middle, high = (np.array([getattr(one, part) for one in found]) for part in ("low", "median", "high"))
            colour = f"C{place}"
            axes.plot(steps, middle, color=colour, label=_name(advice, name), lw=2.5 if name == advice.advised else 1.2)
            axes.fill_between(steps, low, high, color=colour, alpha=0.15, lw=0)
        axes.axvline(advice.horizon, color="0.4", lw=1.0, ls="--")
        axes.set_xscale("log")
        axes.set_yscale("symlog", linthresh=5.0)
        axes.set_xlabel("steps that the gradient is carried back")
        axes.set_ylabel("natural log of the energy that is left")
        axes.set_title(f"{NAMES[advice.cell]}, width {advice.n}, inputs that add {advice.input_std:g}")
        axes.legend(fontsize="small", loc="lower left")
    return figure
