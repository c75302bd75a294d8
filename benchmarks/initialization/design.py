"""Which trainings a run makes, in which order, and the choice of the learning rate."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.initialization.starts import STARTS
from benchmarks.initialization.tasks import TASKS
from benchmarks.initialization.training import RATES, Cell, train
from benchmarks.results import Results, Row

FIRST_TUNING_SEED = 1000  # seeds that choose a learning rate are never reported


@dataclass(frozen=True)
class Design:
    """Horizons for each width, number of reported and of tuning seeds, and training steps."""

    horizons: dict[int, tuple[int, ...]]
    seeds: int
    tuning_seeds: int
    steps: int


DESIGNS = {
    "quick": Design({32: (100,)}, seeds=2, tuning_seeds=1, steps=60),
    "default": Design({64: (200,), 128: (100, 200, 500, 1000), 256: (200,)}, seeds=10, tuning_seeds=2, steps=150),
    "full": Design(dict.fromkeys((64, 128, 256), (100, 200, 500, 1000)), seeds=20, tuning_seeds=2, steps=150),
}


def run(design: Design, results: Results, progress: Callable[[int, int, Cell], None] | None = None) -> int:
    """Make the trainings that `results` lacks; returns how many were made."""
    groups = [
        (n, task, horizon, start)
        for n, horizons in design.horizons.items()
        for horizon in horizons
        for task in TASKS
        for start in STARTS
    ]
    total = len(groups) * (design.tuning_seeds * len(RATES) + design.seeds)
    seen = made = 0

    def get(cell: Cell) -> Row:
        nonlocal seen, made
        seen += 1
        if cell not in results:
            results.append(cell, [train(cell)])
            made += 1
        if progress is not None:
            progress(seen, total, cell)
        return results[cell][0]

    for n, task, horizon, start in groups:
        blank = Cell(n, task, horizon, start, "tune", RATES[0], FIRST_TUNING_SEED, design.steps)
        losses = {
            rate: np.mean(
                [
                    float(get(replace(blank, learning_rate=rate, seed=FIRST_TUNING_SEED + i))["train_loss"])
                    for i in range(design.tuning_seeds)
                ]
            )
            for rate in RATES
        }
        rate = best_rate(losses)
        for seed in range(design.seeds):
            get(replace(blank, role="report", learning_rate=rate, seed=seed))
    return made


def best_rate(losses: dict[float, float]) -> float:
    """The rate with the smallest loss; the smaller rate where they are equal or none is finite."""
    return min(losses, key=lambda rate: (losses[rate] if math.isfinite(losses[rate]) else math.inf, rate))
