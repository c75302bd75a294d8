"""The results as a Markdown table."""

import pandas as pd

from benchmarks.initialization.summary import summary

HEAD = (
    "task",
    "n",
    "T",
    "T/sqrt n",
    "start",
    "g",
    "rate of W",
    "log10 first gradient of W",
    "gradient > 1e6",
    "diverged",
    "half the loss of a guess",
    "steps to it",
    "accuracy",
    "median loss",
)
NOTE = """\
T: horizon. g: factor on Gaussian weights of variance 1/n. Rate: Adam's, chosen per line on other seeds.
Shares with Wilson, mean accuracy with t 95 % intervals over seeds; a guess has accuracy 0.1 (digits), 0.125 (copy).
First gradient: median over seeds of the norm before clipping. Gradient > 1e6: of all weights, or not finite.
Diverged: loss or gradient not finite, or a final held-out loss above 10 times that of a guess.
Steps to half the loss of a guess: median over seeds; those that never reach it count as longer than the training ("> steps")."""


def markdown(frame: pd.DataFrame) -> str:
    """One line per task, width, horizon and start."""
    lines = ["| " + " | ".join(HEAD) + " |", "|" + " --- |" * len(HEAD)]
    for row in summary(frame).to_dict("records"):
        cells = (
            row["task"],
            row["n"],
            row["horizon"],
            f"{row['horizon'] / row['n'] ** 0.5:.1f}",
            row["start"],
            f"{row['scale']:.3f}",
            f"{row['learning_rate']:.0e}",
            f"{row['log10_gradient']:.1f}",
            _share(row, "exploded"),
            _share(row, "diverged"),
            _share(row, "reached"),
            f"> {row['steps']}" if pd.isna(row["steps_to_half"]) else f"{row['steps_to_half']:.0f}",
            f"{row['accuracy']:.3f} [{row['accuracy_low']:.3f}, {row['accuracy_high']:.3f}]",
            f"{row['loss']:.3g}",
        )
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n\n" + NOTE


def _share(row: dict, name: str) -> str:
    return f"{row[name]:.2f} [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"
