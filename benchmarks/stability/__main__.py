"""``python -m benchmarks.stability [--quick | --full] [--output CSV] [--table]``: train, resume, print the table."""

import argparse
import sys
from pathlib import Path

import torch

from benchmarks.stability.design import DESIGNS, SETTINGS, guesses, run
from benchmarks.stability.results import Results
from benchmarks.stability.table import markdown

HERE = Path(__file__).parent
OUTPUTS = {
    "quick": HERE.parents[1] / "build" / "stability-quick.csv",
    "default": HERE / "results.csv",
    "full": HERE / "results.csv",
}


def main() -> int:
    """Run the trainings that the file of results lacks and print its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stability", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a look: one seed, 100 steps, a minute or two")
    size.add_argument("--full", action="store_true", help="ten seeds instead of five; under an hour")
    parser.add_argument("--output", type=Path, help="CSV of results; a JSON with their origin is written beside it")
    parser.add_argument("--table", action="store_true", help="only print the table of the results there are")
    arguments = parser.parse_args()
    mode = "quick" if arguments.quick else "full" if arguments.full else "default"
    torch.set_num_threads(1)
    try:
        results = Results(arguments.output or OUTPUTS[mode], SETTINGS)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if not arguments.table:
        about = guesses()
        results.write_origin(f"{mode}, unfinished", about)
        made = run(DESIGNS[mode], results, _progress)
        results.write_origin(mode, about)
        print(f"\n{made} trainings made, {len(results.done)} in {results.path}", file=sys.stderr)
    print(markdown(results.frame()))
    return 0


def _progress(done: int, total: int, cell: object) -> None:
    print(f"{done}/{total} {cell}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
