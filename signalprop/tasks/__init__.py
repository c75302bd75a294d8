"""What training experiments run on: ListOps, sequential digits, copy memory, the adding problem, and sequences of your own.

All are a `Task` of NumPy arrays: parts `train`, `validation`, `test` of `inputs`, `targets` and `lengths`, what is asked
(`kind`), and what a guess gets (`chance`, `baseline`), so that a training loop needs to know nothing else. `make` finds one by
name, as in the files that ``signalprop configs`` prints; the names stand in `TASKS`, where more can be registered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from signalprop._catalogue import TASKS, TaskEntry
from signalprop._declared import checked, hints, required
from signalprop._registry import Gathered
from signalprop.tasks import listops
from signalprop.tasks.arrays import load_arrays
from signalprop.tasks.digits import sequential_digits
from signalprop.tasks.memory import adding, copy_memory
from signalprop.tasks.task import Kind, Split, Task

__all__ = [
    "MAKERS",
    "TASKS",
    "Kind",
    "Split",
    "Task",
    "TaskEntry",
    "adding",
    "copy_memory",
    "listops",
    "load_arrays",
    "make",
    "sequential_digits",
]

MAKERS: Mapping[str, Callable[..., Task]] = Gathered(lambda: {name: entry.maker() for name, entry in TASKS.items()})
"""The function of each task in `TASKS`."""


def make(task: str, /, **options: Any) -> Task:
    """The task of this name, one of those in `TASKS`, made with the options of its function.

    Raises
    ------
    ValueError
        An unknown name or option, an option of a type other than declared, or one that is missing; the message lists what
        there is.

    Examples
    --------
    >>> make("copy", blanks=20, train=100, test=100).description
    'copy memory, 10 of 8 symbols after 20 steps'
    """
    maker = TASKS.find(task).maker()
    kinds = hints(maker)
    functions = {name: options.pop(name) for name in ("progress",) if name in options and name not in kinds}
    wanted = check_options(task, options)
    try:
        made: Task = maker(**wanted, **functions)
    except ValueError as error:  # a training has settings of the same names
        raise ValueError(f"task {task}: {error}") from None
    return made


def check_options(task: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options of a task, each of the type that its function declares, with none missing that it requires."""
    maker = TASKS.find(task).maker()
    found = checked(options, maker, f"task {task}")
    for name in required(maker):
        if name not in found:
            raise ValueError(f"task {task} needs the option {name!r}: --set {name}=.. on the command line.")
    return found
