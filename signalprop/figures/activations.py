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

from signalprop import energy
from signalprop.figures.critical_path import draw_band, draw_means
from signalprop.montecarlo.estimate import Estimate
from signalprop.montecarlo.sampling import sample

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"samples": 200, "widths": (64, 144)},
    "default": {"samples": 2000, "widths": (100, 400)},
    "full": {"samples": 10000, "widths": (100, 400)},
}
COLUMNS = {
    "activation": "linear, relu or leaky_relu",
    "negative_slope": "slope of leaky_relu below zero",
    "tied": "the same W at every step (recurrent), or fresh weights (feed-forward)",
    "n": "width",
    "k": "steps",
    "c": "k/sqrt(n)",
    "log_mean": "natural log of the Monte Carlo mean energy",
    "relative_stderr": "standard error of the Monte Carlo mean over that mean",
    "log_median": "natural log of the median draw",
    "tail_share": "share of the sum carried by the top 1 % of the draws",
    "trusted": "whether mean and standard error can be read as such; false is drawn hollow and without a band",
    "verdict": "what the mean is worth, in words",
    "samples": "number of draws",
    "log_exact": "natural log of the exact mean: Q (linear, tied), 0 (untied), none known otherwise",
}
LAYERS = (("linear", "linear", 0.0), ("leaky_relu", "leaky ReLU, slope 0.5", 0.5), ("relu", "ReLU", 0.0))
LARGEST_C = 5.0
MARKER_SPACING = 0.5
COLOURS = {True: "#D55E00", False: "#0072B2"}  # tied, untied (Okabe-Ito)
MARKERS = ("o", "s", "^")


def data(
    *, samples: int, widths: Sequence[int], seed: int = 0, progress: Callable[[float], None] | None = None
) -> pd.DataFrame:
    """One row for each activation, tying, n and step.

    Columns as in `COLUMNS`.
    """
    rows: list[pd.DataFrame] = []
    costs = {
        (layer[0], tied, n): float(n**2.5 if tied and layer[0] != "linear" else n**1.5)
        for layer in LAYERS
        for tied in (True, False)
        for n in widths
    }
    whole, done = sum(costs.values()), 0.0
    for activation, _, slope in LAYERS:
        for tied in (True, False):
            for n in widths:
                k = np.arange(math.floor(LARGEST_C * math.sqrt(n)) + 1)
                cost = costs[activation, tied, n]

                def report(part: int, total: int, start: float = done, share: float = cost) -> None:
                    if progress is not None:
                        progress((start + share * part / total) / whole)

                method = "krylov" if tied and activation == "linear" else "dense"
                draw_paths = sample(
                    n,
                    int(k[-1]),
                    "real",
                    samples=samples,
                    seed=seed,
                    method=method,
                    activation=activation,
                    negative_slope=slope,
                    tied=tied,
                    driven=False,
                    progress=report,
                )
                frame = pd.DataFrame(
                    {
                        "activation": activation,
                        "negative_slope": slope,
                        "tied": tied,
                        "n": n,
                        "k": k,
                        "c": k / math.sqrt(n),
                    }
                )
                summary = [Estimate.from_logs(2.0 * draw_paths.log_norms[:, i], quantiles=()) for i in k]
                frame["log_mean"] = [one.log_mean for one in summary]
                frame["relative_stderr"] = [one.relative_stderr for one in summary]
                frame["log_median"] = [one.log_median for one in summary]
                frame["tail_share"] = [one.tail_share for one in summary]
                frame["trusted"] = [one.trusted for one in summary]
                frame["verdict"] = [one.verdict for one in summary]
                frame["samples"] = samples
                frame["log_exact"] = np.nan if tied else 0.0
                if tied and activation == "linear":
                    frame["log_exact"] = energy.rnn_energy(n, k, "real", log=True)
                rows.append(frame)
                done += cost
    return pd.concat(rows, ignore_index=True)


def draw(frame: pd.DataFrame) -> Figure:
    """One panel an activation; tied (recurrent) against untied (feed-forward), energy on a log scale."""
    figure, panels = plt.subplots(1, len(LAYERS), figsize=(8.6, 4.6), sharey=True)
    widths = sorted(frame["n"].unique())
    for axes, (activation, title, _) in zip(panels, LAYERS, strict=True):
        rows = frame[frame["activation"] == activation]
        for (tied, n), one in rows.groupby(["tied", "n"]):
            _draw_path(axes, one, COLOURS[bool(tied)], MARKERS[widths.index(n)], solid=n == widths[-1])
        axes.set_title(title)
        axes.set_xlabel(r"$c = k/\sqrt{n}$")
        axes.set_yscale("log")
        axes.set_xlim(0.0, LARGEST_C)
    panels[0].set_ylabel(r"signal energy after k steps  $\|h(k)\|^2/\|x\|^2$")
    grey = "0.35"
    entries: list[Line2D | Patch] = [
        Patch(color=COLOURS[True], label="tied weights (recurrent)"),
        Patch(color=COLOURS[False], label="fresh weights at every layer\n(feed-forward)"),
        *(
            Line2D([], [], color=grey, marker=MARKERS[i], linestyle="", label=f"Monte Carlo mean, n = {n}")
            for i, n in enumerate(widths)
        ),
        Patch(color=grey, alpha=0.3, linewidth=0, label="± 2 standard errors"),
        Line2D(
            [],
            [],
            color=grey,
            marker="o",
            markerfacecolor="white",
            linestyle="",
            label="hollow: mean whose error\nis not to be trusted",
        ),
        Line2D([], [], color=grey, label="exact mean (where known)"),
        Line2D([], [], color=grey, linewidth=0.9, linestyle=(0, (1, 1.5)), label="median draw"),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=3)
    return figure


def _draw_path(axes: Axes, one: pd.DataFrame, colour: str, marker: str, *, solid: bool) -> None:
    axes.plot(one["c"], np.exp(one["log_exact"]), color=colour, linewidth=1.3 if solid else 0.8, zorder=3)
    axes.plot(one["c"], np.exp(one["log_median"]), color=colour, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=2)
    draw_band(axes, one, colour)
    shift = 0.0 if solid else MARKER_SPACING / 2
    draw_means(axes, one, np.arange(MARKER_SPACING / 2 + shift, LARGEST_C + 1e-9, MARKER_SPACING), colour, marker)
