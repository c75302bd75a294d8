"""The command ``signalprop recurrence``: the exact energy path of one recurrence as text, JSON or a picture."""

from __future__ import annotations

from enum import StrEnum
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from signalprop.cli._terminal import in_options, print_json, print_text, save_figure, sentences
from signalprop.recurrences.catalogue import KINDS, owners, parameters


class _Recurrence:
    """Exact energy path of RotRNN, LRU, S4, S5 and others.

    x_t = A x_{t-1} + B u_t from x_0 = 0, parameters drawn from their published initial law.
    """

    def __init__(self) -> None:
        self.__name__, self.__doc__ = "recurrence", type(self).__doc__
        self.__annotations__: dict[str, Any] = {}  # all there is to know is in the signature

    @property
    def __signature__(self) -> Signature:
        """The arguments and options at this moment: those of kinds that were registered later are among them."""
        kinds = ".  ".join(f"{name}: {kind.about.rstrip('.')}" for name, kind in KINDS.items())
        enumeration: Any = StrEnum
        names = enumeration("Kind", [(name, name) for name in KINDS])
        first: dict[str, tuple[Any, Any]] = {
            "kind": (
                Annotated[names, typer.Argument(help=f"{kinds}.", show_default=False)],
                Parameter.empty,
            ),
            "horizon": (
                Annotated[int, typer.Option("-T", "--horizon", "-k", "--depth", help="Number of steps.")],
                1000,
            ),
            "states": (Annotated[int, typer.Option("-n", "--width", "--states", help="State size.")], 64),
        }
        for name, each in parameters().items():
            option = typer.Option(*each.spellings, help=f"{', '.join(owners(name))}: {each.help}")
            first[name] = Annotated[each.type | None, option], None
        last: dict[str, tuple[Any, Any]] = {
            "correlation": (
                Annotated[float, typer.Option("--correlation", help="Between inputs one step apart (AR(1)).")],
                0.0,
            ),
            "samples": (
                Annotated[int | None, typer.Option("--samples", help="Also draw this many input sequences.")],
                None,
            ),
            "seed": (Annotated[int, typer.Option("--seed", help="Seed of parameters and inputs.")], 0),
            "plot": (
                Annotated[str | None, typer.Option("--plot", help="Write the figure here (.png, .svg or .pdf).")],
                None,
            ),
            "as_json": (Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")], False),
        }
        return Signature(
            [
                Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
                for name, (kind, default) in (first | last).items()
            ]
        )

    def __call__(
        self,
        *,
        kind: str,
        horizon: int,
        states: int,
        correlation: float,
        samples: int | None,
        seed: int,
        plot: str | None,
        as_json: bool,
        **given: Any,
    ) -> None:
        """Parse, call, print."""
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


recurrence = _Recurrence()
