"""Energy against step for one width: what draws of W do with Glorot, and with a scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, MaxNLocator

from signalprop._house_style import house_style
from signalprop.energy import MAX_ZONAL_K, rnn_energy
from signalprop.fields import Field
from signalprop.initialization import one_draw_table

if TYPE_CHECKING:
    from signalprop.initialization.scale import SafeScale

COLUMNS = {
    "scale": "factor g on Glorot weights",
    "step": "number of steps k",
    "log_q05": "5 % quantile over draws of W of the natural log of ||W^k x||^2/||x||^2",
    "log_q25": "25 % quantile",
    "log_median": "median draw",
    "log_q75": "75 % quantile",
    "log_q95": "95 % quantile",
    "log_mean": "natural log of the exact mean energy (empty beyond the reach of the exact energies)",
}
BAND, MEAN = "#0072B2", "#D55E00"
HORIZON_STYLE: dict[str, Any] = {"color": "0.35", "linewidth": 1.0, "linestyle": (0, (4, 3))}
_TEN = math.log(10.0)
_STEPS = 60
_LEVELS = {"log_q05": 0.05, "log_q25": 0.25, "log_median": 0.5, "log_q75": 0.75, "log_q95": 0.95}


def data(n: int, horizon: int, field: Field, scales: tuple[float, ...]) -> pd.DataFrame:
    """Quantiles of one draw and the mean, from step 0 to the horizon, for each scale; columns as in `COLUMNS`."""
    even = np.linspace(1, horizon, min(horizon, _STEPS))
    early = np.geomspace(1, horizon, min(horizon, _STEPS // 2))
    steps = np.unique(np.round(np.concatenate([even, early])).astype(int))
    index = [one_draw_table.LEVELS.index(level) for level in _LEVELS.values()]
    levels = np.array([np.zeros(len(index)), *(one_draw_table.log_energies(n, int(k), field)[index] for k in steps)])
    reach = len(steps) if field is Field.COMPLEX else int(np.searchsorted(steps, MAX_ZONAL_K, side="right"))
    mean = np.full(len(steps) + 1, np.nan)
    mean[: reach + 1] = rnn_energy(n, np.append(0, steps[:reach]), field, log=True)
    all_steps = np.append(0, steps)
    parts = []
    for scale in scales:
        shift = 2.0 * all_steps * math.log(scale)
        frame = pd.DataFrame({"scale": scale, "step": all_steps})
        for column, name in enumerate(_LEVELS):
            frame[name] = levels[:, column] + shift
        frame["log_mean"] = mean + shift
        parts.append(frame)
    return pd.concat(parts, ignore_index=True)


def draw(frame: pd.DataFrame, n: int, field: Field, extra: Sequence[Line2D] = ()) -> Figure:
    """One panel per scale: the band of draws, the median, the mean, and the corridor of a factor ten either way."""
    scales = list(dict.fromkeys(frame["scale"]))
    figure = Figure(figsize=(4.6 * len(scales) + 0.4, 4.3))
    panels = figure.subplots(1, len(scales), squeeze=False)[0]
    horizon = int(frame["step"].max())
    for axes, scale in zip(panels, scales, strict=True):
        one = frame[frame["scale"] == scale]
        _panel(axes, one, horizon)
        name = "Glorot, g = 1" if scale == 1.0 else f"scaled by g = {scale:.4g}"
        axes.set_title(f"{name}\n(standard deviation of an entry {scale / math.sqrt(n):.3g})")
    panels[0].set_ylabel("energy of the signal, $\\|W^k x\\|^2/\\|x\\|^2$")
    figure.suptitle(
        f"Width {n}, {field.value} Gaussian weights, {horizon} step{'s' if horizon > 1 else ''}", fontsize=11.5
    )
    figure.legend(
        handles=[*band_legend(), Line2D([], [], label="horizon", **HORIZON_STYLE), *extra],
        loc="outside lower center",
        ncols=3,
    )
    return figure


def scale_figure(found: SafeScale) -> Figure:
    """The figure of one `SafeScale`, beside Glorot.

    Raises
    ------
    ValueError
        For ``model="driven"``, whose draws are not tabulated step by step.
    """
    if found.model != "rnn":
        raise ValueError("plot() shows h <- W h; for model='driven' plot .log_path, the mean energy per step.")
    scales = (1.0,) if found.scale == 1.0 else (1.0, found.scale)
    with house_style():
        return draw(data(found.n, found.horizon, found.field, scales), found.n, found.field)


def draw_band(axes: Axes, one: pd.DataFrame) -> None:
    """Band of draws and median of one scale, over the corridor of a factor ten; the axis counts powers of ten."""
    axes.axhspan(-1.0, 1.0, color="0.88", linewidth=0, zorder=0)
    for low, high, alpha in (("log_q05", "log_q95", 0.2), ("log_q25", "log_q75", 0.25)):
        axes.fill_between(one["step"], one[low] / _TEN, one[high] / _TEN, color=BAND, alpha=alpha, linewidth=0)
    axes.plot(one["step"], one["log_median"] / _TEN, color=BAND, linewidth=1.8)


def draw_mean(axes: Axes, one: pd.DataFrame, top: float) -> None:
    """The exact mean; where it runs off the top, a note of how far."""
    axes.plot(one["step"], one["log_mean"] / _TEN, color=MEAN, linewidth=1.6, linestyle=(0, (6, 2)))
    leaving = one[one["log_mean"] / _TEN > top]
    if leaving.empty:
        return
    horizon = float(one["step"].max())
    at = float(leaving["step"].iloc[0])
    known = one.dropna(subset="log_mean").iloc[-1]
    left = at > 0.45 * horizon
    axes.annotate(
        f"the average leaves\nthe picture: $10^{{{known['log_mean'] / _TEN:.0f}}}$\nat step {int(known['step'])}",
        (at, top),
        xytext=(-20 if left else 10, -6),
        textcoords="offset points",
        color=MEAN,
        va="top",
        ha="right" if left else "left",
        fontsize=8.5,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],  # legible on band and corridor, hiding neither
    )


def decimal_axis(axes: Axes) -> None:
    """Ticks of an axis that counts powers of ten."""
    axes.yaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"$10^{{{value:.0f}}}$"))


def band_legend() -> list[Line2D | Patch]:
    """What the marks of `draw_band` and `draw_mean` mean."""
    return [
        Line2D([], [], color=BAND, linewidth=1.8, label="median draw of W"),
        Patch(color=BAND, alpha=0.42, linewidth=0, label="half of the draws"),
        Patch(color=BAND, alpha=0.2, linewidth=0, label="90 % of the draws"),
        Line2D([], [], color=MEAN, linewidth=1.6, linestyle=(0, (6, 2)), label="average over draws (exact)"),
        Patch(color="0.88", linewidth=0, label="within a factor of ten"),
    ]


def _panel(axes: Axes, one: pd.DataFrame, horizon: int) -> None:
    draw_band(axes, one)
    axes.axvline(horizon, **HORIZON_STYLE)
    low = min(-1.6, float(one["log_q05"].min()) / _TEN)
    high = max(1.6, float(one["log_q95"].max()) / _TEN)
    margin = 0.12 * (high - low)
    draw_mean(axes, one, high + margin)
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(0, 1.03 * horizon)
    decimal_axis(axes)
    axes.set_xlabel("step $k$")
