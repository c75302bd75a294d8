"""Numbers of any size, quick to read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any


def plain(log_value: float) -> float | None:
    """The number itself where it is a float64, else None (the log is printed beside it)."""
    return math.exp(log_value) if abs(log_value) < 708.0 else None


def finite(value: Any) -> Any:
    """The value, or None where JSON has no such number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show(log_value: float) -> str:
    """A number given by its natural log, readable at any size."""
    if math.isnan(log_value):
        return "not a number"
    if math.isinf(log_value):
        return "0" if log_value < 0.0 else "inf"
    if math.log(1e-3) <= log_value < math.log(999_999.5):
        return f"{math.exp(log_value):.6g}"
    decimal = log_value / math.log(10.0)
    if abs(log_value) > 1e9:  # the digits of the mantissa are gone
        return f"10^({decimal:.6g})"
    exponent = math.floor(decimal)
    mantissa = round(10 ** (decimal - exponent), 4)
    if mantissa >= 10.0:
        mantissa, exponent = mantissa / 10.0, exponent + 1
    return f"{mantissa:.4f}e{exponent}"


def show_value(value: float) -> str:
    """A non-negative number, or NaN, readable at any size."""
    return show(-math.inf if value == 0.0 else math.log(value))


def counted(count: int, one: str) -> str:
    """A count with its noun: 1 step, 2 steps."""
    return f"{count} {one}{'' if count == 1 else 's'}"


def number(value: float, digits: int = 3) -> str:
    """A non-negative number to so many digits: 88.4, 0.0131, 12 000, 4*10^-9.

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
    """A large number to two digits, in groups of three; small ones as they are."""
    digits = max(0, len(str(value)) - 2) if value >= 1000 else 0
    return f"{round(value, -digits):,}".replace(",", " ")


def percent(share: float) -> str:
    """A non-negative share in per cent, to two digits: 4.4 %, 490 %, 3*10^-7 %.

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


def polynomial(coefficients: Sequence[int]) -> str:
    """Coefficients in ascending powers of n as text.

    Examples
    --------
    >>> polynomial((0, 2, 0, 1))
    '2 n + n^3'
    """
    terms = []
    for power, value in enumerate(coefficients):
        variable = {0: "", 1: "n"}.get(power, f"n^{power}")
        if value:
            terms.append(variable if value == 1 and variable else f"{value} {variable}".rstrip())
    return " + ".join(terms).replace("+ -", "- ") or "0"
