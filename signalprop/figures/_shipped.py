"""Results of trainings that come with the package: ``data/NAME.csv``, and ``data/NAME.json`` with where they come from.

Training takes long, so a figure of trainings does not train. A benchmark of the repository does, and writes its summary here.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pandas as pd

from signalprop._files import our_own


def table(name: str) -> pd.DataFrame:
    """The summary of the trainings."""
    path = resources.files(__package__) / "data" / f"{name}.csv"
    with our_own(path), path.open(encoding="utf-8") as file:
        return pd.read_csv(file)


def origin(name: str) -> dict[str, Any]:
    """Settings, versions and machine of the trainings."""
    path = resources.files(__package__) / "data" / f"{name}.json"
    with our_own(path):
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found
