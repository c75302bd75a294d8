"""``signalprop scale``: advice for a model, or the scale by one criterion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from signalprop._numbers import counted, number, show
from signalprop._progress import bar
from signalprop.cli._options import FieldOption, Horizon, Json, ModelOption, Width, named
from signalprop.cli._terminal import print_json, print_rows, print_text, save_figure, sentences
from signalprop.fields import Field
from signalprop.initialization._cell_words import NAMES
from signalprop.initialization.criteria import CRITERIA
from signalprop.models import Model, as_model, by_model

if TYPE_CHECKING:
    from signalprop.initialization import SafeScale


def _readers(option: str) -> str:
    """The criteria that read an option."""
    return ", ".join(name for name, criterion in CRITERIA.items() if option in criterion.options)


def scale(
    n: Width,
    horizon: Horizon,
    cell: Annotated[
        str,
        typer.Option(
            "--cell",
            help="Which layer: linear is h <- W h, the others PyTorch's.",
            **named(("linear", *NAMES)),
        ),
    ] = "linear",
    input_std: Annotated[
        float | None,
        typer.Option("--input-std", help="For cells that are not linear: what inputs add to a preactivation (1)."),
    ] = None,
    field: FieldOption = Field.REAL,
    criterion: Annotated[
        str | None,
        typer.Option("--criterion", help="Only the scale by this criterion, not the whole page.", **named(CRITERIA)),
    ] = None,
    model: ModelOption = Model.RNN,
    tolerance: Annotated[
        float | None,
        typer.Option("--tolerance", help=f"For {_readers('tolerance')}: how far the average may rise (0.1)."),
    ] = None,
    quantile: Annotated[
        float | None, typer.Option("--quantile", help=f"For {_readers('quantile')}: share of draws to keep (0.95).")
    ] = None,
    bound: Annotated[
        float | None, typer.Option("--bound", help=f"For {_readers('bound')}: energy not to pass (10).")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option("--samples", help=f"For {_readers('samples')}: draw this many instead of reading the table."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help=f"For {_readers('seed')}: root seed of the draws, if there are any (0)."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", help="Write the figure to this file (.png, .svg or .pdf).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Which start for recurrent weights? Advice for your model.

    The first question is which --cell it has. Without --criterion: the whole page. With it: one scale, for a linear layer.
    """
    with sentences():
        from signalprop.initialization import advise, safe_scale

        if criterion is not None and cell != "linear":
            raise ValueError(f"--criterion is for linear recurrences, and --cell is {cell}; leave one of them out.")
        if criterion is not None and input_std is not None:
            raise ValueError(
                "--input-std is for cells that are not linear; add --cell lstm (or gru, ..), without --criterion."
            )
        if criterion is None:
            given = {"--model": model is not Model.RNN, "--tolerance": tolerance is not None,
                     "--quantile": quantile is not None, "--bound": bound is not None,
                     "--samples": samples is not None, "--seed": seed is not None}  # fmt: skip
            for option, changed in given.items():
                if changed:
                    raise ValueError(f"{option} belongs to one criterion; add --criterion quantile (or bounded, ..).")
            answer = advise(n, horizon, field, cell=cell, input_std=input_std)
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
                print_json({**found.as_dict(), "status": found.how_sure, "cite": _to_cite(found)})
            else:
                _print_scale(found)
    if plot is not None and not as_json:
        print()
        print_text(f"wrote {plot}")


def _print_scale(found: SafeScale) -> None:
    """One scale: the answer, the lines to paste, and what it does."""
    from signalprop.initialization.advice_text import scale_lines, share_text

    low, high = found.interval
    interval = f"   (95 % interval {low:.6g} .. {high:.6g})" if low < high else ""
    if found.largest > found.scale:
        bottom, top = found.largest_interval
        interval = f"   (up to {found.largest:.6g} would do, 95 % interval {bottom:.6g} .. {top:.6g})"
    recurrence = by_model(as_model(found.model), rnn="h <- W h", driven="h <- W h + x, energy per step")
    print_text(
        f"By {found.criterion}: g = {found.scale:.4g} times Glorot, standard deviation {found.std:.4g} of an entry; "
        f"{found.promise}."
    )
    print("\n".join(scale_lines(found)))
    rows = [
        (
            "recurrence",
            f"{recurrence}; width {found.n}, {counted(found.horizon, 'step')}, {found.field.value} Gaussian weights",
        ),
        ("criterion", f"{found.criterion} (from {found.source})"),
        ("scale g", f"{found.scale:.8g}{interval}"),
        ("std of an entry", f"{found.std:.8g}"),
    ]
    if found.has_mean:
        (top, peak), (bottom, dip) = found.peak, found.dip
        rows.append(("mean energy", f"at most {show(peak)} (step {top}), at least {show(dip)} (step {bottom})"))
    rows += [
        (f"draws past {number(found.bound)}x", share_text(found)),
        ("how sure", found.how_sure),
        ("to cite", _to_cite(found)),
    ]
    print_rows(rows, 16)


def _to_cite(found: SafeScale) -> str:
    return f"signalprop cite scale --criterion {found.criterion} --field {found.field.value}"
