"""The page of a `Report`: a table of energies against steps, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from signalprop._numbers import counted, number, percent, show_value
from signalprop._text import columns as terminal_columns
from signalprop._text import lines_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from signalprop.recurrences.report import Report

HINT_CORRELATION = 0.9
_STEP, _COLUMN = 10, 12


def page(found: Report, width: int | None = None, *, say: Callable[[str], str] = str) -> str:
    """The whole page, in `width` columns (default: those of the terminal); `say` may put sentences into other words."""
    kept = np.searchsorted(found.steps, decades(int(found.steps[-1])))
    columns: list[tuple[str, Any]] = [("from x_0 = 0", found.energy[kept])]
    if found.from_first_step is not None:
        columns.append(("first-step rule", found.from_first_step[kept]))
    if found.average is not None:
        columns.append(("average over W", found.average[kept]))
    if found.sampled is not None:
        at = found.steps[kept]
        columns += [("drawn", found.sampled.mean[at]), ("+-", found.sampled.stderr[at]), ("z", found.sampled.z[at])]
    colour = "white" if found.correlation == 0.0 else f"AR(1), correlation {found.correlation:.6g} from step to step"
    width = terminal_columns() if width is None else width
    lines = lines_of(f"recurrence    {found.about}", width, rest=" " * 14)
    lines += [*lines_of(f"inputs        {colour}, unit variance", width, rest=" " * 14), "", "mean energy E||x_t||^2"]
    lines += _table(found.steps[kept], columns, width)
    limit = "none" if found.stationary is None else show_value(found.stationary)
    lines += ["stationary".ljust(_STEP) + limit.rjust(_COLUMN), "", "What it means"]
    for sentence in meaning(found):
        lines += lines_of(say(sentence), width, "- ", "  ")
    return "\n".join(lines)


def _table(steps: NDArray[np.int64], columns: list[tuple[str, Any]], width: int) -> list[str]:
    """Values against steps; columns that do not fit go into a second table below."""
    sizes = [max(_COLUMN, len(name) + 2) for name, _ in columns]
    shown = next((i for i in range(len(columns), 1, -1) if _STEP + sum(sizes[:i]) <= width), 1)
    lines = [
        "step".ljust(_STEP) + "".join(name.rjust(size) for (name, _), size in zip(columns[:shown], sizes, strict=False))
    ]
    for row, step in enumerate(steps):
        cells = [
            f"{values[row]:.2f}" if name == "z" else show_value(float(values[row])) for name, values in columns[:shown]
        ]
        lines.append(str(step).ljust(_STEP) + "".join(c.rjust(w) for c, w in zip(cells, sizes, strict=False)))
    return lines if shown == len(columns) else [*lines, "", *_table(steps, columns[shown:], width)]


def meaning(found: Report) -> list[str]:
    """What the numbers say, in sentences."""
    last = int(found.steps[-1])
    said = []
    if found.stationary is None:
        said.append(found.no_limit)
    else:
        share = _percent(float(found.energy[-1]) / found.stationary)
        if found.filled is not None and found.filled <= last:
            said.append(f"Started from zero the state has 95 % of its stationary energy from step {found.filled} on.")
        else:
            later = "" if found.filled is None else f", and 95 % from step {found.filled} on"
            said.append(f"Started from zero the state has {share} of its stationary energy at step {last}{later}.")
    if found.from_first_step is not None:
        if found.correlation == 0.0:
            said.append(f"The first-step rule ({found.rule}) starts at the stationary energy and stays there.")
        else:
            said.append(
                f"The first-step rule ({found.rule}) starts at the stationary energy of white inputs, not of these."
            )
    said.append(f"Of the energy one input brings in, {_percent(found.left)} is left {counted(last, 'step')} later.")
    said.append(f"Of the energy of a gradient, {_percent(found.gradient_left)} is left {counted(last, 'step')} back.")
    if found.stationary is not None and found.hinted is not None:
        said.append(
            f"Inputs are taken as white. With correlation {HINT_CORRELATION:g} from step to step the limit would be "
            f"{found.hinted:.4g} instead of {found.stationary:.4g}: correlation={HINT_CORRELATION:g}."
        )
    if found.average is not None:
        said.append("W is one draw. The average is over all draws of W; far past sqrt(n) steps rare draws dominate it.")
    return said


def _percent(share: float) -> str:
    """A share as a percentage of three digits."""
    if share > 1.005:
        return f"{number(share)} times as much"
    hundred = 100.0 * share
    if 99.95 <= hundred < 100.0:
        return "more than 99.9 %"
    return f"{hundred:.3g} %" if hundred >= 1e-3 else percent(share)


def decades(last: int) -> NDArray[np.int64]:
    """1, 3, 10, 30, .. and the last step."""
    marks = [mark * 10**power for power in range(len(str(last))) for mark in (1, 3)]
    return np.array([*(mark for mark in marks if mark < last), last])
