"""Paragraphs wrapped to the terminal."""

from __future__ import annotations

import re
import shutil
import textwrap

NARROWEST = 40  # columns; text for a narrower terminal is as wide as this
_INSIDE = re.compile(r" (?=%)|(?<=\d) (?=\d{3}\b)")  # spaces of one number: 5 %, 12 000


def columns() -> int:
    """Columns of the terminal, 80 in a pipe; COLUMNS decides where it is set."""
    return max(shutil.get_terminal_size((80, 24)).columns, NARROWEST)


def lines_of(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """A paragraph in lines of at most `width`; numbers and their per cent signs stay together, and longer words stay whole."""
    return [
        line.replace("\u00a0", " ")
        for line in textwrap.wrap(
            _INSIDE.sub("\u00a0", text), width, initial_indent=first, subsequent_indent=rest,
            break_long_words=False, break_on_hyphens=False,
        )
    ]  # fmt: skip
