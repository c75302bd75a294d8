"""How long a recurrence of a given width holds a signal, and how wide it must be for a given time."""

from __future__ import annotations

import math

import numpy as np

from signalprop import energy
from signalprop._checks import positive_float, whole_number
from signalprop._search import first_true
from signalprop.fields import Field, as_field, one_of

LARGEST_WIDTH = 10**18
LARGEST_HORIZON = 10**8


def depth_budget(n: int, field: str = "real", tolerance: float = 0.1, model: str = "rnn") -> int:
    r"""Largest horizon T with |E(k) - 1| <= tolerance for every k <= T at g = 1: how long the *average* energy stays put.

    E(k) = Q_{n,k} (rnn) or S_{n,k}/(k+1) (lru), which do not decrease with k; about sqrt(n) (24 tolerance)^{1/4} steps for
    complex weights and model="rnn". Exact energies, O(log T) evaluations.

    Parameters
    ----------
    n
        Width, 1 <= n <= 1e18; real and quaternion weights only as far as their exact energies reach (T < 20000 for rnn,
        5000 for lru).
    field, tolerance, model
        Number system, allowed relative growth, ``"rnn"`` or ``"lru"``.

    Raises
    ------
    ValueError
        Arguments out of range, or a budget beyond the reach of the exact energies.

    Examples
    --------
    >>> depth_budget(10_000, "complex"), depth_budget(4096)
    (123, 76)
    """
    kind = as_field(field)
    width = whole_number(n, "n", 1, LARGEST_WIDTH)
    allowed = math.log1p(positive_float(tolerance, "tolerance"))
    limit = _reach(kind, model)

    def grown(k: int) -> bool:
        return k > limit or _log_mean(width, k, kind, model) > allowed

    budget = first_true(grown, 1) - 1  # E(1) = 1 always
    if budget == limit:
        raise ValueError(
            f"the budget of {kind.value} weights at n={width} lies beyond {limit} steps, where exact energies end; "
            "field='complex' goes further and gives an upper bound for real weights."
        )
    return budget


def width_needed(horizon: int, field: str = "real", tolerance: float = 0.1, model: str = "rnn") -> int:
    """Smallest width n whose `depth_budget` is at least `horizon`; about horizon^2/sqrt(24 tolerance) for complex weights.

    Examples
    --------
    >>> n = width_needed(76)
    >>> depth_budget(n) >= 76 > depth_budget(n - 1)
    True
    """
    kind = as_field(field)
    steps = whole_number(horizon, "horizon", 1, min(_reach(kind, model), LARGEST_HORIZON))
    allowed = math.log1p(positive_float(tolerance, "tolerance"))

    def holds(n: int) -> bool:
        return n > LARGEST_WIDTH or _log_mean(n, steps, kind, model) <= allowed

    width = 1 if holds(1) else first_true(holds, 1)
    if width > LARGEST_WIDTH:
        raise ValueError(
            f"horizon={steps} with tolerance={tolerance!r} needs a width beyond {LARGEST_WIDTH}; allow more."
        )
    return width


def _reach(field: Field, model: str) -> int:
    """Largest depth of the exact energies; refuses an unknown model."""
    zonal = {"rnn": energy.MAX_ZONAL_K, "lru": energy.MAX_ZONAL_T}[one_of(model, ("rnn", "lru"), "model")]
    return LARGEST_WIDTH if field is Field.COMPLEX else zonal


def _log_mean(n: int, k: int, field: Field, model: str) -> float:
    if model == "rnn":
        return float(energy.rnn_energy(n, k, field, log=True))
    return float(energy.lru_energy(n, k, field, log=True)) - float(np.log1p(k))
