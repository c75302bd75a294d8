r"""The shipped table of what one draw does: quantiles over draws of W, by field, width and horizon, and how it is read.

Rows are widths, columns horizons; each row comes from one set of width-free paths (`make_table`). Tabulated: quantiles of
the largest log g that keeps a draw at or below ten times its energy up to T (both models), quantiles of the log-energy
at step T for g = 1, and the largest share of draws that one g keeps within a factor of ten.

Reading it at (n, T), c = T/sqrt(n):

- n up to 12288, T within the rows around n: cubic interpolation, in log T inside a row and in log n between rows at the same T;
  the share that is held, which falls from 1 within a narrow range of c, instead at the same c, linear in log n;
- T beyond rows that end past c = 16: there the spectral radius has taken over and log-energies grow linearly in T;
- n or T beyond that: at fixed c, where the law has a limit as n grows, from the rows that contain c; past c = 4 as a remainder
  to what the spectral radius makes of it (`spectral_edge`);
- few steps at a large width: there only the spread sqrt(2T/(beta n)) of log ||W^T x||^2 counts.

What is interpolated is z = 2 T (log g - log g_inf(T)), g_inf the scale of infinite width: minus the log-energy a draw gains.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from signalprop._files import our_own, read_json
from signalprop.fields import Field, by_field
from signalprop.initialization.spectral_edge import log_radius_quantile
from signalprop.models import Model, as_model

Floats = NDArray[np.float64]

DATA = Path(__file__).with_name("one_draw.npz")
BOUND = 10.0
DEFAULT = 0.95
MODELS = tuple(Model)
LEVELS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99)
HORIZONS: NDArray[np.int64] = np.unique(np.append(np.round(2.0 ** (np.arange(66) / 6.0)), 2000)).astype(np.int64)
HORIZONS = HORIZONS[HORIZONS <= 2000]
NAMES = ("log_scale", "log_scale_error", "log_energy", "held_share", "held_log_scale")
AT_DEFAULT = 2  # where 1 - DEFAULT stands in LEVELS
DENSE_TO = 12_288  # rows up to here are close enough for interpolation in n
_FEW = 3
_RULED = 4.0  # from this c on the remainder to the spectral radius varies less than z itself
_SETTLED = 16.0  # from c = T/sqrt(n) = 16 on the spectral radius decides


@dataclass(frozen=True)
class Table:
    """The rows of one field: near draws to near_reach, fewer from there to reach."""

    n: NDArray[np.int64]
    draws: NDArray[np.int64]
    reach: NDArray[np.int64]
    near_draws: NDArray[np.int64]
    near_reach: NDArray[np.int64]
    values: dict[str, Floats]

    def draws_behind(self, n: int, horizon: float) -> int:
        """Fewest draws of a row that is read at (n, horizon): near ones where they reach the same c, otherwise far ones."""
        around = int(np.searchsorted(self.n, n))
        first = around if around < len(self.n) and self.n[around] == n else max(0, around - 1)
        chosen = slice(first, around + 1)
        steps = horizon * np.sqrt(self.n[chosen] / n)
        return int(np.where(steps <= self.near_reach[chosen], self.near_draws[chosen], self.draws[chosen]).min())


@lru_cache
def table(field: Field) -> Table:
    """The rows of `field`, with log scales turned into z; a few milliseconds the first time."""
    with our_own(DATA), DATA.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        values = {name: archive[f"{field.value}_{name}"].astype(np.float64) for name in NAMES}
        sizes = {name: archive[f"{field.value}_{name}"] for name in ("n", "draws", "reach", "near_draws", "near_reach")}
    infinite = np.array([[infinite_log_scale(int(t), model) for t in HORIZONS] for model in MODELS])
    values["log_scale"] = 2.0 * HORIZONS[:, None] * (values["log_scale"] - infinite[:, :, None])
    values["log_scale_error"] = values["log_scale_error"] * 2.0 * HORIZONS
    values["held_log_scale"] = values["held_log_scale"] * 2.0 * HORIZONS
    values["log_energy"] = -values["log_energy"][..., ::-1]  # falls like z, its levels those of z
    return Table(**sizes, values=values)


@lru_cache(maxsize=4096)
def infinite_log_scale(horizon: int, model: str) -> float:
    """Largest log g with energy at most `BOUND` for k <= horizon at infinite width, where Q = 1.

    rnn: log(BOUND)/(2T). driven: sum_{j<=T} g^{2j} = BOUND (T+1), by bisection.
    """
    match kind := as_model(model):
        case Model.RNN:
            return math.log(BOUND) / (2.0 * horizon)
        case Model.DRIVEN:
            return _infinite_driven(horizon)
        case _:
            assert_never(kind)


def _infinite_driven(horizon: int) -> float:
    low, high = 0.0, math.log(BOUND * (horizon + 1.0)) / (2.0 * horizon)  # the last term alone stays below
    for _ in range(60):
        middle = 0.5 * (low + high)
        rate = 2.0 * middle
        total = math.expm1(rate * (horizon + 1)) / math.expm1(rate) if rate > 0.0 else horizon + 1.0
        low, high = (low, middle) if total > BOUND * (horizon + 1.0) else (middle, high)
    return low


def provenance() -> dict[str, Any]:
    """Where the table comes from: command, seed, versions, git revision."""
    path = DATA.with_suffix(".json")
    with our_own(path):
        return read_json(path)


def log_scales(n: int, horizon: int, field: Field, model: str) -> tuple[Floats, float]:
    """Quantiles (`LEVELS`) over draws of the largest log g that keeps a draw at or below `BOUND`, and an error of log g.

    The error is one standard deviation of the tabulated 5 % quantile, and what reading between or beyond the rows may add.
    """
    rows = table(field)
    pick = (slice(None), MODELS.index(as_model(model)))
    z, doubt = _read(rows, "log_scale", n, horizon, field, pick)
    noise, _ = _read(rows, "log_scale_error", n, horizon, None, pick)
    log_g = np.sort(infinite_log_scale(horizon, model) + z / (2.0 * horizon))
    return log_g, math.hypot(abs(float(noise)), float(doubt[AT_DEFAULT])) / (2.0 * horizon)


@lru_cache(maxsize=256)
def edges(n: int, field: Field) -> Floats:
    """Log of the quantiles of the spectral radius that go with `LEVELS` of the scale: at 1 - level each."""
    return np.array([log_radius_quantile(n, field, 1.0 - level) for level in LEVELS])


def tabled_log_edge(n: int, field: Field, probability: float) -> float:
    """Log of the `probability`-quantile of the spectral radius of W from the slope of z at the end of the rows around n.

    For n <= 12288 where they reach the regime of the spectral radius, and 0.01 <= probability <= 0.99.
    """
    rows = table(field)
    far = 10**9
    z, _ = _read(rows, "log_scale", n, far, field, (slice(None), 0))
    normal = NormalDist()
    scores = [normal.inv_cdf(level) for level in LEVELS]
    return -float(np.interp(normal.inv_cdf(1.0 - probability), scores, np.sort(z / (2.0 * far))))


def log_energies(n: int, horizon: int, field: Field) -> Floats:
    """Quantiles (`LEVELS`) over draws of log(||W^T x||^2/||x||^2) at g = 1."""
    minus, _ = _read(table(field), "log_energy", n, horizon, field)
    return np.sort(-minus)


def log_energy_error(n: int, horizon: int, field: Field, level: float) -> float:
    """One standard deviation of the quantile `level` of `log_energies`: binomial, with the density of the quantiles around it."""
    i = LEVELS.index(level)
    low, high = max(i - 1, 0), min(i + 1, len(LEVELS) - 1)
    levels = log_energies(n, horizon, field)
    slope = (levels[high] - levels[low]) / (LEVELS[high] - LEVELS[low])
    return float(slope * math.sqrt(level * (1.0 - level) / table(field).draws_behind(n, horizon)))


def held(n: int, horizon: int, field: Field) -> tuple[float, float]:
    """Largest share of draws that one g keeps inside [1/BOUND, BOUND] for every k <= T, and the log of that g."""
    rows = table(field)
    around, c = _around_at_c(rows, n, horizon), horizon / math.sqrt(n)

    def value(name: str) -> float:
        if around is not None:
            return float(_between_at_c(rows, around, rows.values[name], n, horizon))
        if n <= DENSE_TO and c <= 2.0 * _SETTLED:  # past the end of a row: still at this c
            return float(_at_c(rows, rows.values[name], n, c)[0])
        return float(_read(rows, name, n, horizon)[0])

    share, z = value("held_share"), value("held_log_scale")
    return min(max(share, 0.0), 1.0), z / (2.0 * horizon)


def held_error(n: int, horizon: int, field: Field) -> float:
    """One standard deviation of the share of `held`, that of as many draws as stand behind it."""
    draws = table(field).draws_behind(n, horizon)
    share = min(max(held(n, horizon, field)[0], 1.0 / draws), 1.0 - 1.0 / draws)
    return math.sqrt(share * (1.0 - share) / draws)


def share_below(quantiles: Floats, value: float) -> tuple[float, float]:
    """Share of draws below `value` from their quantiles at `LEVELS`, as an interval.

    A point inside the table (linear on the scale of normal scores); (0, 1 %) or (99 %, 1) outside.
    """
    if value < quantiles[0]:
        return 0.0, LEVELS[0]
    if value > quantiles[-1]:
        return LEVELS[-1], 1.0
    normal = NormalDist()
    share = normal.cdf(float(np.interp(value, quantiles, [normal.inv_cdf(level) for level in LEVELS])))
    return share, share


def _read(
    rows: Table, name: str, n: int, horizon: int, field: Field | None = None, pick: Any = ...
) -> tuple[Floats, Floats]:
    """Value of a table (rows, horizons, ..) at (n, horizon), and how far reading between or beyond the rows may be off.

    With `field` the values are log-energies with a minus, which the spectral radius rules at large c.
    """
    values, share = rows.values[name][pick], name == "held_share"
    reaching = np.flatnonzero(rows.reach >= horizon)
    widest = reaching.size and rows.n[reaching[-1]]
    if n <= min(widest, DENSE_TO):
        return _between(rows, reaching, values, n, horizon, share), np.zeros(values.shape[2:])
    if n <= DENSE_TO:
        around = int(np.searchsorted(rows.n, n))
        longest = int(rows.reach[max(0, around - 1) : around + 1].min())
        if longest >= _SETTLED * math.sqrt(n):
            reaching = np.flatnonzero(rows.reach >= longest)
            return _straight_on(horizon, longest, lambda t: (_between(rows, reaching, values, n, t, share), 0.0))
    c = horizon / math.sqrt(n)
    below = int(np.searchsorted(rows.n, n)) - 1
    short = horizon <= rows.reach[below : below + 2].min() and horizon <= math.sqrt(rows.n[below])
    if short or (rows.n[-1] < n and c * math.sqrt(rows.n[-_FEW]) < 1.0):
        return _spread_only(rows, values, n, horizon, share), np.zeros(values.shape[2:])
    last = 2.0 * _SETTLED
    if field is not None and c >= _RULED:
        at = by_field(field, real=c, complex=min(c, last), quaternion=min(c, last))
        return _ruled_by_radius(rows, values, n, c, field, at)
    return _at_c(rows, values, n, min(c, last))


def _ruled_by_radius(rows: Table, values: Floats, n: int, c: float, field: Field, at: float) -> tuple[Floats, Floats]:
    """Past a few sqrt(n) steps: z = r - 2T log(radius) + log(n)/2 with r that hardly depends on n or c.

    log(n)/2 is what the overlap of the input with the outermost eigenvectors costs. The radius is that of `spectral_edge`; for
    real weights its law is a little short, so that r falls slowly with c, and is continued linearly.
    """

    def remainder(point: float) -> tuple[Floats, Floats]:
        chosen = _containing(rows, n, point)
        each = [
            _along(values[r], int(rows.reach[r]), point * math.sqrt(rows.n[r]))
            - _radius_term(int(rows.n[r]), point, field)
            for r in chosen
        ]
        r = np.stack(each)
        x = 1.0 / np.sqrt(rows.n[chosen]) - 1.0 / math.sqrt(n)
        return np.asarray(r.mean(axis=0)), np.abs(_line(x, r) - r.mean(axis=0))

    last = 2.0 * _SETTLED
    found, doubt = remainder(min(at, last)) if at <= last else _straight_on(at, last, remainder)
    return found + _radius_term(n, c, field), doubt


def _radius_term(n: int, c: float, field: Field) -> Floats:
    return 0.5 * math.log(n) - 2.0 * c * math.sqrt(n) * edges(n, field)


def _straight_on(
    at: float, last: float, value: Callable[[float], tuple[Floats, Floats | float]]
) -> tuple[Floats, Floats]:
    """Linear continuation beyond `last` with the slope of its upper half; doubt: what the upper third makes of it.

    A share has settled near zero and stays; a held scale is a matter of taste there.
    """
    end, doubt = value(last)
    if end.ndim == 0:
        return end, np.zeros(())
    own, other = ((end - value(last * part)[0]) / (last * (1.0 - part)) for part in (1 / 2, 2 / 3))
    return end + own * (at - last), doubt + np.abs(own - other) * (at - last)


def _containing(rows: Table, n: int, c: float) -> NDArray[np.intp]:
    """The rows around n that contain c; where the wider one does not, the widest few below n."""
    steps = c * np.sqrt(rows.n)
    containing = (steps <= rows.reach) & (steps >= 1.0)
    below, above = np.flatnonzero(containing & (rows.n <= n)), np.flatnonzero(containing & (rows.n > n))
    chosen = np.append(below[-1:], above[:1]) if below.size and above.size else np.append(below, above)[-_FEW:]
    if chosen.size < 2:
        raise ValueError(f"n={n} and {c:.3g} sqrt(n) steps lie too far outside the table of quantiles; sample them.")
    return chosen


def _between(rows: Table, reaching: NDArray[np.intp], values: Floats, n: int, horizon: float, share: bool) -> Floats:
    """Value at n between the rows `reaching`, all of which hold the horizon."""
    chosen = reaching[_nearest(rows.n[reaching], n, 2 if share else 4)]
    weights = _lagrange(np.log(rows.n[chosen]), math.log(n))
    each = np.stack([_along(values[r], int(rows.reach[r]), horizon) for r in chosen])
    return np.asarray(np.tensordot(weights, each, axes=1))


def _at_c(rows: Table, values: Floats, n: int, c: float) -> tuple[Floats, Floats]:
    """Value at fixed c: between the two rows around n that contain c, else on the line through the widest below n.

    Linear in u = sqrt(n^{-1/2} + 0.0007 c^5), which is how the spread of log ||W^k x||^2 goes: its variance is about
    (2/beta) c (n^{-1/2} + 0.0007 c^5) for small c. The doubt is the difference to a line in n^{-1/2}.
    """
    chosen = _containing(rows, n, c)
    at_c = np.stack([_along(values[r], int(rows.reach[r]), c * math.sqrt(rows.n[r])) for r in chosen])
    x, x_n = 1.0 / np.sqrt(rows.n[chosen]), 1.0 / math.sqrt(n)
    bend = 0.0007 * c**5
    value = _line(np.sqrt(x + bend) - math.sqrt(x_n + bend), at_c)
    return value, np.abs(value - _line(x - x_n, at_c))


def _around_at_c(rows: Table, n: int, horizon: int) -> NDArray[np.intp] | None:
    """The row n, or those on both sides of it, if they hold as many sqrt(n) steps; None otherwise, or past `DENSE_TO`."""
    if n > DENSE_TO:
        return None
    above = int(np.searchsorted(rows.n, n))
    around = np.array([above] if rows.n[above] == n else [above - 1, above])
    return around if (horizon * np.sqrt(rows.n[around] / n) <= rows.reach[around]).all() else None


def _between_at_c(rows: Table, around: NDArray[np.intp], values: Floats, n: int, horizon: int) -> Floats:
    """Value at n between rows at the same c, linear in log n; a row counts from its first step on."""
    weights = _lagrange(np.log(rows.n[around]), math.log(n))
    steps = np.maximum(1.0, horizon * np.sqrt(rows.n[around] / n))
    each = np.stack([_along(values[r], int(rows.reach[r]), t) for r, t in zip(around, steps, strict=True)])
    return np.asarray(np.tensordot(weights, each, axes=1))


def _spread_only(rows: Table, values: Floats, n: int, horizon: int, share: bool) -> Floats:
    """For few steps, where z goes like sqrt(T/n): z sqrt(n/T), linear in 1/n at fixed T between two rows, constant beyond."""
    upper = min(int(np.searchsorted(rows.n, n)), len(rows.n) - 1)
    lower = max(0, upper - 1) if rows.n[upper] > n else upper
    limit = 1.0 if share else 0.0
    at, scaled = [], []
    for r in (lower, upper):
        held = min(horizon, int(rows.reach[r]))
        at.append(1.0 / rows.n[r])
        scaled.append((_along(values[r], int(rows.reach[r]), held) - limit) * math.sqrt(rows.n[r] / held))
    weight = 0.0 if lower == upper else (1.0 / n - at[1]) / (at[0] - at[1])
    return np.asarray(limit + (weight * scaled[0] + (1.0 - weight) * scaled[1]) * math.sqrt(horizon / n))


def _line(x: Floats, y: Floats) -> Floats:
    """Value at 0 of the least-squares line through y (points, ..)."""
    flat = np.polynomial.polynomial.polyfit(x, y.reshape(len(x), -1), 1)[0]
    return np.asarray(flat.reshape(y.shape[1:]))


def _along(row: Floats, reach: int, horizon: float) -> Floats:
    """Value of one row (horizons, ..) at a horizon >= 1 within its reach, not necessarily whole."""
    grid = HORIZONS[reach >= HORIZONS]
    near = _nearest(grid, horizon, 4)
    weights = _lagrange(np.log(grid[near]), math.log(horizon))
    return np.asarray(np.tensordot(weights, row[near], axes=1))


def _nearest(grid: NDArray[np.int64], at: float, count: int) -> NDArray[np.intp]:
    """Indices of `count` neighbours of `at` in an increasing grid, as many on each side as there are."""
    start = int(np.searchsorted(grid, at)) - count // 2
    start = min(max(start, 0), max(len(grid) - count, 0))
    return np.arange(start, min(start + count, len(grid)))


def _lagrange(nodes: Floats, at: float) -> Floats:
    """Weights of the polynomial through the nodes, at a point."""
    weights = np.ones(len(nodes))
    for i in range(len(nodes)):
        for j in range(len(nodes)):
            if i != j:
                weights[i] *= (at - nodes[j]) / (nodes[i] - nodes[j])
    return weights
