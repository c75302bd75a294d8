"""A layer as one row of numbers, for tables of many steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from signalprop.inspection.findings import verdict
from signalprop.inspection.paths import EnergyPath
from signalprop.inspection.quick import Broken
from signalprop.inspection.record import LayerReport, Settings

Row = dict[str, Any]
NOT_FINITE = "not_finite"
WORDS = ("layer", "adapter", "verdict")
STEPS = ("input_1e", "input_1pct", "gradient_1e", "gradient_1pct", "gradient_grows")
NUMBERS = ("gradient_at_horizon", "scale", "largest", "least_1e", "median_1e", "most_1e")
COUNTS = ("units", "never", "at_once", "no_decay", "reach")
COLUMNS = ("step", *WORDS, *STEPS, *NUMBERS, *COUNTS)


def row_of(step: int, layer: LayerReport | Broken, settings: Settings) -> Row:
    """All `COLUMNS` of a layer, None where there is no number."""
    row: Row = {**dict.fromkeys(COLUMNS), "step": step, "layer": layer.name, "adapter": layer.adapter}
    if isinstance(layer, Broken):
        return row | {"verdict": NOT_FINITE}
    row["verdict"] = verdict(layer, settings)[0]
    row |= _of_path(layer.forward, "input") | _of_path(layer.gradient, "gradient")
    if layer.gradient is not None:
        row |= {"gradient_grows": layer.gradient.grown, "reach": layer.gradient.reach}
        if settings.horizon is not None:
            left = layer.gradient.log_at(settings.horizon)
            row["gradient_at_horizon"] = left if math.isfinite(left) else None
    if layer.kernels:
        row |= {
            "scale": max(kernel.scale for kernel in layer.kernels),
            "largest": max(kernel.largest for kernel in layer.kernels),
        }
    return row | _of_units(layer)


def _of_path(path: EnergyPath | None, which: str) -> Row:
    if path is None:
        return {}
    return {f"{which}_1e": path.by_e, f"{which}_1pct": path.by_hundred}


def _of_units(layer: LayerReport) -> Row:
    units = layer.units
    if units is None:
        return {}
    memory = np.where(units.never(math.inf), np.inf, units.memory)
    return {
        "least_1e": float(memory.min()),
        "median_1e": float(np.quantile(memory, 0.5, method="lower")),
        "most_1e": float(memory.max()),
        "units": memory.size,
        "never": int(units.never(math.inf).sum()),
        "at_once": int(units.at_once.sum()),
        "no_decay": None if units.rounding is None else int(units.rounding.lost.sum()),
    }


def as_text(value: Any) -> str:
    """A number or a word of a row for a file."""
    if value is None:
        return ""
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def from_text(column: str, text: str) -> Any:
    """What `as_text` wrote.

    Raises
    ------
    ValueError
        Something else.
    """
    if column in WORDS:
        return text
    if not text:
        return None
    return float(text) if column in NUMBERS else int(text)
