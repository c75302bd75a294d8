"""Plans and helpers of the tests of runs."""

import os
import subprocess
import sys
import time

import pytest

from signalprop import run
from signalprop.montecarlo import Plan

PLAN = Plan(["real", "complex"], [50, 400], c=[0.5, 1.5], samples=800, models=["rnn", "lru"], seed=11)
# Work for a process of its own: a second in some thirty blocks, and seconds in a hundred.
SHORT = Plan(["real", "complex"], [900, 2500], c=[1.5, 2.0], samples=1200, seed=2)
LONG = Plan(["real", "complex"], [900, 2500], c=[1.5, 2.0], samples=4000, seed=2)


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut PLAN into some thirty blocks, not one."""
    monkeypatch.setattr("signalprop.montecarlo.blocks._SHORTEST", 0.002)


def numbers(frame):
    """The table as text: equal if every number is, to the last digit."""
    return frame.to_csv(index=False)


def quiet(plan, *arguments, **options):
    """`run` without progress."""
    return run(plan, *arguments, progress=False, **options)


def start(plan, directory, *options):
    """The command line in a process of its own, and in its own group."""
    path = directory.with_suffix(".toml")
    plan.save(path)
    command = [sys.executable, "-m", "signalprop", "run", str(path), "--directory", str(directory), *options]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


def wait_for_blocks(process, directory, count):
    while len(list(directory.glob("blocks/*.bin"))) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
