"""``signalprop regime``: which limit law holds at a width and a depth."""

from __future__ import annotations

from typing import Annotated

import typer

from signalprop._numbers import finite, number, percent, show
from signalprop.cli._options import Depth, FieldOption, Json, ModelOption, Width
from signalprop.cli._terminal import print_json, print_rows, sentences
from signalprop.fields import Field
from signalprop.models import Model


def regime(
    n: Width,
    k: Depth,
    field: FieldOption = Field.REAL,
    model: ModelOption = Model.RNN,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="Relative error at which a law is good enough.")
    ] = 0.01,
    as_json: Json = False,
) -> None:
    """Which limit law holds at this width and depth, and how well."""
    with sentences():
        from signalprop.regimes import classify

        found = classify(n, k, field, quantity=model, tolerance=tolerance)
    law = found.applied
    if as_json:
        print_json(
            {
                "n": n,
                "k": k,
                "field": field.value,
                "model": model.value,
                "regime": found.regime,
                "law": found.law,
                "domain": law.domain.words,
                "status": law.status,
                "log_value": finite(found.log_value),
                "log_exact": found.log_exact,
                "relative_error": finite(found.relative_error),
                "within_tolerance": found.within_tolerance,
                "past_second_threshold": found.past_second_threshold,
            }
        )
        return
    grade = "within" if found.within_tolerance else "the closest law, but not within"
    sign = "-" if found.relative_error < 0.0 else "+"
    rows = [
        ("point", f"n = {n}, k = {k}, which is {number(k / n**0.5, 4)} times sqrt(n); {field.value} Gaussian weights"),
        ("regime", found.regime),
        ("law to use", f"{found.law}, for {law.domain.words}"),
        ("its value", show(found.log_value)),
        ("exact energy", show(found.log_exact)),
        ("relative error", f"{sign}{percent(abs(found.relative_error))}, {grade} {percent(tolerance)}"),
    ]
    if found.past_second_threshold is not None:
        rows.append(("second term", "dominates: rare draws carry the mean" if found.past_second_threshold else "small"))
    rows += [
        ("how sure", f"the law: {law.status.words}"),
        ("to cite", f"signalprop cite regime --field {field.value}"),
    ]
    print_rows(rows)
