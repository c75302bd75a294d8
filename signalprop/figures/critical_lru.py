"""Energy S_{n,t} of h <- W h + x, over sqrt(n), against c = t/sqrt(n): the critical regime, complex and real weights."""

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
    return path_frame("driven", seed=seed, progress=progress, **size)


def draw(frame: pd.DataFrame) -> Figure:
    """Two panels, complex | real, energy on a log scale; the infinite-width line t + 1 becomes c."""
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 5.2), sharey=True)
    for axes, field in zip(panels, ("complex", "real"), strict=True):
        rows = frame[frame["field"] == field]
        draw_panel(axes, rows, two_term=field == "real")
        line = rows[(rows["n"] == rows["n"].max()) & (rows["k"] > 0)]
        axes.plot(line["c"], line["c"], color="0.6", linewidth=0.8)
        axes.set_title(f"{field} weights")
        axes.set_xlabel(r"$c = t/\sqrt{n}$  (steps over square root of the width)")
    panels[0].set_ylabel(r"mean energy of the driven recurrence  $S_{n,t}/\sqrt{n}$")
    panels[0].annotate(
        "infinite width: c",
        (4.9, 4.9),
        xytext=(0, -8),
        textcoords="offset points",
        ha="right",
        va="top",
        color="0.4",
        fontsize=8.5,
    )
    panels[0].set_ylim(bottom=2e-2)
    widths = sorted(frame["n"].unique())
    entries = legend_entries(widths, limit=r"limit $\int_0^c (2/x^2)\sinh(x^2/2)\,dx$", two_term=True)
    figure.legend(handles=entries, loc="outside lower center", ncols=3)
    return figure
