"""How sure a mean energy is: P proved, V verified by exact computation in a stated range, H heuristic."""

from __future__ import annotations

from typing import assert_never

from signalprop.fields import Field


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
