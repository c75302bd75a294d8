"""``signalprop inspect``: what the recurrences in a file of weights remember, as text, JSON or a picture."""

from __future__ import annotations

from typing import Annotated

import typer

from signalprop.cli._options import Json, named
from signalprop.cli._terminal import print_json, print_text, save_figure, sentences
from signalprop.inspection.adapters import ADAPTERS


def inspect(
    file: Annotated[
        str,
        typer.Argument(
            help="Weights: .safetensors, .npz, .pt (weights alone), an index of several, or a folder.",
            show_default=False,
        ),
    ],
    horizon: Annotated[
        int | None,
        typer.Option("--horizon", "-T", help="Steps over which the model should remember.", show_default=False),
    ] = None,
    adapter: Annotated[
        str | None,
        typer.Option(
            "--as",
            "--adapter",
            help="What its recurrences are, where names and shapes do not say it.",
            **named(ADAPTERS),
        ),
    ] = None,
    input_std: Annotated[
        float | None,
        typer.Option("--input-std", help="What inputs add to the gates; default: as read from the weights, else 0."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", help="Write the figure to this file (.png, .svg or .pdf).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what the recurrences of a model remember, and for how long.

    Reads a file of weights; no code of the model is needed.
    """
    with sentences():
        from signalprop.inspection import inspect as look

        found = look(file, horizon=horizon, adapter=adapter, input_std=input_std)
        if plot is not None:
            save_figure(found.plot(), plot)
    if as_json:
        print_json(found.as_dict())
        return
    print(found)
    if plot is not None:
        print()
        print_text(f"wrote {plot}")
