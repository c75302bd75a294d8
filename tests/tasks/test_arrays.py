import io
import os
import zipfile

import numpy as np
import pytest

from signalprop.tasks import Kind, load_arrays

RNG = np.random.default_rng(4)


def tokens(size, steps=7):
    return RNG.integers(0, 5, size=(size, steps))


def archive(**changes):
    """The arrays of a small classification; None takes one out."""
    arrays = {
        "train_inputs": tokens(20),
        "train_targets": np.arange(20) % 3,
        "train_lengths": 1 + np.arange(20) % 7,
        "test_inputs": tokens(6),
        "test_targets": np.arange(6) % 3,
    } | changes
    return {name: value for name, value in arrays.items() if value is not None}


def plain(path, arrays):
    with path.open("wb") as file:
        np.savez(file, **arrays)


def compressed(path, arrays):
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def folder(path, arrays):
    path.mkdir()
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)


WAYS = {"plain": plain, "compressed": compressed, "folder": folder}


@pytest.fixture
def written(tmp_path):
    def write(arrays, way="plain"):
        path = tmp_path / "data"
        WAYS[way](path, arrays)
        return path

    return write


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_was_saved_is_what_is_there(written, way, order):
    arrays = archive(validation_inputs=tokens(4), validation_targets=np.array([0, 1, 2, 2]))
    arrays["train_inputs"] = np.asarray(arrays["train_inputs"], dtype=np.int16, order=order)
    task = load_arrays(written(arrays, way))
    assert (task.kind, task.symbols, task.features, task.classes, task.answers) == (Kind.CLASSIFICATION, 5, 0, 3, 1)
    for name, part in task.parts.items():
        np.testing.assert_array_equal(part.inputs, arrays[f"{name}_inputs"])
        np.testing.assert_array_equal(part.targets, arrays[f"{name}_targets"])
        np.testing.assert_array_equal(part.lengths, arrays.get(f"{name}_lengths", np.full(len(part), 7)))
    assert task.train.inputs.dtype == np.int16
    assert list(task.parts) == ["train", "validation", "test"]
    assert task.description == "data, 20 sequences of up to 7 steps"


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return type(array).__name__ == "mmap"


@pytest.mark.parametrize(("way", "mapped"), [("plain", True), ("folder", True), ("compressed", False)])
def test_arrays_are_mapped_where_they_can_be(written, way, mapped):
    task = load_arrays(written(archive(train_inputs=RNG.normal(size=(20, 7)).astype(np.float32),
                                       test_inputs=RNG.normal(size=(6, 7)).astype(np.float32)), way))  # fmt: skip
    assert task.features == 1
    assert is_mapped(task.train.inputs) == is_mapped(task.test.targets) == mapped
    if mapped:
        assert not task.train.inputs.flags.writeable


def test_the_same_arrays_are_the_same_task_however_they_are_stored(written, tmp_path):
    arrays = archive()
    prints = set()
    for way, write in WAYS.items():
        write(tmp_path / way, arrays)
        prints.add(load_arrays(tmp_path / way).fingerprint)
    assert len(prints) == 1


def test_kinds_and_what_a_guess_gets(written):
    lengths = np.array([2, 1, 1])
    tagging = archive(
        train_inputs=np.ones((3, 2), int), train_targets=np.array([[0, 1], [1, -9], [1, 99]]), train_lengths=lengths,
        test_inputs=np.ones((3, 2), int), test_targets=np.array([[1, 1], [0, 50], [1, -1]]), test_lengths=lengths,
    )  # fmt: skip
    task = load_arrays(written(tagging))
    assert (task.kind, task.classes, task.symbols, task.answers) == (Kind.TAGGING, 2, 2, 2)
    # Training shares by counts + 1: (1 + 1)/6 and (3 + 1)/6. Test steps: one 0 and three 1.
    assert task.baseline == pytest.approx(-(np.log(2 / 6) + 3 * np.log(4 / 6)) / 4)
    assert task.chance == 0.75
    assert task.shares.tolist() == [0.25, 0.75]


def test_regression(written):
    inputs = RNG.normal(size=(4, 3, 2))
    task = load_arrays(written(archive(
        train_inputs=inputs, train_targets=np.array([1.0, 2, 3, 6]), train_lengths=None,
        test_inputs=inputs[:2], test_targets=np.array([3.0, 5.0]),
    )))  # fmt: skip
    assert (task.kind, task.features, task.symbols, task.classes, task.chance) == (Kind.REGRESSION, 2, 0, 0, None)
    assert task.baseline == 2.0


def test_given_sizes(written):
    path = written(archive())
    task = load_arrays(path, symbols=9, classes=4)
    assert (task.symbols, task.classes) == (9, 4)
    with pytest.raises(ValueError, match=r"symbols must be at least 5, as .* has inputs up to 4, got 4\."):
        load_arrays(path, symbols=4)
    with pytest.raises(ValueError, match=r"classes must be at least 3, as .* has targets up to 2, got 2\."):
        load_arrays(path, classes=2)
    with pytest.raises(ValueError, match=r"shares of classes=10+ would take about"):
        load_arrays(path, classes=10**15)


BROKEN = RNG.normal(size=(20, 7, 2))
BROKEN[3, 5, 1] = np.nan
HUGE = np.zeros((6, 7, 2))
HUGE[5, 0, 0] = 1e200
FEATURES = {
    "train_inputs": RNG.normal(size=(20, 7, 2)),
    "test_inputs": RNG.normal(size=(6, 7, 2)),
    "train_lengths": None,
}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train_targets": None}, "lacks train_targets; it has train_inputs, train_lengths, test_inputs, test_targets"),
        ({"test_inputs": None}, "lacks test_inputs"),
        ({"validation_inputs": tokens(3)}, "lacks validation_targets"),
        ({"valid_inputs": tokens(3)}, "has an array 'valid_inputs'; the names read are train_inputs, train_targets"),
        ({"train_inputs": np.array(["a"])}, "train_inputs must be whole or floating-point numbers, got type <U1"),
        ({"train_inputs": np.ones((20, 7), bool)}, "got type bool"),
        ({"train_inputs": np.ones((20, 7), complex)}, "got type complex128"),
        ({"train_inputs": tokens(20)[0]}, r"must have shape \(samples, time\) or .*, got \(7,\)"),
        ({"train_inputs": tokens(20)[:, :0]}, r"no side 0, got \(20, 0\)"),
        (
            {"train_inputs": tokens(19)},
            "train_inputs, targets and lengths must have one row per example, got 19, 20 and",
        ),
        (
            {"train_lengths": np.zeros(20, int)},
            "train_lengths must be between 1 and the number of steps, 7, got 0 to 0",
        ),
        ({"train_lengths": np.full(20, 8)}, "got 8 to 8"),
        ({"train_lengths": np.full(20, 2**64 - 1, "u8")}, "got 18446744073709551615 to"),
        ({"train_lengths": np.ones(20)}, "train_lengths must be whole numbers .*, got float64"),
        ({"train_inputs": -tokens(20) - 1}, "train_inputs must be whole numbers from 0, got -"),
        (
            {"train_inputs": tokens(20) + 10**6},
            "numbers up to 100000., which would be 100000. symbols; number them from 0, or",
        ),
        ({"train_targets": np.arange(20) - 1}, "train_targets must be whole numbers from 0, got -1"),
        ({"train_targets": np.zeros((20, 7))}, "in two dimensions are classes, whole numbers, got type float64"),
        (
            {"train_targets": np.zeros((20, 6), int)},
            r"one class per step, \(20, 7\), or per sequence, \(20,\), got \(20, 6\)",
        ),
        (
            {"test_targets": np.zeros(6)},
            "test_targets must be like train_targets, int64 in 1 dimension, got float64 in 1",
        ),
        (
            {"test_inputs": tokens(6, 8)},
            r"test_inputs must have the shape of train_inputs .*, \(\.\., 7\), got \(6, 8\)",
        ),
        ({**FEATURES, "train_inputs": BROKEN}, r"train_inputs must be finite in float32, got nan at \(3, 5, 1\)"),
        ({**FEATURES, "test_inputs": HUGE}, r"test_inputs must be finite in float32, got 1e\+200 at \(5, 0, 0\)"),
        (
            {"train_targets": np.array([np.inf] * 20), "test_targets": np.zeros(6)},
            r"train_targets must be finite .* \(0,\)",
        ),
    ],
)
def test_bad_arrays_are_a_sentence(written, changes, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        load_arrays(written(archive(**changes)))
    assert "\n" not in str(caught.value)


def test_padding_of_features_may_hold_anything(written):
    lengths = np.full(20, 5)
    assert load_arrays(written(archive(**FEATURES | {"train_inputs": BROKEN, "train_lengths": lengths}))).features == 2


def test_paths(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"/nowhere\.npz is not there; give an \.npz file or a folder"):
        load_arrays("/nowhere.npz")
    (tmp_path / "text").write_text("no archive")
    with pytest.raises(ValueError, match=r"text is not an \.npz file"):
        load_arrays(tmp_path / "text")
    with pytest.raises(ValueError, match="lacks train_inputs; it has no array at all"):
        load_arrays(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe or a device"):
        load_arrays(tmp_path / "pipe")
    os.mkfifo(tmp_path / "train_inputs.npy")
    with pytest.raises(ValueError, match=r"train_inputs\.npy is a pipe or a device"):
        load_arrays(tmp_path)


def test_python_objects_are_never_run(tmp_path):
    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "sprung"),))

    arrays = archive(train_inputs=np.array([Trap()], dtype=object))
    for way, write in WAYS.items():
        write(tmp_path / way, arrays)
        with pytest.raises(ValueError, match=r"train_inputs.* is not an array of numbers"):
            load_arrays(tmp_path / way)
    assert not (tmp_path / "sprung").exists()


def test_damaged_archives_are_a_sentence_or_the_same_shape(tmp_path):
    """Cut anywhere, or with any byte changed: never another kind of exception."""
    path, rng = tmp_path / "data.npz", np.random.default_rng(0)
    outcomes = {"refused": 0, "read": 0}
    for save in (np.savez, np.savez_compressed):
        content = io.BytesIO()
        save(content, **archive())
        whole = content.getvalue()
        for _ in range(150):
            broken = bytearray(whole)
            broken[rng.integers(len(whole))] ^= 1 << rng.integers(8)
            path.write_bytes(broken if rng.random() < 0.8 else whole[: rng.integers(len(whole))])
            try:
                load_arrays(path)
                outcomes["read"] += 1  # a number of the data, or a date, has changed
            except ValueError as error:
                outcomes["refused"] += "\n" not in str(error)
    assert sum(outcomes.values()) == 300
    assert outcomes["refused"] > 100


def test_an_archive_that_promises_more_than_it_has(tmp_path):
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 10**6)})
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as file:
        file.writestr("train_inputs.npy", content.getvalue())
    with pytest.raises(ValueError, match="train_inputs is not an array of numbers: its size is not that of its shape"):
        load_arrays(tmp_path / "data.npz")
