"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from signalprop.fields import Field


class Model(StrEnum):
    """Which recurrence."""

    RNN = "rnn"
    LRU = "lru"


Width = Annotated[int, typer.Option("-n", "--width", help="Width of the layer: W is n x n.")]
Depth = Annotated[int, typer.Option("-k", "--depth", help="Number of recurrent steps.")]
FieldOption = Annotated[Field, typer.Option("--field", help="Number system of the Gaussian weights.")]
ModelOption = Annotated[
    Model, typer.Option("--model", help="rnn: h <- W h.  lru: h <- W h + x, a fresh input each step.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Seed = Annotated[int, typer.Option("--seed", help="Root seed of the random draws.")]
