"""``signalprop scale``: advice for a model, or the scale by one criterion."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from signalprop._options import FieldOption, Json, Model, ModelOption, Seed, Width
from signalprop._terminal import bar, print_json, save_figure, sentences, show
from signalprop.fields import Field

if TYPE_CHECKING:
    from signalprop.initialization import SafeScale


class CriterionName(StrEnum):
    """Criteria of `safe_scale`, as on the command line."""

    QUANTILE = "quantile"
    BOUNDED = "bounded"
    MINIMAX = "minimax"
    EDGE = "edge"
    GLOROT = "glorot"


def scale(
    n: Width,
    horizon: Annotated[int, typer.Option("-T", "--horizon", help="Number of steps the signal should survive.")],
    field: FieldOption = Field.REAL,
    criterion: Annotated[
        CriterionName | None, typer.Option("--criterion", help="Only the scale by this criterion, not the whole page.")
    ] = None,
    model: ModelOption = Model.RNN,
    tolerance: Annotated[float, typer.Option("--tolerance", help="For bounded: how far the average may rise.")] = 0.1,
    quantile: Annotated[float, typer.Option("--quantile", help="For quantile, edge: share of draws to keep.")] = 0.95,
    bound: Annotated[float, typer.Option("--bound", help="For quantile: energy not to pass.")] = 10.0,
    samples: Annotated[
        int | None, typer.Option("--samples", help="For quantile: draw this many instead of reading the table.")
    ] = None,
    seed: Seed = 0,
    plot: Annotated[
        str | None, typer.Option("--plot", help="Write the figure to this file (.png, .svg or .pdf).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Which scale for recurrent weights? Advice for your model.

    Without --criterion: the whole page. With it: that one scale.
    """
    with sentences():
        from signalprop.initialization import advise, safe_scale

        if criterion is None:
            given = {"--model": model is not Model.RNN, "--tolerance": tolerance != 0.1, "--quantile": quantile != 0.95,
                     "--bound": bound != 10.0, "--samples": samples is not None}  # fmt: skip
            for option, changed in given.items():
                if changed:
                    raise ValueError(f"{option} belongs to one criterion; add --criterion quantile (or bounded, ..).")
            answer = advise(n, horizon, field)
            if plot is not None:
                save_figure(answer.plot(), plot)
            if as_json:
                print_json(answer.as_dict())
            else:
                print(answer)
        else:
            with bar(f"sampling n={n}, T={horizon}") as report:
                found = safe_scale(
                    n, horizon, field, model=model, criterion=criterion, tolerance=tolerance, quantile=quantile, bound=bound,
                    samples=samples, seed=seed, progress=lambda done, total: report(done / total),
                )  # fmt: skip
            if plot is not None:
                save_figure(found.plot(), plot)
            if as_json:
                print_json(found.as_dict())
            else:
                _print_scale(found)
    if plot is not None and not as_json:
        print(f"\nwrote {plot}")


def _print_scale(found: SafeScale) -> None:
    """One scale as a few lines."""
    from signalprop.initialization.advice_text import share_text

    low, high = found.interval
    interval = f"   (95 % interval {low:.6g} .. {high:.6g})" if low < high else ""
    recurrence = "h <- W h" if found.model == "rnn" else "h <- W h + x, energy per step"
    rows = [
        ("recurrence", f"{recurrence}; width {found.n}, {found.horizon} steps, {found.field.value} Gaussian weights"),
        ("criterion", f"{found.criterion} (from {found.source})"),
        ("scale g", f"{found.scale:.8g}{interval}"),
        ("std of an entry", f"{found.std:.8g}"),
    ]
    if found.has_mean:
        (top, peak), (bottom, dip) = found.peak, found.dip
        rows.append(("mean energy", f"at most {show(peak)} (step {top}), at least {show(dip)} (step {bottom})"))
    rows.append((f"draws past {found.bound:g}x", share_text(found)))
    for name, text in rows:
        print(f"{name:<16} {text}")
