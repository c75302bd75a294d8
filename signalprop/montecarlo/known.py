"""What is known of the energies of a cell before it is drawn: mean, second moment or a bound on it, weight of the tail."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, assert_never

import numpy as np

from signalprop import energy
from signalprop.fields import Field, by_field
from signalprop.models import Model, as_model, by_model, energy_of
from signalprop.montecarlo.trust import LIGHT

if TYPE_CHECKING:
    from signalprop.montecarlo.cell import Cell

MAX_MOMENT_K = 12  # real and quaternion weights: the loop equations at hand
_PIECES = 12  # depths at which a bound for the driven recurrence is evaluated
# Past these c rare draws carry so much of the mean that intervals of plain draws miss it more often than one time in eight (H,
# measured for n = 25 .. 1600 with 50 to 5000 draws).
_LIGHT_C = {
    (Model.RNN, Field.REAL): 1.5, (Model.RNN, Field.COMPLEX): 2.2, (Model.RNN, Field.QUATERNION): 2.5,
    (Model.DRIVEN, Field.REAL): 1.8, (Model.DRIVEN, Field.COMPLEX): 2.2, (Model.DRIVEN, Field.QUATERNION): 2.5,
}  # fmt: skip


def log_exact(cell: Cell, model: str, k: int) -> float | None:
    """Log of the exact mean energy after k steps, None where it is not known.

    Known: linear tied weights, and fresh weights at every layer, activations included.
    """
    if not cell.layer.tied:
        return by_model(as_model(model), rnn=0.0, driven=math.log(k + 1))
    if not has_closed_form(cell, model, k):
        return None
    return float(energy_of(model)(cell.n, k, cell.field, log=True))


def has_closed_form(cell: Cell, model: str, k: int) -> bool:
    """Whether `signalprop.energy` has the mean of this tied recurrence."""
    return cell.linear and within_the_sums(cell.field, as_model(model), k)


def within_the_sums(field: Field, model: Model, k: int) -> bool:
    """Whether `signalprop.energy` goes as far as k steps: the sums over partitions, for all fields but complex, have a limit."""
    longest = by_model(model, rnn=energy.MAX_ZONAL_K, driven=energy.MAX_ZONAL_T)
    return by_field(field, real=k <= longest, complex=True, quaternion=k <= longest)


def log_second_moment(cell: Cell, model: str, k: int) -> float | None:
    r"""Log of the exact E||h(k)||^4/||x||^4, or of an upper bound on it for the driven recurrence; None where neither is known.

    Known: fresh weights, where each layer multiplies by an independent mean of n terms, so that it is
    (1 + (E y^2 - 1)/n)^k with E y^2 = 6 (1+s^4)/(1+s^2)^2 for real weights and slope s below zero, 1 + 2/beta for
    linear ones; and linear tied weights (`signalprop.spread`): complex ones at any depth, past k = 400 by their limit (H), real
    and quaternion ones to k = 12. The driven recurrence of the width-free sampler, sum_{j<=k} ||W^j x||^2, has a standard
    deviation of at most the sum of theirs (P), and the relative variance of a term grows with j (V).
    """
    kind = as_model(model)
    if not cell.layer.tied:
        if by_model(kind, rnn=False, driven=True):
            return None
        slope = cell.layer.slope
        excess = 2.0 / cell.field.beta if cell.linear else 6.0 * (1.0 + slope**4) / (1.0 + slope**2) ** 2 - 1.0
        return k * math.log1p(excess / cell.n)
    if not cell.linear or (cell.field is not Field.COMPLEX and k > MAX_MOMENT_K):
        return None
    match kind:
        case Model.RNN:
            from signalprop.spread import log_relative_variance

            log_square = 2.0 * float(energy.rnn_energy(cell.n, k, cell.field, log=True))
            return log_square + _log1pexp(log_relative_variance(cell.n, k, cell.field))
        case Model.DRIVEN:
            return None if cell.draws_inputs else _log_driven_bound(cell, k)
        case _:
            assert_never(kind)


def tail_law(cell: Cell, model: str, k: int) -> str | None:
    """Whether the mean of linear tied weights is within reach of plain draws: "light", or why not (H); None for other layers."""
    if not cell.linear or not cell.layer.tied:
        return None
    c, limit = k / math.sqrt(cell.n), _LIGHT_C[as_model(model), cell.field]
    if c <= limit:
        return LIGHT
    return f"past {limit:g} sqrt(n) steps rare draws carry the mean of {cell.field.value} weights, and k is {c:.2g} sqrt(n)"


def _log_driven_bound(cell: Cell, k: int) -> float:
    from signalprop.spread import log_relative_variance

    logs = np.atleast_1d(np.asarray(energy.rnn_energy(cell.n, np.arange(k + 1), cell.field, log=True)))
    ends = np.unique(np.linspace(0, k, _PIECES + 1).round().astype(np.int64))
    half_logs = [0.5 * log_relative_variance(cell.n, int(end), cell.field) for end in ends]
    above = np.array(half_logs)[np.searchsorted(ends, np.arange(k + 1))]  # at the next depth that is evaluated
    log_sum, log_deviation = np.logaddexp.reduce(logs), np.logaddexp.reduce(logs + above)
    return float(2.0 * log_sum + _log1pexp(2.0 * (log_deviation - log_sum)))


def _log1pexp(value: float) -> float:
    return float(np.logaddexp(0.0, value))
