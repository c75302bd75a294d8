"""Plans of many small cells: the whole run, with files and table, against drawing alone; and executors."""

import tempfile

from benchmarks.suite import FLOOR, OTHER, OURS, Comparison, Contender
from signalprop import run
from signalprop.montecarlo import Plan


def draw_alone(plan):
    """The draws of all cells in a loop, on one thread: sampling and nothing else."""
    for cell in plan.cells:
        for chunk in range(cell.chunks):
            cell.draw(chunk, driven=False)


def whole(plan, executor="threads", workers=1):
    """A run into a fresh directory."""
    with tempfile.TemporaryDirectory() as directory:
        run(plan, directory, executor, progress=False, workers=workers)


def comparisons(quick):
    for cells in (1000,) if quick else (1000, 10_000, 100_000):
        plan = Plan("complex", range(10, 10 + cells // 20), k=range(1, 21), samples=100)
        yield Comparison(
            "cells of 100 draws, k = 1 .. 20", "cells", cells, "per cell",
            [
                Contender("run: draws, files, table; one thread", OURS, lambda p=plan: whole(p), cells, 0.0),
                Contender("draws alone, one thread", FLOOR, lambda p=plan: draw_alone(p), cells, 0.0),
            ],
            rounds=3,
        )  # fmt: skip
    large = Plan(["real", "complex"], [400, 2500], c=[1.0, 2.0], samples=2000 if quick else 8000)
    yield Comparison(
        "8 larger cells", "draws", large.samples, "a run",
        [
            Contender("one thread", OURS, lambda: whole(large)),
            Contender("two threads", OTHER, lambda: whole(large, "threads", 2)),
            Contender("two processes", OTHER, lambda: whole(large, "processes", 2)),
        ],
        rounds=3,
    )  # fmt: skip
