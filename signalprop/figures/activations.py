"""Recurrent against feed-forward, linear and rectified: mean and median energy against c = depth/sqrt(n), real weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from signalprop import energy
from signalprop.figures._marks import GREY, MEDIAN_STYLE, draw_means, mean_entries
from signalprop.figures.base import FigureRecord
from signalprop.montecarlo.estimate import Estimate
from signalprop.montecarlo.sampling import sample

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"samples": 200, "widths": (64, 144)},
    "default": {"samples": 2000, "widths": (100, 400)},
    "full": {"samples": 10000, "widths": (100, 400)},
}
COLUMNS = {
    "activation": "linear, relu or leaky_relu",
    "tied": "the same W at every step (recurrent), or fresh weights (feed-forward)",
    "n": "width",
    "k": "steps",
    "c": "k/sqrt(n)",
    "log_mean": "natural log of the Monte Carlo mean energy",
    "relative_stderr": "standard error of the Monte Carlo mean over that mean",
    "log_median": "natural log of the median draw",
    "tail_share": "share of the sum carried by the top 1 % of the draws",
    "trusted": "whether mean and standard error can be read as such; false is drawn hollow",
    "log_exact": "natural log of the exact mean: Q (linear, tied), 0 (untied), none known otherwise",
}
CAPTION = (
    "Energy of real networks with the same W at every step (recurrent) and with fresh weights at every layer "
    "(feed-forward), each with the gain that keeps the mean energy at infinite width. Fresh weights keep the mean at 1 "
    "exactly; it is the reuse of one matrix that makes it explode, with a rectifier far sooner than without. Hollow marks are no "
    "estimates: where a rectified recurrence has them, the mean is, if anything, larger. The median draw "
    "(dotted) of a rectified recurrence stays within a factor of three of 1 all the same: rare draws carry its mean."
)
LAYERS = (("linear", "linear", 0.0), ("leaky_relu", "leaky ReLU, slope 0.5", 0.5), ("relu", "ReLU", 0.0))
SLOPES = {activation: slope for activation, _, slope in LAYERS}
LARGEST_C = 5.0
MARKER_SPACING = 0.5
COLOURS = {True: "#D55E00", False: "#0072B2"}  # tied, untied (Okabe-Ito)
MARKERS = ("o", "s", "^")


def data(
    *, samples: int, widths: Sequence[int], seed: int = 0, progress: Callable[[float], None] | None = None
) -> pd.DataFrame:
    """One row for each activation, tying, n and step; columns as in `COLUMNS`."""
    cases = [(activation, tied, n) for activation, _, _ in LAYERS for tied in (True, False) for n in widths]
    costs = [n**2.5 if tied and activation != "linear" else n**1.5 for activation, tied, n in cases]
    rows: list[pd.DataFrame] = []
    for done, (activation, tied, n) in enumerate(cases):
        start, share = sum(costs[:done]) / sum(costs), costs[done] / sum(costs)

        def report(part: int, total: int, start: float = start, share: float = share) -> None:
            if progress is not None:
                progress(start + share * part / total)

        rows.append(_one_case(activation, tied, n, samples, seed, report))
    return pd.concat(rows, ignore_index=True)


def _one_case(
    activation: str, tied: bool, n: int, samples: int, seed: int, progress: Callable[[int, int], None]
) -> pd.DataFrame:
    linear = activation == "linear"
    k: NDArray[np.int64] = np.arange(math.floor(LARGEST_C * math.sqrt(n)) + 1)
    paths = sample(
        n,
        int(k[-1]),
        "real",
        samples=samples,
        seed=seed,
        method="krylov" if tied and linear else "dense",
        activation=activation,
        negative_slope=SLOPES[activation],
        tied=tied,
        driven=False,
        progress=progress,
    )
    found = [Estimate.from_logs(2.0 * paths.log_norms[:, i], quantiles=()) for i in k]
    return pd.DataFrame(
        {
            "activation": activation,
            "tied": tied,
            "n": n,
            "k": k,
            "c": k / math.sqrt(n),
            "log_mean": [one.log_mean for one in found],
            "relative_stderr": [one.relative_stderr for one in found],
            "log_median": [one.log_median for one in found],
            "tail_share": [one.tail_share for one in found],
            "trusted": [one.trusted for one in found],
            "log_exact": (energy.rnn_energy(n, k, "real", log=True) if linear else np.nan) if tied else 0.0,
        }
    )


def draw(frame: pd.DataFrame) -> Figure:
    """One panel for each activation; tied (recurrent) against untied (feed-forward), energy on a log scale."""
    figure, panels = plt.subplots(1, len(LAYERS), figsize=(8.6, 4.6), sharey=True)
    widths = sorted(frame["n"].unique())
    for axes, (activation, title, _) in zip(panels, LAYERS, strict=True):
        rows = frame[frame["activation"] == activation]
        for (tied, n), one in rows.groupby(["tied", "n"]):
            _draw_path(axes, one, COLOURS[bool(tied)], MARKERS[widths.index(n)], solid=n == widths[-1])
        axes.set_title(title)
        axes.set_xlabel(r"$c = k/\sqrt{n}$")
        axes.set_yscale("log")
        axes.set_xlim(0.0, LARGEST_C + 0.15)  # markers at the end are whole
    panels[0].set_ylabel(r"signal energy after k steps  $\|h(k)\|^2/\|x\|^2$")
    entries: list[Line2D | Patch] = [
        Patch(color=COLOURS[True], label="tied weights (recurrent)"),
        Patch(color=COLOURS[False], label="fresh weights at every layer\n(feed-forward)"),
        *(Line2D([], [], color=GREY, marker=MARKERS[i], linestyle="", label=f"n = {n}") for i, n in enumerate(widths)),
        Line2D([], [], color=GREY, label="exact mean (where known)"),
        *mean_entries(),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=3)
    return figure


def _draw_path(axes: Axes, one: pd.DataFrame, colour: str, marker: str, *, solid: bool) -> None:
    axes.plot(one["c"], np.exp(one["log_exact"]), color=colour, linewidth=1.3 if solid else 0.8, zorder=3)
    axes.plot(one["c"], np.exp(one["log_median"]), color=colour, zorder=2, **MEDIAN_STYLE)
    shift = 0.0 if solid else MARKER_SPACING / 2
    draw_means(axes, one, np.arange(MARKER_SPACING / 2 + shift, LARGEST_C + 1e-9, MARKER_SPACING), colour, marker)


FIGURE = FigureRecord(
    "Recurrent against feed-forward, linear and rectified", CAPTION, COLUMNS, data, draw, sizes=SIZES, place=30
)
