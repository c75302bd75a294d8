"""``python -m benchmarks.initialization [--quick | --full] [--output CSV] [--table]``: train, resume, print the table."""

import sys

from benchmarks.initialization.design import DESIGNS, run
from benchmarks.initialization.results import open_results
from benchmarks.initialization.summary import summary
from benchmarks.initialization.table import markdown
from benchmarks.initialization.training import prepare
from benchmarks.trainings import Sizes, command, for_figure

SIZES = Sizes("a look: width 32, two seeds, under a minute", "width 256 at every horizon and 20 seeds, hours")


def main() -> int:
    """Run the trainings that the file of results lacks and print its table."""
    prepare()
    return command(
        "initialization", __doc__, SIZES, designs=DESIGNS, open_results=open_results, run=run, markdown=markdown,
        ship=for_figure("training", summary), every=10,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
