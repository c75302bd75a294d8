"""The log of a training: a CSV file with one row a logged step."""

from __future__ import annotations

import csv
import os
from pathlib import Path

__all__ = ["Log", "columns"]


def columns(layers: list[str]) -> list[str]:
    """``step``, ``train_loss``, ``loss``, ``accuracy``, then of each layer ``energy_1``, ``energy_last_1``, ``energy_white_1``.

    train_loss: mean over the batches since the last row (empty at step 0). loss, accuracy: held out (accuracy is empty for a
    regression). energy: E||x_t||^2 over all steps t of the held-out sequences; energy_last: at their last steps;
    energy_white: what white inputs of unit variance would give over sequences of the same lengths.
    """
    kinds = ("energy", "energy_last", "energy_white")
    return ["step", "train_loss", "loss", "accuracy", *(f"{kind}_{layer}" for layer in layers for kind in kinds)]


class Log:
    """Rows kept in memory, and in a file if there is a path.

    Parameters
    ----------
    path
        File to write; replaced, or gone on with.
    names
        Columns.
    upto
        Rows up to this step are kept from the file: those of the checkpoint a training goes on from.
    """

    def __init__(self, path: Path | None, names: list[str], upto: int = -1) -> None:
        self.path, self.names = path, names
        self.rows: list[dict[str, str]] = []
        if path is None:
            return
        if upto >= 0 and path.exists():
            # A line cut off in the middle is one that the checkpoint came before.
            text = path.read_text()
            lines = text[: text.rfind("\n") + 1].splitlines()
            self.rows = [row for row in csv.DictReader(lines) if int(row["step"]) <= upto]
        temporary = path.with_suffix(".tmp")
        with temporary.open("w", newline="") as file:
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        temporary.replace(path)

    def append(self, row: dict[str, float | int | None]) -> None:
        """Add a row; it is on disk when this returns, so that a checkpoint never comes before its rows."""
        text = {name: _text(row[name]) for name in self.names}
        self.rows.append(text)
        if self.path is not None:
            with self.path.open("a", newline="") as file:
                csv.DictWriter(file, self.names, lineterminator="\n").writerow(text)
                file.flush()
                os.fsync(file.fileno())


def _text(value: float | int | None) -> str:
    if value is None:
        return ""
    return f"{value:.8g}" if isinstance(value, float) else str(value)
