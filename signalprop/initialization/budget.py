"""How long a recurrence of a given width holds a signal, and how wide it must be for a given time."""

from __future__ import annotations

import math

from signalprop import energy
from signalprop._checks import positive_float, whole_number
from signalprop._search import first_true, first_true_near
from signalprop.fields import Field, as_field, one_of
from signalprop.initialization import one_draw_table
from signalprop.initialization.mean_path import log_mean
from signalprop.initialization.scale import MAX_WIDTH, check_quantile
from signalprop.models import Model, as_model, by_model

LARGEST_HORIZON = 10**8
SENSES = ("mean", "draw")
_TABLE_SHARES = (0.05, 0.99)  # beyond, the tabulated draws are too few


def depth_budget(
    n: int,
    field: str = "real",
    tolerance: float = 0.1,
    model: str = "rnn",
    *,
    criterion: str = "mean",
    quantile: float = one_draw_table.DEFAULT,
    bound: float = one_draw_table.BOUND,
    samples: int = 2000,
    seed: int = 0,
) -> int:
    r"""Largest horizon T over which a Gaussian recurrence of width n holds a signal.

    - ``criterion="mean"``: the *average* energy at g = 1 stays within the tolerance, \|E(k) - 1\| <= tolerance for every
      k <= T. E(k) = Q_{n,k} (rnn) or S_{n,k}/(k+1) (lru) do not decrease with k; about sqrt(n) (24 tolerance)^{1/4} steps
      for complex weights and model="rnn". Exact energies, O(log T) evaluations.
    - ``criterion="draw"``: *some* scale g keeps a share `quantile` of the draws of W inside [1/bound, bound] at every step
      k <= T. From the shipped table for bound 10 and shares from 0.05 to 0.99 (right to a few per cent), otherwise from
      `samples` paths. model="rnn" only. 0 if already the first step fails.

    Parameters
    ----------
    n
        Width, 1 <= n <= 1e18; real and quaternion weights only as far as their exact energies reach (T < 20000 for rnn,
        5000 for lru); for sampled draws n <= 1e6.
    field, tolerance, model
        Number system, allowed relative growth of the mean, ``"rnn"`` or ``"lru"``.
    criterion, quantile, bound, samples, seed
        Which sense, and the parameters of the second.

    Raises
    ------
    ValueError
        Arguments out of range, or a budget beyond the reach of the exact energies.

    Examples
    --------
    >>> depth_budget(10_000, "complex"), depth_budget(4096)
    (123, 76)
    >>> depth_budget(4096, criterion="draw") > depth_budget(4096)
    True
    """
    kind = as_field(field)
    width = whole_number(n, "n", 1, MAX_WIDTH)
    allowed = math.log1p(positive_float(tolerance, "tolerance"))
    limit = _reach(kind, model)
    if one_of(criterion, SENSES, "criterion") == "draw":
        return _draw_budget(width, kind, model, quantile, bound, samples, seed)

    def grown(k: int) -> bool:
        return k > limit or log_mean(width, k, kind, model) > allowed

    if kind is Field.COMPLEX:
        budget = first_true(grown, 1) - 1  # E(1) = 1 always
    else:  # near that of complex weights, for quaternions of twice the width: an evaluation costs O(k^2) here
        like = width if kind is Field.REAL else min(2 * width, MAX_WIDTH)
        guess = first_true(lambda k: log_mean(like, k, Field.COMPLEX, model) > allowed, 1)
        budget = limit if guess > 2 * limit else first_true_near(grown, 1, min(guess, limit)) - 1
    if budget == limit:
        raise ValueError(
            f"the budget of {kind.value} weights at n={width} lies beyond {limit} steps, where exact energies end; "
            "field='complex' goes further and gives an upper bound for real weights."
        )
    return budget


def width_needed(
    horizon: int,
    field: str = "real",
    tolerance: float = 0.1,
    model: str = "rnn",
    *,
    criterion: str = "mean",
    quantile: float = one_draw_table.DEFAULT,
) -> int:
    """Smallest width n whose `depth_budget` is at least `horizon`; about horizon^2/sqrt(24 tolerance) for complex weights.

    ``criterion="draw"`` answers for bound 10 from the shipped table, and so to a few per cent of the horizon.

    Parameters
    ----------
    horizon
        Number of steps the signal should survive.
    field, tolerance, model, criterion, quantile
        As in `depth_budget`.

    Raises
    ------
    ValueError
        Arguments out of range, or a width beyond 1e18.

    Examples
    --------
    >>> n = width_needed(76)
    >>> depth_budget(n) >= 76 > depth_budget(n - 1)
    True
    """
    kind = as_field(field)
    sense = one_of(criterion, SENSES, "criterion")
    longest = LARGEST_HORIZON if sense == "draw" else min(_reach(kind, model), LARGEST_HORIZON)
    steps = whole_number(horizon, "horizon", 1, longest)
    allowed = math.log1p(positive_float(tolerance, "tolerance"))
    if sense == "draw":
        _draw_arguments(model, quantile, tabulated=True)

    def holds(n: int) -> bool:
        if n > MAX_WIDTH:
            return True
        if sense == "draw":
            return one_draw_table.held(n, steps, kind)[0] >= quantile
        return log_mean(n, steps, kind, model) <= allowed

    width = 1 if holds(1) else first_true(holds, 1)
    if width > MAX_WIDTH:
        raise ValueError(f"horizon={steps} with tolerance={tolerance!r} needs a width beyond {MAX_WIDTH}; allow more.")
    return width


def _draw_budget(n: int, field: Field, model: str, quantile: float, bound: float, samples: int, seed: int) -> int:
    tabulated = bound == one_draw_table.BOUND and _TABLE_SHARES[0] <= quantile <= _TABLE_SHARES[1]
    _draw_arguments(model, quantile, tabulated)
    if positive_float(bound, "bound") <= 1.0:
        raise ValueError(f"bound must be above 1, the energy at the start, got {bound!r}.")
    if tabulated:

        def lost(horizon: int) -> bool:
            return one_draw_table.held(n, horizon, field)[0] < quantile

        return 0 if lost(1) else first_true(lost, 1) - 1
    from signalprop.montecarlo.one_draw import held_share
    from signalprop.montecarlo.sampling import sample

    whole_number(n, "n", 1, 10**6, "For sampled draws; bound=10 is answered from a table at any width.")
    longest = max(8, 2 * math.isqrt(n))
    while True:  # the share falls with the horizon: once it is below, the path was long enough
        paths = 2.0 * sample(n, longest, field, samples=samples, seed=seed).log_norms
        shares, _ = held_share(paths, range(1, longest + 1), math.log(bound))
        if shares[-1] < quantile:
            return int((shares < quantile).argmax())
        longest *= 2


def _draw_arguments(model: str, quantile: float, tabulated: bool) -> None:
    if as_model(model) is not Model.RNN:
        raise ValueError(
            "criterion='draw' asks whether one signal survives, so it needs model='rnn', got model='driven', where fresh inputs "
            "come in at each step; use criterion='mean'."
        )
    check_quantile(quantile)
    if tabulated and not _TABLE_SHARES[0] <= quantile <= _TABLE_SHARES[1]:
        raise ValueError(
            f"quantile must be between {_TABLE_SHARES[0]} and {_TABLE_SHARES[1]} for a width from the table, got {quantile!r}."
        )


def _reach(field: Field, model: str) -> int:
    """Largest depth of the exact energies; refuses an unknown model."""
    zonal = by_model(as_model(model), rnn=energy.MAX_ZONAL_K, driven=energy.MAX_ZONAL_T)
    return MAX_WIDTH if field is Field.COMPLEX else zonal
