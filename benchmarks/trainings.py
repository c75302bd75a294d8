"""The command of a benchmark that trains: pick a size, resume its file of results, print its table."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def command(
    name: str,
    about: str | None,
    quick: str,
    full: str,
    *,
    designs: Mapping[str, Any],
    open_results: Callable[[Path], Any],
    run: Callable[..., int],
    markdown: Callable[..., str],
    origin: Callable[[], tuple[Any, ...]] = tuple,
    every: int = 1,
) -> int:
    """Run the trainings that the file of results lacks and print its table; `quick` and `full` say what those sizes are.

    Results of the default and the full size go to ``benchmarks/NAME/results.csv``. `origin` makes what is noted beside them.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help=quick)
    size.add_argument("--full", action="store_true", help=full)
    parser.add_argument("--output", type=Path, help="CSV of results; a JSON with their origin is written beside it")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    arguments = parser.parse_args()
    mode = "quick" if arguments.quick else "full" if arguments.full else "default"
    here = Path(__file__).parent
    usual = here.parent / "build" / f"{name}-quick.csv" if mode == "quick" else here / name / "results.csv"
    try:
        results = open_results(arguments.output or usual)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2

    def progress(done: int, total: int, cell: object) -> None:
        if done % every == 0 or done == total:
            print(f"{done}/{total} {cell}", file=sys.stderr, flush=True)

    if not arguments.table:
        facts = origin()
        results.write_origin(f"{mode}, unfinished", *facts)
        made = run(designs[mode], results, progress)
        results.write_origin(mode, *facts)
        print(f"\n{made} trainings made, {len(results.done)} in {results.path}", file=sys.stderr)
    print(markdown(results.frame()))
    return 0
