"""``python -m benchmarks.stability [--quick | --full] [--output CSV] [--table]``: train, resume, print the table."""

import sys

import torch

from benchmarks.stability.design import DESIGNS, SETTINGS, guesses, run
from benchmarks.stability.results import Results
from benchmarks.stability.table import markdown
from benchmarks.trainings import command


def main() -> int:
    """Run the trainings that the file of results lacks and print its table."""
    torch.set_num_threads(1)
    return command(
        "stability", __doc__, "a look: one seed, 100 steps, a minute or two", "ten seeds instead of five; under an hour",
        designs=DESIGNS, open_results=lambda path: Results(path, SETTINGS), run=run, markdown=markdown,
        origin=lambda: (guesses(),),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
