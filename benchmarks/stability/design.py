"""Which trainings a run makes, and with which settings."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.results import Results
from signalprop.tasks import Task, make
from signalprop.tasks.task import guess
from signalprop.training import Settings, train

OPTIONS = {"train": 20_000, "validation": 256, "test": 1_000, "min_length": 10, "max_length": 49}
COMMON: dict[str, Any] = {
    "task": "listops",
    "options": OPTIONS,
    "d_model": 32,
    "r_min": 0.5,
    "r_max": 0.999,
    "max_phase": 2 * math.pi,
    "learning_rate": 3e-3,
    "recurrence_factor": 0.3,
    "weight_decay": 0.05,
    "clip": 1.0,
    "batch": 32,
    "held_out": 256,
    "log_every": 20,
}
# 32 real numbers of state each: an LRU counts complex ones.
ROTRNN = {"layer": "rotrnn", "d_state": 32, "heads": 8, "first_step_rule": True}
LRU = {"layer": "lru", "d_state": 16}
VARIANTS: dict[str, dict[str, Any]] = {
    "rotrnn": ROTRNN,
    "lru_recomputed": LRU | {"normalizer": "recomputed"},
    "lru_learned": LRU | {"normalizer": "learned"},
    "rotrnn_slow": ROTRNN | {"max_phase": math.pi / 100},
}
SETTINGS = {"common": COMMON, "variants": VARIANTS, "threads": 1}


@dataclass(frozen=True)
class Cell:
    """What identifies a training."""

    variant: str
    depth: int
    seed: int
    steps: int


@dataclass(frozen=True)
class Design:
    """Variants, depths, number of seeds, training steps."""

    variants: tuple[str, ...]
    depths: tuple[int, ...]
    seeds: int
    steps: int

    def cells(self) -> Iterator[Cell]:
        """All trainings, one seed after the other."""
        for seed in range(self.seeds):
            for depth in self.depths:
                for variant in self.variants:
                    yield Cell(variant, depth, seed, self.steps)


CLAIM = ("rotrnn", "lru_recomputed", "lru_learned")
DESIGNS = {
    "quick": Design(CLAIM, (2, 4, 6), seeds=1, steps=100),
    "default": Design(tuple(VARIANTS), (2, 4, 6), seeds=5, steps=300),
    "full": Design(tuple(VARIANTS), (2, 4, 6), seeds=10, steps=300),
}


def settings(cell: Cell) -> Settings:
    """All of them for one training."""
    return Settings(**COMMON | VARIANTS[cell.variant] | {"depth": cell.depth, "seed": cell.seed, "steps": cell.steps})


def run(design: Design, results: Results, progress: Callable[[int, int, Cell], None] | None = None) -> int:
    """Make the trainings that `results` lacks; returns how many were made."""
    cells = list(design.cells())
    task: Task | None = None
    made = 0
    for done, cell in enumerate(cells, 1):
        if cell not in results:
            task = make("listops", **OPTIONS) if task is None else task
            results.append(cell, outcome(cell, task))
            made += 1
        if progress is not None:
            progress(done, len(cells), cell)
    return made


def guesses() -> dict[str, dict[str, float]]:
    """Loss and accuracy of a guess from the class shares of the training part, on the logged part and on the test part."""
    task = make("listops", **OPTIONS)
    assert task.validation is not None
    found = {}
    for name, part in (("guess", task.validation), ("test_guess", task.test)):
        accuracy, loss = guess(
            task.train.targets, part.targets[: COMMON["held_out"] if name == "guess" else None], task.classes
        )
        found[name] = {"loss": loss, "accuracy": accuracy}
    return found


def outcome(cell: Cell, task: Task) -> list[dict[str, str]]:
    """The log of a training; the last row also has loss and accuracy on the whole test part."""
    return list(train(settings(cell), task=task).rows)
