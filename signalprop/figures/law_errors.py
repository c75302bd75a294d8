"""Each law over the exact energy, against the number of steps, for several widths: complex weights (Q and S), real ones (Q)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from signalprop.fields import Field
from signalprop.figures.base import FigureRecord
from signalprop.figures.regime_map import COLOURS, LEGEND
from signalprop.models import Model, by_model, energy_of
from signalprop.regimes import LAWS

SIZES: dict[str, dict[str, Any]] = {"quick": {"points": 40}, "default": {"points": 140}, "full": {"points": 400}}
COLUMNS = {
    "field": "number system of the weights",
    "quantity": "rnn: Q, h <- W h; lru: S, h <- W h + x",
    "n": "width",
    "t": "steps",
    "law": "name of the law",
    "log_ratio": "natural log of law/exact to six decimals; left out where it is far from 0",
}
CAPTION = (
    "Each limit law over the exact energy against the number of steps, for three widths. A law is useful where its line "
    "stays in the grey band, 1 % around one. A line that only crosses the band is right there by accident."
)
NOISE = {"log_ratio": 1.1e-6}  # of the last decimal that is written
WIDTHS = (10**2, 10**4, 10**6)
ROWS = (("complex", "rnn", 10**6), ("complex", "lru", 10**6), ("real", "rnn", 10**4))
SPAN = 4.0  # laws further off than a factor 4 leave the picture
FAR = 20.0  # log_ratio of what is not drawn even beside a point that is
STYLES = {
    "critical limit": (0, (5, 1.5)),
    "second order": (0, (1, 1)),
    "two-term law": (0, (4, 1, 1, 1)),
    "linear": (0, (9, 2)),
    "superlinear": (0, (3, 1)),
    "dominant term": (0, (7, 1, 1, 1, 1, 1)),
}


def data(*, points: int, seed: int = 0, progress: Callable[[float], None] | None = None) -> pd.DataFrame:
    """One row for each law, n and t; columns as in `COLUMNS`. Nothing is random: `seed` is not used."""
    rows = []
    for field, quantity, reach in ROWS:
        exact = energy_of(quantity)
        for n in WIDTHS:
            largest = min(reach, 30 * n)
            t = np.unique(np.round(np.logspace(0, np.log10(largest), points)).astype(np.int64))
            log_exact = exact(n, t, field, log=True)
            for law in LAWS[Field(field), Model(quantity)]:
                log_ratio = np.round(law.log_value(np.full_like(t, n), t) - log_exact, 6) + 0.0
                seen = _in_sight(log_ratio)
                place = {"field": field, "quantity": quantity, "n": n, "law": law.name}
                rows.append(pd.DataFrame(place | {"t": t[seen], "log_ratio": log_ratio[seen]})[list(COLUMNS)])
            if progress is not None:
                progress((len(rows)) / sum(len(LAWS[Field(f), Model(q)]) for f, q, _ in ROWS) / len(WIDTHS))
    return pd.concat(rows, ignore_index=True)


def _in_sight(log_ratio: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Inside of the picture, or next to a point that is, so that lines run to the edge."""
    inside = np.abs(log_ratio) <= math.log(SPAN)
    seen = inside.copy()
    seen[1:] |= inside[:-1]
    seen[:-1] |= inside[1:]
    return seen & (np.abs(log_ratio) < FAR)


def draw(frame: pd.DataFrame) -> Figure:
    """Rows: complex weights (Q, S), real ones (Q); columns: widths. A law holds where its curve runs along one."""
    figure, panels = plt.subplots(len(ROWS), len(WIDTHS), figsize=(8.6, 9.4), sharey=True)
    for row, (field, quantity, _) in zip(panels, ROWS, strict=True):
        model = Model(quantity)
        for axes, n in zip(row, WIDTHS, strict=True):
            _draw_panel(axes, frame[(frame["field"] == field) & (frame["quantity"] == quantity) & (frame["n"] == n)], n)
            axes.set_title(f"{model.symbol}, {field} weights, n = $10^{round(np.log10(n))}$")
            axes.set_xlabel(by_model(model, rnn="steps k", driven="steps t"))
        row[0].set_ylabel("law / exact energy")
    names = [name for name in COLOURS if name in set(frame["law"])]
    entries: list[Line2D | Patch] = [
        Line2D([], [], color=COLOURS[name], linestyle=STYLES.get(name, "-"), linewidth=1.8, label=LEGEND[name])
        for name in names
    ]
    entries.append(Patch(color="0.8", linewidth=0, label="within 1 %"))
    figure.legend(handles=entries, loc="outside lower center", ncols=4)
    return figure


def _draw_panel(axes: Axes, chosen: pd.DataFrame, n: int) -> None:
    axes.axhspan(0.99, 1.01, color="0.8", linewidth=0, zorder=0)
    steps = np.unique(chosen["t"])
    for law, one in chosen.groupby("law", sort=False):
        # A gap where the law is out of the picture, instead of a line across it.
        ratio = np.exp(one.set_index("t")["log_ratio"].reindex(steps))
        axes.plot(steps, ratio, color=COLOURS[str(law)], linestyle=STYLES.get(str(law), "-"), linewidth=1.6)
    for at, label in ((np.sqrt(n), r"$\sqrt{n}$"), (n ** (2 / 3), "$n^{2/3}$"), (n, "$n$")):
        if at <= steps[-1]:
            axes.axvline(at, color="0.75", linewidth=0.8, zorder=0)
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
            axes.text(at, SPAN * 0.93, label, fontsize=8, color="0.35", ha="center", va="top", bbox=box)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(1.0 / SPAN, SPAN)
    axes.set_yticks([0.25, 0.5, 1.0, 2.0, 4.0], ["1/4", "1/2", "1", "2", "4"])
    axes.minorticks_off()


FIGURE = FigureRecord("How wrong each law is", CAPTION, COLUMNS, data, draw, sizes=SIZES, noise=NOISE, place=50)
