"""An `Inspection` in Markdown and in HTML: the verdicts, what to do, and the table of memories."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from signalprop.inspection.measured.table import measured_cells
from signalprop.inspection.measured.verdicts import run_lines
from signalprop.inspection.page import assumptions, cells_of, said, what_to_do
from signalprop.inspection.words import COLUMNS, MEASURED_TITLE

if TYPE_CHECKING:
    from signalprop.inspection.inspection import Inspection
    from signalprop.inspection.record import LayerReport

_HEADINGS = ("layer", "kind", "what it does", "input 1/e", "input 1 %", "gradient 1/e", "gradient 1 %")
_MEASURED = ("measured 1/e", "measured 1 %", "ln of states", "exponent")


def markdown(found: Inspection) -> str:
    """A table with one row per layer, then what to do."""
    headings = _headings(found)
    lines = [*(f"{text}\n" for text in _of_run(found)), f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in _rows(found, "`{}`")]
    lines += ["", *(f"- {text}" for text in what_to_do(found))]
    lines += ["", COLUMNS, "", *(f"- {text}" for text in assumptions(found.layers, alone=found.run is None))]
    return "\n".join(lines) + "\n"


def html(found: Inspection) -> str:
    """The same as a table of HTML and lists."""
    head = "".join(f"<th>{escape(name)}</th>" for name in _headings(found))
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in _rows(found, "{}"))
    parts = [f"<p>{escape(text)}</p>" for text in (found.source, *_of_run(found))]
    parts += [f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"]
    for texts in (what_to_do(found), [COLUMNS, *assumptions(found.layers, alone=found.run is None)]):
        parts += [f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"] if texts else []
    return f'<div class="signalprop-inspection">{"".join(parts)}</div>'


def _rows(found: Inspection, name: str) -> list[list[str]]:
    return [
        [
            name.format(layer.name) if layer.name else "",
            layer.about,
            said(found, layer),
            *cells_of(layer),
            *_more(found, layer),
        ]
        for layer in found.layers
    ]


def _more(found: Inspection, layer: LayerReport) -> list[str]:
    if found.run is None:
        return []
    cells = measured_cells(layer)
    return [*cells[:2], *cells[4:]]


def _headings(found: Inspection) -> tuple[str, ...]:
    return _HEADINGS if found.run is None else _HEADINGS + _MEASURED


def _of_run(found: Inspection) -> list[str]:
    """What was run, and what went wrong."""
    if found.run is None:
        return []
    mode = "training" if found.run.training else "evaluation"
    return [f"{MEASURED_TITLE.format(batch=found.run.batch, mode=mode)}.", *run_lines(found.run)]
