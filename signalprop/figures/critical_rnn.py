"""Energy Q_{n,k} of h <- W h against c = k/sqrt(n): the critical regime, complex and real weights."""

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
    "Mean energy of h <- W h against c = k/sqrt(n), steps over the square root of the width. Thin curves are exact at each width "
    "(real weights: by a formula that is verified, not proved). Complex weights (left) approach the dashed limit "
    "(2/c^2) sinh(c^2/2) as the width grows. Real weights (right) leave it from c = 2 on, the more the wider the network: that "
    "limit is theirs too, but only at widths far beyond any computer. Here they follow the two-term law (pale, under the exact "
    "curves), a heuristic: draws with one real eigenvalue outside the unit disc begin to carry the mean. Circles are means of "
    "plain draws, hollow where their error is not to be trusted: far out they fall short, for real weights by factors of "
    "ten to several hundred, because the draws that carry the mean were not drawn. Diamonds are means by the rare-event "
    "sampler, which does reach it. The median draw (dotted) grows far more slowly than the mean."
)


def data(*, seed: int = 0, progress: Callable[[float], None] | None = None, **size: Any) -> pd.DataFrame:
    """Exact energies, laws and Monte Carlo summaries; columns as in `COLUMNS`."""
    return path_frame("rnn", seed=seed, progress=progress, **size)


def draw(frame: pd.DataFrame) -> Figure:
    """Two panels, complex and real, energy on a log scale."""
    return draw_critical(
        frame,
        steps="k",
        energy=r"mean signal energy  $Q_{n,k} = \mathrm{E}\,\|W^k x\|^2/n$",
        limit=r"limit $(2/c^2)\,\sinh(c^2/2)$",
        infinite=_infinite,
    )


def _infinite(axes: Axes, rows: pd.DataFrame) -> None:
    axes.axhline(1.0, color="0.6", linewidth=0.8)
    if rows["field"].iloc[0] == "complex":
        note(axes, "infinite width: 1", (4.95, 1.0), 3.0)


FIGURE = FigureRecord("How long does infinite width last?", CAPTION, COLUMNS, data, draw, sizes=SIZES, place=10)
