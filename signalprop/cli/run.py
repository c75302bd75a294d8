"""``signalprop run``: a plan of many cells, drawn into a directory that survives being killed."""

from __future__ import annotations

import math
import os
from typing import Annotated

import typer

from signalprop._numbers import counted, finite, show
from signalprop.cli._again import again
from signalprop.cli._leaving import saying
from signalprop.cli._options import Json, MaxHours
from signalprop.cli._terminal import in_options, print_json, print_noted, print_text, sentences


def run(
    context: typer.Context,
    plan: Annotated[str, typer.Argument(metavar="PLAN.toml", help="What to draw: fields, n, k or c, samples, ..")],
    directory: Annotated[str, typer.Option("--directory", help="Where draws and table are kept.")],
    executor: Annotated[
        str,
        typer.Option(
            "--executor", help="threads, processes, or dask://HOST:PORT, tls://HOST:PORT (a running scheduler)."
        ),
    ] = "threads",
    workers: Annotated[int | None, typer.Option("--workers", help="Threads or processes (default: all cores).")] = None,
    max_hours: MaxHours = None,
    as_json: Json = False,
) -> None:
    """Draw a plan of many cells; survives being killed.

    The same command in the same directory goes on where it stopped.
    """
    with sentences():
        from signalprop._cost import allow
        from signalprop.montecarlo.plan import Plan
        from signalprop.montecarlo.run import run as draw

        wanted = Plan.load(plan)
        stopped = f"stopped; what was drawn is safe in {directory}. To go on: {again(context)}"
        with saying(lambda: stopped), allow(hours=max_hours):
            frame = draw(wanted, directory, executor, workers=workers)
    if as_json:
        rows = [{name: finite(value) for name, value in row.items()} for row in frame.to_dict("records")]
        print_json({"directory": directory, "rows": rows})
        return
    print_noted(
        f"{'field':<10} {'n':>7} {'k':>5} {'model':<6} {'median draw':>12} {'mean':>12}", "what the mean is worth"
    )
    for row in frame.itertuples():
        median = "-" if math.isnan(row.log_median) else show(row.log_median)
        numbers = f"{row.field:<10} {row.n:>7} {row.k:>5} {row.model:<6} {median:>12} {show(row.log_mean):>12}"
        print_noted(numbers, in_options(row.verdict))
    print()
    print_text(
        f"{counted(len(frame), 'row')} with quantiles and intervals: {os.path.join(directory, 'table.csv')}", "    "
    )
