"""Scales against the energies they are solved for, and the table of single draws against fresh ones."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray

from signalprop import energy
from signalprop._registry import load
from signalprop.fields import Field
from signalprop.initialization import one_draw_table
from signalprop.initialization.criteria import CRITERIA
from signalprop.initialization.mean_path import MeanPath
from signalprop.models import Model, as_model, by_model, energy_of
from signalprop.montecarlo import sampling
from signalprop.verify.check import FIELDS, Check

LARGEST_Z = 4.0
TOLERANCE = 0.1
_SCORE = "largest |z|"


def checks(thorough: bool) -> list[Check]:
    """Convexity, and what each criterion promises; the thorough ones on more points and draws."""
    steps = _longest(thorough)
    found = []
    for field in FIELDS:
        found += [
            Check(
                "log Q convex in k (what the scales rest on)",
                f"{field}, n in 1..1e9, k <= {steps}",
                "rounding units",
                1,
                partial(_convexity, field, steps),
            ),
            *sorted(_of_criteria(field, thorough), key=lambda check: check.unit == _SCORE),  # what is drawn comes last
        ]
    return found


def _of_criteria(field: str, thorough: bool) -> list[Check]:
    """What each criterion promises."""
    return [load(one.check)(field, thorough) for one in CRITERIA.values() if one.check is not None]


def bounded_check(field: str, thorough: bool) -> Check:
    """The highest mean under the bounded scale."""
    steps = _longest(thorough)
    return Check(
        "bounded scale: highest mean over all steps = 1.1",
        f"{field}, rnn and driven, n in 1..1e4, T <= {steps}",
        "of the log",
        1e-10,
        partial(_bounded, field, steps),
    )


def minimax_check(field: str, thorough: bool) -> Check:
    """The highest and the lowest mean under the minimax scale."""
    steps = _longest(thorough)
    return Check(
        "minimax scale: highest mean = 1/lowest",
        f"{field}, rnn and driven, n in 1..1e4, T <= {steps}",
        "of the log",
        1e-8,
        partial(_minimax, field, steps),
    )


def quantile_check(field: str, thorough: bool) -> Check:
    """The tabulated quantile scale on fresh draws."""
    return Check(
        "tabulated scale of one draw keeps 95 % of fresh draws",
        f"{field}, rnn and driven, n in 3..9000, T in 20..90",
        _SCORE,
        LARGEST_Z,
        partial(_promise, field, 4000 if thorough else 1000),
    )


def _longest(thorough: bool) -> int:
    return 1000 if thorough else 300


def _convexity(field: str, steps: int) -> float:
    worst = -math.inf
    for n in (1, 2, 5, 30, 100, 1000, 10**5, 10**9):
        path = energy.rnn_energy(n, np.arange(steps + 1), field, log=True)
        rounding = 4e-13 * np.maximum(1.0, np.abs(path[2:]))
        worst = max(worst, float((-np.diff(path, 2) / rounding).max()))
    return worst


def _points(steps: int) -> list[tuple[int, int, str]]:
    return [(n, horizon, model) for n in (1, 7, 100, 10**4) for horizon in (1, 20, steps) for model in Model]


def _full_path(n: int, horizon: int, field: str, model: str, log_g: float) -> NDArray[np.float64]:
    """Log mean energies of every step, by `energy` with its own scale."""
    k, g = np.arange(horizon + 1), math.exp(log_g)
    logs = np.asarray(energy_of(model)(n, k, field, scale=g, log=True))
    return by_model(as_model(model), rnn=logs, driven=logs - np.log1p(k))


def _bounded(field: str, steps: int) -> float:
    worst = 0.0
    for n, horizon, model in _points(steps):
        log_g = MeanPath(n, horizon, Field(field), model).bounded(math.log1p(TOLERANCE))
        path = _full_path(n, horizon, field, model, log_g)
        worst = max(worst, abs(float(path[1:].max()) - math.log1p(TOLERANCE)))
    return worst


def _minimax(field: str, steps: int) -> float:
    worst = 0.0
    for n, horizon, model in _points(steps):
        path = _full_path(n, horizon, field, model, MeanPath(n, horizon, Field(field), model).minimax())
        worst = max(worst, abs(float(path.max() + path.min())))
    return worst


def _promise(field: str, samples: int) -> float:
    """Share of fresh paths under the bound at every step, against 0.95 with the binomial errors of both sets of draws."""
    kind, worst = Field(field), 0.0
    rows = one_draw_table.table(kind)
    for n, horizon in ((3, 20), (50, 45), (700, 60), (9000, 90)):
        paths = 2.0 * sampling.sample(n, horizon, field, samples=samples, seed=n).log_norms
        error = math.sqrt(0.95 * 0.05 * (1.0 / samples + 1.0 / rows.draws_behind(n, horizon)))
        for model in Model:
            log_g = float(one_draw_table.log_scales(n, horizon, kind, model)[0][one_draw_table.AT_DEFAULT])
            terms = paths + 2.0 * log_g * np.arange(horizon + 1)
            if model is Model.DRIVEN:
                terms = np.log(np.cumsum(np.exp(terms), axis=1)) - np.log1p(np.arange(horizon + 1))
            share = float(np.mean(terms.max(axis=1) <= math.log(one_draw_table.BOUND)))
            worst = max(worst, abs(share - one_draw_table.DEFAULT) / error)
    return worst
