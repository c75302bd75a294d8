"""An `Inspection` in Markdown and in HTML: the verdicts, what to do, and the table of memories."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from signalprop.inspection.page import assumptions, cells_of, said, what_to_do
from signalprop.inspection.words import COLUMNS

if TYPE_CHECKING:
    from signalprop.inspection.inspection import Inspection

_HEADINGS = ("layer", "kind", "what it does", "input 1/e", "input 1 %", "gradient 1/e", "gradient 1 %")


def markdown(found: Inspection) -> str:
    """A table with one row per layer, then what to do."""
    lines = [f"| {' | '.join(_HEADINGS)} |", f"|{'---|' * len(_HEADINGS)}"]
    lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in _rows(found, "`{}`")]
    lines += ["", *(f"- {text}" for text in what_to_do(found))]
    lines += ["", COLUMNS, "", *(f"- {text}" for text in assumptions(found.layers))]
    return "\n".join(lines) + "\n"


def html(found: Inspection) -> str:
    """The same as a table of HTML and lists."""
    head = "".join(f"<th>{escape(name)}</th>" for name in _HEADINGS)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in _rows(found, "{}"))
    parts = [f"<p>{escape(found.source)}</p>", f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"]
    for texts in (what_to_do(found), [COLUMNS, *assumptions(found.layers)]):
        parts += [f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"] if texts else []
    return f'<div class="signalprop-inspection">{"".join(parts)}</div>'


def _rows(found: Inspection, name: str) -> list[list[str]]:
    return [
        [name.format(layer.name) if layer.name else "", layer.about, said(found, layer), *cells_of(layer)]
        for layer in found.layers
    ]
