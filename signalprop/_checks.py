"""Argument checks shared by the public functions; every failure is one sentence with the name and the value in it.

One rule everywhere: a value is accepted if it is the number asked for, whatever type holds it (Python's, NumPy's of any
width, an array without axes, a fraction), and refused otherwise: truth values, texts and complex numbers are not real numbers,
and a mask is never ignored.
"""

from __future__ import annotations

import math
import operator
import os
from contextlib import suppress
from fractions import Fraction
from numbers import Integral, Rational, Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

INT64_LIMIT = 10**18
_REFUSED = (
    TypeError,
    ValueError,
    OverflowError,
    RuntimeError,
    AttributeError,
)  # what other libraries raise for "not an array"


def whole_number(value: Any, name: str, minimum: int, maximum: int | None = None, beyond: str = "") -> int:
    """Return `value` as an `int` inside ``[minimum, maximum]``.

    A float is accepted when it is a whole number. `beyond` is the sentence that tells what to use
    instead when `value` is above `maximum`.
    """
    number = _whole(value)
    if number is None:
        raise ValueError(f"{name} must be a whole number, got {shown(value)}.")
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {shown(number)}.")
    if maximum is not None and number > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {shown(number)}.{' ' + beyond if beyond else ''}")
    return number


def whole_numbers(
    value: Any, name: str, minimum: int, maximum: int = INT64_LIMIT, beyond: str = ""
) -> NDArray[np.int64]:
    """Return `value` as an int64 array with every element inside ``[minimum, maximum]``."""
    if _whole(value) is not None:
        return np.asarray(whole_number(value, name, minimum, maximum, beyond), dtype=np.int64)
    array = any_array(value, name, f"{name} must be a whole number or an array of them")
    if array.dtype == object:
        checked = [whole_number(item, name, minimum, maximum, beyond) for item in array.ravel()]
        return np.asarray(checked, dtype=np.int64).reshape(array.shape)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold whole numbers, got {shown(value)}, of type {array.dtype}.")
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind == "f":
        array = _as_doubles(array)
        broken = ~np.isfinite(array) | (array != np.floor(array))
        if broken.any():
            raise ValueError(f"{name} must be a whole number, got {array[broken].flat[0]} in the array.")
    for bad, limit in ((array < minimum, f"at least {minimum}"), (array > maximum, f"at most {maximum}")):
        if bad.any():
            hint = f" {beyond}" if beyond and "most" in limit else ""
            raise ValueError(f"{name} must be {limit}, got {array[bad].flat[0]} in the array.{hint}")
    return array.astype(np.int64)


def whole_tuple(value: Any, name: str, most: int) -> tuple[int, ...]:
    """Return `value` as a tuple of at most `most` whole numbers.

    Raises
    ------
    ValueError
        Not a list of whole numbers, or a longer one.
    """
    array = whole_numbers(value, name, -INT64_LIMIT)
    if array.ndim != 1:
        raise ValueError(f"{name} must be a list of whole numbers, got {shown(value)}.")
    if array.size > most:
        raise ValueError(f"{name} must have at most {most} entries, got {array.size}.")
    return tuple(map(int, array))


def permutation_of(value: Any, name: str, most: int) -> tuple[int, ...]:
    """Return `value` as a tuple that holds each of 0, .., m-1 once, for some m up to `most`."""
    found = whole_tuple(value, name, most)
    if sorted(found) != list(range(len(found))):
        raise ValueError(f"{name} must be a permutation, each of 0, .., {len(found) - 1} once, got {shown(found)}.")
    return found


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


def probability(value: Any, name: str) -> float:
    """Return `value` as a float strictly between 0 and 1, by more than 1e-12 from both."""
    number = _real(value)
    if number is None or not 1e-12 <= number <= 1.0 - 1e-12:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {shown(value)}.")
    return number


def flag(value: Any, name: str) -> bool:
    """Return `value` as a bool.

    Raises
    ------
    ValueError
        Neither True nor False; strings and numbers are not converted.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def text_of(value: Any, name: str, what: str = "text") -> str:
    """Return `value` as a plain `str`; bytes and numbers are not text.

    Raises
    ------
    ValueError
        Anything else; the message asks for `what`.
    """
    if not isinstance(value, str):
        raise ValueError(f"{name} must be {what}, got {shown(value)}.")
    return str.__str__(value)  # of an enumeration too, whatever it prints


def path_of(value: Any, name: str) -> Path:
    """Return `value` as a path; whether anything exists there is left to the operating system.

    Raises
    ------
    ValueError
        Neither text nor a path object, or one that no file system accepts; empty text, which would mean the current folder.
    """
    try:
        text = os.fspath(value)
        if isinstance(text, str) and text and b"\x00" not in os.fsencode(text):
            return Path(text)
    except (*_REFUSED, UnicodeError):
        pass
    raise ValueError(f"{name} must be a path, text or a pathlib.Path, got {shown(value)}.")


def instance_of(value: Any, kind: type, name: str, what: str) -> Any:
    """Return `value` if it is of a class of the package; `what` is what the message calls one: "a signalprop.Sample".

    Raises
    ------
    ValueError
        Anything else.
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {what}, got {shown(value)}.")
    return value


def function_or_none(value: Any, name: str) -> None:
    """Refuse anything but a function or None, before work starts."""
    if value is not None and not callable(value):
        raise ValueError(f"{name} must be a function or None, got {shown(value)}.")


def pair_of(value: Any, name: str) -> tuple[Any, Any]:
    """The two members of `value`, unchecked.

    Raises
    ------
    ValueError
        Not a pair.
    """
    try:
        low, high = value
    except _REFUSED:
        raise ValueError(f"{name} must be two numbers, got {shown(value)}.") from None
    return low, high


def listed(value: Any, name: str, of: str) -> list[Any]:
    """The members of an iterable as a list, unchecked; text is not a list of letters, and a mask is not ignored."""
    if not isinstance(value, (str, bytes, bytearray, memoryview)) and not _masked(value):
        try:
            return list(value)
        except _REFUSED:
            pass
    raise ValueError(f"{name} must be a list of {of}, got {shown(value)}.")


def finite_array(value: Any, name: str, ndim: int | None, *, finite: bool = True, empty: bool = False) -> NDArray[Any]:
    """Return `value` as a float64 or complex128 array of `ndim` axes (None: any number).

    Without `finite`, NaN and infinities pass, for a range check that follows; with `empty`, arrays without entries.

    Raises
    ------
    ValueError
        The wrong number of axes, no entries, masked entries, entries that are not numbers, NaN or infinities.
    """
    array = any_array(value, name, f"{name} must be an array of numbers")
    if array.dtype == object:
        array = _from_objects(array, name)
    if array.dtype.kind not in "iufc":
        raise ValueError(f"{name} must hold numbers, got {shown(value)}, of type {array.dtype}.")
    array = _as_doubles(array)
    if (ndim is not None and array.ndim != ndim) or (array.size == 0 and not empty):
        axes = "" if ndim is None else f"{ndim} axes and "
        raise ValueError(f"{name} must have {axes}at least one entry, got shape {array.shape}.")
    broken = ~np.isfinite(array)
    if finite and broken.any():
        place = tuple(int(i) for i in np.argwhere(broken)[0])
        raise ValueError(f"{name} must be finite, got {array[broken][0]}{f' at position {place}' if place else ''}.")
    return array


def square_matrix(value: Any, name: str, hint: str = "") -> NDArray[Any]:
    """`finite_array` of two equal axes; `hint` says in the sentence what else would do."""
    matrix = finite_array(value, name, 2)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be square{hint}, got shape {matrix.shape}.")
    return matrix


def real_array(
    value: Any, name: str, ndim: int | None, *, finite: bool = True, empty: bool = False
) -> NDArray[np.float64]:
    """`finite_array` of real numbers."""
    array = finite_array(value, name, ndim, finite=finite, empty=empty)
    if np.iscomplexobj(array):
        raise ValueError(f"{name} must be real, got complex numbers.")
    return array


def log_array(value: Any, name: str, ndim: int | None, *, empty: bool = False) -> NDArray[np.float64]:
    """`real_array` of logarithms: -inf, the logarithm of zero, is allowed; NaN and inf are refused."""
    array = real_array(value, name, ndim, finite=False, empty=empty)
    for odd, found in (("nan", np.isnan(array)), ("inf", array == np.inf)):
        if found.any():
            raise ValueError(
                f"{name} must be numbers or -inf, got {odd} at position {tuple(map(int, np.argwhere(found)[0]))}."
            )
    return array


def shown(value: Any) -> str:
    """The value for a message, on one line; a very long integer by its size, a tensor by its shape."""
    if hasattr(value, "shape") and not isinstance(value, (np.ndarray, np.generic)):
        return f"a {type(value).__name__} of shape {tuple(value.shape)}"
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"{'-' if value < 0 else ''}1e{int(value.bit_length() * math.log10(2.0))} or so"
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # it holds an integer of more digits than Python prints
        return f"a {type(value).__name__} of thousands of digits"
    return text if len(text) <= 80 else f"{text[:77]}..."


def scalar(value: Any) -> Any:
    """The Python number in a scalar or in an array without axes, of NumPy or another library; other values as they are."""
    if isinstance(value, np.ma.MaskedArray) and _masked(value):
        return value
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        try:
            return value.item()
        except _REFUSED:  # a tensor without data, or under a transform
            return value
    return value


def _whole(value: Any) -> int | None:
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
        return None if isinstance(found, np.ndarray) or _masked(found) else operator.index(found)
    except _REFUSED:
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


def _masked(value: Any) -> bool:
    """Whether a masked entry hides in an array, or in a list of them."""
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(value).any())
    return isinstance(value, (list, tuple)) and any(_masked(item) for item in value)


def _truth_inside(value: Any) -> bool:
    """Whether a truth value stands in a list of numbers, or in a list of such lists."""
    if isinstance(value, (list, tuple)):
        return any(isinstance(item, (bool, np.bool_)) or _truth_inside(item) for item in value)
    return False


def any_array(value: Any, name: str, what: str) -> NDArray[Any]:
    """`value` as an array of whatever it holds; `what` begins the message if it cannot be one."""
    if _masked(value):
        raise ValueError(f"{name} has masked entries, got {shown(value)}; fill them with numbers first.")
    array: NDArray[Any] | None = None
    if not isinstance(value, (bytes, bytearray, memoryview)):  # bytes are not numbers
        with suppress(*_REFUSED):
            array = np.asarray(value)
    if array is None:
        raise ValueError(f"{what}, got {shown(value)}.")
    if array.dtype.kind in "iufc" and _truth_inside(value):  # which NumPy takes for 0 and 1
        raise ValueError(f"{name} must hold numbers, not truth values, got {shown(value)}.")
    return array


def _as_doubles(array: NDArray[Any]) -> NDArray[Any]:
    """Numbers of any width in float64 or complex128, infinite where they leave its range."""
    with np.errstate(over="ignore"):
        return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _from_objects(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Python numbers in an array of objects, each of them checked."""
    items = [scalar(item) for item in array.ravel()]
    if any(isinstance(item, complex) for item in items):
        parts = [
            (item.real, item.imag) if isinstance(item, complex) else (real_number(item, name), 0.0) for item in items
        ]
        return np.array([complex(*part) for part in parts]).reshape(array.shape)
    return np.array([real_number(item, name) for item in items], dtype=np.float64).reshape(array.shape)
