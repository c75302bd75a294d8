"""What the initial scale does to training: accuracy and first gradient of a linear recurrence against horizon, seven starts.

It shows the trainings that ``python -m benchmarks.initialization`` made in the repository; their summary comes with the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from signalprop.figures import _shipped
from signalprop.figures.base import FigureRecord

CAPTION = (
    "Trainings of a linear recurrence on two tasks with long memory, from seven starts, against the horizon: 150 steps of "
    "Adam with clipped gradients, 10 seeds, widths 64 to 256, horizons from 9 to 88 sqrt(n), all of them far past the budget "
    "of a Gaussian matrix. An orthogonal start scores best at every horizon, with the smallest learning rate tried for W; "
    "with W frozen it scores the same. Of the Gaussian ones Glorot, which explodes, scores better than the scales that "
    "forget: clipping tames explosions, but cannot restore a forgotten signal. The quantile scales are those of the table at "
    "the time of the trainings, within 1.1 % of today's. Below: the norm of the first gradient, before it is clipped."
)
COLUMNS = {
    "task": "digits (pixel by pixel, then zeros) or copy (ten symbols of eight, then zeros, recalled at the end)",
    "n": "width",
    "horizon": "steps of the sequence, T",
    "start": "initial W: Gaussian with g from a criterion of safe_scale or g = 1/2 (half), or Haar orthogonal",
    "steps": "training steps",
    "learning_rate": "learning rate of W, chosen per start and cell on other seeds",
    "seeds": "trainings",
    "scale": "g",
    "log10_gradient": "median over seeds of log10 of the norm of the first gradient of W (-inf: it underflowed to 0)",
    "log10_gradient_low": "smallest of them",
    "log10_gradient_high": "largest of them",
    "exploded": "share of seeds whose first gradient (of all weights) is not finite or above 1e6",
    "exploded_low": "lower end of the Wilson interval of that share",
    "exploded_high": "upper end",
    "diverged": "share with a loss or gradient that is not finite or a final loss above 10 times that of a guess",
    "diverged_low": "lower end of the Wilson interval of that share",
    "diverged_high": "upper end",
    "reached": "share whose held-out loss reached half that of a guess",
    "reached_low": "lower end of the Wilson interval of that share",
    "reached_high": "upper end",
    "steps_to_half": "median of the steps to half the loss of a guess; empty if beyond the training",
    "loss": "median of the final held-out loss",
    "accuracy": "mean of the final held-out accuracy",
    "accuracy_low": "lower end of the t interval of that mean",
    "accuracy_high": "upper end",
    "chance": "accuracy of a guess",
}
CLASSES = {"digits": 10, "copy": 8}
TITLES = {"digits": "sequential digits: 64 pixels, then silence", "copy": "copy memory: 10 symbols, silence, recall"}
EXPLODES = 1e6
OFFSET = 0.03  # between starts, of the distance between horizons
FLOOR, CEILING = -40.0, 40.0  # float32 ends near 1e-38 and 3e38
# Start: label, colour (Okabe-Ito), marker.
STYLES = {
    "orthogonal": ("Haar orthogonal: keeps norms", "#000000", "o"),
    "glorot": ("Glorot: g = 1", "#D55E00", "^"),
    "edge": ("edge: 95 % of draws have\nspectral radius below 1", "#E69F00", "s"),
    "quantile": ("quantile: 95 % of draws keep\nenergy below 10 times", "#009E73", "D"),
    "minimax": ("minimax: average energy\nnearest to 1", "#56B4E9", "P"),
    "bounded": ("bounded: average energy\nat most 1.1", "#0072B2", "X"),
    "half": ("half-Glorot: g = 0.5", "#CC79A7", "v"),
}


def data(*, seed: int = 0, progress: Callable[[float], None] | None = None) -> pd.DataFrame:
    """One row for each task, width, horizon and start; columns as in `COLUMNS`. The seeds are those of the trainings."""
    frame = _shipped.table("training")
    if progress is not None:
        progress(1.0)
    return frame


def draw(frame: pd.DataFrame) -> Figure:
    """A column for each task: final accuracy above, first gradient below, for the largest width with all horizons."""
    horizons = sorted(frame["horizon"].unique())
    complete = [n for n, rows in frame.groupby("n") if rows["horizon"].nunique() == len(horizons)]
    n = max(complete)
    figure, panels = plt.subplots(2, len(TITLES), figsize=(9.2, 7.2), sharex=True, sharey="row")
    for (above, below), (task, title) in zip(panels.T, TITLES.items(), strict=True):
        rows = frame[(frame["task"] == task) & (frame["n"] == n)]
        above.set_title(title)
        above.axhline(1.0 / CLASSES[task], color="0.35", linewidth=1.1, linestyle=(0, (4, 2)), zorder=1)
        below.axhspan(math.log10(EXPLODES), CEILING + 4.0, color="#D55E00", alpha=0.10, linewidth=0, zorder=0)
        below.axhspan(FLOOR - 6.0, -math.log10(EXPLODES), color="0.5", alpha=0.13, linewidth=0, zorder=0)
        for place, (start, (_, colour, marker)) in enumerate(STYLES.items()):
            one = rows[rows["start"] == start].sort_values("horizon")
            at = one["horizon"].map(horizons.index) + OFFSET * (place - (len(STYLES) - 1) / 2)
            _points(above, at, one, "accuracy", colour, marker)
            _points(below, at, _inside(one), "log10_gradient", colour, marker)
        below.set_xticks(range(len(horizons)), [f"{t}\n({t / math.sqrt(n):.0f} √n)" for t in horizons])
        below.set_xlabel("steps of the sequence")
    panels[0, 0].set_ylabel("held-out accuracy after training")
    panels[0, 0].set_ylim(0.0, 1.03)
    panels[1, 0].set_ylabel("norm of the first gradient of W")
    panels[1, 0].set_ylim(FLOOR - 4.0, CEILING + 4.0)
    ticks = [FLOOR, -30.0, -20.0, -10.0, 0.0, 10.0, 20.0, 30.0, CEILING]
    labels = ["0 (underflow)", *(f"$10^{{{tick:.0f}}}$" for tick in ticks[1:-1]), "overflow"]
    panels[1, 0].set_yticks(ticks, labels)
    panels[1, 1].text(
        1.01, math.log10(EXPLODES), "explodes ↑", transform=panels[1, 1].get_yaxis_transform(), va="bottom"
    )
    panels[1, 1].text(1.01, -math.log10(EXPLODES), "vanishes ↓", transform=panels[1, 1].get_yaxis_transform(), va="top")
    seeds, steps = frame["seeds"].min(), frame["steps"].iloc[0]
    figure.suptitle(f"A linear recurrence of width n = {n} trained from seven initial W, {steps} steps of Adam each")
    entries = [
        *(
            Line2D([], [], color=colour, marker=marker, linewidth=0.9, label=label)
            for label, colour, marker in STYLES.values()
        ),
        Line2D([], [], color="0.35", linewidth=1.1, linestyle=(0, (4, 2)), label="accuracy of a guess"),
        Line2D([], [], linestyle="", label=f"above: mean of {seeds} seeds\nwith its 95 % t interval"),
        Line2D([], [], linestyle="", label="below: median and range\nof the seeds, first step"),
    ]
    figure.legend(handles=entries, loc="outside lower center", title="initial W", ncols=4)
    return figure


def _inside(one: pd.DataFrame) -> pd.DataFrame:
    """Underflow and overflow moved to the ends of the axis."""
    names = ["log10_gradient", "log10_gradient_low", "log10_gradient_high"]
    return one.assign(**one[names].clip(FLOOR, CEILING))


def _points(axes: Axes, at: pd.Series, one: pd.DataFrame, name: str, colour: str, marker: str) -> None:
    middle, low, high = (one[f"{name}{end}"].to_numpy() for end in ("", "_low", "_high"))
    axes.errorbar(
        at,
        middle,
        yerr=[middle - low, high - middle],
        color=colour,
        marker=marker,
        linewidth=0.9,
        elinewidth=1.2,
        zorder=3,
    )


FIGURE = FigureRecord(
    "What the initial scale does to training",
    CAPTION,
    COLUMNS,
    data,
    draw,
    trainings=partial(_shipped.origin, "training"),
    place=80,
)
