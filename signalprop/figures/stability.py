"""The norm of the state through training: E||x_t||^2 of each layer of RotRNN and of two LRUs, with loss and accuracy.

Training takes long, so this figure does not train: it reads the results of ``python -m benchmarks.stability`` that the
repository keeps in ``benchmarks/stability/results.csv`` (settings and versions in ``results.json`` beside it).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from signalprop._files import read_json

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "stability" / "results.csv"
SIZES: dict[str, dict[str, Any]] = {"full": {}}
COLUMNS = {
    "variant": "rotrnn, or lru with its normaliser recomputed from the weights or learned (rotrnn_slow: phases below pi/100)",
    "depth": "blocks of the model",
    "seed": "of the start and of the order of the examples; the same for all variants",
    "step": "training step",
    "layer": "block, 1 reads the tokens",
    "energy": "E||x_t||^2, mean over all steps t of the held-out expressions",
    "energy_last": "E||x_t||^2 at their last steps",
    "energy_white": "what white inputs of unit variance would give with the same weights, exact",
    "train_loss": "mean over the batches since the last row, nats",
    "loss": "held-out cross-entropy",
    "accuracy": "held-out accuracy",
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
ENERGIES = ("energy", "energy_last", "energy_white")


def data(*, seed: int = 0, progress: Callable[[float], None] | None = None) -> pd.DataFrame:
    """One row for each variant, depth, seed, logged step and layer; columns as in `COLUMNS`.

    The seeds are those of the benchmark; `seed` changes nothing.

    Raises
    ------
    FileNotFoundError
        The results are not there: they come with a checkout, not with an installed package.
    """
    if not RESULTS.exists():
        raise FileNotFoundError(f"{RESULTS} is missing; run python -m benchmarks.stability in a checkout first.")
    frame = by_layer(pd.read_csv(RESULTS))
    if progress is not None:
        progress(1.0)
    return frame


def origin() -> dict[str, Any]:
    """Where the trainings come from: the JSON file that the benchmark wrote beside them."""
    return read_json(RESULTS.with_suffix(".json"))


def guess() -> dict[str, float]:
    """Loss and accuracy of naming the shares, and the most frequent class, of the training part."""
    found: dict[str, float] = origin()["guess"]
    return found


def by_layer(logs: pd.DataFrame) -> pd.DataFrame:
    """One row a layer, from logs with one row a step."""
    parts = []
    for layer in range(1, int(logs["depth"].max()) + 1):
        rows = logs[logs["depth"] >= layer]
        parts.append(rows.assign(layer=layer, **{kind: rows[f"{kind}_{layer}"] for kind in ENERGIES})[list(COLUMNS)])
    return pd.concat(parts).sort_values([*KEYS, "layer", "step"], ignore_index=True)


def ratios(frame: pd.DataFrame, kind: str = "energy") -> pd.DataFrame:
    """Of each variant, depth, seed and layer: largest over smallest energy of the training, and last over first."""
    groups = frame.sort_values("step").groupby([*KEYS, "layer"])[kind]
    spread = groups.max() / groups.min()
    return pd.DataFrame({"ratio": spread, "drift": groups.last() / groups.first()}).reset_index()


def draw(frame: pd.DataFrame) -> Figure:
    """Energy against training step, one row a depth and one column a variant; loss, accuracy and ratios below."""
    shown = [name for name in SHOWN if name in set(frame["variant"])]
    depths = sorted(frame["depth"].unique())
    figure = plt.figure(figsize=(2.9 * len(shown) + 2.6, 2.7 * len(depths) + 3.6))
    parts: Any = figure.subfigures(2, 1, height_ratios=[2.7 * len(depths), 3.6])
    above, below = parts
    panels = above.subplots(len(depths), len(shown), sharex=True, sharey=True, squeeze=False)
    deepest = max(depths)
    colours = [plt.get_cmap("viridis")(0.92 * place / max(1, deepest - 1)) for place in range(deepest)]
    for row, depth in zip(panels, depths, strict=True):
        for axes, variant in zip(row, shown, strict=True):
            _energies(axes, frame[(frame["variant"] == variant) & (frame["depth"] == depth)], colours)
    for axes, variant in zip(panels[0], shown, strict=True):
        axes.set_title(TITLES[variant])
    for axes, depth in zip(panels[:, 0], depths, strict=True):
        axes.set_ylabel(f"depth {depth}:  E||x_t||²")
    for axes in panels[-1]:
        axes.set_xlabel("training step")
    _plain_ticks(panels[0, 0])
    layers = [Line2D([], [], color=colours[k], label=f"layer {k + 1}") for k in range(deepest)]
    white = Line2D([], [], color="0.25", linestyle=(0, (4, 2)), label="white inputs,\nsame weights\n(median)")
    seeds = frame["seed"].nunique()
    note = Line2D([], [], linestyle="", label=f"thick: median,\nthin: each of\n{seeds} seeds")
    above.legend(handles=[*layers, white, note], loc="outside right center")
    loss, accuracy, spread = below.subplots(1, 3)
    _curves(loss, frame, shown, "loss", "held-out loss, nats", guess()["loss"])
    _curves(accuracy, frame, shown, "accuracy", "held-out accuracy", guess()["accuracy"])
    _spread(spread, frame, shown, depths)
    lines = [Line2D([], [], color=COLOURS[name], label=TITLES[name].replace(", ", ",\n")) for name in shown]
    baseline = Line2D([], [], color="0.35", linestyle=(0, (4, 2)), label="a guess without\nlooking")
    below.legend(handles=[*lines, baseline], loc="outside right center")
    figure.suptitle("Energy of the state through training on short ListOps, by layer, depth and seed")
    return figure


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
    first = frame[frame["layer"] == 1]
    for variant in shown:
        table = first[first["variant"] == variant].pivot_table(index="step", columns="depth", values=name)
        axes.fill_between(
            table.index, table.min(axis=1), table.max(axis=1), color=COLOURS[variant], alpha=0.2, linewidth=0
        )
        axes.plot(table.index, table.mean(axis=1), color=COLOURS[variant])
    axes.axhline(level, color="0.35", linewidth=1.1, linestyle=(0, (4, 2)))
    axes.set_xlabel("training step")
    axes.set_title(f"{label}; band: depths")


def _spread(axes: Axes, frame: pd.DataFrame, shown: list[str], depths: list[int]) -> None:
    """Ratio of the largest to the smallest energy: of real inputs filled, of white ones open; all layers and seeds."""
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
    axes.set_title(
        "max/min of E||x_t||² over training\nfilled: real inputs, open: white\nmedian and range of layers and seeds"
    )
