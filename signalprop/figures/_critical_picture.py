"""How the two critical-regime figures are drawn: energy against c = steps/sqrt(n), complex beside real weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from signalprop.figures._critical_numbers import FAR_COLUMNS, FIELDS, LARGEST_C
from signalprop.figures._marks import GREY, MEDIAN_STYLE, draw_means, mean_entries

MARKER_SPACING = 0.5
FAR_STYLE: dict[str, Any] = {
    "fmt": "D",
    "markersize": 6.0,
    "markeredgecolor": "black",
    "markeredgewidth": 1.0,
    "ecolor": "black",
    "elinewidth": 1.2,
    "capsize": 3.0,
}
LIMIT_STYLE: dict[str, Any] = {"color": "black", "linestyle": (0, (5, 2)), "linewidth": 1.6}
LAW_STYLE: dict[str, Any] = {
    "color": "#F5B58A",
    "linewidth": 3.6,
}  # pale and wide, under the exact curve that it follows


def draw_critical(
    frame: pd.DataFrame,
    *,
    steps: str,
    energy: str,
    limit: str,
    infinite: Callable[[Axes, pd.DataFrame], None],
    bottom: float | None = None,
) -> Figure:
    """Two panels, complex and real, energy on a log scale; `infinite` adds what infinite width says."""
    figure, panels = plt.subplots(1, 2, figsize=(7.6, 5.4), sharey=True)
    for axes, field in zip(panels, FIELDS, strict=True):
        rows = frame[frame["field"] == field]
        _draw_panel(axes, rows)
        infinite(axes, rows)
        axes.set_title(f"{field} weights")
        axes.set_xlabel(f"$c = {steps}/\\sqrt{{n}}$  (steps over square root of the width)")
    panels[0].set_ylabel(energy)
    panels[0].set_ylim(bottom=bottom)
    figure.legend(handles=_legend(sorted(frame["n"].unique()), limit), loc="outside lower center", ncols=3)
    return figure


def note(axes: Axes, text: str, at: tuple[float, float], below: float) -> None:
    """Grey words that end at a point, `below` it by so many points."""
    axes.annotate(
        text,
        at,
        xytext=(0, -below),
        textcoords="offset points",
        ha="right",
        va="top",
        color="0.4",
        fontsize=8.5,
    )


def _draw_panel(axes: Axes, rows: pd.DataFrame) -> None:
    """Exact curves, the limit, the two-term law where there is one, means and medians of draws, for all widths of one field."""
    palette = _colours(sorted(rows["n"].unique()))
    longest = rows[(rows["n"] == rows["n"].max()) & (rows["log_limit"] > -np.inf)]
    axes.plot(longest["c"], np.exp(longest["log_limit"]), zorder=4, **LIMIT_STYLE)
    for position, (n, one) in enumerate(rows.groupby("n")):
        colour = palette[n]
        law = one.dropna(subset="log_two_term")
        axes.plot(law["c"], np.exp(law["log_two_term"]), zorder=1, **LAW_STYLE)
        axes.plot(one["c"], np.exp(one["log_exact"]), color=colour, zorder=3)
        axes.plot(one["c"], np.exp(one["log_median"]), color=colour, zorder=2, **MEDIAN_STYLE)
        # Markers of different widths are shifted against each other, so that none hides another.
        offsets = np.arange(MARKER_SPACING * (1 + position / 5) / 1.5, LARGEST_C + 1e-9, MARKER_SPACING)
        draw_means(axes, one, offsets, colour)
        _draw_far(axes, one, colour)
    axes.set_yscale("log")
    axes.set_xlim(0.0, LARGEST_C + 0.12)  # markers at the end are whole


def _draw_far(axes: Axes, one: pd.DataFrame, colour: Any) -> None:
    """Means of the rare-event sampler with their 95 % intervals."""
    mean, low, high = (np.exp(one.dropna(subset="log_tempered")[name]) for name in FAR_COLUMNS)
    axes.errorbar(one["c"][mean.index], mean, yerr=[mean - low, high - mean], color=colour, zorder=6, **FAR_STYLE)


def _colours(widths: Sequence[int]) -> dict[int, tuple[float, float, float, float]]:
    """A light-to-dark, colour-blind-safe scale over the widths."""
    positions = np.linspace(0.86, 0.08, len(widths))
    return {n: colormaps["viridis"](position) for n, position in zip(widths, positions, strict=True)}


def _legend(widths: Sequence[int], limit: str) -> list[Line2D]:
    """One line for each width, then what each mark means."""
    far: dict[str, Any] = {"marker": "D", "markersize": 6.0, "markeredgecolor": "black", "linestyle": ""}
    return [
        *(Line2D([], [], color=colour, linewidth=2.2, label=f"n = {n}") for n, colour in _colours(widths).items()),
        Line2D([], [], color=GREY, label="exact mean at each n"),
        Line2D([], [], label=limit, **LIMIT_STYLE),
        Line2D([], [], label="two-term law at each n (real)", **LAW_STYLE),
        *mean_entries(),
        Line2D([], [], color=GREY, label="mean by the rare-event\nsampler, 95 % interval", **far),
    ]
