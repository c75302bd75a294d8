"""Single numbers: whole, real, in a range."""

from __future__ import annotations

import math
import operator
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any

import numpy as np

from signalprop._checks.words import REFUSED, masked, scalar, shown

INT64_LIMIT = 10**18


def whole_number(value: Any, name: str, minimum: int, maximum: int | None = None, beyond: str = "") -> int:
    """Return `value` as an `int` inside ``[minimum, maximum]``.

    A float is accepted when it is a whole number. `beyond` is the sentence that tells what to use
    instead when `value` is above `maximum`.
    """
    number = whole_or_none(value)
    if number is None:
        raise ValueError(f"{name} must be a whole number, got {shown(value)}.")
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {shown(number)}.")
    if maximum is not None and number > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {shown(number)}.{' ' + beyond if beyond else ''}")
    return number


def even_number(value: Any, name: str, minimum: int, maximum: int, why: str) -> int:
    """`whole_number` that is even; `why` ends the sentence for an odd one."""
    number = whole_number(value, name, minimum, maximum)
    if number % 2:
        raise ValueError(f"{name} must be even, {why}, got {number}.")
    return number


def seed_of(value: Any, name: str = "seed") -> int:
    """A root seed."""
    return whole_number(value, name, 0)


def real_number(value: Any, name: str) -> float:
    """Return `value` as a float, NaN and infinities included, for a range check that follows.

    Raises
    ------
    ValueError
        Anything but one real number.
    """
    number = _real(value)
    if number is None:
        raise ValueError(f"{name} must be a real number, got {shown(value)}.")
    return number


def finite_number(value: Any, name: str, what: str = "a finite number") -> float:
    """Return `value` as a finite float; the message asks for `what`."""
    number = _real(value)
    if number is None or not math.isfinite(number):
        raise ValueError(f"{name} must be {what}, got {shown(value)}.")
    return number


def positive_float(value: Any, name: str) -> float:
    """Return `value` as a finite float above zero."""
    number = _real(value)
    if number is None:
        raise ValueError(f"{name} must be a positive number, got {shown(value)}.")
    if not math.isfinite(number) or number <= 0.0:
        raise ValueError(f"{name} must be a positive finite number, got {shown(value)}.")
    return number


def exact_number(value: Any, name: str, *, floats: bool) -> Fraction:
    """Return `value` as a positive fraction, with every digit that it has; `floats` are taken at their binary value."""
    found: Any = scalar(value)
    kinds = "an int, a Fraction or a float" if floats else "an int or a Fraction here"
    if isinstance(found, bool) or not isinstance(found, Real if floats else Rational):
        hint = "" if floats else "; Fraction(scale) takes a float at its exact binary value"
        raise ValueError(f"{name} must be {kinds}, got {shown(value)}{hint}.")
    exact: Any = found
    try:
        number = Fraction(*exact.as_integer_ratio()) if hasattr(exact, "as_integer_ratio") else Fraction(exact)
    except (ValueError, OverflowError):  # NaN, infinities
        number = Fraction(0)
    if number <= 0:
        raise ValueError(f"{name} must be positive and finite, got {shown(value)}.")
    return number


def between(value: Any, name: str, low: float, high: float, beyond: str = "") -> float:
    """Return `value` as a float in ``[low, high]``; `beyond` is the sentence that tells what to do outside of it."""
    number = real_number(value, name)
    if not low <= number <= high:
        raise ValueError(
            f"{name} must lie between {low:g} and {high:g}, got {shown(value)}.{' ' + beyond if beyond else ''}"
        )
    return number


def probability(value: Any, name: str) -> float:
    """Return `value` as a float strictly between 0 and 1, by more than 1e-12 from both."""
    number = _real(value)
    if number is None or not 1e-12 <= number <= 1.0 - 1e-12:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {shown(value)}.")
    return number


def whole_or_none(value: Any) -> int | None:
    """The whole number that `value` is, or None."""
    found = scalar(value)
    if isinstance(found, bool):
        return None
    if isinstance(found, Integral):
        return int(found)
    if isinstance(found, Real):
        real: Any = found
        try:
            return int(real) if real == math.floor(real) else None
        except (ValueError, OverflowError):  # NaN, infinities
            return None
    try:
        return None if isinstance(found, np.ndarray) or masked(found) else operator.index(found)
    except REFUSED:
        return None


def _real(value: Any) -> float | None:
    """The real number that `value` is, infinite where it leaves the range of a float, or None."""
    found = scalar(value)
    if isinstance(found, bool) or not isinstance(found, Real):
        return None
    real: Any = found
    try:
        return float(real)
    except OverflowError:
        return math.inf if real > 0 else -math.inf
