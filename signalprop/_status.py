"""How sure a statement is: the marks P, V and H, what they mean, and those of the mean energies."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from signalprop.fields import Field


class Status(StrEnum):
    """How sure a statement is; ``help(signalprop)`` has the same words.

    Examples
    --------
    >>> print(Status("V").words)
    V, verified in a stated range, not proved
    """

    P = "P"
    V = "V"
    H = "H"

    @property
    def meaning(self) -> str:
        """What the mark stands for."""
        match self:
            case Status.P:
                return "proved"
            case Status.V:
                return "verified in a stated range, not proved"
            case Status.H:
                return "heuristic"
            case _:
                assert_never(self)

    @property
    def words(self) -> str:
        """The mark and what it stands for."""
        return f"{self.value}, {self.meaning}"


def mean_status(field: Field) -> str:
    """Status of the exact mean energies of a number system, in a few words."""
    match field:
        case Field.COMPLEX:
            return "P, proved (arXiv:2605.05113)"
        case Field.REAL:
            return "V, verified but not proved: equal to the loop equations for every width at k <= 33"
        case Field.QUATERNION:
            return "V, verified but not proved: the real formula at width -2n, by a duality that is proved"
    assert_never(field)
