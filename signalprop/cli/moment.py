"""``signalprop moment``: the expectation of traces of words in G and G*, as a polynomial in the width."""

from __future__ import annotations

from typing import Annotated

import typer

from signalprop._numbers import polynomial
from signalprop.cli._options import FieldOption, Json
from signalprop.cli._terminal import print_json, print_rows, sentences
from signalprop.fields import Field


def moment(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORD...", help="Words in G and G*, such as GGG*G* or G^2G*^2; their traces are multiplied."
        ),
    ],
    field: FieldOption = Field.REAL,
    n: Annotated[int | None, typer.Option("-n", "--width", help="Also the value at this width.")] = None,
    as_json: Json = False,
) -> None:
    """Exact moments of traces: E tr(GGG*G*), E tr(GG*)tr(GG*), ..

    G is n x n with independent Gaussian entries, E|g_ij|^2 = 1; for real weights G* is the transpose.
    """
    with sentences():
        from signalprop._checks import whole_number
        from signalprop.wick import trace_moment

        width = None if n is None else whole_number(n, "n", 1)
        found = trace_moment(words, field)
    name = "E " + " ".join(f"tr({word})" for word in words)
    value = None if width is None else sum(c * width**power for power, c in enumerate(found))
    if as_json:
        content = {"words": words, "field": field.value, "coefficients": list(found), "polynomial": polynomial(found)}
        # As text: whole numbers of any size survive every reader of JSON.
        print_json(content if value is None else content | {"n": width, "value": str(value)})
        return
    rows = [("moment", name), ("weights", f"{field.value} Gaussian, E|g_ij|^2 = 1"), ("polynomial", polynomial(found))]
    if value is not None:
        rows.append((f"at n = {width}", str(value)))
    rows += [
        ("how sure", "P, proved (Gaussian integration by parts); every digit is exact"),
        ("to cite", "signalprop cite trace_moment"),
    ]
    print_rows(rows)
