"""Energy against step at width 512 over 200 steps, with Glorot and with the safe scale: tabulated band, fresh draws, mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from signalprop.fields import Field
from signalprop.figures.base import FigureRecord
from signalprop.initialization import safe_scale, scale_picture
from signalprop.montecarlo.sampling import sample

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"samples": 300},
    "default": {"samples": 2000},
    "full": {"samples": 20_000},
}
N, HORIZON = 512, 200
SAMPLED = {"sampled_q05": ("log_q05", 0.05), "sampled_median": ("log_median", 0.5), "sampled_q95": ("log_q95", 0.95)}
COLUMNS = {
    **scale_picture.COLUMNS,
    **{name: f"the same as {of}, from fresh draws" for name, (of, _) in SAMPLED.items()},
}
CAPTION = (
    "Energy of a signal under draws of a real 512 x 512 matrix over 200 steps. Left with Glorot weights: half of the draws "
    "end above the dark line, far outside a factor of ten (grey). Right with the scale that keeps 95 % of the draws "
    "below ten times their energy: the explosion is gone, and so is most of the signal. Bands are read from the table that "
    "comes with the package, dots are quantiles of fresh draws."
)
_MARKERS_AT = range(20, HORIZON + 1, 20)


def data(*, samples: int, seed: int = 0, progress: Callable[[float], None] | None = None) -> pd.DataFrame:
    """Rows as `scale_picture.data`, with quantiles of `samples` fresh draws beside the tabulated ones."""

    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(done / total)

    frame = scale_picture.data(N, HORIZON, Field.REAL, (1.0, safe_scale(N, HORIZON).scale))
    paths = 2.0 * sample(N, HORIZON, Field.REAL, samples=samples, seed=seed, progress=report).log_norms
    shift = 2.0 * frame["step"] * np.log(frame["scale"])
    for name, (_, level) in SAMPLED.items():
        frame[name] = np.quantile(paths, level, axis=0)[frame["step"]] + shift
    return frame


def draw(frame: pd.DataFrame) -> Figure:
    """The figure of `scale_picture.draw`, with the fresh quantiles as points."""
    figure = scale_picture.draw(
        frame, N, Field.REAL, extra=[Line2D([], [], label="5, 50, 95 % of fresh draws", **_POINTS)]
    )
    for axes, (_, one) in zip(figure.axes, sorted(frame.groupby("scale"), reverse=True), strict=True):
        picked = one.iloc[[int((one["step"] - step).abs().argmin()) for step in _MARKERS_AT]]
        for name in SAMPLED:
            axes.plot(picked["step"], picked[name] / math.log(10.0), zorder=5, **_POINTS)
    return figure


_POINTS: dict[str, Any] = {"color": "black", "marker": "o", "markersize": 3.2, "linestyle": ""}
FIGURE = FigureRecord("What a scale does to draws of one width", CAPTION, COLUMNS, data, draw, sizes=SIZES, place=60)
