"""What the package ships of the trainings: `signalprop/initialization/cell_trainings.json`, which `_cell_evidence` reads."""

import json
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.cell_trainings.starts import width
from benchmarks.cell_trainings.summary import GROUP, report_losses, summary
from signalprop.initialization import _cell_evidence

SHIPPED = Path(_cell_evidence.__file__).parent
DIGITS = 6


def ship(trainings: pd.DataFrame, origin: str) -> None:
    """Write the groups that are whole into the package."""
    (SHIPPED / _cell_evidence.NAME).write_text(as_shipped(trainings, origin))


def as_shipped(trainings: pd.DataFrame, origin: str) -> str:
    """The text of that file: the origin of the trainings, and the groups, one start per line."""
    groups = [
        _group(dict(zip(GROUP, key, strict=True)), rows, trainings)
        for key, rows in summary(trainings).groupby(GROUP, sort=False)
    ]
    about = json.dumps(json.loads(origin), indent=2).removesuffix("\n}")
    return "".join([about, ',\n  "groups": [\n', ",\n".join(groups), "\n  ]\n}\n"])


def _group(key: dict[str, Any], rows: pd.DataFrame, trainings: pd.DataFrame) -> str:
    losses = report_losses(trainings[(trainings[GROUP] == pd.Series(key)).all(axis=1)])
    head = {"cell": key["cell"], "task": key["task"], "horizon": int(key["horizon"]), "width": width(key["cell"])}
    head |= {"steps": int(key["steps"]), "seeds": int(rows["seeds"].iloc[0]), "guess": 1.0}
    starts = ",\n".join(
        f"      {json.dumps(_start(row, losses[row['start'], row['recurrent']]))}" for row in rows.to_dict("records")
    )
    return f'    {json.dumps(head)[:-1]}, "starts": [\n{starts}\n    ]}}'


def _start(row: dict[str, Any], losses: pd.Series) -> dict[str, Any]:
    return {
        "start": row["start"],
        "frozen": row["recurrent"] == "frozen",
        "loss": [_rounded(row[name]) for name in ("loss", "loss_low", "loss_high")],
        "seed_losses": [_rounded(loss) for loss in losses],
        "diverged": _rounded(row["diverged"]),
        "accuracy": None if pd.isna(row["accuracy"]) else _rounded(row["accuracy"]),
        "learning_rate": _rounded(row["learning_rate"]),
        "interior": bool(row["interior"]),
        "scale": _rounded(row["scale"]),
        "verdict": row["verdict"],
    }


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
