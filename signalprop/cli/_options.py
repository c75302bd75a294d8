"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

import typer

from signalprop.fields import Field
from signalprop.models import Model, as_model

Width = Annotated[int, typer.Option("-n", "--width", help="Width of the layer: W is n x n.")]
# A number of steps is asked for in either spelling everywhere.
Depth = Annotated[int, typer.Option("-k", "--depth", "-T", "--horizon", help="Number of recurrent steps.")]
Horizon = Annotated[
    int, typer.Option("-T", "--horizon", "-k", "--depth", help="Number of steps the signal should survive.")
]
FieldOption = Annotated[Field, typer.Option("--field", help="Number system of the Gaussian weights.")]
ModelOption = Annotated[
    Model,
    typer.Option(
        "--model",
        parser=as_model,
        metavar="[rnn|driven]",
        help="rnn: h <- W h.  driven: h <- W h + x, a fresh input at each step (once called lru).",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Seed = Annotated[int, typer.Option("--seed", help="Root seed of the random draws.")]
MaxHours = Annotated[
    float | None, typer.Option("--max-hours", help="Longest work to begin, in hours (sample: 24; run, train: 30 days).")
]


def named(records: Collection[str]) -> dict[str, Any]:
    """Keywords of `typer.Option` or `typer.Argument` for one name of a registry; those registered later are names too."""

    def parse(name: str) -> str:
        if name not in records:
            raise ValueError(f"{name!r} is not one of {', '.join(map(repr, records))}.")
        return name

    def complete(incomplete: str) -> list[str]:
        return [name for name in records if name.startswith(incomplete)]

    return {"parser": parse, "metavar": f"<{'|'.join(records)}>", "autocompletion": complete}
