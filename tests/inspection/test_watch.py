"""`watch`: rows at the right steps, in a file that a crash and a new start leave whole."""

import csv
import math
import os

import numpy as np
import pytest
import torch
from weights import mamba2_like

from signalprop.inspection import Watcher, inspect, watch
from signalprop.inspection.rows import COLUMNS


def trained(model, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(3, 2, 4))[0].sum().backward()
        optimizer.step()


def steps_of(path):
    with open(path, newline="") as file:
        return [(int(row["step"]), row["layer"]) for row in csv.DictReader(file)]


class Mixer(torch.nn.Module):
    """One parameter set of Mamba 2, to be changed by hand."""

    def __init__(self):
        super().__init__()
        for name, value in mamba2_like().items():
            self.register_parameter(name.removeprefix("mixer."), torch.nn.Parameter(value))


def test_rows_are_what_inspect_says(tmp_path):
    model = Mixer()
    watcher = watch(model, every=2, path=tmp_path / "memory.csv", horizon=50)
    for _ in range(4):
        with torch.no_grad():
            model.dt_bias += 0.5
        watcher.step()
    layer = inspect(model, horizon=50).layers[0]
    row = watcher.rows[-1]
    assert [one["step"] for one in watcher.rows] == [0, 2, 4]
    assert row["gradient_1e"] == layer.gradient.by_e < watcher.rows[0]["gradient_1e"]
    assert row["gradient_at_horizon"] == layer.gradient.log_at(50)
    assert row["most_1e"] == layer.units.memory.max()
    assert row["units"] == 8
    with open(tmp_path / "memory.csv", newline="") as file:
        written = list(csv.DictReader(file))
    assert tuple(written[0]) == COLUMNS
    assert [int(one["gradient_1e"]) for one in written] == [one["gradient_1e"] for one in watcher.rows]
    assert float(written[-1]["most_1e"]) == pytest.approx(row["most_1e"], rel=1e-7)
    assert list(watcher.table.columns) == list(COLUMNS)
    assert len(watcher.table) == 3
    assert watcher.looks == 3
    assert 0.0 < watcher.seconds < 60.0
    assert watcher.cost.startswith("3 looks, ")


def test_an_optimizer_counts_until_it_is_let_go(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.LSTM(4, 8, num_layers=2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with watch(model, every=3, path=tmp_path / "m.csv", optimizer=optimizer, layers="*l1") as watcher:
        trained(model, optimizer, 7)
    trained(model, optimizer, 7)
    assert steps_of(tmp_path / "m.csv") == [(0, "_l1"), (3, "_l1"), (6, "_l1")]
    assert watcher.taken == 7
    assert isinstance(watcher, Watcher)


def test_a_training_goes_on_without_a_step_twice(tmp_path):
    path = tmp_path / "m.csv"
    first = watch(mamba2_like(), every=10, path=path)
    for _ in range(35):
        first.step()
    with open(path, "ab") as file:  # killed in the middle of a line
        file.write(b"40,mixer,mam")
    with pytest.raises(ValueError, match=r"m.csv has rows up to step 30 of an earlier training: pass start="):
        watch(mamba2_like(), path=path)
    again = watch(mamba2_like(), every=10, path=path, start=20)  # its last checkpoint
    for _ in range(25):
        again.step()
    assert steps_of(path) == [(step, "mixer") for step in (0, 10, 20, 30, 40)]
    assert [row["step"] for row in again.rows] == [0, 10, 20, 30, 40]
    for name, value in first.rows[0].items():
        assert again.rows[0][name] == (pytest.approx(value, rel=1e-7) if isinstance(value, float) else value), name
    assert again.looks == 3


def test_every_prefix_of_a_file_is_read(tmp_path):
    path = tmp_path / "m.csv"
    watcher = watch(mamba2_like(), every=1, path=path)
    watcher.step()
    whole = path.read_bytes()
    for size in range(whole.index(b"\n") + 1, len(whole), 7):  # the header comes at once
        path.write_bytes(whole[:size])
        watch(mamba2_like(), every=1, path=path, start=2)
        kept = whole[:size].count(b"\n") - 1
        assert [step for step, _ in steps_of(path)] == [*range(kept), 2]


def test_nothing_of_others_is_overwritten(tmp_path):
    path = tmp_path / "mine.csv"
    for text in ("a,b\n1,2\n", "no table", ",".join(COLUMNS) + "\n1,2\n", "\n"):
        path.write_text(text)
        with pytest.raises(ValueError, match="not a file that watch has written"):
            watch(mamba2_like(), path=path, start=5)
        assert path.read_text() == text
    with pytest.raises(FileNotFoundError, match=r"path must be in a folder that exists, got .*; make .*none first\."):
        watch(mamba2_like(), path=tmp_path / "none" / "m.csv")
    with pytest.raises(ValueError, match="is a folder, not a file"):
        watch(mamba2_like(), path=tmp_path)
    assert os.listdir(tmp_path) == ["mine.csv"]


def test_weights_that_break_in_training_are_told(tmp_path):
    model = torch.nn.ModuleDict({"one": Mixer(), "two": Mixer()})
    watcher = watch(model, every=1, path=tmp_path / "m.csv")
    with torch.no_grad():
        model["one"].dt_bias[3] = math.nan
    watcher.step()
    verdicts = {(row["step"], row["layer"]): row["verdict"] for row in watcher.rows}
    assert verdicts[1, "one"] == "not_finite"
    assert verdicts[1, "two"] == verdicts[0, "two"] != "not_finite"
    assert next(row for row in watcher.rows if row["verdict"] == "not_finite")["gradient_1e"] is None
    assert watch(model["two"], every=1, path=tmp_path / "m.csv", start=9).rows[2]["verdict"] == "not_finite"


class Writer:
    def __init__(self):
        self.scalars = {}

    def add_scalar(self, tag, value, step):
        self.scalars[tag, step] = value


def test_scalars_for_tensorboard():
    writer = Writer()
    watch(mamba2_like(), every=1, path=None, writer=writer).step()
    assert ("memory/mixer/gradient_1e", 1) in writer.scalars
    assert all(np.isfinite(value) for value in writer.scalars.values())
    orthogonal = torch.nn.RNN(3, 4, bias=False)
    with torch.no_grad():
        orthogonal.weight_hh_l0.copy_(torch.eye(4))
        orthogonal.weight_ih_l0.zero_()
    watch(orthogonal, path=None, writer=writer, horizon=70)
    assert 7000 / 2 < writer.scalars["memory/model/gradient_1e", 0] <= 7000  # all that was looked at


def test_parameters_that_are_replaced():
    watcher = watch(mamba2_like(), every=1, path=None)
    other = mamba2_like()
    other["mixer.dt_bias"] = other["mixer.dt_bias"] + 2.0
    assert watcher.step(other)
    assert watcher.rows[1]["gradient_1e"] < watcher.rows[0]["gradient_1e"]


def test_bad_input(tmp_path):
    for options, words in (
        ({"every": 0}, "every must be at least 1, got 0"),
        ({"every": 2.5}, "every must be a whole number"),
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"layers": "none"}, "layers must name recurrences of the model, which is 'mixer', got 'none'"),
        ({"start": -1}, "start must be at least 0"),
        ({"optimizer": 3}, "optimizer must be a torch.optim.Optimizer"),
        ({"writer": 3}, "writer must be a SummaryWriter"),
        ({"path": 3}, "path must be a path"),
        ({"path": ""}, "path must be a path"),
    ):
        with pytest.raises(ValueError, match=words) as info:
            watch(mamba2_like(), **{"path": tmp_path / "m.csv", **options})
        assert "\n" not in str(info.value)
    with pytest.raises(ValueError, match="no recurrence that is known here"):
        watch(torch.nn.Linear(2, 2), path=tmp_path / "m.csv")
    assert not os.listdir(tmp_path)
    watcher = watch(mamba2_like(), path=None)
    watcher.at(5)
    with pytest.raises(ValueError, match="step must be at least 5, the steps counted so far, got 4"):
        watcher.at(4)
