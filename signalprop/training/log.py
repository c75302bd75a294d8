"""The log of a training: a CSV file with one row per logged step."""

from __future__ import annotations

import csv
import hashlib
import io
from typing import Any

from signalprop._directory import Directory

__all__ = ["Log", "columns"]

NAME = "log.csv"


def columns(layers: list[str]) -> list[str]:
    """``step``, ``train_loss``, ``loss``, ``accuracy``, then for each layer ``energy_1``, ``energy_last_1``, ``energy_white_1``.

    train_loss: mean over the batches since the last row (empty at step 0). loss, accuracy: held out (accuracy is empty for a
    regression). energy: E||x_t||^2 over all steps t of the held-out sequences; energy_last: at their last steps;
    energy_white: what white inputs of unit variance would give over sequences of the same lengths. Last come ``test_loss`` and
    ``test_accuracy``, of the test part, which only the row of the last step has.
    """
    kinds = ("energy", "energy_last", "energy_white")
    energies = [f"{kind}_{layer}" for layer in layers for kind in kinds]
    return ["step", "train_loss", "loss", "accuracy", *energies, "test_loss", "test_accuracy"]


class Log:
    """Rows kept in memory, and in the file ``log.csv`` if there is a directory.

    Parameters
    ----------
    names
        Columns.
    directory
        Where the file goes; it is replaced.
    held
        What the file begins with: the rows that a checkpoint vouches for. Empty for a new log.
    """

    def __init__(self, names: list[str], directory: Directory | None = None, held: bytes = b"") -> None:
        self.names, self._directory = names, directory
        start = held or _line(dict(zip(names, names, strict=True)), names)
        self.rows: list[dict[str, str]] = list(csv.DictReader(start.decode().splitlines()))
        self._size, self._digest = len(start), hashlib.sha256(start)
        if directory is not None:
            directory.replace(NAME, start)

    @property
    def step(self) -> int:
        """Step of the last row; -1 without rows."""
        return int(self.rows[-1]["step"]) if self.rows else -1

    @property
    def mark(self) -> dict[str, Any]:
        """Size and SHA-256 of the file, for a checkpoint."""
        return {"bytes": self._size, "sha256": self._digest.hexdigest()}

    def append(self, row: dict[str, float | int | None]) -> None:
        """Add a row; it is on disk when this returns, so that a checkpoint never comes before its rows."""
        text = {name: _text(row.get(name)) for name in self.names}
        line = _line(text, self.names)
        if self._directory is not None:
            self._directory.append(NAME, line)
        self._digest.update(line)
        self._size += len(line)
        self.rows.append(text)


def _line(row: dict[str, str], names: list[str]) -> bytes:
    text = io.StringIO()
    csv.DictWriter(text, names, lineterminator="\n").writerow(row)
    return text.getvalue().encode()


def _text(value: float | int | None) -> str:
    if value is None:
        return ""
    return f"{value:.8g}" if isinstance(value, float) else str(value)
