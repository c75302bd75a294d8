"""What a criterion is: how it finds a scale, what it promises, which options it reads, what to cite for it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from signalprop._topics import Cites
from signalprop.energy import MAX_ZONAL_K, MAX_ZONAL_T
from signalprop.fields import Field, by_field
from signalprop.models import Model, by_model

if TYPE_CHECKING:
    from signalprop.initialization.scale import SafeScale

MAX_WIDTH = 10**18
MAX_HORIZON = 10**6
BEYOND_HORIZONS = "No Gaussian recurrence holds a signal that long; use an orthogonal or unitary one."
WITHIN = 1.96  # standard errors of a 95 % interval

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Request:
    """What `signalprop.safe_scale` was asked for, checked, with the default of each option that was left out."""

    n: int
    horizon: int
    field: Field
    model: Model
    tolerance: float
    quantile: float
    bound: float
    samples: int | None
    """None for the shipped table, where it has the answer."""
    seed: int
    progress: Progress | None = None


@dataclass(frozen=True)
class Found:
    """What a criterion finds.

    Attributes
    ----------
    log_scale
        Natural log of the scale g.
    source
        Where it comes from, in a word or two, as in `SafeScale.source`.
    log_interval
        Natural logs of the ends of its 95 % interval, where it has one.
    drawn
        The largest log g of each draw, in ascending order, where it was read off draws made for this request.
    """

    log_scale: float
    source: str
    log_interval: tuple[float, float] | None = None
    drawn: NDArray[np.float64] | None = None


def everywhere(field: Field, model: Model) -> int:
    """The longest horizon that any criterion is asked for."""
    return MAX_HORIZON


def mean_reach(field: Field, model: Model) -> int:
    """The longest horizon with exact mean energies of every step."""
    return by_model(
        model, rnn=by_field(field, real=MAX_ZONAL_K, complex=MAX_HORIZON, quaternion=MAX_ZONAL_K), driven=MAX_ZONAL_T
    )


@dataclass(frozen=True)
class ScaleCriterion:
    """One criterion of `signalprop.safe_scale`, of the command line and of the advice.

    Attributes
    ----------
    solve
        Finds the scale for a `Request`.
    guarantee
        What it promises with its default options, for a line of the table that `signalprop.advise` prints.
    promise, how_sure
        What a scale found by it promises, and how sure that is, as parts of a sentence.
    cites
        What to cite for it: a topic, or the name of one that is there.
    options
        The options of `signalprop.safe_scale` that it reads; the others are refused.
    at_most
        The scale is cut off here; what was found stays in `SafeScale.largest`.
    reach, beyond
        The longest horizon it has an answer for, and what to do beyond. Past it the advice leaves it out.
    check
        What `signalprop verify` holds its scales to: a function of the name of a field and of whether to be thorough that
        returns a `signalprop.verify.Check`, or ``"module:function"``.

    Examples
    --------
    >>> from signalprop.initialization import CRITERIA, safe_scale
    >>> half = ScaleCriterion(
    ...     solve=lambda asked: Found(math.log(0.5), "definition"),
    ...     guarantee="nothing", promise=lambda found: "nothing is promised", how_sure=lambda found: "by definition",
    ...     cites="glorot",
    ... )
    >>> with CRITERIA.with_record("half", half):
    ...     safe_scale(64, 9, criterion="half").scale
    0.5
    """

    solve: Callable[[Request], Found]
    guarantee: str
    promise: Callable[[SafeScale], str]
    how_sure: Callable[[SafeScale], str]
    cites: Cites
    options: tuple[str, ...] = ()
    at_most: float = math.inf
    reach: Callable[[Field, Model], int] = everywhere
    beyond: str = "Use criterion='quantile'."
    check: str | Callable[[str, bool], Any] | None = None

    def longest(self, field: Field, model: Model) -> tuple[int, str]:
        """The largest horizon, and what to use beyond it."""
        reach = self.reach(field, model)
        if reach < MAX_HORIZON:
            return reach, self.beyond
        return MAX_HORIZON, BEYOND_HORIZONS
