"""The results as Markdown: one table per cell, task and horizon."""

import pandas as pd

from benchmarks.cell_trainings.design import Design, costs
from benchmarks.cell_trainings.starts import width
from benchmarks.cell_trainings.summary import GROUP, summary
from benchmarks.results import Results

HEAD = (
    "start", "scale", "rate", "loss", "from the reference", "from the best", "verdict", "accuracy", "half a guess", "steps to it",
    "log10 first gradient",
)  # fmt: skip
NOTE = """\
Loss: held out, relative to a guess (1), mean over seeds with its 95 % t interval; diverged trainings count as 10.
Differences are paired by seed; their intervals hold for a table at once (95 %, Bonferroni), with no correction over tables.
Reference: the better of default and orthogonal. The best is chosen on these seeds, so its lead is a little too large.
Rate: Adam's, of all parameters, chosen per line on other seeds; * where a neighbour of it was not trained to the end.
Half a guess: share of trainings that reached it, and the median step; "frozen" is the recurrent kernel."""


def markdown(frame: pd.DataFrame) -> str:
    """A table per group, its starts with the best first."""
    parts = []
    for (cell, task, horizon, steps), group in summary(frame).groupby(GROUP, sort=False):
        n, seeds = width(cell), group["seeds"].iloc[0]
        parts.append(f"### {cell}, {task}, n = {n}, T = {horizon}: {steps} steps, {seeds} seeds\n")
        parts.append("| " + " | ".join(HEAD) + " |\n|" + " --- |" * len(HEAD))
        parts += [_line(row) for row in group.to_dict("records")]
        parts.append("")
    return "\n".join([*parts, NOTE])


def _line(row: dict) -> str:
    cells = (
        row["start"] + (", frozen" if row["recurrent"] == "frozen" else ""),
        f"{row['scale']:.3g}",
        f"{row['learning_rate']:.0e}" + ("" if row["interior"] else "*"),
        _interval(row, "loss", ""),
        "reference"
        if (row["start"], row["recurrent"]) == (row["reference"], "trained")
        else _interval(row, "to_reference", "+"),
        "" if row["verdict"] == "best" else _interval(row, "to_best", "+"),
        row["verdict"],
        "" if pd.isna(row["accuracy"]) else f"{row['accuracy']:.3f}",
        f"{row['reached']:.2f}",
        f"> {row['steps']}" if pd.isna(row["steps_to_half"]) else f"{row['steps_to_half']:.0f}",
        f"{row['log10_gradient']:.1f}",
    )
    return "| " + " | ".join(cells) + " |"


def _interval(row: dict, name: str, sign: str) -> str:
    return f"{row[name]:{sign}.3f} [{row[f'{name}_low']:{sign}.3f}, {row[f'{name}_high']:{sign}.3f}]"


def plan(design: Design, results: Results) -> str:
    """What each group costs, and what of it is left, in seconds of one core."""
    found = costs(design, results)
    lines = ["| cell | task | T | steps | seconds | left |", "|" + " --- |" * 6]
    lines += [
        f"| {one.group.cell} | {one.group.task} | {one.group.horizon} | {one.group.steps} | {one.seconds:.0f} | {one.left:.0f} |"
        for one in found
    ]
    total, left = sum(one.seconds for one in found), sum(one.left for one in found)
    return "\n".join([*lines, "", f"{total:.0f} seconds in all, {left:.0f} left"])
