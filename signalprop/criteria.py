"""The criteria by which a scale or a budget is chosen, and which options each of them reads."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import assert_never

from signalprop.fields import choices, member


class Criterion(StrEnum):
    """What a scale is asked to do; `signalprop.safe_scale` has the definitions.

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
        match self:
            case Criterion.QUANTILE:
                return "quantile", "bound", "samples", "seed"
            case Criterion.BOUNDED:
                return ("tolerance",)
            case Criterion.EDGE:
                return ("quantile",)
            case Criterion.MINIMAX | Criterion.GLOROT:
                return ()
            case _:
                assert_never(self)


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


def as_criterion(criterion: str) -> Criterion:
    """Return the `Criterion` of this name.

    Raises
    ------
    ValueError
        There is none; the message lists them.
    """
    return member(Criterion, criterion, "criterion")


def as_sense(criterion: str) -> Sense:
    """Return the `Sense` of this name.

    Raises
    ------
    ValueError
        There is none; the message lists them.
    """
    return member(Sense, criterion, "criterion")


def refuse_unread(criterion: Criterion | Sense, given: Mapping[str, object]) -> None:
    """Refuse an option that was given (is not None) and that the criterion does not read.

    Raises
    ------
    ValueError
        There is one; the message says which criterion reads it.

    Examples
    --------
    >>> refuse_unread(Criterion.GLOROT, {"tolerance": 0.2})
    Traceback (most recent call last):
    ValueError: tolerance belongs to criterion='bounded'; criterion='glorot' does not read it, leave it out.
    """
    for name, value in given.items():
        if value is not None and name not in criterion.options:
            readers = choices(one for one in type(criterion) if name in one.options)
            raise ValueError(
                f"{name} belongs to criterion={readers}; criterion='{criterion}' does not read it, leave it out."
            )
