"""What the public functions of `recurrences` would cost, beside the checks that all of the package shares.

Seconds are measured on one core of a current processor; `signalprop._cost` has the bounds and the option that lifts them.
"""

from __future__ import annotations

from typing import Any

from signalprop._checks import whole_number
from signalprop._cost import refuse_beyond_bounds

MAX_HORIZON = 10**7
STEP_SECONDS = 5e-5  # the calls of NumPy in one step
MULTIPLICATION_SECONDS = 2e-10  # in products of matrices
MODE_SECONDS = 5e-8  # of one closed form at one step
CORRELATED_MODE_SECONDS = 5e-7  # the same for AR(1) inputs
_FEWER_STEPS = "Take fewer steps, or a smaller or a structured state matrix."


def horizon_of(value: Any) -> int:
    """A number of steps from 0 to 10^7."""
    return whole_number(value, "horizon", 0, MAX_HORIZON)


def check_numbers(count: int, what: str) -> None:
    """Refuse `count` numbers that, with one copy of them, do not fit in the memory allowed."""
    refuse_beyond_bounds(f"holding {what}", memory=16.0 * min(count, 10**300), instead="Make it smaller.")


def check_path(what: str, steps: int, seconds_per_step: float, instead: str = _FEWER_STEPS) -> None:
    """Refuse a path that would take longer than allowed; `instead` names the cheaper way."""
    refuse_beyond_bounds(f"{what} of {steps} steps", seconds=steps * seconds_per_step, instead=instead)
