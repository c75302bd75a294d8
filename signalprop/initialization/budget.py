"""How long a recurrence of a given width holds a signal, and how wide it must be for a given time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import assert_never

from signalprop import energy
from signalprop._checks import positive_float, shown, whole_number
from signalprop._search import first_true, first_true_near
from signalprop._streams import child_seeds
from signalprop.criteria import SENSES, Sense, as_sense, refuse_unread
from signalprop.fields import Field, as_field, by_field
from signalprop.initialization import one_draw_table
from signalprop.initialization._asked import DEFAULT_TOLERANCE, bound_of, check_quantile
from signalprop.initialization.criteria.record import MAX_WIDTH
from signalprop.initialization.mean_path import log_mean
from signalprop.models import Model, as_model, by_model

LARGEST_HORIZON = 10**8
DEFAULT_SAMPLES = 2000
_TABLE_SHARES = (0.05, 0.99)  # beyond, the tabulated draws are too few


def depth_budget(
    n: int,
    field: str = "real",
    tolerance: float | None = None,
    model: str = "rnn",
    *,
    criterion: str = "mean",
    quantile: float | None = None,
    bound: float | None = None,
    samples: int | None = None,
    seed: int | None = None,
) -> int:
    r"""Largest horizon T over which a Gaussian recurrence of width n holds a signal.

    - ``criterion="mean"``: the *average* energy at g = 1 stays within the tolerance, \|E(k) - 1\| <= tolerance for every
      k <= T. E(k) = Q_{n,k} (rnn) or S_{n,k}/(k+1) (lru) do not decrease with k; about sqrt(n) (24 tolerance)^{1/4} steps
      for complex weights and model="rnn". Exact energies, O(log T) evaluations.
    - ``criterion="draw"``: *some* scale g keeps a share `quantile` of the draws of W inside [1/bound, bound] at every step
      k <= T. From the shipped table for bound 10 and shares from 0.05 to 0.99, otherwise, or if `samples` is given, from that
      many paths. model="rnn" only. 0 if the first step already fails. The share is measured (H), with the standard error of
      the draws behind it: at T = budget the share in a fresh sample is `quantile` to within both errors. For the default
      0.95 one standard error is 0.2 to 1 % of the draws, and so about 1 to 3 % of the budget.

    Parameters
    ----------
    n
        Width, 1 <= n <= 1e18; real and quaternion weights only as far as their exact energies reach (T < 20000 for rnn,
        5000 for lru); for sampled draws n <= 1e6.
    field
        Number system of the weights.
    tolerance, model
        For ``"mean"``: allowed relative growth of the mean (default 0.1), and ``"rnn"`` or ``"driven"``.
    criterion
        Which of the two.
    quantile, bound, samples, seed
        For ``"draw"``: share of draws (default 0.95), bound (default 10), number of draws (default: the table where it applies,
        else 2000), and their root seed, if there are any (default 0).

    Raises
    ------
    ValueError
        Arguments out of range, an option that the criterion does not read, or a budget beyond the reach of the exact energies.

    Examples
    --------
    >>> depth_budget(10_000, "complex"), depth_budget(4096)
    (123, 76)
    >>> depth_budget(4096, criterion="draw") > depth_budget(4096)
    True
    """
    kind, sense, recurrence = as_field(field), as_sense(criterion), as_model(model)
    width = whole_number(n, "n", 1, MAX_WIDTH)
    refuse_unread(
        sense, SENSES, {"tolerance": tolerance, "quantile": quantile, "bound": bound, "samples": samples, "seed": seed}
    )
    match sense:
        case Sense.MEAN:
            allowed = positive_float(DEFAULT_TOLERANCE if tolerance is None else tolerance, "tolerance")
            return _mean_budget(width, kind, recurrence, math.log1p(allowed))
        case Sense.DRAW:
            _one_signal(recurrence)
            share = one_draw_table.DEFAULT if quantile is None else quantile
            return _draw_budget(width, kind, share, bound, samples, seed)
        case _:
            assert_never(sense)


def _mean_budget(width: int, kind: Field, model: Model, allowed: float) -> int:
    limit = _reach(kind, model)

    def grown(k: int) -> bool:
        return k > limit or log_mean(width, k, kind, model) > allowed

    if kind is Field.COMPLEX:
        budget = first_true(grown, 1) - 1  # E(1) = 1 always
    else:  # near that of complex weights, for quaternions of twice the width: an evaluation costs O(k^2) here
        like = by_field(kind, real=width, complex=width, quaternion=min(2 * width, MAX_WIDTH))
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
    tolerance: float | None = None,
    model: str = "rnn",
    *,
    criterion: str = "mean",
    quantile: float | None = None,
) -> int:
    """Smallest width n whose `depth_budget` is at least `horizon`; about horizon^2/sqrt(24 tolerance) for complex weights.

    ``criterion="draw"`` answers for bound 10 from the shipped table, with the error that `depth_budget` states.

    Parameters
    ----------
    horizon
        Number of steps the signal should survive.
    field, tolerance, model, criterion, quantile
        As in `depth_budget`.

    Raises
    ------
    ValueError
        Arguments out of range, an option that the criterion does not read, or a width beyond 1e18.

    Examples
    --------
    >>> n = width_needed(76)
    >>> depth_budget(n) >= 76 > depth_budget(n - 1)
    True
    """
    kind, sense, recurrence = as_field(field), as_sense(criterion), as_model(model)
    refuse_unread(sense, SENSES, {"tolerance": tolerance, "quantile": quantile})
    match sense:
        case Sense.MEAN:
            longest = min(_reach(kind, recurrence), LARGEST_HORIZON)
            steps = whole_number(horizon, "horizon", 1, longest)
            asked = DEFAULT_TOLERANCE if tolerance is None else tolerance
            allowed = math.log1p(positive_float(asked, "tolerance"))
            width = _first_width(lambda n: log_mean(n, steps, kind, recurrence) <= allowed)
            wish = f"tolerance={asked!r}"
        case Sense.DRAW:
            _one_signal(recurrence)
            steps = whole_number(horizon, "horizon", 1, LARGEST_HORIZON)
            share = check_quantile(one_draw_table.DEFAULT if quantile is None else quantile)
            if not _tabulated(share):
                raise ValueError(
                    f"quantile must be between {_TABLE_SHARES[0]} and {_TABLE_SHARES[1]} for a width from the table, "
                    f"got {shown(share)}."
                )
            width = _first_width(lambda n: one_draw_table.held(n, steps, kind)[0] >= share)
            wish = f"quantile={share!r}"
        case _:
            assert_never(sense)
    if width > MAX_WIDTH:
        raise ValueError(f"horizon={steps} with {wish} needs a width beyond {MAX_WIDTH}; ask for less.")
    return width


def _first_width(holds: Callable[[int], bool]) -> int:
    """Smallest width that holds, or one past the largest there is."""

    def found(n: int) -> bool:
        return n > MAX_WIDTH or holds(n)

    return 1 if found(1) else first_true(found, 1)


def _draw_budget(
    n: int, field: Field, quantile: float, bound: float | None, samples: int | None, seed: int | None
) -> int:
    quantile = check_quantile(quantile)
    limit = bound_of(one_draw_table.BOUND if bound is None else bound)
    if samples is None and limit == one_draw_table.BOUND and _tabulated(quantile):

        def lost(horizon: int) -> bool:
            return one_draw_table.held(n, horizon, field)[0] < quantile

        return 0 if lost(1) else first_true(lost, 1) - 1
    from signalprop.montecarlo.one_draw import held_share
    from signalprop.montecarlo.sampling import sample

    whole_number(n, "n", 1, 10**6, "For sampled draws; bound=10 is answered from a table at any width.")
    count = whole_number(DEFAULT_SAMPLES if samples is None else samples, "samples", 2)
    # A root of its own: sample(n, k, seed=seed) then checks the budget by draws that did not choose it.
    (root,) = child_seeds(whole_number(0 if seed is None else seed, "seed", 0), "depth budget", count=1)
    longest = max(8, 2 * math.isqrt(n))
    while True:  # the share falls with the horizon: once it is below, the path was long enough
        paths = 2.0 * sample(n, longest, field, samples=count, seed=root, driven=False).log_norms
        shares, _ = held_share(paths, range(1, longest + 1), math.log(limit))
        if shares[-1] < quantile:
            return int((shares < quantile).argmax())
        longest *= 2


def _tabulated(quantile: float) -> bool:
    return _TABLE_SHARES[0] <= quantile <= _TABLE_SHARES[1]


def _one_signal(model: Model) -> None:
    if model is not Model.RNN:
        raise ValueError(
            f"criterion='draw' asks whether one signal survives, so it needs model='rnn', got model='{model}', where fresh "
            "inputs come in at each step; use criterion='mean'."
        )


def _reach(field: Field, model: Model) -> int:
    """Largest depth of the exact energies."""
    zonal = by_model(model, rnn=energy.MAX_ZONAL_K, driven=energy.MAX_ZONAL_T)
    return by_field(field, real=zonal, complex=MAX_WIDTH, quaternion=zonal)
