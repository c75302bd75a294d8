import inspect
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import signalprop
from signalprop._declared import hints
from signalprop.tasks import MAKERS, TASKS, Kind, Split, Task, adding, copy_memory, make
from signalprop.tasks.task import guess

CONFIGS = sorted((Path(signalprop.__file__).parent / "training" / "configs").glob("*.toml"))
SMALL = {
    "listops": {"train": 20, "validation": 5, "test": 5, "min_length": 5, "max_length": 30},
    "digits": {"validation": 10},
    "copy": {"train": 20, "validation": 5, "test": 5},
    "adding": {"train": 20, "validation": 5, "test": 5},
}


def test_one_table_of_tasks():
    assert list(MAKERS) == list(TASKS)
    assert set(SMALL) | {"listops-files", "arrays"} == set(TASKS)  # those two read files and have tests of their own
    for name, entry in TASKS.items():
        assert entry.about
        hinted = hints(MAKERS[name])
        assert set(entry.short) <= set(hinted)
        assert set(hinted) | {"progress"} >= set(inspect.signature(MAKERS[name]).parameters)


@pytest.mark.parametrize("name", SMALL)
def test_every_task_serves_one_loop(name):
    """What a training command needs, without knowing which task it is."""
    task = make(name, **SMALL[name])
    assert task.name == name
    for part in task.parts.values():
        assert part.inputs.shape[:2] == part.mask.shape == (len(part), task.steps)
        numbers = part.inputs.ndim == 3
        assert (task.features > 0) == numbers
        assert part.inputs.dtype == (np.float32 if numbers else np.uint8)
        assert part.targets.dtype == (np.float32 if task.kind is Kind.REGRESSION else np.int64)
    assert task.baseline > 0
    assert (task.chance is None) == (task.classes == 0)
    assert task.shares.sum() == pytest.approx(1.0 if task.classes else 0.0)
    assert 1 <= task.answers <= task.steps


def test_unknown_name():
    with pytest.raises(ValueError, match=r"task must be one of 'listops', .* got 'mnist'"):
        make("mnist")


def test_nothing_heavy_is_loaded():
    code = "import sys, signalprop.tasks\nassert not {'torch', 'jax', 'sklearn', 'numba', 'pandas', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_guess():
    train, test = np.array([0, 0, 0, 1]), np.array([0, 1, 1, 2])
    accuracy, loss = guess(train, test, 3)
    assert accuracy == 0.25
    assert loss == pytest.approx(-(np.log(4 / 7) + 2 * np.log(2 / 7) + np.log(1 / 7)) / 4)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_configurations_name_a_task_and_its_options(path):
    settings = tomllib.loads(path.read_text())
    assert set(settings) >= {"task", "model", "training"}
    options = settings["task"]
    inspect.signature(MAKERS[options.pop("name")]).bind(**options)
    assert "# Untested here: needs a GPU." in path.read_text()


def test_there_are_configurations():
    assert len(CONFIGS) >= 2


def split(inputs, targets, lengths=None):
    inputs, targets = np.asarray(inputs), np.asarray(targets)
    return Split(inputs, targets, np.full(len(inputs), inputs.shape[1]) if lengths is None else np.asarray(lengths))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: split(np.zeros((2, 3, 4, 5)), [0, 0]),
            r"inputs must be \(examples, steps\) .* got shape \(2, 3, 4, 5\)",
        ),
        (lambda: split(np.zeros((2, 3)), [0]), "one row per example, got 2, 1 and 2"),
        (
            lambda: split(np.zeros((2, 3)), [0, 0], [3, 4]),
            "lengths must be between 1 and the number of steps, 3, got 3 to 4",
        ),
        (lambda: split(np.zeros((2, 3)), [0, 0], [0, 3]), "got 0 to 3"),
        (lambda: split([[0, 0], [0, np.nan]], [0, 0]), r"inputs must be finite in float32, got nan at \(1, 1\)"),
        (lambda: split(np.zeros((2, 3)), [0.0, 1e200]), r"targets must be finite in float32, got 1e\+200 at \(1,\)"),
        (lambda: Split([[1]], np.zeros(1), np.ones(1, int)), r"inputs must be an array of numbers .* got \[\[1\]\]"),
    ],
)
def test_bad_splits(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_lengths_of_any_width_are_kept_as_int64_and_padding_may_be_nan():
    part = split([[1.0, np.nan]], [0.5], np.array([1], ">u2"))
    assert part.lengths.dtype == np.int64
    assert part.lengths.tolist() == [1]


def padded_tagging(pad):
    """Three sequences of 5, 2 and 1 steps, with `pad` behind them."""
    inputs, targets = np.full((3, 5), pad), np.full((3, 5), pad)
    for row, values in enumerate(([1, 1, 1, 1, 0], [1, 1], [1])):
        inputs[row, : len(values)] = targets[row, : len(values)] = values
    part = split(inputs, targets, [5, 2, 1])
    return Task(
        "t", "t", Kind.TAGGING, part, None, part, symbols=2, features=0, classes=2, chance=0.5, baseline=1.0, answers=5
    )


@pytest.mark.parametrize("pad", [0, 1, -100, 77])
def test_shares_and_ranges_see_no_padding(pad):
    assert padded_tagging(pad).shares.tolist() == [1 / 8, 7 / 8]


def test_fingerprint_is_that_of_everything_a_training_sees():
    task = padded_tagging(0)
    assert task.fingerprint == padded_tagging(0).fingerprint
    assert len(task.fingerprint) == 64
    train = task.train
    others = [
        padded_tagging(1),
        replace(task, symbols=3),
        replace(task, classes=3),
        replace(task, answers=1),
        replace(task, validation=train),
        replace(task, train=split(train.inputs, train.targets, [5, 2, 2])),
        replace(task, train=split(train.inputs.astype(np.int32), train.targets, train.lengths)),
        replace(task, train=split(1 - train.inputs, train.targets, train.lengths)),
        replace(task, test=split(train.inputs, 1 - train.targets, train.lengths)),
        replace(task, train=split(train.inputs[:2], train.targets[:2], train.lengths[:2])),
    ]
    assert len({task.fingerprint, *(other.fingerprint for other in others)}) == 1 + len(others)


COPY, ADDING = copy_memory(4, train=3, test=3), adding(4, train=3, test=3)


@pytest.mark.parametrize(
    ("task", "changes", "message"),
    [
        (
            COPY,
            {"train": split(np.zeros((0, 24), int), np.zeros((0, 24), int))},
            "the train part needs at least one example",
        ),
        (COPY, {"features": 1}, "either symbols or features as inputs, got symbols=10 and features=1"),
        (COPY, {"symbols": 0}, "either symbols or features"),
        (COPY, {"symbols": 9}, "inputs must be between 0 and 8 for symbols=9, got 0 to 9"),
        (COPY, {"classes": 8}, "targets must be between 0 and 7"),
        (COPY, {"classes": 0}, "has classes unless it is a regression, got classes=0 and kind=tagging"),
        (COPY, {"name": 5}, "name must be text, got 5"),
        (COPY, {"kind": "ranking"}, "kind must be one of 'classification', 'tagging' or 'regression', got 'ranking'"),
        (COPY, {"train": None}, r"train must be a signalprop\.tasks\.Split, got None"),
        (COPY, {"symbols": 10.5}, r"symbols must be a whole number, got 10\.5"),
        (COPY, {"chance": 1.5}, r"chance must be None or a number between 0 and 1, got 1\.5"),
        (
            COPY,
            {"chance": None},
            "chance must be None for a regression and a number for classes, got None and kind=tagging",
        ),
        (COPY, {"baseline": np.nan}, "baseline must be a finite number, got nan"),
        (COPY, {"answers": 25}, "answers must be at most 24, got 25"),
        (
            COPY,
            {"vocabulary": ("a", "b")},
            "vocabulary must have a name for each of the symbols, got 2 names and symbols=10",
        ),
        (COPY, {"vocabulary": "ab"}, "vocabulary must be a list of texts, got 'ab'"),
        (ADDING, {"classes": 2}, "has classes unless it is a regression"),
        (COPY, {"kind": Kind.CLASSIFICATION}, r"targets of a classification must have shape \(3,\), got \(3, 24\)"),
        (ADDING, {"features": 3}, r"inputs must have 3 features, got shape \(3, 4, 2\)"),
        (COPY, {"test": copy_memory(5, train=1, test=3).test}, "the same number of steps, got 24 and 25"),
        (
            COPY,
            {"train": split(np.zeros((3, 24)), np.zeros((3, 24), int))},
            "inputs must be whole numbers, got type float64",
        ),
    ],
)
def test_bad_tasks(task, changes, message):
    assert isinstance(task, Task)
    with pytest.raises(ValueError, match=message):
        replace(task, **changes)
