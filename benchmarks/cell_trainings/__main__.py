"""``python -m benchmarks.cell_trainings [--quick | --full] [--output CSV] [--table | --ship | --plan]``."""

import sys

from benchmarks.cell_trainings.design import DESIGNS, run
from benchmarks.cell_trainings.results import open_results
from benchmarks.cell_trainings.shipped import ship
from benchmarks.cell_trainings.table import markdown, plan
from benchmarks.cell_trainings.training import prepare
from benchmarks.trainings import Sizes, command

SIZES = Sizes("a look: T = 16, two seeds, under a minute", "also T = 160 for tanh and ReLU, and further horizons")


def main() -> int:
    """Run the trainings that the file of results lacks and print its table."""
    prepare()
    return command(
        "cell_trainings", __doc__, SIZES, designs=DESIGNS, open_results=open_results, run=run, markdown=markdown,
        ship=ship, plan=plan,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
