"""The file of results: the log of one finished training after the other."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.results import Results
from signalprop.training.log import columns

KEYS = ("variant", "depth", "seed", "steps")
MAX_DEPTH = 6
COLUMNS = (*KEYS, *columns([str(block) for block in range(1, MAX_DEPTH + 1)]))


def open_results(path: Path, settings: Mapping[str, Any]) -> Results:
    """The results in a CSV file, made if missing; a training is finished with the row of its last step."""
    return Results(path, KEYS, COLUMNS, settings, finished=lambda row: row["step"] == row["steps"])
