import json
from dataclasses import replace

import pandas as pd
import pytest
import torch

from benchmarks.stability import __main__ as command
from benchmarks.stability import design as designs
from benchmarks.stability.design import CLAIM, COMMON, DESIGNS, SETTINGS, VARIANTS, Cell, Design, run, settings
from benchmarks.stability.results import open_results
from benchmarks.stability.table import markdown

SMALL = Design(CLAIM[:2], (1, 2), seeds=1, steps=2)
OPTIONS = {"train": 64, "validation": 16, "test": 16, "min_length": 5, "max_length": 20}


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(designs, "OPTIONS", OPTIONS)
    monkeypatch.setattr(designs, "COMMON", COMMON | {"options": OPTIONS, "d_model": 8, "held_out": 8, "log_every": 1})


def test_a_run_goes_on_where_the_file_ends(tiny, tmp_path):
    path = tmp_path / "results.csv"
    results = open_results(path, SETTINGS)
    assert run(SMALL, results) == 4
    results.write_origin("test", {"guess": {"loss": 1.0}})
    whole = path.read_text()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 1 + 4 * 3
    path.write_text("".join(lines[:-2]) + lines[-2][:20])
    again = open_results(path, SETTINGS)
    assert len(again.done) == 3
    assert run(SMALL, again) == 1
    assert path.read_text() == whole
    assert run(SMALL, open_results(path, SETTINGS)) == 0
    table = markdown(again.frame())
    assert "| rotrnn | 2 |" in table
    assert "| lru_recomputed | 2 | 2 |" in table


def test_results_of_other_settings_are_refused(tmp_path):
    path = tmp_path / "results.csv"
    open_results(path, SETTINGS).write_origin("test", {})
    with pytest.raises(ValueError, match="holds trainings with other settings"):
        open_results(path, SETTINGS | {"threads": 2})
    path.with_suffix(".json").unlink()
    with pytest.raises(ValueError, match=r"has no results\.json beside it"):
        open_results(path, SETTINGS)


def test_variants_differ_in_the_recurrence_alone_and_start_alike():
    for name in VARIANTS:
        one = settings(Cell(name, 2, 3, 300))
        assert replace(
            one, **VARIANTS["rotrnn"] | {"normalizer": "recomputed", "max_phase": COMMON["max_phase"]}
        ) == settings(Cell("rotrnn", 2, 3, 300))
    assert {cell.seed for cell in DESIGNS["default"].cells()} == set(range(5))
    assert set(DESIGNS["default"].cells()) <= set(DESIGNS["full"].cells())


def test_the_command_writes_results_origin_and_table(tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "DESIGNS", {"quick": SMALL})
    path = tmp_path / "results.csv"
    monkeypatch.setattr("sys.argv", ["benchmarks.stability", "--quick", "--output", str(path)])
    threads = torch.get_num_threads()
    try:
        assert command.main() == 0
    finally:
        torch.set_num_threads(threads)
    assert "max/min" in capsys.readouterr().out
    about = json.loads(path.with_suffix(".json").read_text())
    assert (about["mode"], about["trainings"]) == ("quick", 4)
    assert 0.0 < about["guess"]["accuracy"] < 1.0 < about["guess"]["loss"]
    last = pd.read_csv(path).query("step == steps")
    assert last["test_accuracy"].between(0, 1).all()
