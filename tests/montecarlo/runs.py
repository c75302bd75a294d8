"""Plans and helpers of the tests of runs."""

import pytest

from signalprop import run
from signalprop.montecarlo import Plan

PLAN = Plan(["real", "complex"], [50, 400], c=[0.5, 1.5], samples=800, models=["rnn", "lru"], seed=11)
# A few seconds of work in some fifty blocks, for a process of its own.
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
