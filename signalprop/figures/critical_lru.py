"""Energy S_{n,t} of h <- W h + x, over sqrt(n), against c = t/sqrt(n): the critical regime, complex and real weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from signalprop.figures._critical_numbers import COLUMNS, SIZES, path_frame
from signalprop.figures._critical_picture import draw_critical, note
from signalprop.figures.base import FigureRecord

CAPTION = (
    "Mean energy of h <- W h + x over sqrt(n). At infinite width every step adds one unit (the thin grey line, bent by the "
    "logarithmic axis); at finite width old inputs are amplified like a signal, and the sum runs away too. It does so a "
    "little later in c, because the young inputs are still intact. Marks and lines as in the figure above."
)


def data(*, seed: int = 0, progress: Callable[[float], None] | None = None, **size: Any) -> pd.DataFrame:
    """Exact energies, laws and Monte Carlo summaries; columns as in `COLUMNS`."""
    return path_frame("driven", seed=seed, progress=progress, **size)


def draw(frame: pd.DataFrame) -> Figure:
    """Two panels, complex and real, energy on a log scale; the infinite-width line t + 1 becomes c."""
    return draw_critical(
        frame,
        steps="t",
        energy=r"mean energy of the driven recurrence  $S_{n,t}/\sqrt{n}$",
        limit=r"limit $\int_0^c (2/x^2)\sinh(x^2/2)\,dx$",
        infinite=_infinite,
        bottom=2e-2,
    )


def _infinite(axes: Axes, rows: pd.DataFrame) -> None:
    line = rows[(rows["n"] == rows["n"].max()) & (rows["k"] > 0)]
    axes.plot(line["c"], line["c"], color="0.6", linewidth=0.8)
    if rows["field"].iloc[0] == "complex":
        note(axes, "infinite width: c", (4.9, 4.9), 8.0)


FIGURE = FigureRecord("The same with a fresh input at every step", CAPTION, COLUMNS, data, draw, sizes=SIZES, place=20)
