"""Which law is within 1 % of the exact energy, over the plane of width and steps: Q and S, complex and real weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from signalprop.fields import Field
from signalprop.figures.base import FigureRecord
from signalprop.models import Model, energy_of
from signalprop.regimes import LAWS

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"widths": 16, "steps": 30},
    "default": {"widths": 60, "steps": 120},
    "full": {"widths": 120, "steps": 240},
}
COLUMNS = {
    "field": "number system of the weights",
    "quantity": "rnn: Q, h <- W h; lru: S, h <- W h + x",
    "n": "width",
    "t": "steps",
    "law": "simplest law that is within 1 % of the exact energy over a stretch of steps; none if there is none",
    "relative_error": "law/exact - 1 for that law, or for the closest one; to four decimals",
}
CAPTION = (
    "The plane of width and steps, coloured by the simplest law that is within 1 % of the exact energy, there and over a stretch "
    "of steps around (last over first at least 1.25: a law that only crosses the exact energy is not counted). Infinite width "
    "holds to about sqrt(n) steps. Complex weights go through the critical limit to the law of the linear regime; real "
    "weights leave that path near sqrt(n log n) steps, where a second term with twice the exponent takes over (a heuristic). "
    "Where the map is light grey no law is that close; where it is hatched the exact energies were not computed."
)
NOISE = {"relative_error": 1.1e-4}  # of the last decimal that is written
TOLERANCE = 0.01
STRETCH = 1.25
LARGEST_N = 10**6
LARGEST_T = 10**4
# Exact energies of real weights cost O(k^2) for Q and O(t^3) for S.
REACH = {("complex", "rnn"): LARGEST_T, ("complex", "lru"): LARGEST_T, ("real", "rnn"): 5000, ("real", "lru"): 1200}
COLOURS = {
    "infinite width": "#56B4E9",
    "critical limit": "#0072B2",
    "second order": "#CC79A7",
    "uniform": "#009E73",
    "supercritical, literal": "#000000",
    "linear": "#F0E442",
    "superlinear": "#E69F00",
    "corrected critical": "#332288",
    "dominant term": "#D55E00",
    "two-term law": "#8C564B",
    "none": "#EEEEEE",
}
LEGEND = {
    "infinite width": "infinite width: 1, t + 1",
    "critical limit": "critical limit at this c",
    "second order": "first correction, order 1/n²",
    "uniform": "uniform law $e^{-B}\\sinh(A)/A$",
    "supercritical, literal": "$(n^2/t^3)\\,e^{t^2/2n}$",
    "linear": "linear-regime law",
    "superlinear": "superlinear law",
    "corrected critical": "critical, first correction (real)",
    "dominant term": "dominant term (real)",
    "two-term law": "two-term law (real)",
    "none": "none: take the exact value",
}


def data(*, widths: int, steps: int, seed: int = 0, progress: Callable[[float], None] | None = None) -> pd.DataFrame:
    """One row for each field, quantity, n and t; columns as in `COLUMNS`. Nothing is random: `seed` is not used."""
    n = np.unique(np.round(np.logspace(1, np.log10(LARGEST_N), widths)).astype(np.int64))
    rows = []
    for done, ((field, quantity), reach) in enumerate(REACH.items()):
        t = np.unique(np.round(np.logspace(0, np.log10(reach), steps)).astype(np.int64))
        rows.append(_one_map(field, quantity, n, t))
        if progress is not None:
            progress((done + 1) / len(REACH))
    return pd.concat(rows, ignore_index=True)


def _one_map(field: str, quantity: str, n: NDArray[np.int64], t: NDArray[np.int64]) -> pd.DataFrame:
    grid_n, grid_t = (part.ravel() for part in np.meshgrid(n, t, indexing="ij"))
    log_exact = energy_of(quantity)(grid_n, grid_t, field, log=True)
    law = np.full(grid_n.size, "none", dtype=object)
    error = np.full(grid_n.size, np.inf)
    for candidate in LAWS[Field(field), Model(quantity)]:
        gap = candidate.log_value(grid_n, grid_t) - log_exact
        relative = np.expm1(np.clip(gap, -700.0, 700.0))
        undecided = law == "none"
        near = (np.abs(relative) <= TOLERANCE).reshape(len(n), len(t))
        good = undecided & np.array([on_a_stretch(row, t) for row in near]).ravel()
        law[good] = candidate.name
        closer = undecided & (np.abs(relative) < np.abs(error))
        error[closer | good] = relative[closer | good]
    return pd.DataFrame(
        {
            "field": field,
            "quantity": quantity,
            "n": grid_n,
            "t": grid_t,
            "law": law,
            "relative_error": np.round(error, 4) + 0.0,
        }
    )


def on_a_stretch(near: NDArray[np.bool_], t: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the steps `t` lie in a run of `near` whose last step is `STRETCH` times the first, or which runs off the map."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], near, [False]))))
    kept = np.zeros_like(near)
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        kept[first:end] = first == 0 or end == len(t) or t[end - 1] >= STRETCH * t[first]
    return kept


def draw(frame: pd.DataFrame) -> Figure:
    """Two rows (Q, S), two columns (complex, real), coloured by law."""
    figure, panels = plt.subplots(2, 2, figsize=(7.6, 8.4), sharex=True, sharey=True)
    names = [name for name in COLOURS if name in set(frame["law"])]
    for row, (quantity, title) in enumerate((("rnn", "Q, h ← W h"), ("lru", "S, h ← W h + x"))):
        for column, field in enumerate(("complex", "real")):
            axes = panels[row, column]
            _draw_map(axes, frame[(frame["field"] == field) & (frame["quantity"] == quantity)], names)
            axes.set_title(f"{title}, {field} weights")
            if row == 1:
                axes.set_xlabel("width n")
            if column == 0:
                axes.set_ylabel("steps t")
    entries = [Patch(facecolor=COLOURS[name], edgecolor="0.6", linewidth=0.5, label=LEGEND[name]) for name in names]
    entries.append(Patch(facecolor="white", edgecolor="0.7", hatch="////", linewidth=0.5, label="not computed"))
    figure.legend(handles=entries, loc="outside lower center", title="simplest law within 1 %", ncols=3)
    return figure


def _draw_map(axes: Axes, rows: pd.DataFrame, names: list[str]) -> None:
    table = rows.pivot(index="t", columns="n", values="law").map(names.index)
    colours = ListedColormap([COLOURS[name] for name in names])
    norm = BoundaryNorm(np.arange(len(names) + 1) - 0.5, len(names))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(False)
    axes.axhspan(float(rows["t"].max()), LARGEST_T, facecolor="white", edgecolor="0.7", hatch="////", linewidth=0)
    mesh = axes.pcolormesh(table.columns, table.index, table.to_numpy(), cmap=colours, norm=norm, shading="nearest")
    mesh.set_rasterized(True)
    n = np.logspace(1, np.log10(LARGEST_N), 200)
    lines = (
        ("$t=\\sqrt{n}$", np.sqrt(n), "-"),
        ("$\\sqrt{n\\log n}$", np.sqrt(n * np.log(n)), "--"),
        ("$n^{2/3}$", n ** (2 / 3), "-."),
        ("$n$", n, ":"),
    )
    for label, t, style in lines:
        inside = t <= LARGEST_T
        axes.plot(n[inside], t[inside], color="white", linewidth=3.0, solid_capstyle="butt")
        axes.plot(n[inside], t[inside], color="black", linestyle=style, linewidth=1.2)
        if n[inside][-1] > LARGEST_N / 2:  # beside the frame, where the line meets it
            at, place = -1, dict[str, Any](xytext=(3, 0), ha="left")
        else:
            at = int(np.searchsorted(t, 0.3 * LARGEST_T))
            place = dict[str, Any](xytext=(-4, 0), ha="right", backgroundcolor=(1, 1, 1, 0.8))
        axes.annotate(label, (n[at], t[at]), textcoords="offset points", va="center", fontsize=8.5, **place)
    axes.set_xlim(10, LARGEST_N)
    axes.set_ylim(1, LARGEST_T)


FIGURE = FigureRecord("Which law holds where", CAPTION, COLUMNS, data, draw, sizes=SIZES, noise=NOISE, place=40)
