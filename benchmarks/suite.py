"""Comparisons: what signalprop takes, what one would use instead, and the floor, side by side in one run.

The calls of one comparison take turns, round after round, so that a busy machine slows all of them; what is quoted are
medians with the fastest and slowest round, and ratios of medians. Seconds are of this machine; ratios travel.
"""

from __future__ import annotations

import math
import pkgutil
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import benchmarks

OURS, OTHER, FLOOR = "signalprop", "alternative", "floor"
_SHORTEST = 0.02  # seconds of one measurement; shorter calls are repeated
_LONG = 10.0  # seconds of a call that needs no warming up: its first time counts
_LONGEST = 20.0  # seconds after which a comparison stops going round, once every call was measured twice


@dataclass(frozen=True)
class Contender:
    """One way to do the work of a comparison.

    Parameters
    ----------
    name, role
        What it is, and `OURS`, `OTHER` or `FLOOR`.
    call
        Does it once.
    units
        Units of work in one call; times are quoted per unit.
    exponent
        Expected exponent of the time per unit against the size, None where it is not fitted.
    """

    name: str
    role: str
    call: Callable[[], object]
    units: float = 1.0
    exponent: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Contenders at one size of one case; `size` is what grows, `unit` what one unit of work is called."""

    case: str
    size_name: str
    size: float
    unit: str
    contenders: Sequence[Contender]
    rounds: int = 7


@dataclass(frozen=True)
class Row:
    """Times of one contender, in seconds per unit."""

    task: str
    case: str
    size_name: str
    size: float
    unit: str
    contender: str
    role: str
    exponent: float | None
    median: float
    fastest: float
    slowest: float
    rounds: int
    facts: dict[str, Any] = field(default_factory=dict)


def tasks() -> tuple[str, ...]:
    """Names of the benchmarks: the files of this folder with a function ``comparisons(quick)``."""
    files = {
        one.name: Path(one.module_finder.path) / f"{one.name}.py" for one in pkgutil.iter_modules(benchmarks.__path__)
    }
    return tuple(name for name, path in files.items() if path.exists() and "\ndef comparisons(" in path.read_text())


def measure(task: str, comparison: Comparison) -> list[Row]:
    """Run all contenders in turns and summarise each."""
    loops = []
    times: list[list[float]] = [[] for _ in comparison.contenders]
    began = time.perf_counter()
    for one, mine in zip(comparison.contenders, times, strict=True):
        took = _timed(one.call, 1)  # compiles, fills caches
        if took > _LONG:
            mine.append(took / one.units)
        else:
            took = _timed(one.call, 1)
        loops.append(max(1, min(10_000, math.ceil(_SHORTEST / max(took, 1e-9)))))
    for _ in range(comparison.rounds):
        if min(map(len, times)) >= 2 and time.perf_counter() - began > _LONGEST:
            break
        for one, count, mine in zip(comparison.contenders, loops, times, strict=True):
            mine.append(_timed(one.call, count) / one.units)
    return [
        Row(
            task, comparison.case, comparison.size_name, comparison.size, comparison.unit, one.name, one.role, one.exponent,
            statistics.median(mine), min(mine), max(mine), len(mine),
        )
        for one, mine in zip(comparison.contenders, times, strict=True)
    ]  # fmt: skip


def _timed(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


@dataclass(frozen=True)
class Growth:
    """Exponent of time against size, by least squares in logs over the sizes of one contender."""

    task: str
    case: str
    contender: str
    size_name: str
    sizes: tuple[float, ...]
    exponent: float
    expected: float


def growth(rows: Iterable[Row]) -> list[Growth]:
    """A fit for each contender that was measured at three sizes or more and says what it expects."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.exponent is not None:
            groups.setdefault((row.task, row.case, row.contender), []).append(row)
    fits = []
    for (task, case, contender), group in groups.items():
        if len(group) < 3:
            continue
        x = [math.log(row.size) for row in group]
        y = [math.log(row.fastest) for row in group]
        slope, _ = statistics.linear_regression(x, y)
        assert group[0].exponent is not None
        fits.append(
            Growth(task, case, contender, group[0].size_name, tuple(r.size for r in group), slope, group[0].exponent)
        )
    return fits
