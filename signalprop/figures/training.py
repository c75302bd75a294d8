"""What the initial scale does to training: accuracy and first gradient of a linear recurrence against horizon, seven starts.

Training takes long, so this figure does not train: it reads the results of ``python -m benchmarks.initialization`` that the
repository keeps in ``benchmarks/initialization/results.csv`` (settings and versions in ``results.json`` beside it).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray
from scipy import stats

from signalprop._files import read_json

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "initialization" / "results.csv"
SIZES: dict[str, dict[str, Any]] = {"full": {"confidence": 0.95}}
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


def data(*, confidence: float, seed: int = 0, progress: Callable[[float], None] | None = None) -> pd.DataFrame:
    """One row for each task, width, horizon and start.

    Columns as in `COLUMNS`. The seeds are those of the benchmark; `seed` changes nothing.

    Raises
    ------
    FileNotFoundError
        The results are not there: they come with a checkout, not with an installed package.
    """
    if not RESULTS.exists():
        raise FileNotFoundError(f"{RESULTS} is missing; run python -m benchmarks.initialization in a checkout first.")
    frame = summary(pd.read_csv(RESULTS), confidence)
    if progress is not None:
        progress(1.0)
    return frame


def origin() -> dict[str, Any]:
    """Where the trainings come from: the JSON file that the benchmark wrote beside them."""
    return read_json(RESULTS.with_suffix(".json"))


def summary(trainings: pd.DataFrame, confidence: float = 0.95) -> pd.DataFrame:
    """Shares, means and intervals over the reported seeds of each cell; columns as in `COLUMNS`."""
    reported = trainings[trainings["role"] == "report"]
    keys = ["task", "n", "horizon", "start", "steps", "learning_rate"]
    rows = [_cell(dict(zip(keys, key, strict=True)), cell, confidence) for key, cell in reported.groupby(keys)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    order = {start: place for place, start in enumerate(STYLES)}
    by = ["task", "n", "horizon", "start"]
    return frame.sort_values(by, key=lambda one: one.map(order) if one.name == "start" else one, ignore_index=True)


def _cell(key: dict[str, Any], cell: pd.DataFrame, confidence: float) -> dict[str, Any]:
    guess = math.log(CLASSES[key["task"]])
    with np.errstate(divide="ignore"):
        gradient = np.log10(cell["recurrent_gradient_norm"].to_numpy())
    shares = {
        "exploded": ~(cell["gradient_norm"] <= EXPLODES),
        "diverged": cell["stopped_at"].notna() | ~(cell["loss"] <= 10.0 * guess),
        "reached": cell["steps_to_half"].notna(),
    }
    # A NaN gradient is an overflow: it counts as the largest.
    gradient = np.nan_to_num(gradient, nan=np.inf, posinf=np.inf, neginf=-np.inf)
    steps = _median(cell["steps_to_half"].fillna(np.inf).to_numpy())
    mean, low, high = _mean(cell["accuracy"].to_numpy(), confidence)
    row = key | {
        "seeds": len(cell),
        "scale": cell["scale"].iloc[0],
        "log10_gradient": _median(gradient),
        "log10_gradient_low": gradient.min(),
        "log10_gradient_high": gradient.max(),
        "steps_to_half": steps if math.isfinite(steps) else math.nan,
        "loss": _median(cell["loss"].to_numpy()),
        "accuracy": mean,
        "accuracy_low": low,
        "accuracy_high": high,
        "chance": 1.0 / CLASSES[key["task"]],
    }
    for name, happened in shares.items():
        interval = stats.binomtest(int(happened.sum()), len(cell)).proportion_ci(confidence, method="wilson")
        row |= {name: happened.mean(), f"{name}_low": interval.low, f"{name}_high": interval.high}
    return row


def _median(values: NDArray[np.float64]) -> float:
    """The lower median: always one of the values, so that infinities are no trouble."""
    return float(np.sort(values)[(len(values) - 1) // 2])


def _mean(values: NDArray[np.float64], confidence: float) -> tuple[float, float, float]:
    """Mean and its t interval; an interval of no width where all values agree or there is one only."""
    mean, count = float(values.mean()), len(values)
    if count == 1:
        return mean, mean, mean
    half = float(stats.t.ppf(0.5 + 0.5 * confidence, count - 1) * values.std(ddof=1) / math.sqrt(count))
    return mean, mean - half, mean + half


def draw(frame: pd.DataFrame) -> Figure:
    """One column a task: final accuracy above, norm of the first gradient below, for the largest width with all horizons."""
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
            at = one["horizon"].map(horizons.index) + 0.1 * (place - (len(STYLES) - 1) / 2)
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
