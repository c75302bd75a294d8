"""From which start recurrent cells train best: held-out losses by start, a panel for each cell, task and horizon.

It shows the trainings that ``python -m benchmarks.cell_trainings`` made in the repository; what they showed comes with the
package (`signalprop.initialization._cell_evidence`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from signalprop.figures.base import FigureRecord
from signalprop.initialization._cell_evidence import TASKS, evidence, in_words, origin

COLUMNS = {
    "cell": "tanh, relu, gru, lstm or linear",
    "task": "adding, digits (pixel by pixel), rows (of digits), noise (a cue kept through noise) or copy",
    "horizon": "steps of the sequence, T",
    "width": "n",
    "steps": "training steps",
    "start": "name of the start",
    "frozen": "whether the recurrent kernel stayed as it started",
    "learning_rate": "of all parameters, chosen on other seeds",
    "verdict": "against the best start that is trained, paired by seed: best, tied, worse or better",
    "mean": "mean of the losses",
    "seed": "of the start and of the examples, the same for all starts",
    "loss": "held out, relative to that of a guess; 10 if the training diverged",
}
CAPTION = (
    "Held-out loss after training, relative to that of a guess that ignores the inputs, from each start: a dot for each seed, at "
    "the same height in every row, and the median. Starts are in the order of their means, the best on top; those that are not "
    "significantly worse (paired by seed, 95 % for all starts of a panel at once) are blue. Hollow dots are controls, whose "
    "recurrent kernel was not trained. The learning rate was chosen for each start on other seeds. Input kernels are PyTorch's "
    "unless inputs add 1 to every preactivation; plain layers have no biases but at PyTorch's default; near identity "
    "is 0.9 I + 0.1 G with Gaussian G. A panel holds for its cell, task, horizon and number of training steps."
)
COLOURS = {"best": "#009E73", "tied": "#0072B2", "better": "#0072B2", "worse": "0.45"}
TITLES = {"tanh": "tanh", "relu": "ReLU", "gru": "GRU", "lstm": "LSTM", "linear": "linear"}
LARGEST = 1.6  # of losses that are shown where they are
SPREAD = 0.3  # of the seeds of a row, in rows
GROUP = ["cell", "task", "horizon", "steps"]
MANY = 12  # panels in two columns


def data(*, seed: int = 0, progress: Callable[[float], None] | None = None) -> pd.DataFrame:
    """One row for each training that is reported; columns as in `COLUMNS`. The seeds are those of the trainings."""
    rows = []
    for group in evidence():
        head = [getattr(group, name) for name in ("cell", "task", "horizon", "width", "steps")]
        for one in group.starts:
            row = [*head, one.start, one.frozen, one.learning_rate, one.verdict, one.loss.mean]
            rows += [[*row, number, loss] for number, loss in enumerate(one.seed_losses)]
    if progress is not None:
        progress(1.0)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def draw(frame: pd.DataFrame) -> Figure:
    """A panel for each group, its starts below each other; the axis of losses is logarithmic and that of all panels."""
    groups = [one for _, one in frame.groupby(GROUP, sort=False)]
    columns = min(2 if len(groups) <= MANY else 3, len(groups))
    tall = -(-len(groups) // columns)
    starts = max(len(one[["start", "frozen"]].drop_duplicates()) for one in groups)
    figure, panels = plt.subplots(
        tall, columns, figsize=(max(5.2 * columns, 6.4), (0.2 * starts + 0.75) * tall + 0.8), sharex=True, squeeze=False
    )
    for axes, one in zip(panels.flat, groups, strict=False):
        _draw_group(axes, one)
    for axes in panels.flat[len(groups) :]:
        axes.set_visible(False)
    lowest = 0.8 * float(frame["loss"].min())
    panels[0, 0].set_xscale("log")
    panels[0, 0].set_xlim(lowest, LARGEST * 1.05)
    ticks = [tick for tick in (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0) if tick >= lowest]
    panels[0, 0].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    panels[0, 0].set_xticks([], minor=True)
    last = len(groups) - columns
    for axes in panels.flat[max(last, 0) : len(groups)]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("held-out loss, relative to a guess")
    dot: dict[str, Any] = {"linestyle": "", "marker": "o"}
    figure.legend(
        handles=[
            Line2D([], [], color=COLOURS["best"], label="best start", **dot),
            Line2D([], [], color=COLOURS["tied"], label="not significantly worse", **dot),
            Line2D([], [], color=COLOURS["worse"], label="worse", **dot),
            Line2D([], [], color="0.35", markerfacecolor="white", label="recurrent kernel frozen", **dot),
            Line2D([], [], color="0.2", linestyle="", marker="|", markersize=10, markeredgewidth=1.6, label="median"),
            Line2D([], [], color="0.35", linewidth=1.1, linestyle=(0, (4, 2)), label="a guess"),
        ],
        loc="outside lower center",
        ncols=3,
    )
    return figure


def _draw_group(axes: Axes, one: pd.DataFrame) -> None:
    first = one.iloc[0]
    rows = [row for _, row in one.groupby(["start", "frozen"], sort=False)]
    rows.sort(key=lambda row: float(row["mean"].iloc[0]))
    labels = []
    for place, row in enumerate(rows):
        frozen, colour = bool(row["frozen"].iloc[0]), COLOURS[str(row["verdict"].iloc[0])]
        labels.append(in_words(str(row["start"].iloc[0])) + (", frozen" if frozen else ""))
        loss = row["loss"].to_numpy()
        at = place + SPREAD * np.linspace(-1.0, 1.0, len(loss)) if len(loss) > 1 else np.array([float(place)])
        shown = np.minimum(loss, LARGEST)
        face = "white" if frozen else colour
        for there, marker in ((loss <= LARGEST, "o"), (loss > LARGEST, ">")):
            if not there.any():
                continue  # a line without points, which is not clipped, has the corner of the figure in its box
            axes.plot(
                shown[there], at[there], marker=marker, color=colour, markerfacecolor=face, markersize=3.4, linestyle="",
                alpha=0.85, zorder=3, clip_on=False,
            )  # fmt: skip
        axes.plot(
            min(float(np.median(loss)), LARGEST),
            place,
            marker="|",
            color="0.2",
            markersize=11,
            markeredgewidth=1.6,
            zorder=4,
        )
    axes.axvline(1.0, color="0.35", linewidth=1.1, linestyle=(0, (4, 2)), zorder=1)
    axes.set_yticks(range(len(rows)), labels)
    axes.tick_params(axis="y", length=0, labelsize=8.5)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    seeds = one["seed"].nunique()
    axes.set_title(
        f"{TITLES[first['cell']]}, {TASKS[first['task']]}, T = {first['horizon']}\n"
        f"n = {first['width']}, {first['steps']} steps, {seeds} seeds"
    )


FIGURE = FigureRecord(
    "From which start recurrent cells train best",
    CAPTION,
    COLUMNS,
    data,
    draw,
    trainings=origin,
    place=85,
)
