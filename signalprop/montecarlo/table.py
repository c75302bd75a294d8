"""The table of a run: one row per cell and model, with what its mean is worth and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from signalprop.models import as_model, by_model, energy_of
from signalprop.montecarlo.blocks import Block
from signalprop.montecarlo.cell import Cell
from signalprop.montecarlo.estimate import QUANTILES
from signalprop.montecarlo.known import has_closed_form
from signalprop.montecarlo.plan import Plan
from signalprop.montecarlo.quantiles import quantile_levels

Floats = NDArray[np.float64]
PEAK_QUANTILES = (0.5, 0.95)
COLUMNS = {
    "field": "number system of the weights",
    "n": "width",
    "k": "steps",
    "c": "k/sqrt(n)",
    "model": "rnn: ||W^k x||^2/||x||^2; driven: h <- W h + x",
    "samples": "number of draws; of repetitions for method tempered, whose columns on single draws are empty",
    "log_exact": "natural log of the exact mean, where known",
    "log_mean": "natural log of the mean of the draws; read verdict first",
    "relative_stderr": "standard error of that mean over that mean, from the draws; to be read as such only where trusted",
    "predicted_relative_stderr": "the same over the exact mean, from a known second moment or a bound on it; the one to read",
    "z": "distance of the mean from the exact one in standard errors (predicted ones where known); no test where not trusted",
    "trusted": "whether mean and standard error can be read as such",
    "verdict": "what the mean is worth, in words",
    "log_median": "natural log of the median draw",
    "log_q05": "natural log of a quantile of one draw at the end of the path (median-unbiased), empty if the draws do not reach "
    "it; q25 .. q95 likewise",
    "log_q05_low": "lower end of an interval that holds it with at least 95 % (order statistics); -inf beyond the draws",
    "log_q05_high": "upper end",
    "log_peak_q50": "natural log of a quantile of the highest energy over 1 <= k' <= k; q95, _low, _high likewise",
    "tail_share": "share of the sum carried by the top 1 % of the draws",
    "ess": "effective sample size (sum)^2/(sum of squares)",
    "tail_index": "Hill's estimate of the Pareto index of the tail; empty under 50 draws",
    "tail_index_stderr": "its standard error",
    "method": "how the draws were made",
    "activation": "after the weights; negative_slope and tied likewise as in the plan",
    "seed": "root seed",
    "signalprop": "version that made the draws; numpy and numba likewise",
    "git_revision": "commit of the checkout that began the run, empty outside one",
    "plan": "first 12 digits of the SHA-256 of the plan",
}


def table(
    plan: Plan, blocks: Sequence[Block], read: Callable[[Block], Floats | None], facts: dict[str, Any]
) -> pd.DataFrame:
    """The rows of all cells with at least two draws, from blocks read one after another."""
    origin = _origin(plan, facts)
    there = sorted({number for block in blocks for number, _ in block.pieces})
    exact = [_log_exact(plan, there, model) for model in plan.models]
    rows = [
        {**_row(plan.cells[number], model, draws[:, 2 * i : 2 * i + 2].T, exact[i].get(number)), **origin}
        for number, draws in _by_cell(plan, blocks, read)
        for i, model in enumerate(plan.models)
    ]
    frame = pd.DataFrame(rows, columns=None if rows else list(COLUMNS))
    frame.attrs.update(plan=plan.to_toml(), versions=facts["versions"], git_revision=facts["git_revision"])
    return frame


def _log_exact(plan: Plan, numbers: Sequence[int], model: str) -> dict[int, float]:
    """Logs of the exact means of cells, where known; all widths and depths of a field in one call."""
    known: dict[int, float] = {}
    for field in plan.fields:
        cells = {number: plan.cells[number] for number in numbers if plan.cells[number].field == field}
        if not plan.tied:
            known.update(
                (number, by_model(as_model(model), rnn=0.0, driven=math.log(cell.k + 1)))
                for number, cell in cells.items()
            )
            continue
        cells = {number: cell for number, cell in cells.items() if has_closed_form(cell, model, cell.k)}
        if cells:
            compute = energy_of(model)
            logs = compute([cell.n for cell in cells.values()], [cell.k for cell in cells.values()], field, log=True)
            known.update(zip(cells, np.asarray(logs).tolist(), strict=True))
    return known


def _by_cell(
    plan: Plan, blocks: Iterable[Block], read: Callable[[Block], Floats | None]
) -> Iterator[tuple[int, Floats]]:
    """(cell number, its draws in the order of its chunks)."""
    parts: list[Floats] = []
    current = 0
    for block in blocks:
        draws = read(block)
        if draws is None:
            continue
        start = 0
        for number, chunk in block.pieces:
            if number != current:
                yield from _joined(current, parts)
                current, parts = number, []
            stop = start + plan.cells[number].chunk_rows(chunk)
            parts.append(draws[start:stop])
            start = stop
    yield from _joined(current, parts)


def _joined(number: int, parts: list[Floats]) -> Iterator[tuple[int, Floats]]:
    if sum(map(len, parts)) >= 2:
        yield number, np.concatenate(parts)


def _row(cell: Cell, model: str, draws: Floats, log_exact: float | None) -> dict[str, Any]:
    ends, peaks = np.sort(draws, axis=1)
    end = cell.judged(ends, model, cell.k, log_exact, ())
    row: dict[str, Any] = {
        "field": cell.field.value,
        "n": cell.n,
        "k": cell.k,
        "c": cell.k / cell.n**0.5,
        "model": model,
        "samples": end.samples,
        "log_exact": _number(end.log_exact),
        "log_mean": end.log_mean,
        "relative_stderr": end.relative_stderr,
        "predicted_relative_stderr": _number(end.predicted_relative_stderr),
        "z": _number(end.z),
        "trusted": end.trusted,
        "verdict": end.verdict,
        "log_median": math.nan if end.repeated else end.log_median,
        **_quantiles("q", ends, QUANTILES),
        **_quantiles("peak_q", peaks, PEAK_QUANTILES),
        "tail_share": math.nan if end.repeated else end.tail_share,
        "ess": math.nan if end.repeated else end.ess,
        "tail_index": _number(end.tail_index),
        "tail_index_stderr": _number(end.tail_index_stderr),
    }
    if end.repeated:  # nothing is known of single draws
        row.update({name: math.nan for name in row if name.startswith(("log_q", "log_peak"))})
    return row


def _quantiles(name: str, ordered: Floats, quantiles: Sequence[float]) -> dict[str, float]:
    columns = {}
    for one in quantile_levels(ordered, quantiles):
        column = f"log_{name}{round(100 * one.q):02d}"
        columns.update({column: one.level, f"{column}_low": one.low, f"{column}_high": one.high})
    return columns


def _origin(plan: Plan, facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "method": plan.method,
        "activation": plan.activation,
        "negative_slope": plan.negative_slope,
        "tied": plan.tied,
        "seed": plan.seed,
        **facts["versions"],
        "git_revision": facts["git_revision"],
        "plan": plan.digest[:12],
    }


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
