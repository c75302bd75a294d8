"""``criterion="quantile"``: the largest g for which a share `quantile` of the draws of W stays at or below `bound` at every step.

For the linear recurrence each draw has a largest scale of its own, min_k (log bound - log ||W^k x||^2)/(2k) in logs, and the
answer is a quantile of those; at most 1, as over few steps a larger scale would spend the bound for nothing. The default
quantile and bound are read from the shipped table, others from fresh draws.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from signalprop._numbers import number
from signalprop._topics import ENSEMBLE, Topic
from signalprop.initialization.criteria.record import WITHIN, Found, Request, ScaleCriterion

if TYPE_CHECKING:
    from signalprop.initialization.scale import SafeScale


def _solve(asked: Request) -> Found:
    from signalprop.initialization import one_draw_table

    defaults = (one_draw_table.DEFAULT, one_draw_table.BOUND)
    if asked.samples is None and (asked.quantile, asked.bound) == defaults:
        quantiles, error = one_draw_table.log_scales(asked.n, asked.horizon, asked.field, asked.model)
        log_g = float(quantiles[one_draw_table.AT_DEFAULT])
        return Found(log_g, "table", (log_g - WITHIN * error, log_g + WITHIN * error))
    from signalprop.initialization.drawn_scales import drawn_log_scales
    from signalprop.montecarlo.quantiles import quantile_interval

    drawn = np.sort(
        drawn_log_scales(
            "safe scale", asked.n, asked.horizon, asked.field, asked.model, math.log(asked.bound), asked.samples, asked.seed,
            asked.progress,
        )
    )  # fmt: skip
    log_g = float(np.quantile(drawn, 1.0 - asked.quantile, method="median_unbiased"))
    return Found(log_g, "samples", quantile_interval(drawn, 1.0 - asked.quantile), drawn)


def _promise(found: SafeScale) -> str:
    return (
        f"{'at least ' if found.largest > found.scale else ''}{100 * found.quantile:g} % of draws of W stay at or below "
        f"{number(found.bound)} times their energy at every step"
    )


QUANTILE = ScaleCriterion(
    solve=_solve,
    guarantee="95 % of draws stay below 10x at every step",
    promise=_promise,
    how_sure=lambda found: "sampled, with the 95 % interval above",
    cites=Topic("what one draw does", (*ENSEMBLE, "householder1958")),
    options=("quantile", "bound", "samples", "seed"),
    at_most=1.0,
    check="signalprop.verify.scales:quantile_check",
)
