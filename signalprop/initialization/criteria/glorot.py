"""``criterion="glorot"``: g = 1, which keeps the mean energy at infinite width (Glorot and Bengio 2010)."""

from __future__ import annotations

from signalprop._topics import Topic
from signalprop.initialization.criteria.record import Found, ScaleCriterion

GLOROT = ScaleCriterion(
    solve=lambda asked: Found(0.0, "definition"),
    guarantee="average energy 1 at infinite width; nothing at this one",
    promise=lambda found: "the average keeps its energy at infinite width; at this one nothing is promised",
    how_sure=lambda found: "by definition",
    cites=Topic("Glorot's scale", ("glorot2010",)),
)
