"""A tanh layer driven by fresh inputs carries gradients for of order n steps, a linear one for of order sqrt(n)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from signalprop.cells import gradient_energies
from signalprop.fields import Field
from signalprop.figures.base import FigureRecord
from signalprop.initialization import one_draw_table
from signalprop.meanfield import critical_scale, gradient_law, spread_ratio
from signalprop.montecarlo.sampling import sample

Floats = NDArray[np.float64]
SIZES: dict[str, dict[str, Any]] = {
    "quick": {"draws": 40, "widths": (32, 64)},
    "default": {"draws": 100, "widths": (32, 64, 128, 256)},
    "full": {"draws": 400, "widths": (32, 64, 128, 256, 512)},
}
COLUMNS = {
    "panel": "paths (left) or horizons (right)",
    "layer": "linear (Gaussian, g = 1), or tanh at chi = 1, driven by fresh inputs: driven (input std 1), weakly (0.1)",
    "n": "width",
    "step": "of paths: steps t; of horizons: the first step after which two thirds of the draws reach further than e^-3 to e^3 "
    "around their middle, empty where none were drawn",
    "log_q05": "log-energy of a gradient, natural logarithm, that 5 % of the draws lie below",
    "log_median": "median of the draws",
    "log_q95": "95 %",
    "law_q05": "the same by the law (tanh), or from the table of one draw that comes with the package (linear)",
    "law_median": "likewise",
    "law_q95": "likewise",
    "law_step": "the horizon by that law or table",
}
CAPTION = (
    "How long one matrix carries a gradient: a linear layer, and tanh layers at χ = 1 with fresh inputs at every step. Left, the "
    "energy of the gradient: draws of the linear layer explode after some √n steps, because every stretch of steps uses the same "
    "matrix in the same way as the one before. Inputs change the slopes of tanh from step to step, and its draws spread as if "
    "every step had weights of its own. Right, the steps until two thirds of the draws no longer lie within a factor of e³ of "
    "their middle: of order √n where the layer is linear, as a tanh layer at rest is too; of order n where inputs drive it, even "
    "weakly. Marks are draws; dashes are the law of driven layers (heuristic, measured up to n = 1024) and, for the linear "
    "layer, the table that comes with the package."
)
LIMIT = 3.0  # of half the distance from the 16 to the 84 % quantile
SHOWN = 1.5  # steps of the left panel, over n
BURN_IN = 16  # steps after which the states of both drives have settled
LAW_WIDTHS = (32, 45, 64, 91, 128, 181, 256, 362, 512, 724, 1024, 1448, 2048, 2896, 4096)
LINEAR_WIDTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096)
LINEAR_REACH = 9.0  # steps that are drawn, over sqrt(n)
LINEAR_DRAWS = 10  # times as many: they cost nothing
TWO_THIRDS = (0.16, 0.84)
DRIVES = {"driven": 1.0, "weakly": 0.1}
# Layer: label, colour (Okabe-Ito), marker.
STYLES = {
    "driven": ("tanh, inputs add 1", "#0072B2", "o"),
    "weakly": ("tanh, inputs add 0.1", "#56B4E9", "D"),
    "linear": ("linear", "#D55E00", "s"),
}
LAW: dict[str, Any] = {"linewidth": 1.1, "linestyle": (0, (4, 2))}


def data(
    *, draws: int, widths: Sequence[int], seed: int = 0, progress: Callable[[float], None] | None = None
) -> pd.DataFrame:
    """Quantiles of the draws of the largest width, and horizons of all; columns as in `COLUMNS`.

    `draws` are those of the largest width; narrower layers have more, which cost less.
    """
    widest = max(widths)
    cases = [(layer, n) for layer in DRIVES for n in widths]
    costs = [n * n for _, n in cases]
    drawn: dict[tuple[str, int], float] = {}
    paths = []
    for done, (layer, n) in enumerate(cases):

        def report(part: int, total: int, start: int = sum(costs[:done]), own: int = costs[done]) -> None:
            if progress is not None:
                progress((start + own * part / total) / sum(costs))

        logs = _tanh_draws(DRIVES[layer], n, draws * widest // n, seed, report)
        drawn[layer, n] = horizon_of(logs)
        if layer == "driven" and n == widest:
            paths.append(_paths(layer, n, logs))
    for n in LINEAR_WIDTHS:
        steps = math.ceil(SHOWN * n if n == widest else LINEAR_REACH * math.sqrt(n))
        logs = 2.0 * sample(n, steps, "real", samples=LINEAR_DRAWS * draws, seed=seed).log_norms
        drawn["linear", n] = horizon_of(logs)
        if n == widest:
            paths.append(_paths("linear", n, logs))
    return pd.concat([*paths, _horizons(drawn)], ignore_index=True)[list(COLUMNS)]


def _horizons(drawn: dict[tuple[str, int], float]) -> pd.DataFrame:
    """Horizons of all layers and widths, drawn ones where there are any."""
    rows = []
    for layer in STYLES:
        widths = np.unique([*LAW_WIDTHS, *(n for name, n in drawn if name == layer)])
        laws = _linear_horizons(widths) if layer == "linear" else _law_horizons(DRIVES[layer], widths)
        rows += [
            (layer, int(n), drawn.get((layer, int(n)), math.nan), law) for n, law in zip(widths, laws, strict=True)
        ]
    return pd.DataFrame(rows, columns=["layer", "n", "step", "law_step"]).assign(panel="horizons")


def _tanh_draws(s: float, n: int, draws: int, seed: int, progress: Callable[[int, int], None]) -> Floats:
    g = float(critical_scale("tanh", s))
    found = gradient_energies(
        "tanh", n, 2 * n, draws=draws, scale=g, input_std=s, burn_in=BURN_IN, seed=seed, progress=progress
    )
    return found.log_energies


def horizon_of(logs: Floats) -> float:
    """First step after which two thirds of the draws lie further apart than e^-3 to e^3; NaN if there is none."""
    low, high = np.quantile(logs, TWO_THIRDS, axis=0)
    beyond = np.flatnonzero(0.5 * (high - low) > LIMIT)
    return float(beyond[0]) if beyond.size else math.nan


def _paths(layer: str, n: int, logs: Floats) -> pd.DataFrame:
    step = np.unique(np.round(np.linspace(0, min(SHOWN * n, logs.shape[1] - 1), 97)).astype(int))
    quantiles = dict(
        zip(("log_q05", "log_median", "log_q95"), np.quantile(logs[:, step], (0.05, 0.5, 0.95), axis=0), strict=True)
    )
    if layer == "linear":
        at = [one_draw_table.LEVELS.index(level) for level in (0.05, 0.5, 0.95)]
        of_table = [one_draw_table.log_energies(n, int(t), Field.REAL)[at] for t in step[1:]]
        law = np.vstack([np.zeros(3), *of_table]).T
    else:
        of_law = gradient_law(n, step, critical_scale("tanh", DRIVES[layer]), "tanh", DRIVES[layer])
        law = np.stack([of_law.quantile(level) for level in (0.05, 0.5, 0.95)])
    laws = dict(zip(("law_q05", "law_median", "law_q95"), law, strict=True))
    return pd.DataFrame({"panel": "paths", "layer": layer, "n": n, "step": step} | quantiles | laws)


def _law_horizons(s: float, widths: NDArray[np.int64]) -> Floats:
    """First steps at which the spread by the law of driven layers is above the limit."""
    n, steps = widths[:, None], np.round(widths[:, None] * np.geomspace(0.25, 4.0, 400)).astype(np.int64)
    spread = gradient_law(n, steps, critical_scale("tanh", s), "tanh", s).std * spread_ratio(n, steps, "tanh", s)
    return np.asarray(steps[np.arange(widths.size), (spread > LIMIT).argmax(axis=1)], dtype=np.float64)


def _linear_horizons(widths: NDArray[np.int64]) -> Floats:
    """The same from the table of one draw, between whose quantiles it is linear on the scale of normal scores."""
    scores, ends = ([NormalDist().inv_cdf(p) for p in levels] for levels in (one_draw_table.LEVELS, TWO_THIRDS))
    found = []
    for n in widths.tolist():
        for step in range(math.ceil(math.sqrt(n)), math.ceil(LINEAR_REACH * math.sqrt(n))):
            low, high = np.interp(ends, scores, one_draw_table.log_energies(n, step, Field.REAL))
            if 0.5 * (high - low) > LIMIT:
                found.append(float(step))
                break
    return np.array(found)


def draw(frame: pd.DataFrame) -> Figure:
    """Left: energies of the gradient at one width; right: horizons against width, both axes logarithmic."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.7), gridspec_kw={"wspace": 0.12})
    paths = frame[frame["panel"] == "paths"]
    n = int(paths["n"].iloc[0])
    for layer, one in paths.groupby("layer", sort=False):
        _draw_paths(left, one, STYLES[str(layer)][1])
    left.axhline(0.0, color="0.35", linewidth=0.8, zorder=1)
    left.axvline(math.sqrt(n), color="0.6", linewidth=0.9, zorder=1)
    left.axvline(n, color="0.6", linewidth=0.9, zorder=1)
    for at, name in ((math.sqrt(n), "√n"), (n, "n")):
        left.text(at, 0.98, f" {name}", transform=left.get_xaxis_transform(), color="0.35", va="top")
    left.set_xlim(0, SHOWN * n)
    left.set_title(f"energy of a gradient, n = {n}")
    left.set_xlabel("steps")
    left.set_ylabel("log energy of the gradient")

    horizons = frame[frame["panel"] == "horizons"]
    for layer, (_, colour, marker) in STYLES.items():
        one = horizons[horizons["layer"] == layer].sort_values("n")
        right.plot(one["n"], one["law_step"], color=colour, **LAW)
        right.plot(one["n"], one["step"], color=colour, marker=marker, linestyle="", zorder=4)
    for power, name, at in ((1.0, "n", 1300), (0.5, "√n", 1300)):
        widths = np.array([32.0, 4096.0])
        right.plot(widths, widths**power, color="0.6", linewidth=0.9, zorder=1)
        right.text(at, 0.92 * at**power, name, color="0.35", va="top", ha="left")
    right.set_xscale("log", base=2)
    right.set_yscale("log")
    ticks = [32, 64, 128, 256, 512, 1024, 2048, 4096]
    right.set_xticks(ticks, [str(tick) for tick in ticks])
    right.minorticks_off()
    right.set_yticks([10, 30, 100, 300, 1000, 3000], ["10", "30", "100", "300", "1000", "3000"])
    right.set_xlabel("width n")
    right.set_ylabel("steps until the spread is a factor e³")
    right.set_title("how long draws stay together")
    entries: list[Line2D | Patch] = [
        *(Line2D([], [], color=colour, marker=marker, label=label) for label, colour, marker in STYLES.values()),
        Patch(color="0.35", alpha=0.22, linewidth=0, label="5 to 95 % of draws, with median"),
        Line2D([], [], color="0.35", label="law, or table (linear)", **LAW),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=5)
    return figure


def _draw_paths(axes: Axes, one: pd.DataFrame, colour: str) -> None:
    axes.fill_between(one["step"], one["log_q05"], one["log_q95"], color=colour, alpha=0.22, linewidth=0)
    axes.plot(one["step"], one["log_median"], color=colour, linewidth=1.8, zorder=3)
    for name in ("law_q05", "law_median", "law_q95"):
        axes.plot(one["step"], one[name], color=colour, zorder=4, **LAW)


FIGURE = FigureRecord(
    "Driven layers last of order n steps, linear ones √n", CAPTION, COLUMNS, data, draw, sizes=SIZES, place=64
)
