"""Measured signal and gradient energy of one matrix, over the band of Gaussian draws of its size and scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from signalprop._house_style import house_style
from signalprop.initialization import scale_picture as scale_figure

if TYPE_CHECKING:
    from signalprop.initialization.propagation import Propagation

_MOST_LINES = 12


def propagation_figure(found: Propagation) -> Figure:
    """Two panels: W forward, and its adjoint as it carries gradients back."""
    frame = scale_figure.data(found.n, found.horizon, found.field, (found.scale,))
    with house_style():
        figure = Figure(figsize=(9.6, 4.3))
        panels = figure.subplots(1, 2, sharey=True)
        low, high = _limits(found, frame["log_q05"].to_numpy(), frame["log_q95"].to_numpy())
        for axes, paths, name in (
            (panels[0], found.log_signal, "signal, $\\|W^k x\\|^2/\\|x\\|^2$"),
            (panels[1], found.log_gradient, "gradient, $\\|(W^*)^k x\\|^2/\\|x\\|^2$"),
        ):
            scale_figure.draw_band(axes, frame)
            scale_figure.draw_mean(axes, frame, high)
            _paths(axes, paths)
            axes.set_ylim(low, high)
            axes.set_xlim(0, 1.03 * found.horizon)
            scale_figure.decimal_axis(axes)
            axes.set_xlabel("step $k$")
            axes.set_title(name)
        panels[0].set_ylabel("energy")
        figure.suptitle(
            f"This W ({found.n} x {found.n}, {found.field.value}, {found.scale:.4g} times Glorot) against Gaussian draws",
            fontsize=11.5,
        )
        figure.legend(handles=_legend(len(found.log_signal)), loc="outside lower center", ncols=3)
    return figure


def _limits(found: Propagation, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[float, float]:
    """Limits in powers of ten that hold the band and every measured energy that is not zero."""
    measured = np.concatenate([found.log_signal.ravel(), found.log_gradient.ravel()])
    measured = measured[np.isfinite(measured)]
    ten = math.log(10.0)
    bottom, top = min(-1.6, low.min() / ten, measured.min() / ten), max(1.6, high.max() / ten, measured.max() / ten)
    margin = 0.08 * (top - bottom)
    return bottom - margin, top + margin


def _paths(axes: Axes, paths: NDArray[np.float64]) -> None:
    for path in paths[:_MOST_LINES]:
        axes.plot(path / math.log(10.0), color="black", linewidth=0.7, alpha=0.6)
    axes.plot(np.median(paths, axis=0) / math.log(10.0), color="black", linewidth=2.0)


def _legend(directions: int) -> list[Line2D | Patch]:
    return [
        Line2D([], [], color="black", linewidth=2.0, label=f"this W, median of {directions} directions"),
        Line2D([], [], color="black", linewidth=0.7, alpha=0.6, label="this W, single directions"),
        *scale_figure.band_legend(),
    ]
