"""``criterion="bounded"``: the largest g with max_k E(k; g) <= 1 + tolerance, to the last bits of a double.

It bounds the average over draws, which far past sqrt(n) steps is carried by draws nobody will see.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from signalprop._numbers import number
from signalprop._status import mean_status
from signalprop._topics import ENSEMBLE, Topic
from signalprop.initialization.criteria.record import Found, Request, ScaleCriterion, mean_reach

if TYPE_CHECKING:
    from signalprop.initialization.scale import SafeScale


def _solve(asked: Request) -> Found:
    from signalprop.initialization.mean_path import MeanPath

    path = MeanPath(asked.n, asked.horizon, asked.field, asked.model)
    return Found(path.bounded(math.log1p(asked.tolerance)), "exact energies")


def _promise(found: SafeScale) -> str:
    return f"the average over draws stays below {number(1 + found.tolerance)} times its start"


BOUNDED = ScaleCriterion(
    solve=_solve,
    guarantee="the average over draws stays below 1.1x at every step",
    promise=_promise,
    how_sure=lambda found: f"the average is {mean_status(found.field)}",
    cites=Topic("what the average does", ENSEMBLE),
    options=("tolerance",),
    reach=mean_reach,
    beyond="Exact energies end there; use criterion='quantile'.",
    check="signalprop.verify.scales:bounded_check",
)
