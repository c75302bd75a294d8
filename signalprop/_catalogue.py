"""What a training is told by name: tasks and layers, one table each, which load nothing.

`signalprop.tasks`, `signalprop.training.Settings`, the model builder, the command line and the citations read these tables; to
add a task or a layer is to add a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class TaskEntry:
    """A task: the function that makes it, and the options that a training gives it unless told otherwise."""

    where: str
    """``module:function``."""
    about: str
    cites: str
    """Its topic in `signalprop.citations`."""
    short: Mapping[str, Any] = field(default_factory=dict)
    """The published ListOps takes days on a CPU: without other wishes the sequences are short."""


@dataclass(frozen=True)
class LayerEntry:
    """A layer: its class, and which settings and facts of the task it takes, under which keywords."""

    where: str
    """``module:class``."""
    about: str
    cites: str
    """Its topic in `signalprop.citations`."""
    takes: Mapping[str, str] = field(default_factory=dict)
    """From settings to keywords. A setting that only other layers take is refused."""
    of_task: Mapping[str, str] = field(default_factory=dict)
    """From keywords to attributes of the task."""


TASKS: dict[str, TaskEntry] = {
    "listops": TaskEntry(
        "signalprop.tasks.listops:generate",
        "ListOps, drawn by the law of the Long Range Arena",
        "listops",
        {"train": 20_000, "validation": 512, "test": 2_000, "min_length": 10, "max_length": 65},
    ),
    "listops-files": TaskEntry("signalprop.tasks.listops:load", "ListOps, the published files", "listops"),
    "digits": TaskEntry(
        "signalprop.tasks.digits:sequential_digits", "handwritten digits, pixel by pixel", "digits", {"validation": 200}
    ),
    "copy": TaskEntry("signalprop.tasks.memory:copy_memory", "copy memory", "copy", {"blanks": 50, "validation": 512}),
    "adding": TaskEntry(
        "signalprop.tasks.memory:adding", "the adding problem", "adding", {"steps": 50, "validation": 512}
    ),
    "arrays": TaskEntry("signalprop.tasks.arrays:load_arrays", "your own sequences, from NumPy files", "arrays"),
}

LAYERS: dict[str, LayerEntry] = {
    "rotrnn": LayerEntry(
        "signalprop.nn:RotRNN",
        "heads that shrink and turn",
        "rotrnn",
        {"heads": "heads", "first_step_rule": "first_step_rule", "r_min": "gamma_min", "r_max": "gamma_max",
         "max_phase": "max_phase"},
    ),
    "lru": LayerEntry(
        "signalprop.nn:LRU",
        "diagonal and complex",
        "lru",
        {"normalizer": "normalizer", "r_min": "r_min", "r_max": "r_max", "max_phase": "max_phase"},
    ),
    "dense": LayerEntry("signalprop.nn:DenseLinearRNN", "a Gaussian matrix", "gaussian", of_task={"horizon": "steps"}),
}  # fmt: skip

NORMALIZERS = ("recomputed", "learned")
POOLINGS = ("mean", "last")


def load(where: str) -> Any:
    """The object that ``module:name`` stands for."""
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
