import numpy as np
import pandas as pd
import pytest

from benchmarks.cell_trainings.starts import STARTS
from benchmarks.cell_trainings.summary import COLUMNS, WORST, summary
from benchmarks.cell_trainings.table import markdown
from benchmarks.intervals import interval

SEEDS = range(4)
LOSSES = {  # by start, of four seeds
    "default": [0.9, 0.8, 0.7, 0.6],
    "orthogonal": [0.5, 0.4, 0.3, 0.6],
    "identity": [0.1, 0.12, 0.09, 0.11],
    "gaussian": [0.13, 0.1, 0.12, 0.12],
    "quantile": [np.inf, 0.2, 0.3, 0.4],
}


def trainings(losses=LOSSES, frozen=("identity", [0.01, 0.02, 0.01, 0.02])):
    rows = []
    base = {
        "cell": "linear", "task": "copy", "horizon": 16, "steps": 30, "scale": 1.0, "gradient_norm": 10.0,
        "recurrent_gradient_norm": 1.0, "train_loss": 0.5, "accuracy": 0.5, "steps_to_half": np.nan, "stopped_at": np.nan,
    }  # fmt: skip
    for start, its in losses.items():
        tuned = base | {"start": start, "recurrent": "trained", "role": "tune", "seed": 1000}
        rows += [tuned | {"learning_rate": rate} for rate in (1e-3, 3e-3, 1e-2)]
        rate = 1e-2 if start == "gaussian" else 3e-3
        rows += [
            base
            | {
                "start": start,
                "recurrent": "trained",
                "role": "report",
                "seed": seed,
                "learning_rate": rate,
                "loss": its[seed],
            }
            for seed in SEEDS
        ]
    rows += [
        base
        | {
            "start": frozen[0],
            "recurrent": "frozen",
            "role": "report",
            "seed": s,
            "learning_rate": 1e-3,
            "loss": frozen[1][s],
        }
        for s in SEEDS
    ]
    return pd.DataFrame(rows)


def test_a_group_is_compared_with_the_reference_and_with_the_best():
    assert set(LOSSES) == set(STARTS["linear"])
    found = summary(trainings())
    assert list(found.columns) == list(COLUMNS)
    assert list(found["start"]) == ["identity", "identity", "gaussian", "orthogonal", "default", "quantile"]
    assert set(found["reference"]) == {"orthogonal"}
    rows = {(row["start"], row["recurrent"]): row for row in found.to_dict("records")}
    verdicts = {name: row["verdict"] for name, row in rows.items()}
    assert verdicts["identity", "trained"] == "best"
    assert verdicts["gaussian", "trained"] == "tied"
    assert verdicts["identity", "frozen"] == "better"
    assert verdicts["default", "trained"] == "worse"
    one = rows["gaussian", "trained"]
    difference = np.array(LOSSES["gaussian"]) - LOSSES["identity"]
    assert one["to_best"] == pytest.approx(difference.mean())
    # Five comparisons in a group of six: each interval has confidence 0.99; the 0.995-quantile of t with 3 degrees is 5.8409.
    half = 5.840909 * difference.std(ddof=1) / 2.0
    assert one["to_best_high"] - one["to_best"] == pytest.approx(half, rel=1e-5)
    assert one["loss_high"] - one["loss"] == pytest.approx(
        3.182446 * np.std(LOSSES["gaussian"], ddof=1) / 2.0, rel=1e-5
    )
    assert rows["quantile", "trained"]["loss"] == pytest.approx((WORST + 0.9) / 4)
    assert rows["identity", "trained"]["interior"]
    assert not one["interior"]
    assert not rows["identity", "frozen"]["interior"]
    assert one["log10_gradient"] == 1.0


def test_a_group_that_is_not_whole_is_left_out():
    assert summary(trainings({start: its for start, its in LOSSES.items() if start != "identity"})).empty
    cut = trainings()
    assert summary(cut[~((cut["start"] == "identity") & (cut["seed"] == 3) & (cut["recurrent"] == "trained"))]).empty


def test_the_table_names_starts_rates_and_verdicts():
    text = markdown(trainings())
    assert "### linear, copy, n = 128, T = 16: 30 steps, 4 seeds" in text
    assert "| identity, frozen | 1 | 1e-03* | 0.015 [" in text
    assert "| gaussian | 1 | 1e-02* |" in text
    assert "| orthogonal | 1 | 3e-03 | 0.450 [0.245, 0.655] | reference | +0.345 [" in text
    assert text.count("> 30") == 6


def test_the_interval_of_one_value_has_no_width():
    assert interval(np.array([2.0]), 0.95) == (2.0, 2.0, 2.0)
