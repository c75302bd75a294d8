"""The methods by which draws are made, and the words for them."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from signalprop._topics import Topic


class Method(StrEnum):
    """How the draws are made.

    Examples
    --------
    >>> Method("dense").about
    'W itself'
    """

    KRYLOV = "krylov"
    DENSE = "dense"
    TEMPERED = "tempered"

    @property
    def about(self) -> str:
        """What it is for, in a few words."""
        match self:
            case Method.KRYLOV:
                return "cost independent of n"
            case Method.DENSE:
                return "W itself"
            case Method.TEMPERED:
                return "the mean where rare draws carry it"
            case _:
                assert_never(self)

    @property
    def cites(self) -> Topic:
        """What to cite for it."""
        match self:
            case Method.KRYLOV:
                keys = ("householder1958", "dumitriu2002")
                return Topic("width-free sampler: Householder's reflections", keys, ("tail",))
            case Method.DENSE:
                return Topic("the matrix itself", ("ginibre1965",), ("tail",))
            case Method.TEMPERED:
                return Topic(
                    "rare-event sampler: sequential Monte Carlo with Hamiltonian moves",
                    ("householder1958", "delmoral2004", "delmoral2006", "duane1987"),
                )
            case _:
                assert_never(self)
