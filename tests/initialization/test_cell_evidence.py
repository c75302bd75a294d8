"""What the package says of trainings is what was trained."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.cell_trainings.design import DESIGNS
from benchmarks.cell_trainings.shipped import SHIPPED, as_shipped
from benchmarks.cell_trainings.starts import STARTS
from benchmarks.cell_trainings.summary import summary
from signalprop.initialization import _cell_evidence
from signalprop.initialization._cell_evidence import NAME, TASKS, evidence, in_words, origin

RESULTS = Path(__file__).parents[2] / "benchmarks" / "cell_trainings" / "results.csv"


def test_what_the_package_ships_are_the_groups_that_are_whole():
    trainings = pd.read_csv(RESULTS)
    text = as_shipped(trainings, RESULTS.with_suffix(".json").read_text())
    assert (SHIPPED / NAME).read_text() == text
    assert origin()["settings"]["batch"] == 32
    assert "groups" not in origin()


@pytest.mark.parametrize("group", evidence(), ids=lambda group: f"{group.cell} {group.task} {group.horizon}")
def test_a_group_says_what_the_trainings_say(group):
    trainings = pd.read_csv(RESULTS)
    at = (
        (trainings["cell"] == group.cell)
        & (trainings["task"] == group.task)
        & (trainings["horizon"] == group.horizon)
        & (trainings["steps"] == group.steps)
        & (trainings["role"] == "report")
    )
    report = trainings[at & (trainings["recurrent"] == "trained")].pivot(index="seed", columns="start", values="loss")
    losses = report.clip(upper=10.0).fillna(10.0)
    assert len(losses) == group.seeds
    assert set(group.losses) == set(group.rates) == set(STARTS[group.cell])
    means = losses.mean().sort_values()
    assert group.best == means.index[0]
    for name, loss in group.losses.items():
        assert loss.mean == pytest.approx(means[name], rel=1e-5)
        assert loss.low <= loss.mean <= loss.high
        assert group.trained[name].seed_losses == pytest.approx(losses[name].to_numpy(), rel=1e-5)
    rows = summary(trainings[at]).set_index("start")
    rows = rows[rows["recurrent"] == "trained"]
    tied = {name for name, row in rows.iterrows() if row["to_best_low"] <= 0.0 <= row["to_best_high"]} - {group.best}
    assert set(group.tied) == tied
    assert set(group.frozen) <= set(means.index[:2])
    assert group.guess == 1.0


def test_every_planned_start_and_task_has_words():
    planned = {group.task for design in DESIGNS.values() for group in design.groups}
    assert planned <= set(TASKS)
    words = {in_words(start) for starts in STARTS.values() for start in starts}
    assert len(words) == len({start for starts in STARTS.values() for start in starts})
    assert in_words("orthogonal chrono wide") == "orthogonal, chrono biases, inputs add 1"


def test_of_other_cells_nothing_is_said():
    assert evidence("peephole") == []
    assert {group.cell for group in evidence()} <= set(STARTS)


def test_a_damaged_file_is_named(monkeypatch):
    monkeypatch.setattr(_cell_evidence, "NAME", "cell_trainings_of_nothing.json")
    with pytest.raises(
        ValueError, match=r"cell_trainings_of_nothing\.json, which comes with signalprop, cannot be read"
    ):
        origin()
