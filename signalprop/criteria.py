"""The criteria by which a scale or a budget is chosen, by name, and the refusal of options that a choice does not read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import assert_never

from signalprop.fields import choices, member
from signalprop.initialization.criteria import CRITERIA


class Criterion(StrEnum):
    """What a scale is asked to do: the criteria that come with the package, for those who prefer a member to a name.

    All criteria, including those registered later, are in `signalprop.initialization.CRITERIA`; `signalprop.safe_scale` has
    the definitions.

    Examples
    --------
    >>> Criterion("edge").options
    ('quantile',)
    """

    QUANTILE = "quantile"
    BOUNDED = "bounded"
    MINIMAX = "minimax"
    EDGE = "edge"
    GLOROT = "glorot"

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `signalprop.safe_scale` that it reads."""
        return CRITERIA[self.value].options


class Sense(StrEnum):
    """In which sense a recurrence holds a signal: on average over draws of W, or in most draws."""

    MEAN = "mean"
    DRAW = "draw"

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `signalprop.depth_budget` and `signalprop.width_needed` that it reads."""
        match self:
            case Sense.MEAN:
                return ("tolerance",)
            case Sense.DRAW:
                return "quantile", "bound", "samples", "seed"
            case _:
                assert_never(self)


SENSES = {sense.value: sense.options for sense in Sense}


def as_sense(criterion: str) -> Sense:
    """Return the `Sense` of this name.

    Raises
    ------
    ValueError
        There is none; the message lists them.
    """
    return member(Sense, criterion, "criterion")


def refuse_unread(criterion: str, options: Mapping[str, Collection[str]], given: Mapping[str, object]) -> None:
    """Refuse an option that was given (is not None) but that the criterion does not read; `options` maps each to those it reads.

    Raises
    ------
    ValueError
        There is one; the message says which criterion reads it.

    Examples
    --------
    >>> refuse_unread("glorot", {"bounded": ("tolerance",), "glorot": ()}, {"tolerance": 0.2})
    Traceback (most recent call last):
    ValueError: tolerance belongs to criterion='bounded'; criterion='glorot' does not read it, leave it out.
    """
    for name, value in given.items():
        if value is not None and name not in options[criterion]:
            readers = choices(one for one, read in options.items() if name in read)
            raise ValueError(
                f"{name} belongs to criterion={readers}; criterion='{criterion}' does not read it, leave it out."
            )
