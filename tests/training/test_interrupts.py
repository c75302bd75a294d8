"""Ctrl-C, SIGKILL and full disks in the middle of a training; standard streams that are closed or full."""

import errno
import itertools
import multiprocessing
import os
import random
import shlex
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from signalprop._threads import left_behind, stop_flag
from signalprop.training import Settings, train

OPTIONS = {"train": 64, "validation": 16, "test": 16, "min_length": 3, "max_length": 16}
SETTINGS = Settings(
    options=OPTIONS, depth=1, d_model=4, d_state=4, heads=2, dropout=0.3, batch=4, steps=40, log_every=3, checkpoint_every=7,
    held_out=16,
)  # fmt: skip
SETS = [word for name, value in OPTIONS.items() for word in ("--set", f"{name}={value}")]
SMALL = [
    "--layer",
    "rotrnn",
    "--depth",
    "1",
    "--width",
    "4",
    "--state",
    "4",
    "--heads",
    "2",
    "--dropout",
    "0.3",
    "--batch",
    "4",
]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}


def start(*arguments, **options):
    command = [sys.executable, "-m", "signalprop", "train", *SETS, *SMALL, *arguments]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen(command, env=ENVIRONMENT, text=True, **streams)


def wait_for(path, process):
    deadline = time.monotonic() + 120
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def last_row(path):
    return int(path.read_text().splitlines()[-1].split(",")[0])


def press():
    """Press Ctrl-C on the thread that works, and wait until the main thread has heard it and told this one to stop."""
    assert threading.current_thread() is not threading.main_thread()
    os.kill(os.getpid(), signal.SIGINT)
    deadline = time.monotonic() + 60
    while not stop_flag()[0]:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def before_call(where, count, act, monkeypatch):
    """Do something before the call number `count` of a function of a training, wherever it is called from."""
    from signalprop.training import evaluation, trainer

    callers = [module for module in (trainer, evaluation) if hasattr(module, where)]
    original, calls = getattr(callers[0], where), []

    def wrapped(*arguments, **options):
        calls.append(None)
        if len(calls) == count:
            act()
        return original(*arguments, **options)

    for module in callers:
        monkeypatch.setattr(module, where, wrapped)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    directory = tmp_path_factory.mktemp("whole")
    train(SETTINGS, directory=directory)
    return (directory / "log.csv").read_bytes()


@pytest.mark.parametrize(
    ("where", "count", "kept"),
    [("batch_of", 1, 0), ("batch_of", 12, 11), ("_gradients", 20, 19), ("judge", 3, 1), ("random_states", 6, 5), ("row_of", 4, 9),
     ("evaluate", 2, 3), ("white_energy", 5, 12), ("evaluate", 16, 40)],
)  # fmt: skip
def test_ctrl_c_anywhere_keeps_every_finished_step(tmp_path, monkeypatch, whole, where, count, kept):
    from signalprop.training.checkpoint import Checkpoint

    written = []
    original = Checkpoint.write
    monkeypatch.setattr(Checkpoint, "write", lambda self, place: (written.append(self.step), original(self, place)))
    with monkeypatch.context() as patch:
        before_call(where, count, press, patch)
        with pytest.raises(KeyboardInterrupt):
            train(SETTINGS, directory=tmp_path)
    assert written[-1] == kept
    train(SETTINGS, directory=tmp_path, resume=True)
    assert (tmp_path / "log.csv").read_bytes() == whole


def test_ctrl_c_while_weights_change_waits_for_the_end_of_the_step(tmp_path, monkeypatch, whole):
    import torch

    original, calls = torch.optim.AdamW.step, []

    def pressed(self, *arguments, **options):
        calls.append(None)
        if len(calls) == 10:
            press()
        return original(self, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(torch.optim.AdamW, "step", pressed)
        with pytest.raises(KeyboardInterrupt):
            train(SETTINGS, directory=tmp_path)
    assert len(calls) == 10
    train(SETTINGS, directory=tmp_path, resume=True)
    assert (tmp_path / "log.csv").read_bytes() == whole
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(("where", "count"), [("_gradients", 4), ("evaluate", 4)])
def test_ctrl_c_does_not_wait_for_an_operation(tmp_path, monkeypatch, whole, where, count):
    """An operation that lasts for a minute is left behind, and changes nothing when it ends after all."""
    release = threading.Event()

    def press_and_go_on():
        os.kill(os.getpid(), signal.SIGINT)
        release.wait(60.0)

    began = time.monotonic()
    with monkeypatch.context() as patch:
        before_call(where, count, press_and_go_on, patch)
        with pytest.raises(KeyboardInterrupt):
            train(SETTINGS, directory=tmp_path)
    assert time.monotonic() - began < 30.0
    assert left_behind()
    held = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    release.set()
    while left_behind():
        assert time.monotonic() - began < 90.0
        time.sleep(0.01)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == held
    train(SETTINGS, directory=tmp_path, resume=True)
    assert (tmp_path / "log.csv").read_bytes() == whole


def test_a_function_that_shows_progress_runs_where_it_was_given():
    threads = set()
    train(replace(SETTINGS, steps=2), progress=lambda *_: threads.add(threading.current_thread()))
    assert threads == {threading.current_thread()}


def test_trained_in_a_thread_signals_are_left_alone(tmp_path, whole):
    thread = threading.Thread(target=train, args=(SETTINGS,), kwargs={"directory": tmp_path})
    thread.start()
    thread.join()
    assert (tmp_path / "log.csv").read_bytes() == whole


def test_ctrl_c_on_the_command_line_names_the_command_that_goes_on(tmp_path):
    place = tmp_path / "a run"
    course = ["--steps", "100000", "--log-every", "50", "--checkpoint-every", "100000", "--bidirectional", "--json"]
    process = start("--directory", str(place), *course)
    wait_for(place / "checkpoint.pt", process)
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    pressed = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - pressed < 20  # under two seconds on an idle machine
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    words = err.strip().splitlines()
    assert len(words) == 1
    said, _, command = words[0].partition(" To go on: ")
    assert said.startswith("stopped after step ")
    assert said.endswith(" of 100000; what was done is kept.")
    again = shlex.split(command)
    assert again[:2] == ["signalprop", "train"]
    assert again[-1] == "--resume"
    given = [*SETS, *SMALL, "--directory", str(place), *course]
    assert sorted(again[2:-1]) == sorted(given)
    # One further step, to see that nothing of it is refused: the settings are those of the first command.
    process = subprocess.Popen(
        [sys.executable, "-m", *again], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        before = (place / "checkpoint.pt").stat().st_mtime_ns
        stopped_at = int(said.split()[3])
        deadline = time.monotonic() + 120
        while last_row(place / "log.csv") <= stopped_at:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert (place / "checkpoint.pt").stat().st_mtime_ns > before
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path):
    """SIGKILL to a process that trains; another one resumes, which may be killed too, until one comes to the end."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["signalprop.training"])  # one start of PyTorch for all

    def started(directory, resume):
        process = processes.Process(target=train, args=(SETTINGS,), kwargs={"directory": directory, "resume": resume})
        process.start()
        return process

    def finished(directory, resume):
        process = started(directory, resume)
        process.join(600)
        assert process.exitcode == 0

    finished(tmp_path / "warm", False)
    began = time.monotonic()
    finished(tmp_path / "whole", False)
    duration = time.monotonic() - began
    want = {name: (tmp_path / "whole" / name).read_bytes() for name in ("log.csv", "settings.json")}
    rng, kills, same, rows = random.Random(20), 0, 0, []
    for attempt in itertools.count():
        if kills >= 20:
            break
        place = tmp_path / str(attempt)
        for again in (False, True, True):
            process = started(place, again)
            process.join(rng.uniform(0.0, duration))
            process.kill()
            process.join()
            kills += process.exitcode == -signal.SIGKILL
            rows.append((place / "log.csv").read_bytes().count(b"\n") if (place / "log.csv").exists() else 0)
        finished(place, True)
        same += all((place / name).read_bytes() == content for name, content in want.items())
    print(f"{kills} kills; {same} of {attempt} trainings ended with the same log; rows there when killed: {rows}")
    assert same == attempt
    assert sum(1 < count < len(want["log.csv"].splitlines()) for count in rows) >= 5


@pytest.mark.slow
def test_two_commands_in_one_directory(tmp_path):
    process = start("--directory", str(tmp_path), "--steps", "100000", "--log-every", "100")
    try:
        wait_for(tmp_path / "checkpoint.pt", process)
        process.send_signal(signal.SIGSTOP)  # alive, and out of the others' way
        for more in ([], ["--resume"]):
            other = start("--directory", str(tmp_path), "--steps", "100000", "--log-every", "100", *more)
            _, err = other.communicate(timeout=120)
            assert other.returncode == 2
            assert f"is in use by another process (process {process.pid} on " in " ".join(err.split())
    finally:
        process.kill()
        process.communicate()
    steps = [int(line.split(",")[0]) for line in (tmp_path / "log.csv").read_text().splitlines()[1:]]
    assert steps == sorted(set(steps))


PHASES = {
    "settings.json": ("replace", "settings.json", 1),
    "the first log": ("replace", "log.csv", 1),
    "the first row": ("append", "log.csv", 1),
    "a later row": ("append", "log.csv", 5),
    "the first checkpoint": ("replace", "checkpoint.pt", 1),
    "a later checkpoint": ("replace", "checkpoint.pt", 4),
    "the last row": ("append", "log.csv", 15),
    "results.json": ("replace", "results.json", 1),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_full_disk_in_each_phase_is_a_sentence_and_can_be_resumed(tmp_path, monkeypatch, whole, phase):
    """The disk is full in the middle of a file: half of it is written, then `write` fails."""
    call, name, count = PHASES[phase]
    place, calls = tmp_path / "training", []
    original = os.open

    def watched(path, flags, *arguments, **options):
        descriptor = original(path, flags, *arguments, **options)
        base = os.path.basename(os.fspath(path))
        wanted = flags & os.O_APPEND if call == "append" else flags & os.O_EXCL
        if wanted and base.startswith(name):
            calls.append(base)
            if len(calls) == count:
                os.write(descriptor, b"half")
                full.add(descriptor)
        return descriptor

    def no_room(descriptor):
        if descriptor in full:
            full.clear()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return synced(descriptor)

    full, synced = set(), os.fsync
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", watched)
        patch.setattr(os, "fsync", no_room)
        with pytest.raises(
            OSError, match=rf"no space for .*{name} \(\d+ bytes: .*make room and resume the training"
        ) as caught:
            train(SETTINGS, directory=place)
    assert "\n" not in str(caught.value)
    assert not list(place.glob("*.part"))
    train(SETTINGS, directory=place, resume=True)
    assert (place / "log.csv").read_bytes() == whole


@pytest.mark.slow
def test_disks_of_every_small_size(tmp_path):
    """A real disk, with room for less or more of the training; then with room enough."""
    disk = tmp_path / "disk"
    disk.mkdir()
    sizes, filled = range(12, 93, 8), 0
    whole = tmp_path / "whole"
    train(SETTINGS, directory=whole)
    for size in sizes:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(disk)]
        made = subprocess.run(mount, check=False, capture_output=True)
        if made.returncode != 0:
            pytest.skip(f"no file system of {size} kB to be had: {made.stderr.decode().strip()}")
        try:
            try:
                train(SETTINGS, directory=disk / "training")
            except OSError as error:
                filled += "no space" in str(error).lower()
                subprocess.run(["mount", "-o", "remount,size=10m", disk], check=True)
                train(SETTINGS, directory=disk / "training", resume=True)
            assert (disk / "training" / "log.csv").read_bytes() == (whole / "log.csv").read_bytes()
        finally:
            subprocess.run(["umount", disk], check=True)
    print(f"{filled} of {len(sizes)} disks were full on the way; all {len(sizes)} trainings have the same log")
    assert filled >= 4


@pytest.mark.slow
def test_a_training_whose_report_cannot_be_written_is_kept(tmp_path):
    words = ["train", *SETS, *SMALL, "--steps", "2", "--log-every", "1", "--directory", str(tmp_path)]
    line = f"exec {shlex.join([sys.executable, '-m', 'signalprop', *words])} >/dev/full"
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, timeout=300, env=ENVIRONMENT, check=False
    )
    assert done.returncode == 74
    assert done.stderr == "signalprop: the output could not be written: No space left on device.\n"
    settings = replace(SETTINGS, steps=2, log_every=1, checkpoint_every=100, held_out=256)
    assert train(settings, directory=tmp_path, resume=True).rows[-1]["step"] == "2"
    assert (tmp_path / "results.json").exists()
