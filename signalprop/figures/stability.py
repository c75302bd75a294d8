"""The norm of the state through training: E||x_t||^2 of each layer of RotRNN and of two LRUs, with loss and accuracy.

It shows the trainings that ``python -m benchmarks.stability`` made in the repository; their logs come with the package.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from signalprop.figures import _shipped
from signalprop.figures.base import FigureRecord

CAPTION = (
    "E||x_t||^2 in each layer of two RotRNNs (the second with small angles) and of two LRUs over 300 training steps on short "
    "ListOps. For white inputs (dashed) a RotRNN's norm is constant by construction and an LRU's drifts. The inputs of real "
    "layers are not white: a RotRNN's energy moves too, most of it in the first 60 steps; an LRU's moves more in most "
    "layers, and mostly after that."
)
MAX_DEPTH = 6
LAYERS = range(1, MAX_DEPTH + 1)
COLUMNS = {
    "variant": "rotrnn, or lru with its normaliser recomputed from the weights or learned (rotrnn_slow: phases below pi/100)",
    "depth": "blocks of the model",
    "seed": "of the start and of the order of the examples; the same for all variants",
    "step": "training step",
    "loss": "held-out cross-entropy, nats",
    "accuracy": "held-out accuracy",
    **{
        f"energy_{layer}": f"E||x_t||^2 of block {layer} (1 reads the tokens), mean over the steps of the held-out expressions"
        for layer in LAYERS
    },
    **{
        f"energy_white_{layer}": f"of block {layer}: what white inputs of unit variance would give with the same weights, exact"
        for layer in LAYERS
    },
}
TITLES = {
    "rotrnn": "RotRNN",
    "rotrnn_slow": "RotRNN, phases below π/100",
    "lru_recomputed": "LRU, recomputed normaliser",
    "lru_learned": "LRU, learned normaliser",
}
SHOWN = tuple(TITLES)
COLOURS = {"rotrnn": "#D55E00", "rotrnn_slow": "#E69F00", "lru_recomputed": "#0072B2", "lru_learned": "#56B4E9"}
KEYS = ["variant", "depth", "seed"]
ENERGIES = ("energy", "energy_white")


def data(*, seed: int = 0, progress: Callable[[float], None] | None = None) -> pd.DataFrame:
    """One row for each variant, depth, seed and logged step; columns as in `COLUMNS`. The seeds are those of the trainings."""
    frame = _shipped.table("stability")
    if progress is not None:
        progress(1.0)
    return frame


def by_layer(logs: pd.DataFrame) -> pd.DataFrame:
    """One row for each layer, from logs with one row for each step."""
    parts = []
    for layer in range(1, int(logs["depth"].max()) + 1):
        rows = logs[logs["depth"] >= layer]
        energies = {kind: rows[f"{kind}_{layer}"] for kind in ENERGIES}
        parts.append(rows[[*KEYS, "step", "loss", "accuracy"]].assign(layer=layer, **energies))
    return pd.concat(parts).sort_values([*KEYS, "layer", "step"], ignore_index=True)


def ratios(frame: pd.DataFrame, kind: str = "energy") -> pd.DataFrame:
    """Of each variant, depth, seed and layer: largest over smallest energy of the training, and last over first."""
    groups = frame.sort_values("step").groupby([*KEYS, "layer"])[kind]
    spread = groups.max() / groups.min()
    return pd.DataFrame({"ratio": spread, "drift": groups.last() / groups.first()}).reset_index()


def draw(frame: pd.DataFrame) -> Figure:
    """Energy against training step, one row for each depth and one column for each variant; loss, accuracy and ratios below."""
    long = by_layer(frame)
    shown = [name for name in SHOWN if name in set(frame["variant"])]
    depths = sorted(frame["depth"].unique())
    figure = plt.figure(figsize=(2.1 * len(shown) + 1.6, 1.8 * len(depths) + 2.8))
    parts: Any = figure.subfigures(2, 1, height_ratios=[1.8 * len(depths), 2.8])
    above, below = parts
    _draw_energies(above, long, shown, depths)
    loss, accuracy, spread = below.subplots(1, 3)
    guess = _shipped.origin("stability")["guess"]
    _curves(loss, frame, shown, "loss", "held-out loss, nats", guess["loss"])
    _curves(accuracy, frame, shown, "accuracy", "held-out accuracy", guess["accuracy"])
    _spread(spread, long, shown, depths)
    lines = [Line2D([], [], color=COLOURS[name], label=TITLES[name].replace(", ", ",\n")) for name in shown]
    baseline = Line2D([], [], color="0.35", linestyle=(0, (4, 2)), label="a guess without\nlooking")
    below.legend(handles=[*lines, baseline], loc="outside right center")
    figure.suptitle("Energy of the state through training on short ListOps, by layer, depth and seed")
    return figure


def _draw_energies(above: Any, long: pd.DataFrame, shown: list[str], depths: list[int]) -> None:
    panels = above.subplots(len(depths), len(shown), sharex=True, sharey=True, squeeze=False)
    deepest = max(depths)
    colours = [plt.get_cmap("viridis")(0.92 * place / max(1, deepest - 1)) for place in range(deepest)]
    for row, depth in zip(panels, depths, strict=True):
        for axes, variant in zip(row, shown, strict=True):
            _energies(axes, long[(long["variant"] == variant) & (long["depth"] == depth)], colours)
    for axes, variant in zip(panels[0], shown, strict=True):
        axes.set_title(TITLES[variant].replace(", ", ",\n"))
    for axes, depth in zip(panels[:, 0], depths, strict=True):
        axes.set_ylabel(f"depth {depth}:  E||x_t||²")
    for axes in panels[-1]:
        axes.set_xlabel("training step")
    _plain_ticks(panels[0, 0])
    layers = [Line2D([], [], color=colours[k], label=f"layer {k + 1}") for k in range(deepest)]
    white = Line2D([], [], color="0.25", linestyle=(0, (4, 2)), label="white inputs,\nsame weights\n(median)")
    note = Line2D([], [], linestyle="", label=f"thick: median,\nthin: each of\n{long['seed'].nunique()} seeds")
    above.legend(handles=[*layers, white, note], loc="outside right center")


def _energies(axes: Axes, rows: pd.DataFrame, colours: list[Any]) -> None:
    for layer, one in rows.groupby("layer"):
        table = one.pivot_table(index="step", columns="seed", values="energy")
        colour = colours[int(layer) - 1]
        axes.plot(table.index, table.to_numpy(), color=colour, linewidth=0.6, alpha=0.45)
        axes.plot(table.index, table.median(axis=1), color=colour, linewidth=1.7)
    white = rows.groupby("step")["energy_white"].median()
    axes.plot(white.index, white, color="0.25", linewidth=1.1, linestyle=(0, (4, 2)), zorder=4)
    axes.set_yscale("log")


def _plain_ticks(axes: Axes) -> None:
    """1, 2, 4, 8, .. on a logarithmic axis."""
    low, high = axes.get_ylim()
    ticks = 2.0 ** np.arange(np.ceil(np.log2(low)), np.log2(high))
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()


def _curves(axes: Axes, frame: pd.DataFrame, shown: list[str], name: str, label: str, level: float) -> None:
    """Mean over depths and seeds, with the range of the means of the depths."""
    for variant in shown:
        table = frame[frame["variant"] == variant].pivot_table(index="step", columns="depth", values=name)
        axes.fill_between(
            table.index, table.min(axis=1), table.max(axis=1), color=COLOURS[variant], alpha=0.2, linewidth=0
        )
        axes.plot(table.index, table.mean(axis=1), color=COLOURS[variant])
    axes.axhline(level, color="0.35", linewidth=1.1, linestyle=(0, (4, 2)))
    axes.set_xlabel("training step")
    axes.set_title(f"{label};\nband: depths")


def _spread(axes: Axes, frame: pd.DataFrame, shown: list[str], depths: list[int]) -> None:
    """Largest over smallest energy: median and range of layers and seeds, filled for real inputs, open for white."""
    for kind, face in (("energy", True), ("energy_white", False)):
        table = ratios(frame, kind)
        for place, variant in enumerate(shown):
            for at, depth in enumerate(depths):
                values = table[(table["variant"] == variant) & (table["depth"] == depth)]["ratio"].to_numpy()
                x = at + 0.8 / len(shown) * (place - (len(shown) - 1) / 2) + (-0.05 if face else 0.05)
                low, middle, high = np.min(values), np.median(values), np.max(values)
                axes.errorbar(
                    x,
                    middle,
                    yerr=[[middle - low], [high - middle]],
                    marker="o",
                    color=COLOURS[variant],
                    markerfacecolor=COLOURS[variant] if face else "white",
                    linewidth=1.1,
                )
    axes.set_yscale("log")
    _plain_ticks(axes)
    axes.set_xticks(range(len(depths)), [f"depth {depth}" for depth in depths])
    axes.set_title("max/min of E||x_t||²\nover training;\nfilled: real inputs,\nopen: white")


FIGURE = FigureRecord(
    "The norm of the state through training",
    CAPTION,
    COLUMNS,
    data,
    draw,
    trainings=partial(_shipped.origin, "stability"),
    place=90,
)
