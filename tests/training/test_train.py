import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch

from signalprop import allow
from signalprop.nn import LRU, DenseLinearRNN, RotRNN
from signalprop.tasks import Kind, Split, Task, make
from signalprop.training import LAYERS, Settings, StateEnergies, build_model, train, white_energy
from signalprop.training.evaluation import evaluate
from signalprop.training.log import columns

OPTIONS = {"train": 256, "validation": 32, "test": 32, "min_length": 5, "max_length": 20}
TINY = Settings(options=OPTIONS, d_model=8, d_state=8, heads=2, batch=16, steps=12, log_every=4, checkpoint_every=5)


def tiny(**changes):
    """TINY with changes; heads are for RotRNN alone."""
    return replace(TINY, **({"heads": 8} if changes.get("layer", "rotrnn") != "rotrnn" else {}), **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"layer": "rotrnn"},
        {"layer": "lru", "normalizer": "learned", "bidirectional": True},
        {"layer": "dense", "dropout": 0.1},
        {
            "layer": "lru",
            "task": "copy",
            "options": {"blanks": 3, "length": 2, "train": 256, "validation": 64, "test": 64},
        },
        {"layer": "rotrnn", "task": "adding", "options": {"steps": 6, "train": 256, "validation": 64, "test": 64}},
        {"layer": "lru", "task": "digits", "options": {"validation": 64}},
    ],
)
def test_training_lowers_the_loss(changes):
    run = train(tiny(steps=60, log_every=60, learning_rate=1e-2, **changes))
    first, last = (float(row["loss"]) for row in run.rows)
    assert last < first - 0.02
    assert float(run.rows[1]["train_loss"]) < first
    assert (run.accuracy is None) == (run.settings.task == "adding")


def test_columns_of_the_log(tmp_path):
    run = train(tiny(layer="lru", bidirectional=True), directory=tmp_path)
    with (tmp_path / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == run.rows
    assert list(rows[0]) == columns(["1", "1b", "2", "2b"])
    assert list(rows[0])[-2:] == ["test_loss", "test_accuracy"]
    assert [row["step"] for row in rows] == ["0", "4", "8", "12"]
    assert rows[0]["train_loss"] == ""
    for row in rows:
        assert all(float(value) > 0 for name, value in row.items() if name.startswith("energy"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "checkpoint.pt", "lock", "log.csv", "results.json", "settings.json",
    ]  # fmt: skip
    assert [row["test_loss"] for row in rows] == ["", "", "", f"{run.loss:.8g}"]
    assert [row["test_accuracy"] for row in rows] == ["", "", "", f"{run.accuracy:.8g}"]
    results = json.loads((tmp_path / "results.json").read_text())
    assert (results["step"], results["test"]) == (12, {"loss": run.loss, "accuracy": run.accuracy, "examples": 32})
    assert results["guess"] == {"loss": run.task.baseline, "accuracy": run.task.chance}


def test_the_callers_generator_is_left_alone():
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    train(tiny(steps=1))
    assert torch.equal(torch.rand(3), wanted)
    assert not torch.are_deterministic_algorithms_enabled()


def broken_off(directory, settings, after):
    """Train up to a step, then leave as a killed process would: no end of the loop, no last row."""

    class KilledError(Exception):
        pass

    def progress(step, steps, loss):
        if step == after:
            raise KilledError

    with pytest.raises(KilledError):
        train(settings, directory=directory, progress=progress)


@pytest.mark.parametrize("after", [1, 5, 7, 11])
@pytest.mark.parametrize("changes", [{"dropout": 0.2}, {"layer": "lru", "normalizer": "learned"}])
def test_broken_off_anywhere_and_resumed_is_the_same_training(tmp_path, after, changes):
    settings = tiny(**changes)
    whole = train(settings, directory=tmp_path / "whole")
    broken_off(tmp_path / "broken", settings, after)
    with (tmp_path / "broken" / "log.csv").open("a") as file:
        file.write("8,1.2")  # a row cut off
    again = train(settings, directory=tmp_path / "broken", resume=True)
    assert (tmp_path / "broken" / "log.csv").read_bytes() == (tmp_path / "whole" / "log.csv").read_bytes()
    assert (again.loss, again.accuracy) == (whole.loss, whole.accuracy)
    for one, other in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.slow
def test_a_killed_process_resumes_to_the_same_log_byte_for_byte(tmp_path):
    options = [word for name, value in OPTIONS.items() for word in ("--set", f"{name}={value}")]
    sizes = ["--width", "8", "--state", "8", "--heads", "2", "--dropout", "0.1"]
    course = ["--steps", "3000", "--log-every", "1", "--checkpoint-every", "3", "--json"]
    arguments = [sys.executable, "-m", "signalprop", "train", "--layer", "rotrnn", *options, *sizes, *course]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*arguments, "--directory", str(tmp_path / "killed")], env=environment, stdout=subprocess.DEVNULL
    )
    log, checkpoint = tmp_path / "killed" / "log.csv", tmp_path / "killed" / "checkpoint.pt"
    try:
        while process.poll() is None and not (checkpoint.exists() and log.read_text().count("\n") > 6):
            time.sleep(0.05)
        assert process.poll() is None, "it ended before it could be killed"
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    reached = int(log.read_text().splitlines()[-1].split(",")[0])
    assert 0 < reached < 3000
    # The settings of the killed training, a few steps beyond where it was; here, in another process.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        settings = Settings(
            options=OPTIONS, d_model=8, d_state=8, heads=2, steps=3000, log_every=1, checkpoint_every=3, dropout=0.1
        )

        class EnoughError(Exception):
            pass

        def until(step, steps, loss):
            if step >= reached + 5:
                raise EnoughError

        for directory, resume in (("killed", True), ("whole", False)):
            with pytest.raises(EnoughError):
                train(settings, directory=tmp_path / directory, resume=resume, progress=until)
    finally:
        torch.set_num_threads(threads)
    assert log.read_bytes() == (tmp_path / "whole" / "log.csv").read_bytes()
    assert log.read_text().count("\n") == reached + 7


def test_resume_refuses_other_settings_and_start_refuses_a_directory_in_use(tmp_path):
    train(tiny(steps=5), directory=tmp_path)
    with pytest.raises(
        ValueError, match=r"a training with layer = 'rotrnn', not 'lru'; heads = 2, not 8; seed = 0, not 3\. Go on"
    ):
        train(tiny(steps=5, layer="lru", seed=3), directory=tmp_path, resume=True)
    with pytest.raises(ValueError, match="holds a training already"):
        train(tiny(steps=5), directory=tmp_path)
    before = (tmp_path / "log.csv").read_bytes()
    train(tiny(steps=5), directory=tmp_path, resume=True)
    assert (tmp_path / "log.csv").read_bytes() == before
    (tmp_path / "checkpoint.pt").write_bytes(b"no checkpoint")
    with pytest.raises(ValueError, match=r"checkpoint\.pt does not match its checksum"):
        train(tiny(steps=5), directory=tmp_path, resume=True)


def test_nan_stops_with_step_and_layer(monkeypatch):
    task = make("listops", **OPTIONS)
    original = torch.optim.AdamW.step

    def poisoned(self, *arguments, **options):
        original(self, *arguments, **options)
        with torch.no_grad():
            if self.state[self.param_groups[1]["params"][0]]["step"] == 3:
                self.param_groups[1]["params"][2].fill_(torch.nan)  # g of the first block

    monkeypatch.setattr(torch.optim.AdamW, "step", poisoned)
    with pytest.raises(
        FloatingPointError, match=r"training step 4: the outputs of blocks\.0 \(RotRNN\) become nan at step 0"
    ):
        train(tiny(steps=9, log_every=100), task=task)
    with pytest.raises(FloatingPointError, match=r"after training step 3: the outputs of blocks\.0"):
        train(tiny(steps=9, log_every=1), task=task)


@pytest.mark.parametrize(
    "layer",
    [
        lambda: RotRNN(5, 12, heads=3),
        lambda: RotRNN(5, 9, heads=3, first_step_rule=True),
        lambda: LRU(5, 7, normalizer="learned"),
        lambda: DenseLinearRNN(5, 6, horizon=9),
    ],
)
def test_white_energy_is_the_mean_over_white_inputs(layer):
    torch.manual_seed(3)
    made = layer()
    steps, samples = 9, 20_000
    energies = made.states(torch.randn(samples, steps, 5)).square().sum(-1).detach().double()
    z = (energies.mean(0) - white_energy(made, steps).double()) / (energies.std(0) / samples**0.5)
    assert z.abs().max() < 4.0


def test_energies_are_refused_where_there_are_none():
    layer = LRU(4, 4)
    with pytest.raises(ValueError, match=r"model must be a torch\.nn\.Module, got 3"):
        StateEnergies(3)
    with pytest.raises(ValueError, match=r"layer must be a .*Recurrence, got Linear"):
        white_energy(torch.nn.Linear(2, 2), 3)
    with (
        allow(gigabytes=0.25),
        pytest.raises(ValueError, match=r"white inputs over 1000000 steps would take about .* of memory"),
    ):
        white_energy(layer, 10**6)
    energies = StateEnergies(layer)
    with pytest.raises(ValueError, match="model has seen no sequence"):
        energies.mean()
    with (
        energies,
        pytest.raises(ValueError, match="lengths must be set to the steps of the 2 sequences, each from 1 to 3"),
    ):
        layer(torch.zeros(2, 3, 4))


def test_energies_leave_padding_out():
    torch.manual_seed(0)
    task = make("listops", **OPTIONS)
    model = build_model(TINY, task)
    inputs, lengths = torch.from_numpy(task.test.inputs.astype(np.int64)), torch.from_numpy(task.test.lengths)
    with StateEnergies(model) as energies:
        for part in (slice(0, 20), slice(20, None)):
            energies.lengths = lengths[part]
            model(inputs[part], lengths[part])
    mean, last = [], []
    for tokens, length in zip(inputs, lengths, strict=True):
        states = model.blocks[0].recurrence.states(model.blocks[0].norm(model.encoder(tokens[None, :length])))
        mean += states.square().sum(-1)[0].tolist()
        last.append(mean[-1])
    assert energies.mean()[0] == pytest.approx(np.mean(mean), rel=1e-5)
    assert energies.last()[0] == pytest.approx(np.mean(last), rel=1e-5)
    assert not model.blocks[0].recurrence._forward_pre_hooks


def ragged(kind, pad):
    """Ten sequences of 1 to 7 steps, and `pad` behind them, in inputs and targets."""
    rng = np.random.default_rng(3)
    lengths = np.array([7, 1, 3, 2, 7, 5, 1, 4, 6, 2])
    numbers = np.where(np.arange(7) < lengths[:, None], rng.integers(0, 4, size=(10, 7)), pad)
    targets = {
        Kind.CLASSIFICATION: numbers[:, 0] % 3,
        Kind.TAGGING: np.where(np.arange(7) < lengths[:, None], numbers % 3, pad),
        Kind.REGRESSION: numbers[:, 0] / 2.0,
    }[kind]
    part = Split(numbers, targets, lengths)
    answers = 2 if kind is Kind.TAGGING else 1
    classes = 0 if kind is Kind.REGRESSION else 3
    return Task("ragged", "ragged", kind, part, part, part, 4, 0, classes, None if not classes else 0.3, 1.0, answers)


@pytest.mark.parametrize("kind", Kind)
def test_evaluation_counts_every_answer_alike_and_no_padding(kind, monkeypatch):
    """Batches of four, the last of them two, against one sequence at a time cut to its length."""
    monkeypatch.setattr("signalprop.training.evaluation.EVALUATION_BATCH", 4)
    task = ragged(kind, pad=-100)
    for seed in range(4):
        torch.manual_seed(seed)
        model = build_model(tiny(bidirectional=True), task).eval()
        loss, accuracy, _ = evaluate(model, task, task.test, torch.device("cpu"))
        losses, right = [], []
        for tokens, target, length in zip(task.test.inputs, task.test.targets, task.test.lengths, strict=True):
            scores = model(torch.from_numpy(tokens[None, :length]))[0].detach().double().numpy()
            if kind is Kind.REGRESSION:
                losses.append((scores[0] - target) ** 2)
                continue
            scores = np.atleast_2d(scores)
            wanted = target[:length] if kind is Kind.TAGGING else [target]
            logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
            losses += [-log[answer] for log, answer in zip(logs, wanted, strict=True)]
            right += list(scores.argmax(1) == wanted)[-task.answers :]
        assert len(losses) == (38 if kind is Kind.TAGGING else 10)
        assert loss == pytest.approx(np.mean(losses), rel=1e-5)
        assert accuracy == (None if kind is Kind.REGRESSION else pytest.approx(np.mean(right)))


@pytest.mark.parametrize("kind", Kind)
def test_what_stands_in_the_padding_changes_no_digit(kind):
    runs = [train(tiny(batch=4, steps=6, bidirectional=True), task=ragged(kind, pad)) for pad in (-100, 3)]
    assert runs[0].rows == runs[1].rows
    assert (runs[0].loss, runs[0].accuracy) == (runs[1].loss, runs[1].accuracy)
    for one, other in zip(*(run.model.parameters() for run in runs), strict=True):
        assert torch.equal(one, other)


def test_energies_past_the_range_of_float32_are_numbers():
    layer = RotRNN(4, 8, heads=2)
    with StateEnergies(torch.nn.Sequential(layer)) as energies:
        energies.lengths = torch.tensor([3])
        layer(inputs=torch.full((1, 3, 4), 1e30))
    assert 1e58 < energies.last()[0] < 1e64


def test_layers_of_the_table_are_built_with_every_setting_they_take():
    values = {
        "heads": 2,
        "first_step_rule": True,
        "r_min": 0.3,
        "r_max": 0.7,
        "max_phase": 0.5,
        "normalizer": "learned",
    }
    task = ragged(Kind.CLASSIFICATION, 0)
    for name, entry in LAYERS.items():
        taken = {setting: values[setting] for setting in entry.takes}
        layer = build_model(Settings(layer=name, d_model=8, d_state=8, **taken), task).blocks[0].recurrence
        assert type(layer) is entry.maker()
        assert {keyword: getattr(layer, keyword) for keyword in entry.takes.values()} == {
            keyword: values[setting] for setting, keyword in entry.takes.items()
        }
        for setting in set(values) - set(entry.takes):
            with pytest.raises(ValueError, match=f"{setting} is a setting of .*, not of layer='{name}': leave it out"):
                Settings(layer=name, d_model=8, d_state=8, **{setting: values[setting]})


def test_a_tagging_pools_nothing():
    with pytest.raises(ValueError, match=r"leave out pooling='last'"):
        train(tiny(pooling="last", batch=4), task=ragged(Kind.TAGGING, 0))


@pytest.mark.parametrize(
    "sizes", [{"d_state": 10**6, "heads": 1}, {"d_model": 10**6, "layer": "dense", "d_state": 10**6}]
)
def test_a_model_that_does_not_fit_is_refused_before_it_is_made(sizes):
    task = make("copy", blanks=20, train=10, test=10)
    with pytest.raises(ValueError, match=r"parameters would take about .* GiB of memory.*Take a smaller width"):
        build_model(Settings(**sizes), task)
    with pytest.raises(ValueError, match="d_model must be at most 1000000, got"):
        Settings(d_model=10**30)


def test_measuring_a_model_draws_nothing():
    task = make("copy", blanks=20, train=10, test=10)
    torch.manual_seed(0)
    first = torch.nn.Embedding(task.symbols, 8).weight  # what a model draws first
    torch.manual_seed(0)
    assert torch.equal(build_model(Settings(d_model=8, d_state=8, heads=2), task).encoder.weight, first)
