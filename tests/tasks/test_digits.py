import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from signalprop.tasks import Kind, sequential_digits


def test_against_scikit_learn():
    task = sequential_digits()
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(1797)
    test, train = order[:360], order[360:]
    assert (task.kind, task.classes, task.features, task.symbols, task.answers) == (Kind.CLASSIFICATION, 10, 1, 0, 1)
    assert task.validation is None
    assert task.train.inputs.shape == (1437, 64, 1)
    assert task.test.inputs.shape == (360, 64, 1)
    mean, deviation = images[train].mean(), images[train].std()
    for part, rows in ((task.train, train), (task.test, test)):
        assert part.inputs.dtype == np.float32
        assert part.mask.all()
        np.testing.assert_array_equal(part.targets, labels[rows])
        np.testing.assert_allclose(part.inputs[..., 0] * deviation + mean, images[rows], atol=1e-5)
    np.testing.assert_allclose([task.train.inputs.mean(), task.train.inputs.std()], [0, 1], atol=1e-5)
    most = np.bincount(labels[train]).argmax()
    assert task.chance == np.mean(labels[test] == most)
    assert abs(task.baseline - np.log(10)) < 0.01


def test_longer_sequences():
    short, long = sequential_digits(), sequential_digits(repeat=3, pause=8)
    assert long.steps == 200
    assert (long.test.lengths == 200).all()
    for shift in range(3):
        np.testing.assert_array_equal(long.test.inputs[:, shift:192:3], short.test.inputs)
    assert not long.test.inputs[:, 192:].any()
    np.testing.assert_array_equal(long.train.targets, short.train.targets)


def test_validation_comes_out_of_the_training_part():
    plain, task = sequential_digits(), sequential_digits(validation=237)
    np.testing.assert_array_equal(task.test.targets, plain.test.targets)
    np.testing.assert_array_equal(np.concatenate([task.validation.targets, task.train.targets]), plain.train.targets)
    assert {name: len(part) for name, part in task.parts.items()} == {"train": 1200, "validation": 237, "test": 360}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeat": 0}, "repeat must be at least 1"),
        ({"pause": -1}, "pause must be at least 0"),
        ({"repeat": 10**9}, r"digits with repeat=1000000000 and pause=0, 64000000000 steps, would take about"),
        ({"pause": 10**30}, "pause must be at most"),
        ({"validation": 1437}, "validation must be at most 1436, got 1437"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        sequential_digits(**options)


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match=r"needs scikit-learn, which is not installed; pip install scikit-learn$"):
        sequential_digits()
