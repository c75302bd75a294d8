"""Which trainings a run makes, in which order, and the choice of the learning rate."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from benchmarks.cell_trainings.starts import STARTS
from benchmarks.cell_trainings.training import Batch, Cell
from benchmarks.results import Results, Row

FIRST_TUNING_SEED = 1000  # seeds that choose a learning rate are never reported
SHORT = 4  # after one part in so many of the steps the worse rates are dropped
# Seconds per model and step of a sequence, batches of 32 at n = 64 (linear: 128), on one core of the machine of results.json.
SECONDS = {"tanh": 6e-5, "relu": 6e-5, "linear": 1.2e-4, "gru": 1.9e-4, "lstm": 2.2e-4}
LOST = 90.0  # seconds of work that a run broken off may lose


class Group(NamedTuple):
    """What is compared under the same conditions: every start of a cell on one task at one horizon."""

    cell: str
    task: str
    horizon: int
    steps: int


@dataclass(frozen=True)
class Design:
    """Groups in the order in which they are made, first grid of rates, numbers of seeds, further rates, controls."""

    groups: tuple[Group, ...]
    rates: tuple[float, ...] = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
    tuning_seeds: int = 2
    seeds: int = 6
    further: int = 4
    controls: int = 2


FIRST = (
    Group("tanh", "adding", 64, 1000),
    Group("tanh", "noise", 64, 600),
    Group("tanh", "digits", 64, 1000),
    Group("relu", "adding", 64, 1000),
    Group("lstm", "adding", 100, 400),
    Group("relu", "noise", 64, 600),
    Group("gru", "adding", 100, 400),
    Group("relu", "digits", 64, 1000),
    Group("lstm", "digits", 64, 600),
    Group("gru", "digits", 64, 600),
    Group("tanh", "copy", 64, 600),
    Group("relu", "copy", 64, 600),
    *(Group("linear", task, horizon, 300) for task in ("rows", "copy") for horizon in (16, 24)),
    Group("lstm", "noise", 160, 300),
    Group("gru", "noise", 160, 300),
    Group("lstm", "copy", 64, 600),
    Group("gru", "copy", 64, 600),
    *(Group(cell, "adding", 16, 600) for cell in ("tanh", "relu")),
)
MORE = tuple(
    Group(cell, task, 160, 1000) for task in ("adding", "digits", "noise") for cell in ("tanh", "relu")
) + tuple(
    Group(cell, task, horizon, 600) for task, horizon in (("adding", 64), ("digits", 160)) for cell in ("lstm", "gru")
)
DESIGNS = {
    "quick": Design((Group("tanh", "adding", 16, 40), Group("gru", "copy", 16, 40)), (1e-3, 1e-2), 1, 2, 0, 1),
    "default": Design(FIRST),
    "full": Design(FIRST + MORE),
}


class Cost(NamedTuple):
    """What one group costs and how much of it is there."""

    group: Group
    seconds: float
    left: float


def run(design: Design, results: Results, progress: Callable[[int, int, object], None] | None = None) -> int:
    """Make the trainings that `results` lacks, one group after the other; returns how many were made."""
    before = len(results.done)
    made = [(group, start) for group in design.groups for start in [*STARTS[group.cell], *_controls(design)]]
    for place, (group, start) in enumerate(made):
        if start in STARTS[group.cell]:
            _one(design, results, _blank(group, start))
        else:
            best = best_starts(results, group)[int(start) : int(start) + 1]
            for name in best:
                _one(design, results, replace(_blank(group, name), recurrent="frozen"))
        if progress is not None:
            progress(place + 1, len(made), (*group, start))
    return len(results.done) - before


def _controls(design: Design) -> list[str]:
    """Places of the starts that are trained once more with W frozen."""
    return [str(place) for place in range(design.controls)]


def _blank(group: Group, start: str) -> Cell:
    return Cell(group.cell, group.task, group.horizon, start, "trained", "tune", 0.0, 0, group.steps)


def _one(design: Design, results: Results, blank: Cell) -> None:
    """Choose the rate of a start, then train it from the seeds that are reported."""
    rate = chosen_rate(design, results, blank)
    report = [replace(blank, role="report", learning_rate=rate, seed=seed) for seed in range(design.seeds)]
    get(results, report)


def chosen_rate(design: Design, results: Results, blank: Cell) -> float:
    """The rate with the smallest training loss, averaged over the tuning seeds.

    By successive halving: all rates of the grid for a part of the steps, then the better half, of an odd number the smaller
    half, to the end. Then, up to `further` times, the neighbour of the best that was not trained to the end, so that the
    best is no end of what was.
    """

    def cells(rates: Sequence[float], steps: int) -> list[Cell]:
        seeds = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + design.tuning_seeds)
        return [replace(blank, learning_rate=rate, seed=seed, steps=steps) for rate in rates for seed in seeds]

    def losses(rates: Sequence[float], steps: int) -> dict[float, float]:
        rows = get(results, cells(rates, steps))
        found = np.array([float(row["train_loss"]) for row in rows]).reshape(len(rates), -1).mean(1)
        return dict(zip(rates, found.tolist(), strict=True))

    short = losses(design.rates, max(1, blank.steps // SHORT))
    better = sorted(short, key=lambda rate: (_order(short[rate]), rate))[: max(1, len(short) // 2)]
    whole = losses(sorted(better), blank.steps)
    for _ in range(design.further):
        best = best_rate(whole)
        missing = [rate for rate in (neighbour(best, -1), neighbour(best, 1)) if rate not in whole]
        if not missing:
            break
        # Where both are missing, first the one that a part of the steps speaks for.
        missing.sort(key=lambda rate: _order(short.get(rate, math.inf)))
        whole |= losses(missing[:1], blank.steps)
    return best_rate(whole)


def get(results: Results, cells: list[Cell]) -> list[Row]:
    """Rows of trainings of one group and start; those that are not there are made, some `LOST` seconds of them at once."""
    missing = [cell for cell in cells if cell not in results]
    if missing:
        each = missing[0].steps * missing[0].horizon * SECONDS[missing[0].cell]
        together = max(2, int(LOST / each))
        for first in range(0, len(missing), together):
            batch = Batch(missing[first : first + together])
            batch.train(missing[0].steps)
            for cell, found in zip(batch.cells, batch.outcomes(), strict=True):
                results.append(cell, [found])
    return [results[cell][0] for cell in cells]


def neighbour(rate: float, direction: int) -> float:
    """The next rate up or down of 1, 3, 10, 30 ..."""
    place = round(2.0 * math.log10(rate)) + direction
    return float(f"{(1.0, 3.0)[place % 2] * 10.0 ** (place // 2):.0e}")


def best_rate(losses: dict[float, float]) -> float:
    """The rate with the smallest loss; the smaller rate where they are equal or none is finite."""
    return min(losses, key=lambda rate: (_order(losses[rate]), rate))


def best_starts(results: Results, group: Group) -> list[str]:
    """Starts of a group, best first, by their mean held-out loss over the reported seeds."""
    found: dict[str, list[float]] = {}
    for rows in results.done.values():
        for row in rows:
            here = (row["cell"], row["task"], int(row["horizon"]), int(row["steps"]))
            if here == group and row["role"] == "report" and row["recurrent"] == "trained":
                found.setdefault(str(row["start"]), []).append(float(row["loss"]))
    return sorted(found, key=lambda start: (_order(float(np.mean(found[start]))), start))


def costs(design: Design, results: Results) -> list[Cost]:
    """Estimated seconds of each group: of the whole, and of what is left, counted in starts."""
    models = design.tuning_seeds * (len(design.rates) / SHORT + len(design.rates) // 2 + 1) + design.seeds
    found = []
    for group in design.groups:
        one = models * group.steps * group.horizon * SECONDS[group.cell]
        starts = len(STARTS[group.cell]) + design.controls
        done = sum(len(seen) >= design.seeds for seen in _reported(results, group).values())
        found.append(Cost(group, one * starts, one * max(0, starts - done)))
    return found


def _reported(results: Results, group: Group) -> dict[tuple[str, str], set[str]]:
    """Seeds reported for each start of a group, and for each control."""
    found: dict[tuple[str, str], set[str]] = {}
    for rows in results.done.values():
        for row in rows:
            if (row["cell"], row["task"], int(row["horizon"]), int(row["steps"])) == group and row["role"] == "report":
                found.setdefault((str(row["start"]), str(row["recurrent"])), set()).add(str(row["seed"]))
    return found


def _order(loss: float) -> float:
    return loss if math.isfinite(loss) else math.inf
