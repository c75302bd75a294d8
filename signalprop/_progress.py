"""Progress of long work, on a meter that can be replaced.

Long work asks for a `bar` and reports shares to it; the meter in use decides what becomes of them: `rich_meter` on a terminal,
`text_meter` on one that cannot move its cursor (TERM=dumb), `no_meter` in a pipe. `using` sets another.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Protocol

PATIENCE = 0.5  # seconds between two running estimates on a terminal
_LINES_APART = 10.0  # seconds between two lines of the text meter


class Report(Protocol):
    """Takes the share of the work that is done, and optionally new text to show beside it."""

    def __call__(self, share: float, text: str = ...) -> None:
        """Show the share."""


Meter = Callable[[str], AbstractContextManager[Report]]


@contextmanager
def no_meter(title: str) -> Iterator[Report]:
    """Show nothing."""

    def report(share: float, text: str = title) -> None:
        pass

    yield report


@contextmanager
def text_meter(title: str) -> Iterator[Report]:
    """A line on standard error every ten seconds."""
    last = time.monotonic()

    def report(share: float, text: str = title) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINES_APART:
            last = time.monotonic()
            print(f"{text}: {100.0 * share:.0f} %", file=sys.stderr, flush=True)

    yield report


@contextmanager
def rich_meter(title: str) -> Iterator[Report]:
    """A bar with the time left, which leaves no trace."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("time left"),
        TimeRemainingColumn(),
    )
    # Lines printed meanwhile appear above the bar on a terminal, and still reach a redirected standard output.
    to_terminal = sys.stdout.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=to_terminal) as progress:
        task = progress.add_task(title, total=1.0)

        def report(share: float, text: str = title) -> None:
            progress.update(task, completed=share, description=text)

        yield report


_CHOSEN: ContextVar[Meter | None] = ContextVar("meter", default=None)


def bar(title: str) -> AbstractContextManager[Report]:
    """The meter in use, under a title."""
    return (_CHOSEN.get() or _of_the_stream())(title)


def shown() -> bool:
    """Whether anybody is watching, so that text beside the share is worth composing."""
    return (_CHOSEN.get() or _of_the_stream()) is not no_meter


@contextmanager
def using(meter: Meter) -> Iterator[None]:
    """Report to this meter inside the context."""
    before = _CHOSEN.set(meter)
    try:
        yield
    finally:
        _CHOSEN.reset(before)


def _of_the_stream() -> Meter:
    if not sys.stderr.isatty():
        return no_meter
    return text_meter if os.environ.get("TERM") == "dumb" else rich_meter
