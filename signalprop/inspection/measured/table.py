"""The part of the page that a batch adds: what was measured, beside what parameters promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from signalprop._text import lines_of
from signalprop.inspection.measured.record import BatchRun, Measured
from signalprop.inspection.measured.verdicts import exponent_words, steps_words
from signalprop.inspection.words import MEASURED_COLUMNS, MEASURED_TITLE

if TYPE_CHECKING:
    from signalprop.inspection.paths import EnergyPath
    from signalprop.inspection.record import LayerReport

_SIZES = (6, 6, 7, 7, 14, 16)


def measured_lines(
    run: BatchRun, layers: tuple[LayerReport, ...], margin: int, room: int, named: Callable[[LayerReport], str]
) -> list[str]:
    """Title, table and what its columns are."""
    mode = "training" if run.training else "evaluation"
    lines = lines_of(MEASURED_TITLE.format(batch=run.batch, mode=mode), room)
    lines.append(" " * margin + "    measured    parameters        states        exponent")
    lines.append("layer".ljust(margin) + "   1/e   1 %    1/e    1 %   first to last")
    for layer in layers:
        cells = measured_cells(layer)
        star = "*" if layer.measured is not None and layer.measured.how == "outputs" else ""
        row = "".join(cell.rjust(size) for cell, size in zip(cells, _SIZES, strict=True))
        lines.append((f"{named(layer)}{star}".ljust(margin) + row).rstrip())
    lines += lines_of(MEASURED_COLUMNS, room)
    for text in dict.fromkeys(note for layer in layers if layer.measured for note in layer.measured.notes):
        lines += lines_of(text, room)
    return lines


def measured_cells(layer: LayerReport) -> list[str]:
    """Steps until 1/e and 1 % of a gradient are left, measured and by parameters; states; the exponent."""
    found = layer.measured
    paths = (None if found is None else found.gradient, layer.gradient)
    cells = [_at(path, which) for path in paths for which in ("by_e", "by_hundred")]
    return [*cells, "-" if found is None else states_words(found), "-" if found is None else exponent_words(found)]


def states_words(found: Measured) -> str:
    """Median log-energies of the first and the last state."""
    if found.forward is None:
        return "-"
    first, last = (_log(float(found.forward.median[place])) for place in (0, -1))
    return f"{first} to {last}"


def _log(value: float) -> str:
    if math.isinf(value):
        return "-inf" if value < 0.0 else "inf"
    return f"{value:.1f}" if abs(value) < 99.5 else f"{value:.0f}"


def _at(path: EnergyPath | None, which: str) -> str:
    if path is None:
        return "-"
    steps = getattr(path, which)
    if steps is not None:
        return steps_words(steps)
    return "grows" if path.grown is not None else f">{steps_words(path.reach)}"
