"""Argument checks shared by the public functions; every failure is one sentence with the value in it."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

INT64_LIMIT = 10**18


def whole_number(value: Any, name: str, minimum: int, maximum: int | None = None, beyond: str = "") -> int:
    """Return `value` as an `int` inside ``[minimum, maximum]``.

    A float is accepted when it is a whole number. `beyond` is the sentence that tells what to use
    instead when `value` is above `maximum`.
    """
    if isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be a whole number, got {shown(value)}.")
    try:
        number = operator.index(value)
    except TypeError:
        if not isinstance(value, Real) or not math.isfinite(value) or value != math.floor(value):
            raise ValueError(f"{name} must be a whole number, got {shown(value)}.") from None
        number = int(value)  # type: ignore[call-overload]
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {shown(number)}.")
    if maximum is not None and number > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {shown(number)}.{' ' + beyond if beyond else ''}")
    return number


def whole_numbers(
    value: Any, name: str, minimum: int, maximum: int = INT64_LIMIT, beyond: str = ""
) -> NDArray[np.int64]:
    """Return `value` as an int64 array with every element inside ``[minimum, maximum]``."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
        return np.asarray(whole_number(value, name, minimum, maximum, beyond), dtype=np.int64)
    array = np.asarray(value)
    if array.dtype == object:
        checked = [whole_number(item, name, minimum, maximum, beyond) for item in array.ravel()]
        return np.asarray(checked, dtype=np.int64).reshape(array.shape)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold whole numbers, got values of type {array.dtype}.")
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        broken = ~np.isfinite(array) | (array != np.floor(array))
        if broken.any():
            raise ValueError(f"{name} must be a whole number, got {array[broken].flat[0]} in the array.")
    for bad, limit in ((array < minimum, f"at least {minimum}"), (array > maximum, f"at most {maximum}")):
        if bad.any():
            hint = f" {beyond}" if beyond and "most" in limit else ""
            raise ValueError(f"{name} must be {limit}, got {array[bad].flat[0]} in the array.{hint}")
    return array.astype(np.int64)


def positive_float(value: Any, name: str) -> float:
    """Return `value` as a finite float above zero."""
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be a positive number, got {shown(value)}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number <= 0.0:
        raise ValueError(f"{name} must be a positive finite number, got {shown(value)}.")
    return number


def shown(value: Any) -> str:
    """The value for a message, on one line; a very long integer by its size."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"{'-' if value < 0 else ''}1e{int(value.bit_length() * math.log10(2.0))} or so"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
