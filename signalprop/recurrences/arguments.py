"""Bounds on what the public functions of `recurrences` are asked for, beside the checks that all of the package shares."""

from __future__ import annotations

from typing import Any

from signalprop._checks import whole_number

MAX_HORIZON = 10**7
MAX_NUMBERS = 1 << 28  # in one array: 2 GiB of float64
MAX_WORK = 10**13  # multiplications of one dense path: about an hour


def horizon_of(value: Any) -> int:
    """A number of steps from 0 to 10^7."""
    return whole_number(value, "horizon", 0, MAX_HORIZON)


def check_numbers(count: int, what: str) -> None:
    """Raise unless `count` numbers fit in memory."""
    if count > MAX_NUMBERS:
        raise ValueError(
            f"{what} would hold {min(count, 10**300):.3g} numbers, more than {MAX_NUMBERS:.3g}; make it smaller."
        )


def check_work(multiplications: float, what: str) -> None:
    """Raise unless that many multiplications end in reasonable time."""
    if multiplications > MAX_WORK:
        raise ValueError(
            f"{what} takes {multiplications:.2g} multiplications, more than {MAX_WORK:.0e}; "
            "take fewer steps, or a smaller or a structured state matrix."
        )
