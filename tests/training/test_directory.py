"""What may happen to the directory of a training: nothing of it passes unnoticed."""

import functools
import io
import json
import os
import random
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch

from signalprop._directory import Directory, _sealed_json
from signalprop._provenance import installed_version
from signalprop.tasks import copy_memory, load_arrays, make
from signalprop.training import Settings, build_model, train
from signalprop.training.checkpoint import Checkpoint
from signalprop.training.directory import begin

OPTIONS = {"train": 32, "validation": 8, "test": 8, "min_length": 3, "max_length": 12}
SETTINGS = Settings(
    options=OPTIONS,
    layer="lru",
    depth=1,
    d_model=2,
    d_state=2,
    batch=4,
    steps=8,
    log_every=2,
    checkpoint_every=4,
    held_out=8,
)
READ_BACK = ("settings.json", "log.csv", "checkpoint.pt")


class KilledError(Exception):
    """In the place of a signal that ends the process."""


def half(directory, settings=SETTINGS, after=6, **options):
    """A training that was killed after a step, with a checkpoint of step 4 and rows up to `after`."""

    def kill(step, steps, loss):
        if step == after:
            raise KilledError

    with pytest.raises(KilledError):
        train(settings, directory=directory, progress=kill, **options)


def resume(directory, settings=SETTINGS, **options):
    return train(settings, directory=directory, resume=True, **options)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    directory = tmp_path_factory.mktemp("whole")
    train(SETTINGS, directory=directory)
    return directory


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    directory = tmp_path_factory.mktemp("broken")
    half(directory)
    return directory


@pytest.fixture
def killed(broken, tmp_path):
    return shutil.copytree(broken, tmp_path / "training")


def test_resumed_it_is_the_training_that_was_not_killed(killed, whole):
    resume(killed)
    assert (killed / "log.csv").read_bytes() == (whole / "log.csv").read_bytes()


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at // 8] ^= 1 << at % 8
    path.write_bytes(content)


def vouched_for(directory):
    """Bytes of each file that a resumed training takes from it: of the log, those up to the checkpoint."""
    held = torch.load(io.BytesIO((directory / "checkpoint.pt").read_bytes()[65:]), weights_only=True)
    return {name: (directory / name).stat().st_size for name in READ_BACK} | {"log.csv": held["log"]["bytes"]}


def noticed(directory, name, at):
    """Whether a flipped bit is refused in one sentence that names a file; nothing in the directory changes then."""
    path = directory / name
    good = path.read_bytes()
    flip(path, at)
    before = {each: (directory / each).read_bytes() for each in READ_BACK}
    try:
        with pytest.raises(ValueError, match=r"settings\.json|log\.csv|checkpoint\.pt") as caught:
            resume(directory)
        assert "\n" not in str(caught.value)
        assert {each: (directory / each).read_bytes() for each in READ_BACK} == before
    finally:
        path.write_bytes(good)
    return True


@pytest.mark.parametrize("name", READ_BACK)
def test_a_flipped_bit_is_noticed(killed, name):
    bits = random.Random(name).sample(range(8 * vouched_for(killed)[name]), 25)
    assert sum(noticed(killed, name, at) for at in bits) == 25


@pytest.mark.slow
def test_every_flipped_bit_is_noticed(killed, monkeypatch):
    """By what `train` calls before it takes a step: all bits of settings and log, one of each byte of the checkpoint."""
    monkeypatch.setattr("signalprop._directory.git_revision", lambda: "the same")
    monkeypatch.setattr("signalprop._directory.installed_version", functools.cache(installed_version))
    task = make("listops", **SETTINGS.task_options())
    model = build_model(SETTINGS, task)
    tried, seen = 0, 0
    with Directory(killed, "training", "again") as place:

        def passes():
            begin(place, SETTINGS, task, False, True)
            Checkpoint.read(place, model, SETTINGS.steps)

        passes()
        for name, size in vouched_for(killed).items():
            good = (killed / name).read_bytes()
            for at in range(8 * size) if name != "checkpoint.pt" else range(3, 8 * size, 8):
                flip(killed / name, at)
                tried += 1
                try:
                    passes()
                except ValueError as error:
                    seen += "\n" not in str(error)
                (killed / name).write_bytes(good)
        passes()
    print(f"{seen} of {tried} flipped bits noticed")
    assert seen == tried > 20_000


def test_bits_behind_the_checkpoint_are_made_again(killed, whole):
    size = (killed / "log.csv").stat().st_size
    start = vouched_for(killed)["log.csv"]
    assert start < size
    for at in range(8 * start, 8 * size, 97):
        copy = shutil.copytree(killed, killed.parent / str(at))
        flip(copy / "log.csv", at)
        resume(copy)
        assert (copy / "log.csv").read_bytes() == (whole / "log.csv").read_bytes()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda path: (path / "log.csv").unlink(), r"log\.csv is gone, but the checkpoint of step 4 needs it"),
        (
            lambda path: (path / "log.csv").write_bytes(b""),
            r"log\.csv has 0 bytes, but the checkpoint of step 4 needs \d+",
        ),
        (lambda path: (path / "checkpoint.pt").unlink(), r"log\.csv goes on after step 0, and checkpoint\.pt is gone"),
        (lambda path: (path / "checkpoint.pt").write_bytes(b""), r"checkpoint\.pt does not match its checksum"),
        (lambda path: (path / "settings.json").write_text("{}"), r"settings\.json cannot be read .*Delete it to go on"),
        (lambda path: (path / "settings.json").write_text("[" * 10**5), r"settings\.json cannot be read"),
    ],
)
def test_missing_empty_and_foreign_files(killed, damage, sentence):
    damage(killed)
    with pytest.raises(ValueError, match=sentence) as caught:
        resume(killed)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="holds a training already"):
        train(SETTINGS, directory=killed)


def test_each_file_alone_keeps_a_new_training_out(killed):
    for name in READ_BACK:
        other = killed.parent / f"only {name}"
        other.mkdir()
        shutil.copy(killed / name, other / name)
        with pytest.raises(ValueError, match="holds a training already"):
            train(SETTINGS, directory=other)


def test_settings_may_be_deleted_and_still_only_the_same_training_goes_on(killed, whole):
    (killed / "settings.json").unlink()
    copy = shutil.copytree(killed, killed.parent / "copy")
    with pytest.raises(ValueError, match=r"checkpoint\.pt belongs to a training with other settings, data or versions"):
        resume(copy, replace(SETTINGS, seed=1))
    resume(killed)
    assert (killed / "log.csv").read_bytes() == (whole / "log.csv").read_bytes()


def rewritten(directory, how):
    """A checkpoint with another content and the checksum of that."""
    path = directory / "checkpoint.pt"
    content = torch.load(io.BytesIO(path.read_bytes()[65:]), weights_only=True)
    how(content)
    made = io.BytesIO()
    torch.save(content, made)
    with Directory(directory, "training", "again") as place:
        place.write_sealed("checkpoint.pt", made.getvalue())


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (lambda held: held.update(step=10**6), "is from step 1000000, but the training has 8 steps"),
        (lambda held: held.update(step=-1), "is from step -1, but the training has 8 steps"),
        (lambda held: held.update(step="many"), "is not a checkpoint of a training"),
        (lambda held: held.update(origin="0" * 64), "with other settings, data or versions"),
        (lambda held: held.pop("log"), "is not a checkpoint of a training"),
        (lambda held: held.update(log={"bytes": -3, "sha256": ""}), "log"),
        (lambda held: held["model"].popitem(), "is the state of another model"),
        (lambda held: held["model"].update({"head.weight": torch.zeros(3, 3)}), "is the state of another model"),
        (lambda held: held.update(model=3), "is the state of another model"),
        (lambda held: held.update(optimiser={}), "is the state of another model"),
        (lambda held: held.update(random=[]), "is the state of another model"),
        (lambda held: held.update(random=[torch.zeros(3, dtype=torch.uint8)]), "is the state of another model"),
    ],
)
def test_a_checkpoint_that_is_whole_and_does_not_fit(killed, how, sentence):
    rewritten(killed, how)
    with pytest.raises(ValueError, match=sentence) as caught:
        resume(killed)
    assert "\n" not in str(caught.value)


def test_code_in_a_checkpoint_is_never_run(killed):
    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(killed / "sprung"),))

    made = io.BytesIO()
    torch.save({"origin": Trap()}, made)
    with Directory(killed, "training", "again") as place:
        place.write_sealed("checkpoint.pt", made.getvalue())
    with pytest.raises(ValueError, match=r"is not a checkpoint of a training \(UnpicklingError\)"):
        resume(killed)
    assert not (killed / "sprung").exists()


def change(directory, how):
    """Other facts in settings.json, sealed, as another version would have written them."""
    path = directory / "settings.json"
    facts = json.loads(path.read_text())
    facts.pop("sha256")
    how(facts)
    path.write_bytes(_sealed_json(facts))


@pytest.mark.parametrize("library", ["signalprop", "torch", "numpy", "scipy", "numba"])
def test_other_versions_are_refused(killed, library):
    change(killed, lambda facts: facts["versions"].update({library: "1.2.3"}))
    with pytest.raises(
        ValueError, match=rf"was begun with {library} 1\.2\.3, now .*, and digits may differ; go on with"
    ):
        resume(killed)


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (
            lambda facts: facts.update(code="0" * 64, git_revision="abc"),
            r"other code of signalprop \(revision abc, now ",
        ),
        (lambda facts: facts.update(format=1), "has format 1, this version writes 2"),
        (lambda facts: facts.pop("versions"), "is not what signalprop writes"),
        (lambda facts: facts.update(settings=3), "is not what signalprop writes"),
        (lambda facts: facts.update(data=None), "is not what signalprop writes"),
    ],
)
def test_other_code_and_other_formats_are_refused(killed, how, sentence):
    change(killed, how)
    with pytest.raises(ValueError, match=sentence):
        resume(killed)


def test_other_settings_are_refused_before_the_data_are_made(killed, monkeypatch):
    monkeypatch.setattr("signalprop.training.trainer.make", None)
    with pytest.raises(ValueError, match=r"a training with seed = 0, not 5\. Go on with those settings"):
        resume(killed, replace(SETTINGS, seed=5))


COPY = copy_memory(3, length=2, train=32, validation=8, test=8)
OTHER = copy_memory(3, length=2, train=32, validation=8, test=8, seed=1)


def test_a_task_that_was_handed_over_is_named_and_kept(tmp_path):
    half(tmp_path / "one", task=COPY)
    about = json.loads((tmp_path / "one" / "settings.json").read_text())
    assert (about["settings"]["task"], about["settings"]["options"]) == (None, None)
    assert about["data"] == {
        "name": "copy",
        "description": "copy memory, 2 of 8 symbols after 3 steps",
        "made_from": "an argument",
        "sha256": COPY.fingerprint,
    }
    for other in (OTHER, replace(COPY, answers=1), make("listops", **OPTIONS)):
        with pytest.raises(
            ValueError, match=rf"on other data: 'copy' \(.*{COPY.fingerprint[:12]}\.\.\), not '{other.name}'"
        ):
            resume(tmp_path / "one", task=other)
    with pytest.raises(ValueError, match=r"belongs to a training on other data: 'copy' .*, not 'listops'"):
        resume(tmp_path / "one")
    train(SETTINGS, directory=tmp_path / "two", task=COPY)
    resume(tmp_path / "one", task=copy_memory(3, length=2, train=32, validation=8, test=8))
    assert (tmp_path / "one" / "log.csv").read_bytes() == (tmp_path / "two" / "log.csv").read_bytes()


def test_the_same_data_in_hand_are_the_same_training(killed, whole):
    resume(killed, task=make("listops", **OPTIONS))
    assert (killed / "log.csv").read_bytes() == (whole / "log.csv").read_bytes()


def test_a_task_from_the_settings_and_another_in_hand(killed):
    with pytest.raises(ValueError, match=r"belongs to a training on other data: 'listops' .*, not 'copy'"):
        resume(killed, task=COPY)


def test_files_of_data_that_change_are_noticed(tmp_path):
    """Your own arrays: learned from a file, resumed, and refused once the file holds something else."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(40, 6, 2)).astype(np.float32)
    arrays = {"train_inputs": inputs[:32], "train_targets": (inputs[:32, 0, 0] > 0).astype(int),
              "test_inputs": inputs[32:], "test_targets": (inputs[32:, 0, 0] > 0).astype(int)}  # fmt: skip
    np.savez(tmp_path / "x.npz", **arrays)
    settings = replace(SETTINGS, task="arrays", options={"path": tmp_path / "x.npz"})
    half(tmp_path / "one", settings)
    finished = train(settings, directory=tmp_path / "two")
    assert finished.task.fingerprint == load_arrays(tmp_path / "x.npz").fingerprint
    resume(shutil.copytree(tmp_path / "one", tmp_path / "three"), settings)
    assert (tmp_path / "three" / "log.csv").read_bytes() == (tmp_path / "two" / "log.csv").read_bytes()
    arrays["test_targets"][0] ^= 1
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(ValueError, match="belongs to a training on other data"):
        resume(tmp_path / "one", settings)


@pytest.mark.parametrize("name", READ_BACK)
@pytest.mark.parametrize("make_it", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_special_files_neither_hang_nor_crash(killed, name, make_it):
    (killed / name).unlink()
    make_it(killed / name)
    with pytest.raises((ValueError, OSError), match=name.replace(".", r"\.")) as caught:
        resume(killed)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", READ_BACK)
def test_huge_files_are_refused_unread(killed, name):
    with (killed / name).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="has 1099511627776 bytes, more than"):
        resume(killed)


def test_no_link_is_written_through(tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    place = tmp_path / "training"
    place.mkdir()
    for name in ("log.tmp", "checkpoint.tmp", "settings.tmp", "log.csv.0123456789abcdef.part"):
        (place / name).symlink_to(precious)
    train(SETTINGS, directory=place)
    assert precious.read_bytes() == b"precious"
    for name in READ_BACK:
        (place / name).unlink()
        (place / name).symlink_to(precious)
        with pytest.raises((ValueError, OSError), match=name.replace(".", r"\.")):
            resume(place)
        assert precious.read_bytes() == b"precious"
        (place / name).unlink()
        shutil.rmtree(place)
        train(SETTINGS, directory=place)
    (place / "lock").unlink()
    (place / "lock").symlink_to(precious)
    with pytest.raises(ValueError, match="lock is a symbolic link; remove it"):
        resume(place)


def test_a_second_training_in_the_directory_is_refused(tmp_path):
    """Tried while the first is in the middle of its steps, as a new one and as a resumed one."""
    tried = []

    def intrude(step, steps, loss):
        if step in (1, 5):
            for resumed in (False, True):
                with pytest.raises(BlockingIOError, match=rf"is in use by another process \(process {os.getpid()} on "):
                    train(SETTINGS, directory=tmp_path, resume=resumed)
                tried.append(step)

    train(SETTINGS, directory=tmp_path, progress=intrude)
    assert tried == [1, 1, 5, 5]
    assert [line.split(",")[0] for line in (tmp_path / "log.csv").read_text().splitlines()] == [
        "step",
        "0",
        "2",
        "4",
        "6",
        "8",
    ]


def test_a_lock_that_is_taken_away_stops_the_writing(tmp_path):
    def take(step, steps, loss):
        if step == 1:
            (tmp_path / "lock").unlink()

    with pytest.raises(OSError, match=r"the lock of .* was removed meanwhile: another process may be working there"):
        train(SETTINGS, directory=tmp_path, progress=take)


def test_runs_and_trainings_do_not_share_a_directory(tmp_path):
    from signalprop import run
    from signalprop.montecarlo import Plan

    plan = Plan("real", 10, k=3, samples=4)
    run(plan, tmp_path / "run", progress=False)
    with pytest.raises(ValueError, match="holds a run; use another directory for a training"):
        train(SETTINGS, directory=tmp_path / "run")
    train(replace(SETTINGS, steps=1), directory=tmp_path / "training")
    with pytest.raises(ValueError, match="holds a training; use another directory for a run"):
        run(plan, tmp_path / "training", progress=False)
    with pytest.raises(ValueError, match=r"directory must be a path, text or a pathlib\.Path, got ''"):
        train(SETTINGS, directory="")
