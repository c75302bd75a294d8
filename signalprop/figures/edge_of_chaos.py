"""The scale at which a step keeps the mean energy of a gradient, against what inputs add, and how long it is kept there."""

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
from numpy.typing import NDArray

from signalprop.cells import gradient_energies
from signalprop.figures.base import FigureRecord
from signalprop.meanfield import critical_scale, crossover_horizon, horizon

Floats = NDArray[np.float64]
SIZES: dict[str, dict[str, Any]] = {
    "quick": {"points": 9, "draws": 60, "simulated": (64,)},
    "default": {"points": 25, "draws": 250, "simulated": (64, 256)},
    "full": {"points": 25, "draws": 2000, "simulated": (64, 256)},
}
COLUMNS = {
    "panel": "scale (left) or horizon (right)",
    "activation": "tanh, erf or hardtanh",
    "n": "width; empty for scales, which are those of infinite width",
    "input_std": "s, standard deviation that fresh inputs add to a preactivation",
    "scale": "g at which a step keeps the mean energy of a gradient, chi = 1",
    "known": "the same from elsewhere: published (tanh), in closed form (erf); empty if there is none",
    "law": "steps after which the log-energies of gradients have variance 1 if weights were fresh at every step, n/(3r-1)",
    "one_matrix": "first step at which half the distance from their 16 to their 84 % quantile is 1, for one matrix, by the law",
    "drawn": "the same from draws; empty if none were made",
}
CAPTION = (
    "Left, the scale g of Gaussian recurrent kernels at which a step keeps the mean energy of a gradient, against the standard "
    "deviation that fresh inputs add to every preactivation: below a line gradients vanish, above it they explode. Marks are "
    "independent of the lines: what Schoenholz et al. (arXiv:1611.01232) publish for tanh, and closed forms for erf. A ReLU "
    "layer has √2 for all inputs. Right, for how many steps a tanh layer at that scale carries a gradient until draws of it "
    "spread by a factor e either way: n/(3r - 1) as if weights were fresh at every step (dashed), the law of one matrix (line, "
    "heuristic, up to 1.5 times too long for the weakest inputs here), and draws of one matrix (marks)."
)
ACTIVATIONS = {"tanh": ("tanh", "#0072B2"), "erf": ("erf", "#D55E00"), "hardtanh": ("hard tanh", "#009E73")}
WIDTHS = {64: ("#E69F00", "o"), 256: ("#0072B2", "s"), 1024: ("#000000", "D")}
REACH = (0.003, 3.0)  # of the standard deviations that inputs add
SIMULATED_STDS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0)
PUBLISHED = {"tanh": {math.sqrt(0.05): math.sqrt(1.76)}}  # sigma_b^2 = 0.05 and sigma_w^2 = 1.76
CLOSED_AT = (0.01, 0.1, 0.3, 1.0, 2.0)
SETTLED = {0.003: 108, 0.01: 50, 0.03: 25, 0.1: 13}  # steps to within 2 % of the fixed point; 8 with stronger inputs


def data(
    *, points: int, draws: int, simulated: Sequence[int], seed: int = 0, progress: Callable[[float], None] | None = None
) -> pd.DataFrame:
    """Scales and horizons; columns as in `COLUMNS`."""
    stds = np.geomspace(*REACH, points)
    rows = [_scales(name, stds) for name in ACTIVATIONS]
    drawn = {}
    cases = [(n, s) for n in simulated for s in SIMULATED_STDS]
    costs = [n**3 for n, _ in cases]
    for done, (n, s) in enumerate(cases):

        def report(part: int, total: int, start: int = sum(costs[:done]), own: int = costs[done]) -> None:
            if progress is not None:
                progress((start + own * part / total) / sum(costs))

        drawn[n, s] = _drawn_horizon(n, s, draws, seed, report)
    at, widths = np.union1d(stds, SIMULATED_STDS), np.array(list(WIDTHS))[:, None]
    per_unit = horizon(1, "tanh", at)  # it is proportional to n
    laws = zip(WIDTHS, widths * per_unit, crossover_horizon(widths, "tanh", at), strict=True)
    for n, law, one_matrix in laws:
        steps = [drawn.get((n, s), math.nan) for s in at.tolist()]
        found = pd.DataFrame({"n": n, "input_std": at, "law": law, "one_matrix": one_matrix, "drawn": steps})
        rows.append(found.assign(panel="horizon", activation="tanh"))
    return pd.concat(rows, ignore_index=True)[list(COLUMNS)].astype({"n": "Int64"})


def _scales(activation: str, stds: Floats) -> pd.DataFrame:
    known = PUBLISHED.get(activation, {})
    if activation == "erf":
        known = {s: erf_scale(s) for s in CLOSED_AT}
    at = np.union1d(stds, [*known, 1.0])
    frame = pd.DataFrame({"panel": "scale", "activation": activation, "input_std": at})
    return frame.assign(scale=critical_scale(activation, at), known=[known.get(s, math.nan) for s in at.tolist()])


def erf_scale(s: float) -> float:
    r"""Critical scale of erf from the closed forms E phi^2 = (2/pi) asin(2q/(1+2q)) and E phi'^2 = (4/pi)/sqrt(1+4q)."""
    from scipy.optimize import brentq

    def square(q: float) -> float:
        return 2.0 / math.pi * math.asin(2.0 * q / (1.0 + 2.0 * q))

    def excess(q: float) -> float:
        return (q - s * s) * 4.0 / math.pi / math.sqrt(1.0 + 4.0 * q) - square(q)

    q = brentq(excess, s * s, 100.0 * (s * s + 1.0), xtol=1e-14)
    return math.sqrt((q - s * s) / square(q))


def _drawn_horizon(n: int, s: float, draws: int, seed: int, progress: Callable[[int, int], None]) -> float:
    """First step at which the middle two thirds of the draws reach from e^-1 to e."""
    found = gradient_energies(
        "tanh", n, n // 3, draws=draws, scale=float(critical_scale("tanh", s)), input_std=s, burn_in=SETTLED.get(s, 8), seed=seed,
        progress=progress,
    )  # fmt: skip
    low, high = np.quantile(found.log_energies, (0.16, 0.84), axis=0)
    wide = np.flatnonzero(0.5 * (high - low) >= 1.0)
    return float(wide[0]) if wide.size else math.nan


def draw(frame: pd.DataFrame) -> Figure:
    """Critical scales left, horizons of tanh right, both against the inputs."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.6), gridspec_kw={"wspace": 0.08})
    scales = frame[frame["panel"] == "scale"]
    for activation, (label, colour) in ACTIVATIONS.items():
        one = scales[scales["activation"] == activation].sort_values("input_std")
        left.plot(one["input_std"], one["scale"], color=colour, linewidth=1.8, label=label)
        left.plot(one["input_std"], one["known"], color=colour, marker="o", linestyle="", zorder=4)
    left.axhline(math.sqrt(2.0), color="0.5", linewidth=0.9, linestyle=(0, (1, 1.5)), label="ReLU")
    unit = float(scales[(scales["activation"] == "tanh") & (scales["input_std"] == 1.0)]["scale"].iloc[0])
    left.annotate(
        f"tanh, unit inputs:\ng = {unit:.3f}", (1.0, unit), (0.11, 2.05), color="0.25", fontsize=8.5,
        arrowprops={"arrowstyle": "-", "color": "0.5", "linewidth": 0.8, "shrinkB": 0},
    )  # fmt: skip
    left.text(0.004, 1.72, "gradients explode", color="0.35", style="italic")
    left.text(3.3, 0.9, "gradients vanish", color="0.35", style="italic", ha="right")
    left.set_ylabel("critical scale g")
    left.set_title("where a step keeps a gradient's energy")
    left.legend(loc="upper left", handles=[*left.get_legend_handles_labels()[0], _known_entry()])

    horizons = frame[frame["panel"] == "horizon"]
    for n, (colour, marker) in WIDTHS.items():
        one = horizons[horizons["n"] == n].sort_values("input_std")
        right.plot(one["input_std"], one["law"], color=colour, **LAW)
        right.plot(one["input_std"], one["one_matrix"], color=colour, linewidth=1.8)
        right.plot(one["input_std"], one["drawn"], color=colour, marker=marker, linestyle="", zorder=4)
        right.annotate(
            f"n = {n}", (one["input_std"].iloc[-1], one["law"].iloc[-1]), (4, 0), textcoords="offset points", color=colour,
            va="center",
        )  # fmt: skip
    right.set_yscale("log")
    right.set_yticks([3, 10, 30, 100, 300, 1000], ["3", "10", "30", "100", "300", "1000"])
    right.minorticks_off()
    right.set_ylabel("steps")
    right.set_title("how long a tanh layer at that scale keeps it")
    right.legend(
        handles=[
            Line2D([], [], color="0.35", linewidth=1.8, label="law of one matrix"),
            Line2D([], [], color="0.35", label="as if weights were fresh: n/(3r - 1)", **LAW),
            Line2D([], [], color="0.35", marker="o", linestyle="", label="draws"),
        ],
        loc="upper right",
    )
    for axes in (left, right):
        _of_inputs(axes)
    return figure


def _known_entry() -> Line2D:
    return Line2D([], [], color="0.35", marker="o", linestyle="", label="published, or closed form")


def _of_inputs(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xticks([0.003, 0.01, 0.03, 0.1, 0.3, 1, 3], ["0.003", "0.01", "0.03", "0.1", "0.3", "1", "3"])
    axes.minorticks_off()
    axes.set_xlabel("standard deviation that inputs add")


LAW: dict[str, Any] = {"linewidth": 1.1, "linestyle": (0, (4, 2))}
FIGURE = FigureRecord("The edge of chaos, and how long it lasts", CAPTION, COLUMNS, data, draw, sizes=SIZES, place=66)
