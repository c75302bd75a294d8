"""What the two critical-regime figures share: exact curves, limit laws and Monte Carlo for complex and real weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from signalprop import regimes
from signalprop.models import Model, as_model, by_model, energy_of
from signalprop.montecarlo.cell import REPETITIONS
from signalprop.montecarlo.sampling import Sample, sample

WIDTHS = (100, 200, 500, 1000, 2000)
FIELDS = ("complex", "real")
MODELS = tuple(Model)
SIZES: dict[str, dict[str, Any]] = {
    "quick": {"samples": 300, "widths": (100, 500, 2000), "particles": {100: 16}},
    "default": {"samples": 4000, "widths": WIDTHS, "particles": {100: 128}},
    "full": {"samples": 40000, "widths": WIDTHS, "particles": {100: 256, 1000: 96}},
}
LARGEST_C = 5.0
FAR_C = (3.0, 4.0, 5.0)  # where the rare-event sampler takes over
MARKER_SPACING = 0.5
LAW_FROM = 0.5
COLUMNS = {
    "field": "number system of the weights",
    "n": "width",
    "k": "steps",
    "c": "k/sqrt(n)",
    "log_exact": "natural log of the exact mean energy",
    "log_limit": "natural log of the limit at this c",
    "log_two_term": "natural log of the two-term law (real weights, c >= 0.5)",
    "log_mean": "natural log of the Monte Carlo mean",
    "relative_stderr": "standard error of the Monte Carlo mean over that mean",
    "log_median": "natural log of the median draw",
    "tail_share": "share of the sum carried by the top 1 % of the draws",
    "ess": "effective sample size (sum)^2/(sum of squares)",
    "z": "(mean - exact)/standard error",
    "samples": "number of draws",
    "trusted": "whether mean and standard error can be read as such; false is drawn hollow and without a band",
    "verdict": "what the mean is worth, in words",
    "log_tempered": "natural log of the mean by the rare-event sampler (c = 3, 4, 5; some widths)",
    "log_tempered_low": "natural log of the lower end of its 95 % interval",
    "log_tempered_high": "natural log of the upper end",
}
FAR_STYLE: dict[str, Any] = {
    "fmt": "D",
    "markersize": 6.0,
    "markeredgecolor": "black",
    "markeredgewidth": 1.0,
    "ecolor": "black",
    "elinewidth": 1.2,
    "capsize": 3.0,
}
_drawn: dict[Any, list[pd.DataFrame]] = {}
LAW_STYLE: dict[str, Any] = {"color": "#D55E00", "linewidth": 1.0, "linestyle": (0, (6, 2, 1, 2))}


def path_frame(
    model: str,
    *,
    samples: int,
    seed: int,
    widths: Sequence[int] = WIDTHS,
    particles: dict[int, int] | None = None,
    progress: Callable[[float], None] | None = None,
) -> pd.DataFrame:
    """One row for each field, n and step 0 <= k <= 5 sqrt(n).

    Columns as in `COLUMNS`; for ``model="driven"`` every energy is S_{n,k}/sqrt(n). `particles` has, for each width whose far
    means are drawn by the rare-event sampler, the particles of a repetition. Both models are read off the same draws, and
    the last pair of frames is kept, so that the second figure costs nothing.
    """
    swarms = particles or {}
    key = (samples, seed, tuple(widths), tuple(swarms.items()))
    if key not in _drawn:
        _drawn.clear()
        _drawn[key] = _frames(samples, seed, widths, swarms, progress)
    return _drawn[key][MODELS.index(as_model(model))].copy()


def _frames(
    samples: int, seed: int, widths: Sequence[int], swarms: dict[int, int], progress: Callable[[float], None] | None
) -> list[pd.DataFrame]:
    """The frames of both models."""
    rows: list[list[pd.DataFrame]] = [[], []]
    cost = {n: n**1.5 * samples + 2e3 * swarms.get(n, 0) * n**2 for n in widths}
    whole, done = len(FIELDS) * sum(cost.values()), 0.0
    for field in FIELDS:
        for n in widths:
            steps = math.floor(LARGEST_C * math.sqrt(n))

            def report(part: int, total: int, start: float = done, share: float = cost[n]) -> None:
                if progress is not None:
                    progress((start + 0.9 * share * part / total) / whole)

            draw = sample(n, steps, field, samples=samples, seed=seed, progress=report)
            far = None
            if n in swarms:
                count = REPETITIONS * swarms[n]
                far = sample(n, _far_steps(n)[-1], field, samples=count, seed=seed, method="tempered")
            for model, mine in zip(MODELS, rows, strict=True):
                mine.append(_one_width(model, draw, far))
            done += cost[n]
    return [pd.concat(mine, ignore_index=True) for mine in rows]


def _one_width(model: Model, draw: Sample, far: Sample | None) -> pd.DataFrame:
    n, field, k = draw.n, draw.field, np.arange(draw.k + 1)
    frame = pd.DataFrame({"field": field.value, "n": n, "k": k, "c": k / math.sqrt(n)})
    shift = by_model(model, rnn=0.0, driven=0.5 * math.log(n))
    frame["log_exact"] = energy_of(model)(n, k, field, log=True) - shift
    law = by_model(model, rnn=regimes.critical_rnn, driven=regimes.critical_lru)
    with np.errstate(divide="ignore"):
        frame["log_limit"] = np.log(law(frame["c"].to_numpy(), field))
    frame["log_two_term"] = np.nan
    if field == "real":
        two_term = regimes.two_term_rnn(n, k, log=True)
        if model is Model.DRIVEN:
            two_term = np.logaddexp.accumulate(two_term) - shift
        frame["log_two_term"] = np.where(frame["c"] >= LAW_FROM, two_term, np.nan)
    logs = by_model(model, rnn=draw.log_norms, driven=draw.lru_log_norms)
    assert logs is not None
    exact = frame["log_exact"] + shift
    summary = [draw.cell.judged(2.0 * logs[:, i], model, int(i), float(exact[i]), ()) for i in k]
    frame["log_mean"] = [one.log_mean - shift for one in summary]
    frame["relative_stderr"] = [one.relative_stderr for one in summary]
    frame["log_median"] = [one.log_median - shift for one in summary]
    frame["tail_share"] = [one.tail_share for one in summary]
    frame["ess"] = [one.ess for one in summary]
    frame["z"] = [one.z for one in summary]
    frame["samples"] = draw.samples
    frame["trusted"] = [one.trusted for one in summary]
    frame["verdict"] = [one.verdict for one in summary]
    far_columns = list(COLUMNS)[-3:]
    frame[far_columns] = np.nan
    for step in _far_steps(n) if far is not None else ():
        assert far is not None
        found = by_model(model, rnn=far.rnn, driven=far.lru)(step)
        frame.loc[step, far_columns] = np.array([found.log_mean, *found.log_interval]) - shift
    return frame


def _far_steps(n: int) -> list[int]:
    return [round(c * math.sqrt(n)) for c in FAR_C]


def colours(widths: Sequence[int]) -> dict[int, tuple[float, float, float, float]]:
    """A light-to-dark, colour-blind-safe scale over the widths."""
    positions = np.linspace(0.86, 0.08, len(widths))
    return {n: colormaps["viridis"](position) for n, position in zip(widths, positions, strict=True)}


def draw_band(axes: Axes, one: pd.DataFrame, colour: Any) -> None:
    """Mean +- 2 standard errors, where they can be trusted; cut at a thousandth of the mean for the log axis."""
    believed = one[one["trusted"]]
    mean = np.exp(believed["log_mean"])
    low = mean * np.maximum(1.0 - 2.0 * believed["relative_stderr"], 1e-3)
    high = mean * (1.0 + 2.0 * believed["relative_stderr"])
    axes.fill_between(believed["c"], low, high, color=colour, alpha=0.25, linewidth=0, zorder=1)


def draw_means(axes: Axes, one: pd.DataFrame, at: Any, colour: Any, marker: str = "o") -> None:
    """Monte Carlo means at the steps nearest to the ratios `at`; hollow where their error is not to be trusted."""
    picked = one.iloc[[int((one["c"] - c).abs().argmin()) for c in at]]
    for believable, points in picked.groupby("trusted"):
        face = colour if believable else "white"
        axes.plot(
            points["c"],
            np.exp(points["log_mean"]),
            marker,
            color=colour,
            markerfacecolor=face,
            markeredgewidth=1.1,
            zorder=5,
        )


def draw_far(axes: Axes, one: pd.DataFrame, colour: Any) -> None:
    """Means of the rare-event sampler with their 95 % intervals."""
    far = one.dropna(subset="log_tempered")
    mean, low, high = (np.exp(far[name]) for name in list(COLUMNS)[-3:])
    axes.errorbar(far["c"], mean, yerr=[mean - low, high - mean], color=colour, zorder=6, **FAR_STYLE)


def draw_panel(axes: Axes, rows: pd.DataFrame, *, two_term: bool) -> None:
    """Exact curves, the limit, Monte Carlo points with error bands, medians, for all widths of one field."""
    palette = colours(sorted(rows["n"].unique()))
    longest = rows[rows["n"] == rows["n"].max()]
    longest = longest[longest["log_limit"] > -np.inf]
    axes.plot(longest["c"], np.exp(longest["log_limit"]), color="black", linestyle=(0, (5, 2)), linewidth=1.6, zorder=4)
    for position, (n, one) in enumerate(rows.groupby("n")):
        colour = palette[n]
        axes.plot(one["c"], np.exp(one["log_exact"]), color=colour, zorder=3)
        axes.plot(one["c"], np.exp(one["log_median"]), color=colour, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=2)
        draw_band(axes, one, colour)
        if two_term:
            law = one.dropna(subset="log_two_term")
            axes.plot(law["c"], np.exp(law["log_two_term"]), zorder=4, **LAW_STYLE)
        # Markers of different widths are shifted against each other, so that none hides another.
        offsets = np.arange(MARKER_SPACING * (1 + position / 5) / 1.5, LARGEST_C + 1e-9, MARKER_SPACING)
        draw_means(axes, one, offsets, colour)
        draw_far(axes, one, colour)
    axes.set_yscale("log")
    axes.set_xlim(0.0, LARGEST_C + 0.12)  # markers at the end are whole


def legend_entries(widths: Sequence[int], *, limit: str, two_term: bool) -> list[Line2D | Patch]:
    """Legend: one line a width, then what each mark means."""
    grey = "0.35"
    entries: list[Line2D | Patch] = [
        Line2D([], [], color=colour, linewidth=2.2, label=f"n = {n}") for n, colour in colours(widths).items()
    ]
    entries += [
        Line2D([], [], color=grey, label="exact mean at finite n"),
        Line2D([], [], color="black", linestyle=(0, (5, 2)), linewidth=1.6, label=limit),
    ]
    if two_term:
        entries.append(Line2D([], [], label="two-term law, each n (real)", **LAW_STYLE))
    entries += [
        Line2D([], [], color=grey, marker="o", linestyle="", label="Monte Carlo mean"),
        Patch(color=grey, alpha=0.3, linewidth=0, label="± 2 standard errors"),
        Line2D(
            [],
            [],
            color=grey,
            marker="o",
            markerfacecolor="white",
            linestyle="",
            label="mean whose error is\nnot to be trusted",
        ),
        Line2D(
            [],
            [],
            color=grey,
            marker="D",
            markersize=6.0,
            markeredgecolor="black",
            linestyle="",
            label="mean by the rare-event\nsampler, 95 % interval",
        ),
        Line2D([], [], color=grey, linewidth=0.9, linestyle=(0, (1, 1.5)), label="median draw"),
    ]
    return entries
