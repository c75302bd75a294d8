r"""The shipped table of gradients through nonlinear and gated cells: quantiles over draws of W.

Tabulated, by cell, start, width n, size s of the inputs and horizon T, are quantiles of L = log(||d_0||^2/||d_T||^2), the
log-energy of a gradient that is carried back over T steps (`signalprop.cells.gradient_energies`, ``direction="backward"``), for
inputs that add s to every preactivation (`make_cells`). Between the points asinh L is interpolated, linearly in log T, log s
and log n: where a gradient fades at a rate this is the power law that L follows, and where it lasts L itself. Below ten steps L
is in proportion to T; beyond 1000 the power law goes on. Widths and inputs outside of the table are read at its end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._files import our_own, read_json

Floats = NDArray[np.float64]

DATA = Path(__file__).with_name("cells.npz")
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
WIDTHS = (32, 128, 512)
INPUT_STDS = (0.1, 0.3, 1.0, 3.0)
HORIZONS = (10, 32, 100, 316, 1000)


@dataclass(frozen=True)
class TabledStart:
    """A start of the table.

    Attributes
    ----------
    name
        How it is called.
    kind
        Of the recurrent kernels, as in `signalprop.cells.gradient_energies`.
    scale
        g, or ``"critical"``: the scale of chi = 1 at these inputs.
    chrono
        Whether the gates that keep get `signalprop.meanfield.chrono_biases` of T steps, made for these inputs.
    options
        Further options of `signalprop.cells.gradient_energies`.
    """

    name: str
    kind: str
    scale: float | str = 1.0
    chrono: bool = False
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


def _starts(*starts: TabledStart) -> dict[str, TabledStart]:
    return {start.name: start for start in starts}


_DEFAULT = TabledStart("default", "uniform")
_GLOROT = TabledStart("glorot", "gaussian")
_PLAIN = (_DEFAULT, _GLOROT, TabledStart("orthogonal", "orthogonal"), TabledStart("identity", "identity"))
_GATED = (
    _DEFAULT,
    _GLOROT,
    TabledStart("biases", "uniform", chrono=True),
    TabledStart("gaussian chrono", "gaussian", chrono=True),
    TabledStart("orthogonal chrono", "orthogonal", chrono=True),
)
TABLED: Mapping[str, Mapping[str, TabledStart]] = MappingProxyType(
    {
        "tanh": _starts(
            *_PLAIN,
            TabledStart("gaussian critical", "gaussian", "critical"),
            TabledStart("orthogonal critical", "orthogonal", "critical"),
        ),
        "relu": _starts(*_PLAIN, TabledStart("gaussian critical", "gaussian", "critical")),
        "gru": _starts(*_GATED),
        "lstm": _starts(*_GATED),
    }
)


def drawn(cell: str, start: TabledStart, n: int, input_std: float, horizon: int, *, draws: int, seed: int) -> Floats:
    """Log-energies of gradients carried back over the horizon, one for each draw."""
    from signalprop.cells import gradient_energies
    from signalprop.meanfield import chrono_biases, critical_scale

    scale = float(critical_scale(cell, input_std)) if start.scale == "critical" else float(start.scale)
    biases: dict[str, Any] = {}
    if start.chrono:
        kept = chrono_biases(n, horizon, input_std)
        biases = {"update_gate": kept} if cell == "gru" else {"forget_gate": kept, "input_gate": -kept}
    found = gradient_energies(
        cell, n, horizon, draws=draws, scale=scale, kind=start.kind, input_std=input_std, biases=biases or None,
        direction="backward", times=[horizon], seed=seed, workers=1, **start.options,
    )  # fmt: skip
    return found.log_energies[:, 0]


@dataclass(frozen=True)
class Left:
    """Quantiles over draws of the log-energy that is left of a gradient, natural logarithm.

    Attributes
    ----------
    low, median, high
        The quantiles 0.05, 0.5 and 0.95; -inf where a gradient dies.
    error
        One standard error of the median, from the draws of the points it was read between; the interpolation adds to it.
    """

    low: float
    median: float
    high: float
    error: float


def left(cell: str, start: str, n: int, horizon: int, input_std: float) -> Left:
    """What is left of a gradient that is carried back over the horizon."""
    levels, errors = _tables()[f"{cell} {start}"]
    width = float(np.clip(n, WIDTHS[0], WIDTHS[-1]))
    std = float(np.clip(input_std, INPUT_STDS[0], INPUT_STDS[-1]))
    steps = max(float(horizon), float(HORIZONS[0]))
    found, error = (_read(table, width, std, steps) for table in (levels, errors))
    few = min(1.0, horizon / HORIZONS[0])
    # Beyond the table each goes its own way, and they can meet.
    low, median, high = sorted(float(found[LEVELS.index(q)]) * few for q in (0.05, 0.5, 0.95))
    return Left(low, median, high, float(error[0]) * few)


def provenance() -> dict[str, Any]:
    """Where the table comes from: command, seed, versions, git revision."""
    path = DATA.with_suffix(".json")
    with our_own(path):
        return read_json(path)


@lru_cache
def _tables() -> dict[str, tuple[Floats, Floats]]:
    """Levels and errors by "cell start", both with asinh taken of their logs' values, of shape (n, s, T, values)."""
    with our_own(DATA), DATA.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        return {
            name: (archive[name].astype(np.float64), archive[f"{name} error"].astype(np.float64)[..., None])
            for name in archive.files
            if not name.endswith(" error")
        }


def _read(table: Floats, n: float, s: float, t: float) -> Floats:
    """Between the points; a value of weight 0 does not count, be it infinite."""
    values = np.arcsinh(table)
    for grid, at in ((WIDTHS, n), (INPUT_STDS, s), (HORIZONS, t)):
        points = np.log(np.array(grid))
        place = int(np.clip(np.searchsorted(points, math.log(at), side="right") - 1, 0, len(points) - 2))
        share = float((math.log(at) - points[place]) / (points[place + 1] - points[place]))
        here, there = values[place], values[place + 1]
        if share == 0.0:
            values = here
        elif share == 1.0:
            values = there
        else:
            with np.errstate(invalid="ignore"):
                mixed = here + share * (there - here)
            values = np.where(np.isfinite(here) & np.isfinite(there), mixed, np.minimum(here, there))
    return np.asarray(np.sinh(values))
