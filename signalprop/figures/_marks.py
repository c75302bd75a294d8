"""Marks that several figures share: means of draws, hollow where they are not to be trusted, and median draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

GREY = "0.35"
MEDIAN_STYLE: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (1, 1.5))}
MEAN = "mean of draws, ± 2 standard errors\nwhere that is larger than the mark"
UNTRUSTED = "hollow: mean of draws not to be\ntrusted, most likely too small"


def draw_means(axes: Axes, one: pd.DataFrame, at: Any, colour: Any, marker: str = "o") -> None:
    """Means of draws at the steps nearest to the ratios `at`; hollow and without an error where it is not to be trusted."""
    picked = one.iloc[[int((one["c"] - c).abs().argmin()) for c in at]]
    for believable, points in picked.groupby("trusted"):
        mean = np.exp(points["log_mean"])
        error = 2.0 * points["relative_stderr"] if believable else 0.0 * mean
        axes.errorbar(
            points["c"],
            mean,
            # Cut above 0 for the logarithmic axis.
            yerr=[mean * np.minimum(error, 0.999), mean * error],
            fmt=marker,
            color=colour,
            markerfacecolor=colour if believable else "white",
            markeredgewidth=1.1,
            elinewidth=1.1,
            zorder=5,
        )


def mean_entries(label: str = MEAN) -> list[Line2D]:
    """Legend of what `draw_means` draws, and of the median draw."""
    return [
        Line2D([], [], color=GREY, marker="o", linestyle="", label=label),
        Line2D([], [], color=GREY, marker="o", markerfacecolor="white", linestyle="", label=UNTRUSTED),
        Line2D([], [], color=GREY, label="median draw", **MEDIAN_STYLE),
    ]
