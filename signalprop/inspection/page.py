"""The page of an `Inspection`: verdicts, what to do, tables, and what the numbers take for granted, in 80 columns or more."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from signalprop._numbers import counted, rounded
from signalprop._text import columns, lines_of
from signalprop.inspection.findings import findings, predicted_verdict, verdict
from signalprop.inspection.laws import LawFit
from signalprop.inspection.measured.table import measured_lines
from signalprop.inspection.measured.verdicts import run_lines
from signalprop.inspection.record import LayerReport
from signalprop.inspection.words import ALONE, COLUMNS, HEAD, KERNEL_COLUMNS, LAW_FITS, LAW_OFF, MEASURED, filled

if TYPE_CHECKING:
    from signalprop.inspection.inspection import Inspection
    from signalprop.inspection.paths import EnergyPath

WIDEST = 100  # columns; longer lines are hard to read
_NAME = 28  # columns of a name; longer ones lose their beginning


def page(found: Inspection, width: int | None = None) -> str:
    """The whole page, in `width` columns (default: those of the terminal)."""
    room = min(columns(), WIDEST) if width is None else width
    head = lines_of(HEAD.format(source=found.source, count=counted(len(found.layers), "recurrence")), room)
    lines = [*head, "=" * max(map(len, head)), ""]
    for text in [] if found.run is None else run_lines(found.run):
        lines += lines_of(text, room)
    margin = min(max(len(short(layer)) for layer in found.layers), _NAME) + 2
    for layer in found.layers:
        lines += lines_of(said(found, layer), room, short(layer).ljust(margin), " " * margin)
    if remedies := what_to_do(found):
        lines += ["", "What to do"]
        for text in remedies:
            lines += lines_of(text, room, "- ", "  ")
    if found.run is not None:
        lines += ["", *measured_lines(found.run, found.layers, margin, room, short)]
    lines += [
        "",
        "Memory in steps, by parameters" if found.run is not None else "Memory in steps",
        *memory_table(found.layers, margin),
        *lines_of(COLUMNS, room),
    ]
    if any(layer.kernels for layer in found.layers):
        lines += ["", "Kernels", *kernel_table(found.layers, margin), *lines_of(KERNEL_COLUMNS, room)]
    lines += ["", "At the start"]
    for text in laws(found.layers):
        lines += lines_of(text, room, "- ", "  ")
    lines += ["", "Taken for granted"] if assumptions(found.layers, alone=found.run is None) else []
    for text in assumptions(found.layers, alone=found.run is None):
        lines += lines_of(text, room, "- ", "  ")
    return "\n".join(lines)


def short(layer: LayerReport) -> str:
    """The name of a layer, without its beginning where it is long; what it is where it has none."""
    name = layer.name or layer.about.partition(",")[0].partition(" of ")[0]
    if len(name) <= _NAME:
        return name
    end = name[2 - _NAME :]
    return f"..{end.partition('.')[2] or end}"


def said(found: Inspection, layer: LayerReport) -> str:
    """Verdict and notes of a layer in one line of text."""
    notes = [one.text for one in findings(layer, found.settings) if one.text]
    code, words = verdict(layer, found.settings)
    if layer.measured is None:
        spread = _spread(layer) if code.startswith(("holds", "fades", "forgets")) else ""
        return "; ".join([words + spread, *notes])
    if layer.gradient is not None:
        promised, promise = predicted_verdict(layer, found.settings)
        notes = [*([filled(MEASURED, "by_parameters", words=promise)] if promised != code else []), *notes]
    return "; ".join([words, *notes])


def _spread(layer: LayerReport) -> str:
    """The shortest and the longest memory of single units, where they differ much."""
    if layer.units is None or layer.units.rate.size < 2:
        return ""
    memory = np.where(layer.units.never(math.inf), np.inf, layer.units.memory)
    low, high = float(memory.min()), float(memory.max())
    if high < 4.0 * low or not math.isfinite(high):
        return ""
    return f" ({layer.units.axes[-1]}s from {_number(low)} to {_number(high)})"


def what_to_do(found: Inspection) -> list[str]:
    """Each remedy once, with the layers that it is for."""
    wanted: dict[str, list[str]] = {}
    for layer in found.layers:
        for remedy in dict.fromkeys(one.remedy for one in findings(layer, found.settings) if one.remedy):
            wanted.setdefault(remedy, []).append(short(layer))
    return [f"{_for(names, len(found.layers))}{text}" for text, names in wanted.items()]


def _for(names: list[str], layers: int) -> str:
    if len(names) == layers:
        return ""
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} more: "
    return f"{', '.join(names)}: "


def memory_table(layers: Iterable[LayerReport], margin: int) -> list[str]:
    """Steps until 1/e and 1/100 are left, of layers and of their units."""
    lines = [
        " " * margin + "    input     gradient        units, 1/e left",
        "layer".ljust(margin) + "  1/e  1 %    1/e    1 %    least median   most",
    ]
    for layer in layers:
        cells = cells_of(layer)
        if layer.units is not None:
            memory = layer.units.memory
            never = layer.units.never(math.inf)
            memory = np.where(never, np.inf, memory)
            cells += [_number(float(one)) for one in (memory.min(), np.median(memory), memory.max())]
        sizes = (5, 5, 7, 7, 9, 7, 7)
        lines.append(
            short(layer).ljust(margin) + "".join(cell.rjust(size) for cell, size in zip(cells, sizes, strict=False))
        )
    return lines


def cells_of(layer: LayerReport) -> list[str]:
    """Steps until 1/e and 1/100 of an input are left, then of a gradient."""
    return [_at(path, which) for path in (layer.forward, layer.gradient) for which in ("by_e", "by_hundred")]


def kernel_table(layers: Iterable[LayerReport], margin: int) -> list[str]:
    """Scale, spectrum and singular values of every kernel."""
    lines = ["layer".ljust(margin) + "kernel          g  radius largest    n/v departure      s"]
    for layer in layers:
        for i, kernel in enumerate(layer.kernels):
            wide = "inf" if math.isinf(kernel.effective_width) else rounded(round(kernel.effective_width))
            cells = [
                f"{kernel.scale:.3g}",
                _or_dash(kernel.radius),
                f"{kernel.largest:.3g}",
                wide,
                _or_dash(kernel.departure),
            ]
            cells.append(_or_dash(layer.details.get("input_std")) if i == 0 else "")
            lines.append(
                (short(layer) if i == 0 else "").ljust(margin)
                + kernel.part.ljust(11)
                + "".join(cell.rjust(size) for cell, size in zip(cells, (6, 8, 8, 7, 10, 7), strict=True))
            )
    return lines


def laws(layers: Iterable[LayerReport]) -> list[str]:
    """The nearest laws, layers that agree together."""
    together: dict[tuple[str, str, bool], list[LawFit]] = {}
    for layer in layers:
        for law in layer.laws:
            quantity = law.quantity.removeprefix(f"{layer.name}.") if layer.name else law.quantity
            together.setdefault((quantity, law.law, law.fits), []).append(law)
    texts = []
    for (quantity, words, fits), some in together.items():
        if fits:
            others = "".join(f"; or {other}" for other in some[0].others)
            texts.append(LAW_FITS.format(quantity=quantity, law=words, source=some[0].source, others=others))
        else:
            distances = [one.distance for one in some]
            shown = f"{min(distances):.2g}"
            if len(some) > 1 and max(distances) > min(distances):
                shown = f"{shown} to {max(distances):.2g}"
            texts.append(LAW_OFF.format(quantity=quantity, law=words, source=some[0].source, distance=shown))
    return texts


def assumptions(layers: Iterable[LayerReport], *, alone: bool = True) -> list[str]:
    """What the numbers take for granted, each once; `alone` where no batch was run."""
    return [*dict.fromkeys(text for layer in layers for text in layer.assumes), *([ALONE] if alone else [])]


def _at(path: EnergyPath | None, which: str) -> str:
    if path is None:
        return "-"
    steps = getattr(path, which)
    return (
        _number(float(steps))
        if steps is not None
        else ("grows" if path.grown is not None else f">{_number(path.reach)}")
    )


def _number(value: float) -> str:
    if math.isinf(value):
        return "never"
    if value < 9.95:
        return f"{value:.2g}"
    if value < 10_000:
        return f"{value:.0f}"
    return f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"
