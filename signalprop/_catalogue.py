"""What a training names: the registries of tasks and layers, `signalprop.tasks.TASKS` and `signalprop.training.LAYERS`.

`signalprop.tasks.make`, `signalprop.training.Settings`, the model builder, the command line and the citations read them; to add
a task or a layer, register a record. They load nothing, least of all PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from signalprop._registry import Registry, load
from signalprop._topics import Cites, Topic


@dataclass(frozen=True)
class TaskEntry:
    """A task: the function that makes it, and the options that a training gives it unless told otherwise.

    Attributes
    ----------
    where
        The function, whose parameters are the options of the task, or ``"module:function"``, which is loaded when it is used.
    about
        What it is, in a few words.
    cites
        What to cite for it: a topic, or the name of an existing one.
    short
        Options of a training unless others are given: the published ListOps takes days on a CPU.

    Examples
    --------
    >>> from signalprop.tasks import TASKS
    >>> list(TASKS), TASKS["copy"].about
    (['listops', 'listops-files', 'digits', 'copy', 'adding', 'arrays'], 'copy memory')
    """

    where: str | Callable[..., Any]
    about: str
    cites: Cites
    short: Mapping[str, Any] = field(default_factory=dict)

    def maker(self) -> Callable[..., Any]:
        """The function."""
        found: Callable[..., Any] = load(self.where)
        return found


@dataclass(frozen=True)
class LayerEntry:
    """A layer: its class, and which settings and facts of the task it takes, under which keywords.

    Attributes
    ----------
    where
        The class, a `signalprop.nn.Recurrence` made from the widths of model and state, or ``"module:class"``.
    about
        What it is, in a few words.
    cites
        What to cite for it: a topic, or the name of an existing one.
    takes
        Maps settings to keywords. A setting that only other layers take is refused.
    of_task
        Maps keywords to attributes of the task.
    """

    where: str | Callable[..., Any]
    about: str
    cites: Cites
    takes: Mapping[str, str] = field(default_factory=dict)
    of_task: Mapping[str, str] = field(default_factory=dict)

    def maker(self) -> Callable[..., Any]:
        """The class."""
        found: Callable[..., Any] = load(self.where)
        return found


_MEMORY = ("hochreiter1997", "arjovsky2016")

TASKS = Registry(
    "task",
    TaskEntry,
    {
        "listops": TaskEntry(
            "signalprop.tasks.listops:generate",
            "ListOps, drawn as in the Long Range Arena",
            Topic("ListOps, in the lengths of the Long Range Arena", ("nangia2018", "tay2021")),
            {"train": 20_000, "validation": 512, "test": 2_000, "min_length": 10, "max_length": 65},
        ),
        "listops-files": TaskEntry("signalprop.tasks.listops:load", "ListOps, the published files", "listops"),
        "digits": TaskEntry(
            "signalprop.tasks.digits:sequential_digits",
            "handwritten digits, pixel by pixel",
            Topic("handwritten digits of scikit-learn", ("pedregosa2011",)),
            {"validation": 200},
        ),
        "copy": TaskEntry(
            "signalprop.tasks.memory:copy_memory",
            "copy memory",
            Topic("copy memory", _MEMORY),
            {"blanks": 50, "validation": 512},
        ),
        "adding": TaskEntry(
            "signalprop.tasks.memory:adding",
            "the adding problem",
            Topic("the adding problem", _MEMORY),
            {"steps": 50, "validation": 512},
        ),
        "arrays": TaskEntry(
            "signalprop.tasks.arrays:load_arrays",
            "your own sequences, from NumPy files",
            Topic("your own sequences"),
        ),
    },
)

LAYERS = Registry(
    "layer",
    LayerEntry,
    {
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
    },
)  # fmt: skip
