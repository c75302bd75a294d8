"""The trainings in one row for each cell, as the figure draws them: shares, means and intervals over the reported seeds."""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from benchmarks.intervals import interval
from signalprop.figures.training import CLASSES, COLUMNS, EXPLODES, STYLES

CONFIDENCE = 0.95


def summary(trainings: pd.DataFrame, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """Shares, means and intervals over the reported seeds of each cell; columns as in `COLUMNS`."""
    reported = trainings[trainings["role"] == "report"]
    keys = ["task", "n", "horizon", "start", "steps", "learning_rate"]
    rows = [_cell(dict(zip(keys, key, strict=True)), cell, confidence) for key, cell in reported.groupby(keys)]
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    order = {start: place for place, start in enumerate(STYLES)}
    by = ["task", "n", "horizon", "start"]
    return frame.sort_values(by, key=lambda one: one.map(order) if one.name == "start" else one, ignore_index=True)


def _cell(key: dict[str, Any], cell: pd.DataFrame, confidence: float) -> dict[str, Any]:
    guess = math.log(CLASSES[key["task"]])
    with np.errstate(divide="ignore"):
        gradient = np.log10(cell["recurrent_gradient_norm"].to_numpy())
    shares = {
        "exploded": ~(cell["gradient_norm"] <= EXPLODES),
        "diverged": cell["stopped_at"].notna() | ~(cell["loss"] <= 10.0 * guess),
        "reached": cell["steps_to_half"].notna(),
    }
    # A NaN gradient is an overflow: it counts as the largest.
    gradient = np.nan_to_num(gradient, nan=np.inf, posinf=np.inf, neginf=-np.inf)
    steps = _median(cell["steps_to_half"].fillna(np.inf).to_numpy())
    mean, low, high = interval(cell["accuracy"].to_numpy(), confidence)
    row = key | {
        "seeds": len(cell),
        "scale": cell["scale"].iloc[0],
        "log10_gradient": _median(gradient),
        "log10_gradient_low": gradient.min(),
        "log10_gradient_high": gradient.max(),
        "steps_to_half": steps if math.isfinite(steps) else math.nan,
        "loss": _median(cell["loss"].to_numpy()),
        "accuracy": mean,
        "accuracy_low": low,
        "accuracy_high": high,
        "chance": 1.0 / CLASSES[key["task"]],
    }
    for name, happened in shares.items():
        ends = stats.binomtest(int(happened.sum()), len(cell)).proportion_ci(confidence, method="wilson")
        row |= {name: happened.mean(), f"{name}_low": ends.low, f"{name}_high": ends.high}
    return row


def _median(values: NDArray[np.float64]) -> float:
    """The lower median: always one of the values, so that infinities are no trouble."""
    return float(np.sort(values)[(len(values) - 1) // 2])
