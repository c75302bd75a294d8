"""A check and its outcome."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from signalprop._checks import listed, shown
from signalprop.fields import Field

FIELDS = tuple(field.value for field in Field)
WIDTHS = (1, 2, 3, 5, 17, 64, 1000)


@dataclass(frozen=True)
class Check:
    """One comparison: what is compared with what, on which grid, and how far apart the two may be."""

    name: str
    grid: str
    unit: str
    allowed: float
    deviation: Callable[[], float]


@dataclass(frozen=True)
class Outcome:
    """Result of a `Check`."""

    name: str
    grid: str
    unit: str
    worst: float
    allowed: float
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the worst deviation is a number within what is allowed."""
        return self.worst <= self.allowed


def run(checks: Iterable[Check]) -> Iterator[Outcome]:
    """Run the checks one by one and yield their outcomes.

    An exception inside a check counts as an infinite deviation; its text is appended to the name.

    Raises
    ------
    ValueError
        Anything but a list of checks.
    """
    given = listed(checks, "checks", "checks")
    for check in given:
        if not isinstance(check, Check):
            raise ValueError(f"checks must be a list of Check, got {shown(check)} in it.")
    return map(_outcome, given)


def _outcome(check: Check) -> Outcome:
    start = time.perf_counter()
    name = check.name
    try:
        worst = float(check.deviation())
    except Exception as error:
        worst, name = math.inf, f"{name} [{type(error).__name__}: {error}]"
    return Outcome(name, check.grid, check.unit, worst, check.allowed, time.perf_counter() - start)
