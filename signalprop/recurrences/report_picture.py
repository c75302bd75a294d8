"""The picture of a `Report`: energy against step, as ``signalprop recurrence --plot`` draws it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from signalprop._house_style import house_style

if TYPE_CHECKING:
    from signalprop.recurrences.report import Report

EXACT, FIRST, AVERAGE = "#0072B2", "#009E73", "#D55E00"


def picture(found: Report) -> Figure:
    """The exact path from zero, by the first-step rule and averaged over weights where those exist, the limit, draws."""
    with house_style():
        figure = Figure(figsize=(7.2, 4.2))
        axes = figure.subplots()
        if found.stationary is not None:
            axes.axhline(found.stationary, color="0.4", linestyle=(0, (4, 3)), linewidth=1.1, label="stationary energy")
        axes.plot(found.steps, found.energy, color=EXACT, linewidth=1.8, label="exact, from $x_0 = 0$")
        if found.from_first_step is not None:
            axes.plot(found.steps, found.from_first_step, color=FIRST, linewidth=1.8, label="exact, first-step rule")
        if found.average is not None:
            axes.plot(found.steps, found.average, color=AVERAGE, linestyle=(0, (6, 2)), label="average over draws of W")
        if found.sampled is not None:
            at = np.unique(found.steps[np.linspace(0, len(found.steps) - 1, 16).astype(int)])
            axes.errorbar(
                at,
                found.sampled.mean[at],
                yerr=2.0 * found.sampled.stderr[at],
                fmt="o",
                color="black",
                markersize=3.6,
                linewidth=0,
                elinewidth=1.0,
                capsize=2.0,
                zorder=4,
                label=f"{len(found.sampled.by_head)} drawn input sequences, ± 2 standard errors",
            )
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("step $t$")
        axes.set_ylabel(r"mean energy  $\mathrm{E}\,\|x_t\|^2$")
        colour = "white inputs" if found.correlation == 0.0 else f"inputs with correlation {found.correlation:.6g}"
        axes.set_title(f"{found.about.replace(', seed', '; seed')}\n{colour}", fontsize=9.5)
        axes.legend(loc="best")
    return figure
