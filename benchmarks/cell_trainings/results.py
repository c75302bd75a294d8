"""The file of results: one row for each finished training."""

from dataclasses import fields
from pathlib import Path

from benchmarks.cell_trainings.training import OUTCOMES, SETTINGS, Cell
from benchmarks.results import Results

KEYS = tuple(field.name for field in fields(Cell))


def open_results(path: Path) -> Results:
    """The results in a CSV file, made if missing."""
    return Results(path, KEYS, (*KEYS, *OUTCOMES), SETTINGS, libraries=("torch", "scikit-learn"))
