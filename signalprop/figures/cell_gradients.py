"""What is left of a gradient after T steps of tanh, ReLU, GRU and LSTM layers, by start."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from signalprop.cells import CELLS, gradient_energies
from signalprop.figures.base import FigureRecord
from signalprop.initialization.starts import STARTS
from signalprop.meanfield import chi, chrono_biases, critical_scale, gradient_law, gru_gradient, lstm_gradient

Floats = NDArray[np.float64]
SIZES: dict[str, dict[str, Any]] = {"quick": {"draws": 10}, "default": {"draws": 100}, "full": {"draws": 1000}}
COLUMNS = {
    "cell": "tanh, relu, gru or lstm",
    "start": "default (PyTorch's kernel, uniform within 1/sqrt(n)), glorot (Gaussian, g = 1), critical and orthogonal (Gaussian "
    "and orthogonal, chi = 1), set (by init_recurrent_)",
    "step": "steps t that the gradient has gone through",
    "log_q05": "log-energy of a gradient, natural logarithm, that 5 % of the draws lie below",
    "log_median": "median of the draws",
    "log_q95": "95 %",
    "log_law": "by mean-field theory; empty where there is no law",
}
N, HORIZON, INPUT_STD = 128, 400, 1.0
TIMES = np.arange(0, HORIZON + 1, 8)
CAPTION = (
    f"Energy that is left of a gradient after so many steps, natural logarithm: width {N}, fresh inputs that add a standard "
    f"deviation of {INPUT_STD:g} to every preactivation. Lines are medians of draws, bands hold 90 % of them, dashes are "
    "mean-field theory: for Gaussian tanh kernels the law of medians, otherwise in plain layers the factor of one step to the "
    "power of the steps; for gates it is a guide, which leaves out what one matrix adds up over steps. PyTorch's default and "
    "Glorot kernels forget in every cell; in a GRU or an LSTM it is the gates, half open at first, that lose the state, and a "
    "larger kernel hardly helps. What init_recurrent_ sets keeps the gradient in ReLU layers and gates. At χ = 1 a step keeps "
    "its mean energy: a tanh layer then carries it, but draws of a Gaussian ReLU layer end anywhere between nothing and an "
    "explosion. What keeps a gradient is not yet what trains best: for tanh init_recurrent_ sets a start that trained better, "
    "and that forgets where inputs are as large as here."
)
# Start: label, colour (Okabe-Ito).
STYLES = {
    "default": ("PyTorch's default kernel", "#D55E00"),
    "glorot": ("Glorot: Gaussian, g = 1", "#E69F00"),
    "critical": ("Gaussian, χ = 1", "#0072B2"),
    "orthogonal": ("orthogonal, χ = 1", "#56B4E9"),
    "set": ("set by init_recurrent_", "#009E73"),
}
TITLES = {"tanh": "tanh", "relu": "ReLU", "gru": "GRU", "lstm": "LSTM"}
LAW: dict[str, Any] = {"linewidth": 1.1, "linestyle": (0, (4, 2)), "zorder": 4}


class _Case(NamedTuple):
    """A start of a cell, as `gradient_energies` takes it."""

    cell: str
    start: str
    kind: str
    scale: float
    leak: float = 1.0

    @property
    def memory(self) -> bool:
        """Whether the gates get biases for a memory."""
        return self.start == "set" and CELLS[self.cell].gated

    @property
    def gaussian_scale(self) -> float:
        """Scale of Gaussian entries with the variance of these."""
        return self.scale / math.sqrt(3.0) if self.kind == "uniform" else self.scale


def _cases() -> Iterator[_Case]:
    for cell in TITLES:
        yield _Case(cell, "default", "uniform", 1.0)
        yield _Case(cell, "glorot", "gaussian", 1.0)
        if not CELLS[cell].gated:
            critical = float(critical_scale(cell, INPUT_STD))
            yield _Case(cell, "critical", "gaussian", critical)
            if cell == "tanh":
                yield _Case(cell, "orthogonal", "orthogonal", critical)
        start = STARTS[cell]
        scale = start.scale(INPUT_STD) if callable(start.scale) else start.scale
        identity = start.kind == "identity"
        yield _Case(cell, "set", start.kind, 1.0 if identity else scale, (start.leak or 1.0) if identity else 1.0)


def data(*, draws: int, seed: int = 0, progress: Callable[[float], None] | None = None) -> pd.DataFrame:
    """One row for each cell, start and kept step; columns as in `COLUMNS`."""
    cases = list(_cases())
    costs = np.array([len(CELLS[case.cell].gates) for case in cases], dtype=float)
    ends = np.cumsum(costs) / costs.sum()
    rows = []
    for case, end, cost in zip(cases, ends, costs, strict=True):

        def report(done: int, total: int, end: float = end, share: float = cost / costs.sum()) -> None:
            if progress is not None:
                progress(min(end - share * (1.0 - done / total), 1.0))

        rows.append(_one_case(case, draws, seed, report))
    return pd.concat(rows, ignore_index=True)


def _one_case(case: _Case, draws: int, seed: int, progress: Callable[[int, int], None]) -> pd.DataFrame:
    biases: dict[str, Any] = {"biases": "chrono", "memory": HORIZON} if case.memory else {}
    found = gradient_energies(
        case.cell, N, HORIZON, draws=draws, scale=case.scale, kind=case.kind, leak=case.leak, input_std=INPUT_STD, times=TIMES,
        seed=seed, progress=progress, **biases,
    )  # fmt: skip
    low, median, high = np.quantile(found.log_energies, (0.05, 0.5, 0.95), axis=0, method="nearest")
    return pd.DataFrame({
        "cell": case.cell, "start": case.start, "step": TIMES, "log_q05": low, "log_median": median, "log_q95": high,
        "log_law": _law(case),
    })  # fmt: skip


def _law(case: _Case) -> Floats:
    """Log-energy by theory; NaN where there is none."""
    g = case.gaussian_scale
    if case.kind == "identity":
        return np.full(TIMES.size, np.nan)
    if CELLS[case.cell].gated:
        b = chrono_biases(N, HORIZON, INPUT_STD) if case.memory else np.zeros(1)
        given: dict[str, Any] = {gate: sign * b for gate, sign in CELLS[case.cell].memory.items()}
        gradient = lstm_gradient if case.cell == "lstm" else gru_gradient
        return gradient(HORIZON, g, INPUT_STD, **given).log_energy[TIMES]
    if case.cell == "tanh" and case.kind != "orthogonal":
        return gradient_law(N, TIMES, g, case.cell, INPUT_STD).median
    # Of a rectifier half the slopes are 1, also where its states grow without bound.
    step = 0.5 * g**2 if case.cell == "relu" else float(chi(g, case.cell, INPUT_STD))
    return np.asarray(TIMES * math.log(step), dtype=np.float64)


def draw(frame: pd.DataFrame) -> Figure:
    """A panel for each cell: log-energy against steps, linear near 0 and logarithmic beyond."""
    figure, panels = plt.subplots(2, 2, figsize=(8.6, 7.0), sharex=True, sharey=True)
    for axes, (cell, title) in zip(panels.flat, TITLES.items(), strict=True):
        axes.axhline(0.0, color="0.35", linewidth=0.8, zorder=1)
        for start, one in frame[frame["cell"] == cell].groupby("start", sort=False):
            _draw_start(axes, one, STYLES[str(start)][1])
        axes.set_title(f"{title}; init_recurrent_: {_in_words(cell)}")
    first = panels[0, 0]
    first.set_yscale("symlog", linthresh=10.0, linscale=1.6)
    first.set_ylim(-900.0, 150.0)
    first.set_yticks([-500, -200, -100, -50, -20, -10, -5, 0, 5, 10, 20, 50, 100])
    first.set_yticks([], minor=True)
    first.yaxis.set_major_formatter(lambda value, _: f"{value:.0f}".replace("-", "\N{MINUS SIGN}"))
    first.set_xlim(0, HORIZON)
    for axes in panels[-1]:
        axes.set_xlabel("steps")
    for axes in panels[:, 0]:
        axes.set_ylabel("log energy of the gradient")
    entries: list[Line2D | Patch] = [
        *(Line2D([], [], color=colour, linewidth=1.8, label=label) for label, colour in STYLES.values()),
        Line2D([], [], color="0.35", linewidth=1.8, label="median draw"),
        Patch(color="0.35", alpha=0.22, linewidth=0, label="5 to 95 % of draws"),
        Line2D([], [], color="0.35", label="mean-field theory", **LAW),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=4)
    return figure


def _draw_start(axes: Axes, one: pd.DataFrame, colour: str) -> None:
    # A gradient that died lies below every axis.
    low, median, high = (one[name].clip(lower=-1e6) for name in ("log_q05", "log_median", "log_q95"))
    axes.fill_between(one["step"], low, high, color=colour, alpha=0.22, linewidth=0)
    axes.plot(one["step"], median, color=colour, linewidth=1.8, zorder=3)
    axes.plot(one["step"], one["log_law"], color=colour, **LAW)


def _in_words(cell: str) -> str:
    """What `init_recurrent_` sets in a cell."""
    start = STARTS[cell]
    if CELLS[cell].gated:
        return f"{start.kind}, chrono biases"
    if start.kind == "identity":
        return start.kind
    return f"{start.kind}, χ = 1" if callable(start.scale) else f"{start.kind}, g = {start.scale:.3g}"


FIGURE = FigureRecord("What cells do to a gradient, by start", CAPTION, COLUMNS, data, draw, sizes=SIZES, place=62)
