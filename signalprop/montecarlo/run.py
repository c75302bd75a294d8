"""`run`: draw a plan on many cores or machines, survive being killed, and end with one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from signalprop import _progress
from signalprop._blas import one_blas_thread_if
from signalprop._checks import INT64_LIMIT, flag, instance_of, path_of, shown, whole_number
from signalprop._progress import PATIENCE, bar
from signalprop._threads import cores, first_done
from signalprop.methods import Method
from signalprop.montecarlo.blocks import Block, cut, draw_block, work_of
from signalprop.montecarlo.cost import DAY, refuse_impossible
from signalprop.montecarlo.executors import pool
from signalprop.montecarlo.plan import Plan
from signalprop.montecarlo.store import Memory, RunDirectory
from signalprop.montecarlo.words import running_text

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
LONGEST = 30 * DAY  # allowed by default: a cluster is faster


class Progress:
    """State of a run, as handed to the `progress` callback after each block.

    Attributes
    ----------
    done, total
        Blocks finished, and blocks of the plan.
    share
        Share of the work finished, 0 to 1.
    seconds_left
        Estimated from the blocks drawn since this process began; None before the first.
    """

    def __init__(self, plan: Plan, blocks: list[Block], store: Memory | RunDirectory) -> None:
        self._plan, self._blocks, self._store = plan, blocks, store
        self._work = sum(block.seconds for block in blocks)
        self._began = time.monotonic()
        self._here = self._drawn = 0.0
        self._numbers: set[int] = set()
        self.latest: tuple[Block, Floats] | None = None
        self.total = len(blocks)

    @property
    def done(self) -> int:
        """Number of blocks finished."""
        return len(self._numbers)

    @property
    def share(self) -> float:
        """Share of the work finished."""
        return min(1.0, self._here / self._work)

    @property
    def seconds_left(self) -> float | None:
        """Time to go at the pace so far."""
        if self._drawn == 0.0:
            return None
        return (time.monotonic() - self._began) * max(0.0, self._work - self._here) / self._drawn

    def table(self) -> pd.DataFrame:
        """Running estimates: the table of the draws so far, cells without draws left out."""
        from signalprop.montecarlo.table import table

        there = [block for block in self._blocks if block.number in self._numbers]
        return table(self._plan, there, self._store.read, self._store.facts)

    def text(self) -> str:
        """The latest cell in a few words: its running median, and its mean with what it is worth."""
        if self.latest is None:
            return f"{self.done} of {self.total} blocks"
        block, draws = self.latest
        number = block.pieces[-1][0]
        cell = self._plan.cells[number]
        count = sum(cell.chunk_rows(chunk) for at, chunk in block.pieces if at == number)
        words = f"{cell.field.value} n={cell.n} k={cell.k}"
        if count < 2:
            return words
        return f"{words}: {running_text(cell.judged(draws[-count:, 0], self._plan.models[0], cell.k, None))}"

    def _add(self, block: Block, drawn: bool) -> None:
        self._numbers.add(block.number)
        self._here += block.seconds
        self._drawn += block.seconds if drawn else 0.0


def run(
    plan: Plan,
    directory: str | Path | None = None,
    executor: Any = None,
    resume: bool = True,
    progress: bool | Callable[[Progress], None] = True,
    *,
    workers: int | None = None,
) -> pd.DataFrame:
    r"""Draw every cell of a plan and return its table.

    The table depends on the plan alone, not on the executor, the number of workers, their order, or how often the run was
    killed and resumed. It is the same bit for bit on processors of one kind with the same libraries.

    Parameters
    ----------
    plan
        What to draw.
    directory
        Keeps the draws in files that survive a crash, and the table as ``table.csv``. The same plan in the same directory
        continues where it stopped; a damaged file is named in the log and drawn again. None keeps the draws in memory.
    executor
        ``"threads"`` (default; the kernels release the interpreter lock), ``"processes"`` (fresh ones, never forked; a script
        that asks for them needs the usual ``if __name__ == "__main__":``), ``"dask://HOST:PORT"``, a Dask client (extra
        ``dask``), or any executor whose ``submit`` returns a `concurrent.futures.Future`. Only this process writes files.
    resume
        False refuses a directory that holds a run.
    progress
        True shows a bar with the time left and a running estimate on a terminal, and nothing in a pipe. A function is called
        with a `Progress` after each block.
    workers
        Number of threads or processes (default: all cores).

    Returns
    -------
    pandas.DataFrame
        One row per cell and model, with the columns of `signalprop.montecarlo.table.COLUMNS`: quantiles of one draw at the end
        of the path and of its highest point with their intervals, the mean with a verdict, the exact mean where known, and
        where the row comes from. ``frame.attrs`` has the plan as TOML.

    Raises
    ------
    ValueError
        A directory that holds another plan or versions; an unknown executor; work that is estimated to take more than a month
        on `workers`, or more than 80 % of the memory (`signalprop.allow` lifts both).
    OSError
        Another process works in the directory; the disk is full; a worker process died.
    KeyboardInterrupt
        Ctrl-C; what was drawn is kept if there is a directory.

    Examples
    --------
    >>> from signalprop.montecarlo import Plan
    >>> frame = run(Plan(fields=["real", "complex"], n=64, c=[0.5, 1.0], samples=400), progress=False)
    >>> frame[["field", "k", "samples", "trusted"]]
         field  k  samples  trusted
    0     real  4      400     True
    1     real  8      400     True
    2  complex  4      400     True
    3  complex  8      400     True
    """
    instance_of(plan, Plan, "plan", "a signalprop.montecarlo.Plan, as run needs one")
    if directory is not None:
        directory = path_of(directory, "directory")
    flag(resume, "resume")
    if not isinstance(progress, (bool, np.bool_)) and not callable(progress):
        raise ValueError(f"progress must be True, False or a function, got {shown(progress)}.")
    count = None if workers is None else whole_number(workers, "workers", 1, INT64_LIMIT)
    in_memory = 16 * len(plan.models) if directory is None else 0
    cells = "one cell" if len(plan.cells) == 1 else f"{len(plan.cells)} cells"
    refuse_impossible(f"A plan of {cells}", plan.cells, count or cores(), in_memory, LONGEST)
    blocks = cut(plan)
    store = Memory(plan) if directory is None else RunDirectory(directory, plan, resume=resume)
    try:
        state = Progress(plan, blocks, store)
        missing = []
        for block in blocks:
            if store.read(block) is None:
                missing.append(block)
            else:
                state._add(block, drawn=False)
        versions = store.facts["versions"]
        with (
            _reported(progress, state) as report,
            closing(_drawn(plan, missing, executor, count, versions, store.write)) as drawn,
        ):
            for block, draws in drawn:
                store.write(block, draws)
                state._add(block, drawn=True)
                state.latest = block, draws
                report(state)
        return _finished(plan, blocks, store)
    finally:
        store.close()


def _drawn(
    plan: Plan,
    blocks: list[Block],
    executor: Any,
    workers: int | None,
    versions: dict[str, str | None],
    keep: Callable[[Block, Floats], None],
) -> Generator[tuple[Block, Floats], None, None]:
    """The draws of blocks in the order in which they are ready; only a few wait in memory.

    If this ends early, blocks that are ready and that nobody has taken are handed to `keep`.
    """
    if not blocks:
        return
    with (
        one_blas_thread_if(plan.method == Method.DENSE),
        pool(executor, min(workers, len(blocks)) if workers else None) as (submit, window),
    ):
        waiting: dict[Future[Floats], Block] = {}
        todo = iter(blocks)
        try:
            while True:
                while len(waiting) < window and (block := next(todo, None)) is not None:
                    waiting[submit(draw_block, work_of(plan, block), plan.models, versions)] = block
                if not waiting:
                    return
                for future in first_done(waiting):
                    draws = future.result()
                    yield waiting.pop(future), draws
        except Exception as error:
            if isinstance(error, BrokenExecutor) or type(error).__module__.partition(".")[0] == "distributed":
                raise ChildProcessError(
                    f"the workers are gone ({type(error).__name__}), perhaps for want of memory; a run with a directory can be "
                    "resumed."
                ) from error
            raise
        finally:
            for future, block in waiting.items():
                if not future.cancel() and future.done() and future.exception() is None:
                    with suppress(OSError):
                        keep(block, future.result())


def _finished(plan: Plan, blocks: list[Block], store: Memory | RunDirectory) -> pd.DataFrame:
    """The table, from blocks read once more; one that was damaged meanwhile is drawn again."""
    from signalprop.montecarlo.table import table

    def read(block: Block) -> Floats:
        draws = store.read(block)
        if draws is None:
            draws = draw_block(work_of(plan, block), plan.models, store.facts["versions"])
            store.write(block, draws)
        return draws

    frame = table(plan, blocks, read, store.facts)
    if isinstance(store, RunDirectory):
        store.write_table(frame.to_csv(index=False, lineterminator="\n"))
    return frame


@contextmanager
def _reported(progress: bool | Callable[[Progress], None], state: Progress) -> Iterator[Callable[[Progress], None]]:
    """What to call after each block."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda state: None
        return
    with bar(state.text()) as report:
        spoken, text = 0.0, state.text()

        def on_bar(state: Progress) -> None:
            nonlocal spoken, text
            if _progress.shown() and time.monotonic() - spoken > PATIENCE:
                spoken, text = time.monotonic(), state.text()
            report(state.share, text)

        report(state.share, text)
        yield on_bar
