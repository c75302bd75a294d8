"""What an initializer has set, as a list of names that prints as a table."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

_WIDTH = 80
_LONGEST_NAME, _LONGEST_PART = 30, 20


@dataclass(frozen=True)
class Row:
    """One part of a parameter that was set.

    Attributes
    ----------
    parameter
        Its name, as in ``module.named_parameters()``.
    part
        Which part of it: the kernel, all gates, or the gates by name.
    law
        What it was set to, in words and numbers.
    numbers
        The numbers in it: ``scale``, ``std``, ``leak``, ``lowest``, ``highest``, and the ``input_std`` that these are for, as far
        as they apply.
    """

    parameter: str
    part: str
    law: str
    numbers: dict[str, float]


class Initialized(list[str]):
    """Names of the parameters that were set, each once: a list, which prints as a table of what they were set to.

    Attributes
    ----------
    rows
        What was set, one `Row` for each part of a parameter.
    """

    def __init__(self, rows: list[Row]) -> None:
        super().__init__(dict.fromkeys(row.parameter for row in rows))
        self.rows = tuple(rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Initialized, (list(self.rows),))

    def __str__(self) -> str:
        """The table, at most 80 columns wide."""
        cells = [("parameter", "part", "set to")]
        last = ""
        for row in self.rows:
            cells.append(("" if row.parameter == last else _short(row.parameter), row.part, row.law))
            last = row.parameter
        names, parts = (max(len(cell[place]) for cell in cells) for place in (0, 1))
        parts = min(parts, _LONGEST_PART)
        lines: list[str] = []
        for name, part, law in cells:
            folded = textwrap.wrap(part, parts) or [""]
            text = textwrap.wrap(law, _WIDTH - names - parts - 4, break_on_hyphens=False) or [""]
            for at in range(max(len(folded), len(text))):
                middle, end = (some[at] if at < len(some) else "" for some in (folded, text))
                lines.append(f"{name if at == 0 else '':<{names}}  {middle:<{parts}}  {end}".rstrip())
        return "\n".join([*lines, "All else stays as it was."])

    __repr__ = __str__


def _short(name: str) -> str:
    """A name of many parts without its middle: its end says the parameter."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:8]}..{name[10 - _LONGEST_NAME :]}"
