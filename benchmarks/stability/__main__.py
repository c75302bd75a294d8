"""``python -m benchmarks.stability [--quick | --full] [--output CSV] [--table]``: train, resume, print the table."""

import sys

import torch

from benchmarks.stability.design import DESIGNS, SETTINGS, guesses, run
from benchmarks.stability.results import open_results
from benchmarks.stability.table import markdown, summary
from benchmarks.trainings import Sizes, command, for_figure

SIZES = Sizes("a look: one seed, 100 steps, a minute or two", "ten seeds instead of five; under an hour")


def main() -> int:
    """Run the trainings that the file of results lacks and print its table."""
    torch.set_num_threads(1)
    return command(
        "stability", __doc__, SIZES, designs=DESIGNS, open_results=lambda path: open_results(path, SETTINGS), run=run,
        markdown=markdown, ship=for_figure("stability", summary), origin=guesses,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
