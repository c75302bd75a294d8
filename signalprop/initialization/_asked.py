"""What a user asks of a scale, checked before any work: what `safe_scale`, the budgets and the initializers share."""

from __future__ import annotations

from typing import NamedTuple

from signalprop._checks import positive_float, seed_of, shown, whole_number
from signalprop.criteria import refuse_unread
from signalprop.initialization import one_draw_table
from signalprop.initialization.criteria import CRITERIA
from signalprop.initialization.criteria.record import BEYOND_HORIZONS, MAX_HORIZON
from signalprop.models import Model, as_model

DEFAULT_TOLERANCE = 0.1


class Asked(NamedTuple):
    """What a user asks of a scale, except width, field and horizon: checked, with the defaults filled in."""

    model: Model
    criterion: str
    tolerance: float
    quantile: float
    bound: float
    samples: int | None
    seed: int

    @classmethod
    def of(
        cls,
        model: str = "rnn",
        criterion: str = "quantile",
        tolerance: float | None = None,
        quantile: float | None = None,
        bound: float | None = None,
        samples: int | None = None,
        seed: int | None = None,
    ) -> Asked:
        """From the arguments of `safe_scale`; what `criterion` does not read is refused."""
        recurrence, name = as_model(model), CRITERIA.named(criterion)
        given = {"tolerance": tolerance, "quantile": quantile, "bound": bound, "samples": samples, "seed": seed}
        refuse_unread(name, {each: one.options for each, one in CRITERIA.items()}, given)
        return cls(
            recurrence,
            name,
            positive_float(DEFAULT_TOLERANCE if tolerance is None else tolerance, "tolerance"),
            check_quantile(one_draw_table.DEFAULT if quantile is None else quantile),
            bound_of(one_draw_table.BOUND if bound is None else bound),
            None if samples is None else whole_number(samples, "samples", 2),
            0 if seed is None else seed_of(seed),
        )


def steps_of(horizon: int, longest: int = MAX_HORIZON, beyond: str = BEYOND_HORIZONS) -> int:
    """`horizon` as a number of steps from 1 on."""
    return whole_number(horizon, "horizon", 1, longest, beyond)


def check_quantile(quantile: float) -> float:
    """Refuse a quantile that is not strictly between 0 and 1."""
    share = positive_float(quantile, "quantile")
    if not 1e-9 <= share <= 1.0 - 1e-9:
        raise ValueError(f"quantile must lie strictly between 0 and 1, got {shown(quantile)}.")
    return share


def bound_of(bound: float) -> float:
    """`bound` as a finite float above 1."""
    limit = positive_float(bound, "bound")
    if limit <= 1.0:
        raise ValueError(f"bound must be above 1, the energy at the start, got {shown(bound)}.")
    return limit
