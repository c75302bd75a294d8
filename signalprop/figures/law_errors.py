"""Each law over the exact energy, against the number of steps, for several widths: complex (S) and real weights (Q)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from signalprop.fields import Field
from signalprop.figures.regime_map import COLOURS, LEGEND
from signalprop.models import Model, by_model, energy_of
from signalprop.regimes import LAWS

SIZES: dict[str, dict[str, Any]] = {"quick": {"points": 40}, "default": {"points": 140}, "full": {"points": 400}}
COLUMNS = {
    "field": "number system of the weights",
    "quantity": "lru: S, h <- W h + x (complex); rnn: Q, h <- W h (real)",
    "n": "width",
    "t": "steps",
    "law": "name of the law",
    "log_ratio": "natural log of law/exact",
}
# Of numbers up to 10^5 the difference in float64.
NOISE = {"log_ratio": 1e-9}
WIDTHS = (10**2, 10**4, 10**6)
ROWS = (("complex", "lru", 10**6), ("real", "rnn", 10**4))
SPAN = 4.0  # laws further off than a factor 4 leave the picture
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
                # Rounded well above the rounding unit, so that the file is the same on every machine.
                log_ratio = np.round(law.log_value(np.full_like(t, n), t) - log_exact, 10)
                rows.append(
                    pd.DataFrame(
                        {"field": field, "quantity": quantity, "n": n, "t": t, "law": law.name, "log_ratio": log_ratio}
                    )
                )
            if progress is not None:
                progress((len(rows)) / sum(len(LAWS[Field(f), Model(q)]) for f, q, _ in ROWS) / len(WIDTHS))
    return pd.concat(rows, ignore_index=True)


def draw(frame: pd.DataFrame) -> Figure:
    """Rows: complex (S), real (Q); columns: widths. A law holds where its curve runs along one."""
    figure, panels = plt.subplots(len(ROWS), len(WIDTHS), figsize=(8.6, 7.0), sharey=True)
    for row, (field, quantity, _) in enumerate(ROWS):
        for column, n in enumerate(WIDTHS):
            axes = panels[row, column]
            chosen = frame[(frame["field"] == field) & (frame["n"] == n)]
            axes.axhspan(0.99, 1.01, color="0.8", linewidth=0, zorder=0)
            for law, one in chosen.groupby("law", sort=False):
                # A gap where the law is out of the picture, instead of a line across it.
                ratio = np.exp(one["log_ratio"].clip(-10.0, 10.0)).where(one["log_ratio"].abs() < np.log(SPAN) + 0.3)
                style = STYLES.get(str(law), "-")
                axes.plot(one["t"], ratio, color=COLOURS[str(law)], linestyle=style, linewidth=1.6)
            marks = [(np.sqrt(n), r"$\sqrt{n}$"), (n ** (2 / 3), "$n^{2/3}$"), (n, "$n$")]
            for at, label in marks:
                if at <= chosen["t"].max():
                    axes.axvline(at, color="0.75", linewidth=0.8, zorder=0)
                    axes.text(
                        at, SPAN * 0.93, label, fontsize=8, color="0.35", ha="center", va="top", backgroundcolor="white"
                    )
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_ylim(1.0 / SPAN, SPAN)
            axes.set_yticks([0.25, 0.5, 1.0, 2.0, 4.0], ["1/4", "1/2", "1", "2", "4"])
            axes.minorticks_off()
            model = Model(quantity)
            axes.set_title(f"{model.symbol}, {field} weights, n = $10^{round(np.log10(n))}$")
            axes.set_xlabel(by_model(model, rnn="steps k", driven="steps t"))
            if column == 0:
                axes.set_ylabel("law / exact energy")
    names = [name for name in COLOURS if name in set(frame["law"])]
    entries: list[Line2D | Patch] = [
        Line2D([], [], color=COLOURS[name], linestyle=STYLES.get(name, "-"), linewidth=1.8, label=LEGEND[name])
        for name in names
    ]
    entries.append(Patch(color="0.8", linewidth=0, label="within 1 %"))
    figure.legend(handles=entries, loc="outside lower center", ncols=4)
    return figure
