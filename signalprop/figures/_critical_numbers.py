"""The numbers of the two critical-regime figures: exact energies, laws and draws, complex and real weights.

Both models are read off the same draws, so the second figure costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from signalprop import regimes
from signalprop.models import Model, as_model, by_model, energy_of
from signalprop.montecarlo.cell import REPETITIONS
from signalprop.montecarlo.sampling import Sample, sample

WIDTHS = (100, 200, 500, 1000, 2000)
FIELDS = ("complex", "real")
MODELS = tuple(Model)
SIZES: dict[str, dict[str, Any]] = {
    "quick": {"samples": 300, "widths": (100, 500, 2000), "particles": {100: 16}},
    "default": {"samples": 4000, "widths": WIDTHS, "particles": {100: 128}},
    "full": {"samples": 40000, "widths": WIDTHS, "particles": {100: 256, 1000: 96}},
}
LARGEST_C = 5.0
STEPS_PER_CURVE = 100
FAR_C = (3.0, 4.0, 5.0)  # where the rare-event sampler takes over
LAW_FROM = 0.5
FAR_COLUMNS = {
    "log_tempered": "natural log of the mean by the rare-event sampler (c = 3, 4, 5; some widths)",
    "log_tempered_low": "natural log of the lower end of its 95 % interval",
    "log_tempered_high": "natural log of the upper end",
}
COLUMNS = {
    "field": "number system of the weights",
    "n": "width",
    "k": "steps",
    "c": "k/sqrt(n)",
    "log_exact": "natural log of the exact mean energy",
    "log_limit": "natural log of the limit at this c",
    "log_two_term": "natural log of the two-term law (real weights, c >= 0.5)",
    "log_mean": "natural log of the Monte Carlo mean",
    "relative_stderr": "standard error of the Monte Carlo mean over that mean",
    "z": "(mean - exact)/standard error",
    "trusted": "whether mean and standard error can be read as such; false is drawn hollow",
    "tail_share": "share of the sum carried by the top 1 % of the draws",
    "log_median": "natural log of the median draw",
    **FAR_COLUMNS,
}
_drawn: dict[Any, list[pd.DataFrame]] = {}


def path_frame(
    model: str,
    *,
    samples: int,
    seed: int,
    widths: Sequence[int] = WIDTHS,
    particles: dict[int, int] | None = None,
    progress: Callable[[float], None] | None = None,
) -> pd.DataFrame:
    """One row for each field, n and one of a hundred steps up to 5 sqrt(n).

    Columns as in `COLUMNS`; for ``model="driven"`` every energy is S_{n,k}/sqrt(n). `particles` has, for each width whose far
    means are drawn by the rare-event sampler, the particles of a repetition. The last pair of frames is kept.
    """
    swarms = particles or {}
    key = (samples, seed, tuple(widths), tuple(swarms.items()))
    if key not in _drawn:
        _drawn.clear()
        _drawn[key] = _frames(samples, seed, widths, swarms, progress)
    return _drawn[key][MODELS.index(as_model(model))].copy()


def _frames(
    samples: int, seed: int, widths: Sequence[int], swarms: dict[int, int], progress: Callable[[float], None] | None
) -> list[pd.DataFrame]:
    """The frames of both models."""
    rows: list[list[pd.DataFrame]] = [[], []]
    cost = {n: n**1.5 * samples + 2e3 * swarms.get(n, 0) * n**2 for n in widths}
    whole, done = len(FIELDS) * sum(cost.values()), 0.0
    for field in FIELDS:
        for n in widths:

            def report(part: int, total: int, start: float = done, share: float = cost[n]) -> None:
                if progress is not None:
                    progress((start + 0.9 * share * part / total) / whole)

            draw = sample(n, _steps(n)[-1], field, samples=samples, seed=seed, progress=report)
            far = None
            if n in swarms:
                count = REPETITIONS * swarms[n]
                far = sample(n, _far_steps(n)[-1], field, samples=count, seed=seed, method="tempered")
            for model, mine in zip(MODELS, rows, strict=True):
                mine.append(_one_width(model, draw, far))
            done += cost[n]
    return [pd.concat(mine, ignore_index=True) for mine in rows]


def _one_width(model: Model, draw: Sample, far: Sample | None) -> pd.DataFrame:
    n, field, k = draw.n, draw.field, _steps(draw.n)
    shift = by_model(model, rnn=0.0, driven=0.5 * math.log(n))
    frame = pd.DataFrame({"field": field.value, "n": n, "k": k, "c": k / math.sqrt(n)})
    exact = energy_of(model)(n, k, field, log=True)
    frame["log_exact"] = exact - shift
    law = by_model(model, rnn=regimes.critical_rnn, driven=regimes.critical_lru)
    with np.errstate(divide="ignore"):
        frame["log_limit"] = np.log(law(frame["c"].to_numpy(), field))
    frame["log_two_term"] = np.nan
    if field == "real":
        two_term = regimes.two_term_rnn(n, np.arange(k[-1] + 1), log=True)
        if model is Model.DRIVEN:
            two_term = np.logaddexp.accumulate(two_term) - shift
        frame["log_two_term"] = np.where(frame["c"] >= LAW_FROM, two_term[k], np.nan)
    logs = by_model(model, rnn=draw.log_norms, driven=draw.lru_log_norms)
    assert logs is not None
    judged = [draw.cell.judged(2.0 * logs[:, i], model, int(i), float(at), ()) for i, at in zip(k, exact, strict=True)]
    frame["log_mean"] = [one.log_mean - shift for one in judged]
    frame["relative_stderr"] = [one.relative_stderr for one in judged]
    frame["z"] = [one.z for one in judged]
    frame["trusted"] = [one.trusted for one in judged]
    frame["tail_share"] = [one.tail_share for one in judged]
    frame["log_median"] = [one.log_median - shift for one in judged]
    frame[list(FAR_COLUMNS)] = np.nan
    for step in _far_steps(n) if far is not None else ():
        assert far is not None
        found = by_model(model, rnn=far.rnn, driven=far.lru)(step)
        frame.loc[frame["k"] == step, list(FAR_COLUMNS)] = np.array([found.log_mean, *found.log_interval]) - shift
    return frame


def _steps(n: int) -> NDArray[np.int64]:
    """Those that are drawn: all of a narrow network, a hundred of a wide one."""
    c = np.linspace(0.0, LARGEST_C, STEPS_PER_CURVE + 1)
    return np.unique(np.minimum(np.round(c * math.sqrt(n)), math.floor(LARGEST_C * math.sqrt(n))).astype(np.int64))


def _far_steps(n: int) -> list[int]:
    return [round(c * math.sqrt(n)) for c in FAR_C]
