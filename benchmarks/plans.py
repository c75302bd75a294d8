"""Plans: bookkeeping against sampling for many small cells, and executors against each other."""

import tempfile
import time

from benchmarks._timing import nice
from signalprop import run
from signalprop.montecarlo import Plan
from signalprop.montecarlo.blocks import cut

SMALL = Plan("complex", range(10, 5010), k=range(1, 21), samples=100)
FEW = Plan(["real", "complex"], [400, 2500], c=[1.0, 2.0], samples=4000)


def bare(plan):
    """Seconds to draw the chunks of all cells in a loop, on one thread: sampling and nothing else."""
    start = time.perf_counter()
    for cell in plan.cells:
        for chunk in range(cell.chunks):
            cell.draw(chunk, driven=False)
    return time.perf_counter() - start


def whole(plan, *arguments, **options):
    """Seconds of a run into a fresh directory."""
    with tempfile.TemporaryDirectory() as directory:
        start = time.perf_counter()
        run(plan, directory, *arguments, progress=False, **options)
        return time.perf_counter() - start


def rows():
    run(Plan(["real", "complex"], 20, k=5, samples=50), progress=False)  # compiled kernels
    start = time.perf_counter()
    blocks = len(cut(SMALL))
    cutting = time.perf_counter() - start
    sampling, total = bare(SMALL), whole(SMALL, workers=1)
    cells = len(SMALL.cells)
    yield (
        f"{cells} cells of {SMALL.samples} draws, sampling alone, one thread",
        nice(sampling),
        f"{nice(sampling / cells)} a cell",
    )
    yield (
        "  the whole run, one thread, with files and table",
        nice(total),
        f"{total / sampling:.2f}x sampling, {blocks} files",
    )
    yield (
        "  bookkeeping",
        nice(total - sampling),
        f"{(total - sampling) / sampling:.2f}x sampling; cutting {nice(cutting)}",
    )
    one = whole(FEW, workers=1)
    yield f"{len(FEW.cells)} larger cells, one thread", nice(one), f"{len(cut(FEW))} files"
    for executor in ("threads", "processes"):
        two = whole(FEW, executor, workers=2)
        yield f"  two {executor}", nice(two), f"{one / two:.2f}x one thread"
