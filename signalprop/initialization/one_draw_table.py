r"""The shipped table of what one draw does: quantiles over draws of W, by field, width and horizon, and how it is read.

Rows are widths, columns horizons; each row comes from one set of width-free paths (`make_table`). Tabulated: quantiles of
the largest log g that keeps a draw at or below ten times its energy up to T (both models), quantiles of the log-energy
at step T for g = 1, and the largest share of draws that one g keeps within a factor of ten.

Reading it at (n, T):

- T within the rows around n: cubic interpolation, in log T inside a row and in log n between rows at the same T;
- T beyond the reach of the rows around n, which end past c = T/sqrt(n) = 16: there the spectral radius has taken over and
  log-energies grow linearly in T;
- otherwise beyond the rows: at fixed c (up to 32, from there on linear in T), where the law has a limit as n grows, from
  the widest rows that contain c, linearly in n^{-1/2}. For c so small that no row contains it one draw hardly moves: z
  shrinks like n^{-1/2} at fixed T.

What is interpolated is z = 2 T log g - log 10: minus the log-energy a draw reaches, smooth in both directions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop.fields import Field

Floats = NDArray[np.float64]

DATA = Path(__file__).with_name("one_draw.npz")
BOUND = 10.0
DEFAULT = 0.95
MODELS = ("rnn", "lru")
LEVELS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99)
HORIZONS: NDArray[np.int64] = np.unique(np.append(np.round(2.0 ** (np.arange(66) / 6.0)), 2000)).astype(np.int64)
HORIZONS = HORIZONS[HORIZONS <= 2000]
NAMES = ("log_scale", "log_scale_error", "log_energy", "held_share", "held_log_scale")
AT_DEFAULT = 2  # where 1 - DEFAULT stands in LEVELS
_FEW = 4
_SETTLED = 16.0  # from c = T/sqrt(n) = 16 on the spectral radius decides


@dataclass(frozen=True)
class Table:
    """The rows of one field."""

    n: NDArray[np.int64]
    draws: NDArray[np.int64]
    reach: NDArray[np.int64]
    values: dict[str, Floats]


@lru_cache
def table(field: Field) -> Table:
    """The rows of `field`, with log scales turned into z; a few milliseconds the first time."""
    with np.load(DATA, allow_pickle=False) as archive:
        values = {name: archive[f"{field.value}_{name}"].astype(np.float64) for name in NAMES}
        n, draws, reach = (archive[f"{field.value}_{name}"] for name in ("n", "draws", "reach"))
    twice = 2.0 * HORIZONS
    for name, extra in (("log_scale", (1, 1, -1, 1)), ("held_log_scale", (1, -1))):
        offset = math.log(BOUND) if name == "log_scale" else 0.0
        values[name] = values[name] * twice.reshape(extra) - offset
    values["log_scale_error"] = values["log_scale_error"] * twice
    return Table(n, draws, reach, values)


def provenance() -> dict[str, Any]:
    """Where the table comes from: command, seed, versions, git revision."""
    facts: dict[str, Any] = json.loads(DATA.with_suffix(".json").read_text())
    return facts


def log_scales(n: int, horizon: int, field: Field, model: str) -> tuple[Floats, float]:
    """Quantiles (`LEVELS`) over draws of the largest log g that keeps a draw at or below `BOUND`, and an error of log g.

    The error is one standard deviation of the tabulated 5 % quantile, and where the table is extrapolated also the difference
    between two ways to extrapolate (two slopes in T; with and without the trend in n).
    """
    rows = table(field)
    index = MODELS.index(model)
    z, doubt = _read(rows, rows.values["log_scale"][:, index], n, horizon)
    noise, _ = _read(rows, rows.values["log_scale_error"][:, index], n, horizon)
    log_g = np.sort((z + math.log(BOUND)) / (2.0 * horizon))
    return log_g, math.hypot(float(noise), float(doubt[AT_DEFAULT])) / (2.0 * horizon)


def log_edge(n: int, field: Field, probability: float) -> float:
    """Log of the `probability`-quantile of the spectral radius of W: minus the limit of the largest log g as T grows.

    For widths inside the table whose rows reach the linear regime (n <= 1000 does); 0.01 <= probability <= 0.99.
    """
    far = 10**9
    quantiles, _ = log_scales(n, far, field, "rnn")
    normal = NormalDist()
    scores = [normal.inv_cdf(level) for level in LEVELS]
    return -float(np.interp(normal.inv_cdf(1.0 - probability), scores, quantiles))


def log_energies(n: int, horizon: int, field: Field) -> Floats:
    """Quantiles (`LEVELS`) over draws of log(||W^T x||^2/||x||^2) at g = 1."""
    rows = table(field)
    return np.sort(_read(rows, rows.values["log_energy"], n, horizon)[0])


def held(n: int, horizon: int, field: Field) -> tuple[float, float]:
    """Largest share of draws that one g keeps inside [1/BOUND, BOUND] for every k <= T, and the log of that g."""
    rows = table(field)
    share, _ = _read(rows, rows.values["held_share"], n, horizon, share=True)
    z, _ = _read(rows, rows.values["held_log_scale"], n, horizon)
    return min(max(float(share), 0.0), 1.0), float(z) / (2.0 * horizon)


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


def _read(rows: Table, values: Floats, n: int, horizon: int, share: bool = False) -> tuple[Floats, Floats]:
    """Value of `values` (rows, horizons, ..) at (n, horizon), and how far an extrapolation may be off (0 inside).

    A share of draws, 1 for short horizons and 0 for long ones, is read linearly, so that it stays between its neighbours.
    """
    reaching = np.flatnonzero(rows.reach >= horizon)
    if reaching.size and n <= rows.n[reaching[-1]]:
        return _between(rows, reaching, values, n, horizon, share), np.zeros(values.shape[2:])
    around = int(np.searchsorted(rows.n, n))
    if around < len(rows.n):
        longest = int(rows.reach[max(0, around - 1) : around + 1].min())
        if longest >= _SETTLED * math.sqrt(n):
            reaching = np.flatnonzero(rows.reach >= longest)
            return _straight_on(horizon, longest, lambda t: _between(rows, reaching, values, n, t, share), share)
    c = horizon / math.sqrt(n)
    if c * math.sqrt(rows.n[-_FEW]) < 1.0:
        value = _along(values[-1], int(rows.reach[-1]), min(horizon, int(rows.reach[-1])), share)
        limit = 1.0 if share else 0.0
        return limit + (value - limit) * math.sqrt(rows.n[-1] / n), np.zeros(values.shape[2:])
    if _containing(rows, n, c).size >= _FEW:
        value, widest = _at_c(rows, values, n, c, share)
        return value, np.abs(value - widest)
    return _straight_on(c, 2.0 * _SETTLED, lambda at: _at_c(rows, values, n, at, share)[0], share)


def _straight_on(at: float, last: float, value: Callable[[float], Floats], share: bool) -> tuple[Floats, Floats]:
    """Linear continuation beyond `last` with the slope of its upper half, and the difference that of its upper third makes.

    A share has settled near zero and stays.
    """
    end = value(last)
    if share:
        return end, end
    slope, other = ((end - value(last * part)) / (last * (1.0 - part)) for part in (1 / 2, 2 / 3))
    return end + slope * (at - last), np.abs(slope - other) * (at - last)


def _containing(rows: Table, n: int, c: float) -> NDArray[np.intp]:
    """The widest few rows no wider than n that contain c."""
    steps = c * np.sqrt(rows.n)
    return np.flatnonzero((steps <= rows.reach) & (steps >= 1.0) & (rows.n <= n))[-_FEW:]


def _at_c(rows: Table, values: Floats, n: int, c: float, share: bool) -> tuple[Floats, Floats]:
    """Value at n on the straight line in n^{-1/2} through the rows that contain c, and the value of the widest of them."""
    chosen = _containing(rows, n, c)
    at_c = np.stack([_along(values[r], int(rows.reach[r]), c * math.sqrt(rows.n[r]), share) for r in chosen])
    x = 1.0 / np.sqrt(rows.n[chosen]) - 1.0 / math.sqrt(n)
    line = np.polynomial.polynomial.polyfit(x, at_c.reshape(len(x), -1), 1)[0]
    return line.reshape(at_c.shape[1:]), at_c[-1]


def _between(rows: Table, reaching: NDArray[np.intp], values: Floats, n: int, horizon: float, share: bool) -> Floats:
    """Value at n between the rows `reaching`, all of which hold the horizon."""
    chosen = reaching[_nearest(rows.n[reaching], n, 2 if share else 4)]
    weights = _lagrange(np.log(rows.n[chosen]), math.log(n))
    each = np.stack([_along(values[r], int(rows.reach[r]), horizon, share) for r in chosen])
    return np.asarray(np.tensordot(weights, each, axes=1))


def _along(row: Floats, reach: int, horizon: float, share: bool) -> Floats:
    """Value of one row (horizons, ..) at a horizon >= 1 within its reach, not necessarily whole."""
    grid = HORIZONS[reach >= HORIZONS]
    near = _nearest(grid, horizon, 2 if share else 4)
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
