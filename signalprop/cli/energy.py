"""``signalprop energy``: the exact mean energy after k steps."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from signalprop._numbers import number, plain, show
from signalprop._status import mean_status
from signalprop.cli._options import Depth, FieldOption, Json, ModelOption, Width
from signalprop.cli._terminal import print_json, print_rows, print_text, sentences
from signalprop.fields import Field
from signalprop.models import Model, by_model, energy_of

_LARGEST_HINT = 3000  # steps that `sample` draws in a minute


def energy(
    n: Width,
    k: Depth,
    field: FieldOption = Field.REAL,
    model: ModelOption = Model.RNN,
    scale: Annotated[float, typer.Option("--scale", help="Factor g on every weight.")] = 1.0,
    as_json: Json = False,
) -> None:
    """Exact mean signal energy after k steps."""
    with sentences():
        from signalprop.regimes.polynomial import infinite_width_lru, infinite_width_rnn

        log_value = float(energy_of(model)(n, k, field, scale=scale, log=True))
        infinite_width = by_model(model, rnn=infinite_width_rnn, driven=infinite_width_lru)
        infinite_log = float(infinite_width(n, k, scale=scale, log=True))
    c = k / math.sqrt(n)
    symbol = model.symbol
    value, infinite = plain(log_value), plain(infinite_log)
    status, cited = mean_status(field), f"signalprop cite energy --field {field.value}"
    if as_json:
        print_json(
            {
                "n": n,
                "k": k,
                "c": c,
                "field": field.value,
                "model": model.value,
                "scale": scale,
                symbol: value,
                f"log_{symbol}": log_value,
                "infinite_width": infinite,
                "log_infinite_width": infinite_log,
                "status": status,
                "cite": cited,
            }
        )
        return
    what = by_model(model, rnn=f"E||W^k x||^2/n, k = {k}", driven=f"E||h(t)||^2/n, t = {k}")
    scaled = "" if scale == 1.0 else f", scaled by g = {scale:.10g}"
    print_rows(
        [
            ("recurrence", f"{model.step}, {field.value} Gaussian weights{scaled}"),
            ("width", f"n = {n}"),
            ("steps", f"{k}, which is c = {number(c, 4)} times sqrt(n)"),
            (f"mean energy {symbol}", f"{show(log_value)}   ({what})"),
            ("infinite width", f"{show(infinite_log)}"),
            ("ratio", f"{show(log_value - infinite_log)}"),
            ("how sure", status),
            ("to cite", cited),
        ]
    )
    if abs(log_value - infinite_log) > 1.0:
        print()
        print_text("This is the average over draws of W; far past sqrt(n) steps it is carried by rare draws.")
        if scale == 1.0 and k <= _LARGEST_HINT:
            option = by_model(model, rnn="", driven=" --model driven")
            print_text(f"What one draw does: signalprop sample -n {n} -k {k} --field {field.value}{option}", "  ")
