"""Ctrl-C on the command line: every command is gone within two seconds, wherever it is."""

import os
import signal
import subprocess
import sys
import time

import pytest

PLAN = 'fields = ["real"]\nn = [2000]\nk = [400]\nsamples = 2000000\nseed = 1\n'
LONGEST = 20.0  # two seconds, on a machine with nothing else to do
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path), "COLUMNS": "300"}


def started(*words, **options):
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *words], env=ENVIRONMENT, **streams, **options)


def left(process, seconds):
    """What a process has said that Ctrl-C reached after so many seconds."""
    time.sleep(seconds)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    return last_words(process)


def last_words(process):
    """What a process says in the time between Ctrl-C and its end."""
    pressed = time.monotonic()
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()  # one that has not left is not left behind
    took = time.monotonic() - pressed
    print(f"gone after {took:.2f} s")
    assert took < LONGEST
    assert process.returncode == 130, err
    return out, err


# Minutes inside of one call that lets go of the interpreter's lock, as LAPACK, a sort or a slow disk do.
STUCK = """
import hashlib
from signalprop import cli
from signalprop.cli._leaving import saying
@cli.app.command()
def long():
    with saying(lambda: "what was done is safe. To go on: .."):
        print("begun", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
cli.main()
"""


def test_a_call_that_lasts_is_not_waited_for():
    process = started("-c", STUCK, "long")
    assert process.stdout.readline() == "begun\n"
    assert left(process, 0.2) == ("", "\nwhat was done is safe. To go on: ..\n")


def test_a_key_pressed_twice_is_as_good(tmp_path):
    process = started("-c", STUCK, "long")
    assert process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)  # which reaches no one if it has left by now, as on an idle machine
    assert last_words(process) == ("", "\nwhat was done is safe. To go on: ..\n")


def test_ignored_from_the_start_it_stays_ignored():
    """As under nohup, or in the background of a script."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a new process takes over
    try:
        process = started("-m", "signalprop", "sample", "-n", "20", "-k", "5", "--samples", "50", "--json")
    finally:
        signal.signal(signal.SIGINT, before)
    for _ in range(20):
        time.sleep(0.1)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    assert out.startswith("{")


@pytest.mark.parametrize(
    ("line", "seconds", "said"),
    [
        ("run plan.toml --directory kept", 6.0, "stopped; what was drawn is safe in kept. To go on: signalprop run plan.toml"),
        pytest.param(
            "run plan.toml --directory kept --executor processes --workers 2", 8.0,
            "stopped; what was drawn is safe in kept. To go on: signalprop run plan.toml --directory kept --executor processes",
            marks=pytest.mark.slow,
        ),
        pytest.param("verify --all --json", 8.0, "stopped", marks=pytest.mark.slow),
        pytest.param("verify --all --json", 25.0, "stopped", marks=pytest.mark.slow),
        pytest.param("reproduce --full --directory pictures", 7.0, "stopped", marks=pytest.mark.slow),
        pytest.param("reproduce --full --directory pictures", 20.0, "stopped", marks=pytest.mark.slow),
        pytest.param("scale -n 4000 -T 4000 --criterion quantile --samples 20000", 5.0, "stopped", marks=pytest.mark.slow),
        pytest.param("recurrence gaussian -n 4000 -T 4000", 5.0, "stopped", marks=pytest.mark.slow),
        pytest.param("recurrence orthogonal -n 4000 -T 4000", 5.0, "stopped", marks=pytest.mark.slow),
        pytest.param("recurrence s4 -n 4000 -T 4000", 5.0, "stopped", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_every_long_command_leaves(tmp_path, line, seconds, said):
    (tmp_path / "plan.toml").write_text(PLAN)
    out, err = left(started("-m", "signalprop", *line.split(), cwd=tmp_path), seconds)
    assert out == ""
    assert err.startswith(f"\n{said}")


LARGE = (
    "--set train=640 --set validation=64 --set test=64 --set min_length=1500 --set max_length=2000 --batch 64 --width 128 "
    "--state 128 --depth 4 --steps 1000 --log-every 100000 --checkpoint-every 100000 --held-out 64"
)


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["lru", "rotrnn", "dense"])
def test_a_training_of_long_steps_leaves_inside_of_one_and_goes_on(tmp_path, layer):
    """A step takes ten seconds or more here; whichever operation it is in, the directory is that of the end of a step."""
    from signalprop._directory import Directory
    from signalprop.training import checkpoint

    words = ["-m", "signalprop", "train", "--layer", layer, *LARGE.split(), "--directory", "kept"]
    process = started(*words, cwd=tmp_path)
    for again in range(3):
        deadline = time.monotonic() + 300
        while not (tmp_path / "kept" / "checkpoint.pt").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        out, err = left(process, 6.0 + 5.0 * again)
        assert out == ""
        assert "what was done is kept. To go on: signalprop train --layer " in err
        with Directory(tmp_path / "kept", "training", "") as directory:
            assert directory.read_sealed(checkpoint.NAME, 1 << 28)
        process = started(*words, "--resume", cwd=tmp_path)
    left(process, 20.0)
