"""Arrays of numbers, their ranges and their shapes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks.numbers import INT64_LIMIT, real_number, whole_number, whole_or_none
from signalprop._checks.words import REFUSED, masked, scalar, shown


def whole_numbers(
    value: Any, name: str, minimum: int, maximum: int = INT64_LIMIT, beyond: str = ""
) -> NDArray[np.int64]:
    """Return `value` as an int64 array with every element inside ``[minimum, maximum]``."""
    if whole_or_none(value) is not None:
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


def array_between(
    value: Any, name: str, low: float, high: float, ndim: int | None = None, *, or_zero: bool = False
) -> NDArray[np.float64]:
    """`real_array` with every entry in ``[low, high]``, or 0 where that is allowed beside it."""
    array = real_array(value, name, ndim)
    outside = ~((array >= low) & (array <= high) | ((array == 0.0) & or_zero))
    if outside.any():
        raise ValueError(
            f"{name} must {'be 0 or ' if or_zero else ''}lie between {low:g} and {high:g}, got {array[outside].flat[0]}."
        )
    return array


def probabilities(value: Any, name: str) -> NDArray[np.float64]:
    """`real_array` of numbers strictly between 0 and 1, by more than 1e-12 from both."""
    array = real_array(value, name, None)
    outside = ~((array >= 1e-12) & (array <= 1.0 - 1e-12))
    if outside.any():
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {array[outside].flat[0]}.")
    return array


def broadcast(named: Mapping[str, NDArray[Any]], what: str = "broadcast") -> list[NDArray[Any]]:
    """Arrays of one shape, in the order of their names; the message says that they must `what`."""
    try:
        return [np.asarray(one) for one in np.broadcast_arrays(*named.values())]
    except ValueError:
        *most, last = named
        *shapes, shape = (str(array.shape) for array in named.values())
        raise ValueError(
            f"{', '.join(most)} and {last} must {what}, got shapes {', '.join(shapes)} and {shape}."
        ) from None


def log_array(value: Any, name: str, ndim: int | None, *, empty: bool = False) -> NDArray[np.float64]:
    """`real_array` of logarithms: -inf, the logarithm of zero, is allowed; NaN and inf are refused."""
    array = real_array(value, name, ndim, finite=False, empty=empty)
    for odd, found in (("nan", np.isnan(array)), ("inf", array == np.inf)):
        if found.any():
            raise ValueError(
                f"{name} must be numbers or -inf, got {odd} at position {tuple(map(int, np.argwhere(found)[0]))}."
            )
    return array


def any_array(value: Any, name: str, what: str) -> NDArray[Any]:
    """`value` as an array of whatever it holds; `what` begins the message if it cannot be one."""
    if masked(value):
        raise ValueError(f"{name} has masked entries, got {shown(value)}; fill them with numbers first.")
    array: NDArray[Any] | None = None
    if not isinstance(value, (bytes, bytearray, memoryview)):  # bytes are not numbers
        with suppress(*REFUSED):
            array = np.asarray(value)
    if array is None:
        raise ValueError(f"{what}, got {shown(value)}.")
    if array.dtype.kind in "iufc" and _truth_inside(value):  # which NumPy takes for 0 and 1
        raise ValueError(f"{name} must hold numbers, not truth values, got {shown(value)}.")
    return array


def _truth_inside(value: Any) -> bool:
    """Whether a truth value stands in a list of numbers, or in a list of such lists."""
    if isinstance(value, (list, tuple)):
        return any(isinstance(item, (bool, np.bool_)) or _truth_inside(item) for item in value)
    return False


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
