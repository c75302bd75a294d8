"""What training experiments run on: ListOps, sequential digits, copy memory, the adding problem.

All are a `Task` of NumPy arrays: parts `train`, `validation`, `test` of `inputs`, `targets` and `lengths`, what is asked
(`kind`), and what a guess gets (`chance`, `baseline`), so that a training loop needs to know nothing else. `make` finds one by
name, as in the files under ``configs/``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signalprop.fields import one_of
from signalprop.tasks import listops
from signalprop.tasks.digits import sequential_digits
from signalprop.tasks.memory import adding, copy_memory
from signalprop.tasks.task import Kind, Split, Task

__all__ = ["MAKERS", "Kind", "Split", "Task", "adding", "copy_memory", "listops", "make", "sequential_digits"]

MAKERS: dict[str, Callable[..., Task]] = {
    "listops": listops.generate,
    "listops-files": listops.load,
    "digits": sequential_digits,
    "copy": copy_memory,
    "adding": adding,
}


def make(name: str, **options: Any) -> Task:
    """The task called `name`, one of the keys of `MAKERS`, made with the options of its function.

    Raises
    ------
    ValueError
        An unknown name; the message lists them.

    Examples
    --------
    >>> make("copy", blanks=20, train=100, test=100).description
    'copy memory, 10 of 8 symbols after 20 steps'
    """
    return MAKERS[one_of(name, MAKERS, "task")](**options)
