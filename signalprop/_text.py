"""Paragraphs wrapped to the terminal, and numbers as a reader in a hurry wants them."""

from __future__ import annotations

import math
import re
import shutil
import textwrap

NARROWEST = 40  # columns; text for a narrower terminal is as wide as this
_INSIDE = re.compile(r" (?=%)|(?<=\d) (?=\d{3}\b)")  # spaces of one number: 5 %, 12 000


def columns() -> int:
    """Columns of the terminal, 80 in a pipe; COLUMNS decides where it is set."""
    return max(shutil.get_terminal_size((80, 24)).columns, NARROWEST)


def lines_of(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    """A paragraph in lines of at most `width`, no number parted from its per cent or inside; longer words stay whole."""
    return [
        line.replace("\u00a0", " ")
        for line in textwrap.wrap(
            _INSIDE.sub("\u00a0", text), width, initial_indent=first, subsequent_indent=rest,
            break_long_words=False, break_on_hyphens=False,
        )
    ]  # fmt: skip


def counted(count: int, one: str) -> str:
    """A count with its noun: 1 step, 2 steps."""
    return f"{count} {one}{'' if count == 1 else 's'}"


def number(value: float, digits: int = 3) -> str:
    """A number that is not negative, in so many digits: 88.4, 0.0131, 12 000, 4*10^-9.

    Examples
    --------
    >>> number(999.7), number(88.44), number(0.0), number(4.2e-9), number(1e30)
    ('1 000', '88.4', '0', '4*10^-9', '1*10^30')
    """
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    if value < 0.001 or value >= 1e15:
        return power(value)
    short = float(f"{value:.{digits}g}")
    return rounded(round(value)) if short >= 10.0**digits else f"{short:.{digits}g}"


def power(value: float) -> str:
    """A positive number as one digit and a power of ten: 4*10^-9."""
    digit, exponent = f"{value:.0e}".split("e")
    return f"{digit}*10^{int(exponent)}"


def rounded(value: int) -> str:
    """Two digits of a large number, three digits apart; small ones as they are."""
    digits = max(0, len(str(value)) - 2) if value >= 1000 else 0
    return f"{round(value, -digits):,}".replace(",", " ")


def percent(share: float) -> str:
    """A share that is not negative in per cent, two digits: 4.4 %, 490 %, 3*10^-7 %.

    Examples
    --------
    >>> percent(0.0437), percent(4.94), percent(1.0), percent(1e-9), percent(0.0)
    ('4.4 %', '490 %', '100 %', '1*10^-7 %', '0 %')
    """
    value = 100.0 * share
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g} %"
    short = float(f"{value:.2g}")
    return f"{short:.6g} %" if 1e-3 <= short < 1e6 else f"{power(value)} %"
