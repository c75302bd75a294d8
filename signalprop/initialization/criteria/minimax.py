"""``criterion="minimax"``: the g that minimises max_k |log E(k; g)|, to the last bits of a double."""

from __future__ import annotations

from signalprop._status import mean_status
from signalprop._topics import ENSEMBLE, Topic
from signalprop.initialization.criteria.record import Found, Request, ScaleCriterion, mean_reach


def _solve(asked: Request) -> Found:
    from signalprop.initialization.mean_path import MeanPath

    return Found(MeanPath(asked.n, asked.horizon, asked.field, asked.model).minimax(), "exact energies")


MINIMAX = ScaleCriterion(
    solve=_solve,
    guarantee="the average strays as little from 1 as it can, up or down",
    promise=lambda found: "the average over draws strays as little from its start as it can, up or down",
    how_sure=lambda found: f"the average is {mean_status(found.field)}",
    cites=Topic("what the average does", ENSEMBLE),
    reach=mean_reach,
    beyond="Exact energies end there; use criterion='quantile'.",
    check="signalprop.verify.scales:minimax_check",
)
