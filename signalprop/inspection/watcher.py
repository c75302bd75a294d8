"""`watch`: the memory of every layer while a model is trained."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from signalprop._checks import path_of, shown, whole_number
from signalprop._extras import required
from signalprop._numbers import counted
from signalprop.inspection.chosen import patterns_of
from signalprop.inspection.look import LONGEST, checked_std
from signalprop.inspection.memory_log import MemoryLog
from signalprop.inspection.quick import Quick
from signalprop.inspection.record import Settings
from signalprop.inspection.rows import COLUMNS, Row, row_of

if TYPE_CHECKING:
    from types import TracebackType

    import pandas as pd

_CURVES = ("gradient_1e", "gradient_at_horizon", "input_1e", "scale", "median_1e", "never", "at_once", "no_decay")


class Watcher:
    """Looks at a model every so many steps; made by `watch`.

    Attributes
    ----------
    rows
        A dictionary per layer and look, by the columns that `watch` lists.
    every
        Steps between two looks.
    taken
        Optimizer steps so far.
    looks
        How often the model was looked at.
    seconds
        What that took, in all.
    """

    def __init__(self, model: Any, quick: Quick, *, every: int, start: int, log: MemoryLog | None, writer: Any) -> None:
        self.every, self.taken = every, start
        self._model, self._quick, self._log, self._writer = model, quick, log, writer
        self._close: list[Callable[[], None]] = []
        self.looks, self.seconds = 0, 0.0
        self.rows: list[Row] = [] if log is None else list(log.rows)

    def step(self, model: Any = None) -> bool:
        """Count an optimizer step, and look at the model after every so many.

        Parameters
        ----------
        model
            The new parameters where they are replaced rather than changed in place, as in JAX.

        Returns
        -------
        bool
            Whether it was looked at.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        return self.at(self.taken + 1, model)

    def at(self, step: int, model: Any = None) -> bool:
        """As `step`, for a training that counts its steps itself: `step` of them are taken now.

        Parameters
        ----------
        step
            At least as many as before; nothing happens where they are as many.
        model
            As for `step`.

        Returns
        -------
        bool
            Whether the model was looked at.

        Raises
        ------
        ValueError
            Fewer steps than before.
        OSError
            The file cannot be written.
        """
        now = whole_number(step, "step", 0)
        if now < self.taken:
            raise ValueError(f"step must be at least {self.taken}, the steps counted so far, got {now}.")
        if model is not None:
            self._model = model
        due = now // self.every > self.taken // self.every
        self.taken = now
        if due:
            self.look()
        return due

    def look(self) -> None:
        """Look at the model now, and add its rows.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        began = time.perf_counter()
        rows = [row_of(self.taken, layer, self._quick.settings) for layer in self._quick.look(self._model)]
        if self._log is not None:
            self._log.append(rows)
        self.rows += rows
        if self._writer is not None:
            self._write(rows)
        self.looks += 1
        self.seconds += time.perf_counter() - began

    @property
    def table(self) -> pd.DataFrame:
        """`rows` as a table."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(COLUMNS))

    @property
    def cost(self) -> str:
        """What looking took, in words."""
        return f"{counted(self.looks, 'look')}, {self.seconds / max(self.looks, 1):.2g} s each."

    def close(self) -> None:
        """Let go of the optimizer, and close a writer that was made here; the file is whole at any time."""
        while self._close:
            self._close.pop()()

    def on_close(self, action: Callable[[], None]) -> None:
        """Have something done by `close`."""
        self._close.append(action)

    def __enter__(self) -> Watcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<watcher at step {self.taken}: {self.cost}>"

    def _write(self, rows: list[Row]) -> None:
        for row in rows:
            for name in _CURVES:
                value = row[name]
                if value is None and name == "gradient_1e" and row["gradient_grows"] is None:
                    value = row["reach"]  # the last step that was looked at, where none has lost that much
                if value is not None and math.isfinite(value):
                    self._writer.add_scalar(f"memory/{row['layer'] or 'model'}/{name}", value, row["step"])


def watch(
    model: Any,
    *,
    every: int = 100,
    path: str | os.PathLike[str] | None = "memory.csv",
    horizon: int | None = None,
    optimizer: Any = None,
    writer: Any = None,
    layers: Any = None,
    start: int | None = None,
    input_std: float | None = None,
    adapter: str | None = None,
) -> Watcher:
    r"""Watch what the recurrences of a model remember while it is trained.

    The parameters are inspected now and after every so many optimizer steps, a row per layer.

    Parameters
    ----------
    model
        As for `inspect`.
    every
        Steps between two looks, 1 or more.
    path
        File of CSV to which the rows go, whole lines and on disk after each look; None for none.
    horizon
        T, the steps over which the model should remember: for verdicts, and for what is left of a gradient there.
    optimizer
        A `torch.optim.Optimizer`, after each step of which the watcher counts on its own. Left out: call `Watcher.step`.
    writer
        A SummaryWriter of TensorBoard, or a folder for one, which needs the package tensorboard.
    layers
        Name of a layer as `inspect` has it, or several; ``*`` and ``?`` stand for any letters. Left out: all.
    start
        Steps that are taken already, for a training that goes on from a checkpoint: rows of the file from there on are dropped,
        and made again. Left out: 0, and a file that has rows is refused.
    input_std, adapter
        As for `inspect`.

    Returns
    -------
    Watcher
        ``.table`` and ``.rows`` are all rows, those of the file included, ``.cost`` what looking took.

    Raises
    ------
    ValueError
        As for `inspect`; `every` below 1; a layer that the model does not have; a file with rows of an earlier training, or
        with something else in it; an optimizer without hooks.
    OSError
        A folder that does not exist, or a file that cannot be written.
    ImportError
        A folder for TensorBoard, where that is not installed.

    Notes
    -----
    Columns: ``step``, ``layer``, ``adapter``, ``verdict`` as `Inspection.as_dict` has it, or ``not_finite``. Steps until 1/e
    and 1 % of an energy are left: ``input_1e``, ``input_1pct``, ``gradient_1e``, ``gradient_1pct``; until it is a hundred times
    as large: ``gradient_grows``; empty where that does not happen within ``reach`` steps. ``gradient_at_horizon``: natural
    logarithm of what is left at the horizon. ``scale``, ``largest``: g = \|\|W\|\|_F/sqrt(n) and the largest singular value of
    the kernel, of several gates the largest. Of units on their own the least, median and most steps until 1/e is left,
    ``least_1e``, ``median_1e``, ``most_1e``; how many there are, ``units``, and how many of them never forget, forget within
    two steps, or round to no decay: ``never``, ``at_once``, ``no_decay``.

    Weights that are no longer finite stop nothing: their layer has the verdict ``not_finite`` from there on. Status as for
    `inspect`. Cost: an inspection without eigenvalues, O(n^3) for a dense kernel, about a second for an LSTM of 512 units, and
    milliseconds for decays; name `layers` to look at fewer.

    Examples
    --------
    >>> import torch
    >>> model = torch.nn.LSTM(4, 8)
    >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> with watch(model, every=2, path=None, optimizer=optimizer) as watcher:
    ...     for _ in range(5):
    ...         optimizer.zero_grad()
    ...         model(torch.ones(3, 1, 4))[0].sum().backward()
    ...         optimizer.step()
    >>> [row["step"] for row in watcher.rows]
    [0, 2, 4]
    """
    interval = whole_number(every, "every", 1)
    settings = Settings(
        None if horizon is None else whole_number(horizon, "horizon", 1, LONGEST),
        checked_std(input_std),
        eigenvalues=False,
    )
    begin = None if start is None else whole_number(start, "start", 0)
    file = None if path is None else path_of(path, "path")
    hook, open_writer = _hook_of(optimizer), _writer_of(writer)
    quick = Quick(settings, adapter, patterns_of(layers))
    quick.look(model)  # refuses a model before a file is touched
    log = None if file is None else MemoryLog(file, begin)
    made = open_writer()
    watcher = Watcher(model, quick, every=interval, start=begin or 0, log=log, writer=made)
    if made is not writer:
        watcher.on_close(made.close)
    if hook is not None:
        watcher.on_close(hook(lambda *_: _count(watcher)).remove)
    watcher.look()
    return watcher


def _count(watcher: Watcher) -> None:
    watcher.step()  # a hook must return nothing


def _hook_of(optimizer: Any) -> Any:
    if optimizer is None:
        return None
    hook = getattr(optimizer, "register_step_post_hook", None)
    if hook is None or isinstance(optimizer, type):
        raise ValueError(f"optimizer must be a torch.optim.Optimizer or None, got {shown(optimizer)}.")
    return hook


def _writer_of(writer: Any) -> Callable[[], Any]:
    """What gives the writer, once a model and a file are found to be good."""
    if writer is None or (callable(getattr(writer, "add_scalar", None)) and not isinstance(writer, type)):
        return lambda: writer
    if not isinstance(writer, (str, os.PathLike)):
        raise ValueError(f"writer must be a SummaryWriter of TensorBoard, or a folder for one, got {shown(writer)}.")
    folder = path_of(writer, "writer")
    with required("writer", "tensorboard"):
        from torch.utils.tensorboard import SummaryWriter
    return lambda: SummaryWriter(str(folder))
