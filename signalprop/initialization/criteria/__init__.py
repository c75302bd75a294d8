"""The criteria by which a scale is chosen: one file each, and the registry that everything reads.

`signalprop.safe_scale`, the command line, the advice, `signalprop verify` and the citations find them in `CRITERIA`. To add
one is to register a `ScaleCriterion`, here or in a program of one's own.
"""

from __future__ import annotations

from signalprop._registry import Registry
from signalprop.initialization.criteria.bounded import BOUNDED
from signalprop.initialization.criteria.edge import EDGE
from signalprop.initialization.criteria.glorot import GLOROT
from signalprop.initialization.criteria.minimax import MINIMAX
from signalprop.initialization.criteria.quantile import QUANTILE
from signalprop.initialization.criteria.record import Found, Request, ScaleCriterion

__all__ = ["CRITERIA", "Found", "Request", "ScaleCriterion"]

CRITERIA = Registry(
    "criterion",
    ScaleCriterion,
    {"quantile": QUANTILE, "bounded": BOUNDED, "minimax": MINIMAX, "edge": EDGE, "glorot": GLOROT},
)
