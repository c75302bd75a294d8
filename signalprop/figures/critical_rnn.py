"""Energy Q_{n,k} of h <- W h against c = k/sqrt(n): the critical regime, complex and real weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from signalprop.figures.critical_path import COLUMNS, SIZES, draw_panel, legend_entries, path_frame

__all__ = ["COLUMNS", "SIZES", "data", "draw"]


def data(*, seed: int = 0, progress: Callable[[float], None] | None = None, **size: Any) -> pd.DataFrame:
    """Exact energies, laws and Monte Carlo summaries; columns as in `COLUMNS`."""
    return path_frame("rnn", seed=seed, progress=progress, **size)


def draw(frame: pd.DataFrame) -> Figure:
    """Two panels, complex | real, energy on a log scale."""
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 5.2), sharey=True)
    for axes, field in zip(panels, ("complex", "real"), strict=True):
        draw_panel(axes, frame[frame["field"] == field], two_term=field == "real")
        axes.axhline(1.0, color="0.6", linewidth=0.8)
        axes.set_title(f"{field} weights")
        axes.set_xlabel(r"$c = k/\sqrt{n}$  (steps over square root of the width)")
    panels[0].set_ylabel(r"mean signal energy  $Q_{n,k} = \mathrm{E}\,\|W^k x\|^2/n$")
    panels[0].annotate(
        "infinite width: 1",
        (4.95, 1.0),
        xytext=(0, -3),
        textcoords="offset points",
        ha="right",
        va="top",
        color="0.4",
        fontsize=8.5,
    )
    widths = sorted(frame["n"].unique())
    entries = legend_entries(widths, limit=r"limit $(2/c^2)\,\sinh(c^2/2)$", two_term=True)
    figure.legend(handles=entries, loc="outside lower center", ncols=3)
    return figure
