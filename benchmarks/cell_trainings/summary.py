"""The trainings in one row per start: means, intervals, and paired differences from a reference and from the best start."""

import math
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.cell_trainings.starts import STARTS
from benchmarks.intervals import interval

CONFIDENCE = 0.95
REFERENCES = ("default", "orthogonal")
GROUP = ["cell", "task", "horizon", "steps"]
COLUMNS = {
    "cell": "tanh, relu, gru, lstm or linear",
    "task": "adding, digits (pixel by pixel), rows (of digits), noise (a cue kept through noise) or copy",
    "horizon": "steps of the sequence, T",
    "steps": "training steps",
    "start": "name of the start",
    "recurrent": "whether the recurrent kernel is trained or frozen",
    "scale": "factor on the recurrent kernel",
    "learning_rate": "chosen on other seeds",
    "interior": "whether both neighbours of that rate were trained to the end, and were worse",
    "seeds": "trainings reported",
    "loss": "mean held-out loss at the end, relative to that of a guess; of diverged trainings at least 1",
    "loss_low": "lower end of the t interval of that mean",
    "loss_high": "upper end",
    "train_loss": "mean training loss over the last 100 batches",
    "accuracy": "mean held-out accuracy; empty where a number is asked for",
    "reached": "share of trainings whose running training loss reached half that of a guess",
    "steps_to_half": "lower median of the steps to it; empty if beyond the training",
    "diverged": "share with a loss or gradient that is not finite",
    "log10_gradient": "median of log10 of the norm of the first gradient",
    "reference": "the better one of default and orthogonal",
    "to_reference": "mean paired difference of the loss from the reference's",
    "to_reference_low": "lower end of its interval, which holds for all starts of the group at once",
    "to_reference_high": "upper end",
    "to_best": "mean paired difference from the best start whose kernel is trained",
    "to_best_low": "lower end of its interval, likewise",
    "to_best_high": "upper end",
    "verdict": "best, tied (the interval holds 0) or worse; of frozen kernels also better",
}
WORST = 10.0


def summary(trainings: pd.DataFrame, confidence: float = CONFIDENCE) -> pd.DataFrame:
    """One row per start and control, best first within a group; columns as in `COLUMNS`.

    Groups in which a start is missing are left out until they are whole.
    """
    rows: list[dict[str, Any]] = []
    for key, group in trainings.groupby(GROUP, sort=False):
        rows += _group(dict(zip(GROUP, key, strict=True)), group, confidence)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def report_losses(group: pd.DataFrame) -> dict[tuple[str, str], pd.Series]:
    """Of each start and whether its kernel was trained, the losses that are reported, by seed."""
    report = group[group["role"] == "report"].set_index("seed")
    return {name: _losses(one).sort_index() for name, one in report.groupby(["start", "recurrent"])}


def _group(key: dict[str, Any], group: pd.DataFrame, confidence: float) -> list[dict[str, Any]]:
    report, losses = group[group["role"] == "report"], report_losses(group)
    seeds = max((len(loss) for loss in losses.values()), default=0)
    losses = {name: loss for name, loss in losses.items() if len(loss) == seeds}
    trained = {name: loss for name, loss in losses.items() if name[1] == "trained"}
    known = [(name, "trained") for name in REFERENCES if (name, "trained") in trained]
    if not known or {name for name, _ in trained} != set(STARTS[key["cell"]]):
        return []
    reference = min(known, key=lambda name: trained[name].mean())
    best = min(trained, key=lambda name: trained[name].mean())
    simultaneous = 1.0 - (1.0 - confidence) / max(1, len(losses) - 1)  # Bonferroni over the starts of the group
    rows = []
    for name in sorted(losses, key=lambda name: losses[name].mean()):
        one = report[(report["start"] == name[0]) & (report["recurrent"] == name[1])]
        loss = losses[name].to_numpy()
        row = key | {"start": name[0], "recurrent": name[1], "reference": reference[0], "seeds": seeds} | _of(one)
        row |= {"interior": _interior(group, name, row["learning_rate"])}
        row |= dict(zip(("loss", "loss_low", "loss_high"), interval(loss, confidence), strict=True))
        for to, other in (("to_reference", reference), ("to_best", best)):
            ends = interval(loss - losses[other].to_numpy(), simultaneous)
            row |= dict(zip((to, f"{to}_low", f"{to}_high"), ends, strict=True))
        above, below = row["to_best_low"] > 0.0, row["to_best_high"] < 0.0
        row["verdict"] = "best" if name == best else "worse" if above else "better" if below else "tied"
        rows.append(row)
    return rows


def _losses(trainings: pd.DataFrame) -> pd.Series:
    """Held-out losses, a diverged one as `WORST` guesses, so that means stay finite."""
    return trainings["loss"].fillna(np.inf).clip(upper=WORST)


def _of(one: pd.DataFrame) -> dict[str, Any]:
    steps = np.sort(one["steps_to_half"].fillna(np.inf).to_numpy())[(len(one) - 1) // 2]
    with np.errstate(divide="ignore"):
        gradient = np.log10(one["gradient_norm"].to_numpy())
    return {
        "scale": one["scale"].iloc[0],
        "learning_rate": one["learning_rate"].iloc[0],
        "train_loss": _losses(one.assign(loss=one["train_loss"])).mean(),
        "accuracy": one["accuracy"].mean(),
        "reached": one["steps_to_half"].notna().mean(),
        "steps_to_half": steps if math.isfinite(steps) else math.nan,
        "diverged": one["stopped_at"].notna().mean(),
        "log10_gradient": float(np.median(gradient)),
    }


def _interior(group: pd.DataFrame, name: tuple[str, str], rate: float) -> bool:
    tuned = group[(group["role"] == "tune") & (group["start"] == name[0]) & (group["recurrent"] == name[1])]
    return bool(tuned["learning_rate"].min() < rate < tuned["learning_rate"].max())
