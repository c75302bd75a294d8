"""The picture of a `TransferCheck`: log-energies of all widths against T/sqrt(n) and T/n."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure

from signalprop._house_style import house_style
from signalprop.inspection.collapse import POWERS

if TYPE_CHECKING:
    from signalprop.inspection.transfer import TransferCheck


def picture(found: TransferCheck) -> Figure:
    """A column for each of the two, a row for each time; bands are one standard deviation of a draw."""
    widths = list(dict.fromkeys(row["n"] for row in found.rows))
    colours = mpl.colormaps["viridis"]
    with house_style():
        figure = Figure(figsize=(7.2, 3.2 * len(found.collapses)), layout="constrained")
        grid = figure.subplots(len(found.collapses), 2, sharey="row", squeeze=False)
        for line, (when, one) in zip(grid, found.collapses.items(), strict=True):
            for axes, (name, power) in zip(line, POWERS.items(), strict=True):
                for i, n in enumerate(widths):
                    own = [
                        row
                        for row in found.rows
                        if row["n"] == n and row["when"] == when and row["log_energy"] is not None
                    ]
                    x = [row["T"] / n**power for row in own]
                    low, high = ([row["log_energy"] + sign * row["spread"] for row in own] for sign in (-1, 1))
                    colour = colours(0.85 * i / max(len(widths) - 1, 1))
                    axes.fill_between(x, low, high, color=colour, alpha=0.12, linewidth=0)
                    axes.plot(
                        x, [row["log_energy"] for row in own], "o-", color=colour, markersize=3.5, label=f"n = {n}"
                    )
                axes.set_xscale("log")
                axes.set_xlabel(name)
                time = "at the start" if when == "before" else f"after {found.steps} steps"
                residual = one.residuals[name]
                said = "no curves overlap" if residual is None else f"residual {residual:.2g}"
                mark = ", better" if one.better == name else ""
                axes.set_title(f"{time}: {said}{mark}", fontsize=9.5)
            line[0].set_ylabel("log energy of a gradient, mean of draws")
        grid[0][1].legend(fontsize=8)
    return figure
