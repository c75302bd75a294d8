"""The command of a benchmark that trains: pick a size, resume its file of results, print its table, ship its summary."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import signalprop.figures
from benchmarks.results import Results

SHIPPED = Path(signalprop.figures.__file__).parent / "data"


class Sizes(NamedTuple):
    """What the options ``--quick`` and ``--full`` stand for, in words."""

    quick: str
    full: str


def command(
    name: str,
    about: str | None,
    sizes: Sizes,
    *,
    designs: Mapping[str, Any],
    open_results: Callable[[Path], Results],
    run: Callable[..., int],
    markdown: Callable[[pd.DataFrame], str],
    ship: Callable[[pd.DataFrame, str], None],
    origin: Callable[[], Mapping[str, Any]] = dict,
    every: int = 1,
    plan: Callable[[Any, Results], str] | None = None,
) -> int:
    """Run the trainings that the file of results lacks and print its table.

    Results of the default and the full size go to ``benchmarks/NAME/results.csv``; `ship` writes what the package needs of them
    into it, given their table and the text of their origin, which `origin` adds to. `plan` says what is left, and what it costs.
    """
    arguments = _parser(name, about, sizes, plan=plan is not None).parse_args()
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

    if plan is not None and arguments.plan:
        print(plan(designs[mode], results))
        return 0
    if arguments.ship:
        ship(results.frame(), results.about.read_text())
    elif not arguments.table:
        facts = origin()
        results.write_origin(f"{mode}, unfinished", facts)
        made = run(designs[mode], results, progress)
        results.write_origin(mode, facts)
        print(f"\n{made} trainings made, {len(results.done)} in {results.path}", file=sys.stderr)
        if mode != "quick" and arguments.output is None:
            ship(results.frame(), results.about.read_text())
    print(markdown(results.frame()))
    return 0


def for_figure(figure: str, summary: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[pd.DataFrame, str], None]:
    """Writes what a figure draws into the package: a summary of the trainings, and their origin."""

    def ship(trainings: pd.DataFrame, origin: str) -> None:
        (SHIPPED / f"{figure}.csv").write_text(as_shipped(summary(trainings)))
        (SHIPPED / f"{figure}.json").write_text(origin)

    return ship


def as_shipped(summary: pd.DataFrame) -> str:
    """A summary as it stands in the package."""
    return summary.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _parser(name: str, about: str | None, sizes: Sizes, *, plan: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help=sizes.quick)
    size.add_argument("--full", action="store_true", help=sizes.full)
    parser.add_argument("--output", type=Path, help="CSV of results; a JSON with their origin is written beside it")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    parser.add_argument("--ship", action="store_true", help="the same, and write their summary into the package")
    if plan:
        parser.add_argument("--plan", action="store_true", help="only print what is left, and its cost")
    return parser
