"""``signalprop reproduce``: every figure drawn anew."""

from __future__ import annotations

from typing import Annotated

import typer

from signalprop._progress import bar
from signalprop.cli import _completion as completion
from signalprop.cli._options import Json, Seed
from signalprop.cli._terminal import print_json, print_text, sentences


def reproduce(
    directory: Annotated[str, typer.Option("--directory", help="Where to write the figures.")] = "figures",
    quick: Annotated[bool, typer.Option("--quick", help="Quick look: few draws, under a minute.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Ten times the draws.")] = False,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="NAME", help="Draw this one figure.", autocompletion=completion.figure_names),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Redraw every figure.

    Writes each as PNG and SVG, its numbers as CSV and their origin as JSON, and an index page.
    """
    with sentences():
        if quick and full:
            raise ValueError("--quick and --full exclude each other; give one of them.")
        from signalprop._checks import whole_number
        from signalprop.figures.reproduce import figures_of
        from signalprop.figures.reproduce import reproduce as write

        whole_number(seed, "seed", 0)
        quality = "quick" if quick else "full" if full else "default"
        names = figures_of(quality, only)
        with bar("drawing") as report:

            def progress(name: str, share: float) -> None:
                report((names.index(name) + share) / len(names), f"drawing {name}")

            paths = write(directory, quality, seed=seed, only=only, progress=progress)
    if as_json:
        print_json({"quality": quality, "figures": [str(path) for path in paths]})
        return
    for path in paths:
        print_text(f"wrote {path} (and .svg, .csv, .json beside it)", "    ")
