import numpy as np
import pytest
from scipy import stats

from signalprop.tasks import Kind, adding, copy_memory


@pytest.mark.parametrize(("blanks", "length", "symbols"), [(100, 10, 8), (1, 1, 2), (7, 3, 254)])
def test_copy(blanks, length, symbols):
    task = copy_memory(blanks, length=length, symbols=symbols, train=300, validation=20, test=50)
    steps = blanks + 2 * length
    assert task.kind is Kind.TAGGING
    assert (task.steps, task.answers, task.symbols, task.classes) == (steps, length, symbols + 2, symbols + 1)
    for part in task.parts.values():
        assert part.mask.all()
        said = part.inputs[:, :length]
        assert said.max() < symbols
        assert (part.inputs[:, length + blanks - 1] == symbols + 1).all()
        rest = np.delete(part.inputs[:, length:], blanks - 1, axis=1)
        assert (rest == symbols).all()
        assert (part.targets[:, :-length] == symbols).all()
        np.testing.assert_array_equal(part.targets[:, -length:], said)


def test_copy_baseline_is_what_the_memoryless_guess_gets():
    task = copy_memory(30)
    guess = np.zeros((task.steps, task.classes))
    guess[:-10, 8] = 1.0
    guess[-10:, :8] = 1 / 8
    said = np.take_along_axis(
        np.broadcast_to(guess, (len(task.test), *guess.shape)), task.test.targets[..., None], axis=2
    )
    assert np.isclose(-np.log(said).mean(), task.baseline)
    assert np.isclose(task.baseline, 10 * np.log(8) / 50)
    correct = task.test.targets[:, -task.answers :] == 3
    assert abs(correct.mean() - task.chance) < 4 * np.sqrt(task.chance * (1 - task.chance) / correct.size)


def test_copied_symbols_are_uniform():
    said = copy_memory(1, train=20_000).train.inputs[:, :10]
    assert stats.chisquare(np.bincount(said.ravel())).pvalue > 1e-4
    pairs = np.bincount(8 * said[:, 0].astype(int) + said[:, 9], minlength=64)
    assert stats.chisquare(pairs).pvalue > 1e-4


@pytest.mark.parametrize("steps", [2, 3, 50])
def test_adding(steps):
    task = adding(steps, train=300, test=50)
    assert (task.kind, task.features, task.symbols, task.classes) == (Kind.REGRESSION, 2, 0, 0)
    assert task.chance is None
    assert task.shares.size == 0
    for part in task.parts.values():
        numbers, marks = part.inputs[..., 0], part.inputs[..., 1]
        assert part.inputs.dtype == part.targets.dtype == np.float32
        assert set(np.unique(marks)) <= {0.0, 1.0}
        half = steps // 2
        assert (marks[:, :half].sum(axis=1) == 1).all()
        assert (marks[:, half:].sum(axis=1) == 1).all()
        np.testing.assert_allclose(part.targets, (numbers * marks).sum(axis=1), rtol=1e-6)


def test_adding_baseline_is_what_the_mean_gets():
    task = adding(20, test=20_000)
    errors = (task.test.targets - 1.0) ** 2
    # The fourth central moment of a sum of two uniform numbers is 1/15, so the variance of the squared error 1/15 - 1/36.
    assert abs(errors.mean() - task.baseline) < 4 * np.sqrt((1 / 15 - 1 / 36) / len(errors))
    places = np.nonzero(task.test.inputs[..., 1])[1]
    assert stats.chisquare(np.bincount(places)).pvalue > 1e-4


@pytest.mark.parametrize("make", [copy_memory, adding])
def test_reproducible_and_longer_parts_begin_with_shorter_ones(make):
    short, again, long = (make(8, train=train, validation=3, test=40) for train in (1500, 1500, 2500))
    other = make(8, train=1500, validation=3, test=40, seed=1)
    for name, part in short.parts.items():
        np.testing.assert_array_equal(part.inputs, again.parts[name].inputs)
        np.testing.assert_array_equal(part.inputs, long.parts[name].inputs[: len(part)])
        np.testing.assert_array_equal(part.targets, long.parts[name].targets[: len(part)])
        assert not np.array_equal(part.inputs, other.parts[name].inputs)
    assert not np.array_equal(short.train.inputs[:40], short.test.inputs)
    assert make(8, train=5, test=5).validation is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: copy_memory(0), "blanks must be at least 1, got 0"),
        (lambda: copy_memory(length=0), "length must be at least 1"),
        (lambda: copy_memory(symbols=1), "symbols must be at least 2"),
        (lambda: copy_memory(symbols=255), "symbols must be at most 254"),
        (lambda: copy_memory(train=0), "train must be at least 1"),
        (lambda: copy_memory(validation=-1), "validation must be at least 0"),
        (lambda: copy_memory(seed=-1), "seed must be at least 0"),
        (lambda: adding(1), "steps must be at least 2"),
        (lambda: adding(test=0), "test must be at least 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
