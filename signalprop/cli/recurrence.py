"""The command ``signalprop recurrence``: the exact energy path of one recurrence as text, JSON or a picture."""

from __future__ import annotations

from typing import Annotated

import typer

from signalprop.cli._terminal import in_options, print_json, print_text, save_figure, sentences
from signalprop.fields import Field
from signalprop.recurrences.catalogue import Kind, kinds_in_words


def recurrence(
    kind: Annotated[
        Kind,
        typer.Argument(
            help=kinds_in_words(),
            show_default=False,
        ),
    ],
    horizon: Annotated[int, typer.Option("-T", "--horizon", "-k", "--depth", help="Number of steps.")] = 1000,
    states: Annotated[int, typer.Option("-n", "--width", "--states", help="State size.")] = 64,
    inputs: Annotated[int | None, typer.Option("-d", "--inputs", help="Inputs; channels of s4d-lin.")] = None,
    heads: Annotated[int | None, typer.Option("--heads", help="rotrnn: heads, each of norm one.")] = None,
    gamma: Annotated[float | None, typer.Option("--gamma", help="rotrnn, orthogonal: factor on a step.")] = None,
    max_phase: Annotated[float | None, typer.Option("--max-phase", help="rotrnn, lru: largest angle.")] = None,
    r_min: Annotated[float | None, typer.Option("--r-min", help="lru: inner radius of the ring.")] = None,
    r_max: Annotated[float | None, typer.Option("--r-max", help="lru: outer radius of the ring.")] = None,
    dt: Annotated[float | None, typer.Option("--dt", help="s4, s4d-lin, s5: time step; drawn if left out.")] = None,
    field: Annotated[Field | None, typer.Option("--field", help="gaussian: number system.")] = None,
    scale: Annotated[float | None, typer.Option("--scale", help="gaussian: factor g on every weight.")] = None,
    correlation: Annotated[float, typer.Option("--correlation", help="Between inputs one step apart (AR(1)).")] = 0.0,
    samples: Annotated[int | None, typer.Option("--samples", help="Also draw this many input sequences.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of parameters and inputs.")] = 0,
    plot: Annotated[str | None, typer.Option("--plot", help="Write the figure here (.png, .svg or .pdf).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Exact energy path of RotRNN, LRU, S4, S5 and others.

    x_t = A x_{t-1} + B u_t from x_0 = 0, parameters drawn from their published initial law.
    """
    given = {
        "input_size": inputs, "heads": heads, "gamma": gamma, "max_phase": max_phase, "r_min": r_min, "r_max": r_max, "dt": dt,
        "field": field, "scale": scale,
    }  # fmt: skip
    with sentences():
        from signalprop.recurrences.report import report
        from signalprop.recurrences.report_text import page

        chosen = {name: value for name, value in given.items() if value is not None}
        found = report(kind, states, horizon, correlation=correlation, samples=samples, seed=seed, **chosen)
        if plot is not None:
            save_figure(found.plot(), plot)
    if as_json:
        print_json(found.as_dict())
        return
    print(page(found, say=in_options))
    if plot is not None:
        print()
        print_text(f"wrote {plot}")
