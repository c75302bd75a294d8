"""Checks of what the public functions of `recurrences` are given; every failure is one sentence with the value in it."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import shown, whole_number

MAX_HORIZON = 10**7
MAX_NUMBERS = 1 << 28  # in one array: 2 GiB of float64
MAX_WORK = 10**13  # multiplications of one dense path: about an hour


def horizon_of(value: Any) -> int:
    """A number of steps from 0 to 10^7."""
    return whole_number(value, "horizon", 0, MAX_HORIZON)


def seed_of(value: Any) -> int:
    """A root seed."""
    return whole_number(value, "seed", 0)


def finite_array(value: Any, name: str, ndim: int | None, *, finite: bool = True) -> NDArray[Any]:
    """Return `value` as a float64 or complex128 array of `ndim` axes (None: any number).

    Without `finite`, NaN and infinities pass, for a range check that follows.

    Raises
    ------
    ValueError
        Other numbers of axes, no entries, no numbers, masked entries, NaN or infinities; the message names `name`.
    """
    if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
        raise ValueError(f"{name} has masked entries; fill them with numbers first.")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers, got {shown(value)}.") from None
    if array.dtype.kind not in "iufc":
        raise ValueError(f"{name} must hold numbers, got values of type {array.dtype}.")
    with np.errstate(over="ignore"):
        array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    if (ndim is not None and array.ndim != ndim) or array.size == 0:
        axes = "" if ndim is None else f"{ndim} axes and "
        raise ValueError(f"{name} must have {axes}at least one entry, got shape {array.shape}.")
    broken = ~np.isfinite(array)
    if finite and broken.any():
        place = tuple(int(i) for i in np.argwhere(broken)[0])
        raise ValueError(f"{name} must be finite, got {array[broken][0]}{f' at position {place}' if place else ''}.")
    return array


def real_array(value: Any, name: str, ndim: int | None, *, finite: bool = True) -> NDArray[np.float64]:
    """`finite_array` of real numbers."""
    array = finite_array(value, name, ndim, finite=finite)
    if np.iscomplexobj(array):
        raise ValueError(f"{name} must be real, got complex numbers.")
    return array


def real_number(value: Any, name: str) -> float:
    """Return `value` as a float, NaN and infinities included, for a range check that follows.

    Raises
    ------
    ValueError
        Anything but one real number.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0 and not np.ma.isMaskedArray(value):
        value = value[()]
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be a real number, got {shown(value)}.")
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def pair_of(value: Any, name: str) -> tuple[Any, Any]:
    """The two members of `value`, unchecked.

    Raises
    ------
    ValueError
        Not two of anything.
    """
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be two numbers, got {shown(value)}.") from None
    return low, high


def flag(value: Any, name: str) -> bool:
    """Return `value` as a bool.

    Raises
    ------
    ValueError
        Neither True nor False; a string or a number is not taken for one of them.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")
    return bool(value)


def check_numbers(count: int, what: str) -> None:
    """Raise unless `count` numbers fit in memory."""
    if count > MAX_NUMBERS:
        raise ValueError(f"{what} would hold {count:.3g} numbers, more than {MAX_NUMBERS:.3g}; make it smaller.")


def check_work(multiplications: float, what: str) -> None:
    """Raise unless that many multiplications end in reasonable time."""
    if multiplications > MAX_WORK:
        raise ValueError(
            f"{what} takes {multiplications:.2g} multiplications, more than {MAX_WORK:.0e}; "
            "take fewer steps, or a smaller or a structured state matrix."
        )
