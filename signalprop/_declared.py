"""Values checked against their declared types: one rule for Python arguments, TOML files and ``NAME=VALUE``.

The declaration is an annotation, that of a dataclass field or of a function parameter. A value of another type is refused,
never converted, with two exceptions that lose nothing: a whole number or a fraction where a number is declared, if a float holds
it exactly, and NumPy scalars, which become Python's. pydantic and msgspec would do the parsing, but neither accepts NumPy
scalars or words its errors as sentences; this is shorter than the code that either would need around it.
"""

from __future__ import annotations

import difflib
import inspect
import operator
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from signalprop._checks import scalar, shown

WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    os.PathLike: "a path",
    type(None): "None",
    dict: "a table",
}
SEVERAL: dict[Any, str] = {int: "whole numbers", float: "numbers", str: "texts"}


def hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The declared types of the parameters that are data: all but functions such as `progress`."""
    found = typing.get_type_hints(function)
    return {
        name: found[name]
        for name in inspect.signature(function).parameters
        if name in found and not any(_origin(one) is Callable for one in _alternatives(found[name]))
    }


def required(function: Callable[..., Any]) -> list[str]:
    """The parameters without a default."""
    parameters = inspect.signature(function).parameters.values()
    return [one.name for one in parameters if one.default is one.empty]


def as_declared(value: Any, kind: Any, name: str) -> Any:
    """Return `value` as plain Python of the declared type `kind`.

    Raises
    ------
    ValueError
        A value of another type; the message has the name, the declared type and the value.

    Examples
    --------
    >>> as_declared(2, float, "clip")
    2.0
    >>> as_declared("false", bool, "bidirectional")
    Traceback (most recent call last):
    ValueError: bidirectional must be true or false, got 'false'.
    """
    for one in _alternatives(kind):
        try:
            return _converted(value, one)
        except TypeError:
            continue
    raise ValueError(f"{name} must be {described(kind)}, got {shown(value)}.")


def from_text(text: str, kind: Any, name: str) -> Any:
    """Read the VALUE of ``NAME=VALUE`` as its declared type.

    Raises
    ------
    ValueError
        A text that is not such a value.

    Examples
    --------
    >>> from_text("2024", str, "directory"), from_text("2024", int, "train"), from_text("true", bool, "verify")
    ('2024', 2024, True)
    """
    kinds = [_origin(one) for one in _alternatives(kind)]
    if bool in kinds and text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        if number in kinds:
            try:
                return number(text)
            except ValueError:
                continue
    if os.PathLike in kinds and not text:
        raise ValueError(f"{name} is empty; give a path, such as . for the current folder.")
    if str in kinds or os.PathLike in kinds:
        return text
    words = described(kind).removesuffix(f" or {WORDS[type(None)]}")  # which no text stands for
    raise ValueError(f"{name} must be {words}, got {shown(text)}.")


def known(name: str, names: Iterable[str], whose: str) -> None:
    """Refuse a key that is not one of `names`, and list them, the nearest one first.

    Raises
    ------
    ValueError
        An unknown key.
    """
    there = list(names)
    if name in there:
        return
    near = difflib.get_close_matches(str(name), there, 1)
    meant = f" (did you mean {near[0]!r}?)" if near else ""
    raise ValueError(f"{whose} has no {shown(name)}{meant}; it has {', '.join(there)}.")


def checked(values: Mapping[str, Any], function: Callable[..., Any], whose: str) -> dict[str, Any]:
    """Arguments of a function, each of its declared type.

    Raises
    ------
    ValueError
        An unknown key, or a value of another type.
    """
    kinds = hints(function)
    found = {}
    for name, value in values.items():
        known(name, kinds, whose)
        found[name] = as_declared(value, kinds[name], name)
    return found


def described(kind: Any) -> str:
    """A declared type in words."""
    found: list[str] = []
    for one in _alternatives(kind):
        words = WORDS.get(_origin(one)) or f"a list of {SEVERAL[typing.get_args(one)[0]]}"
        if not (one is not str and _origin(one) is os.PathLike and "text" in found):
            found.append(words)
    return " or ".join(found)


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if isinstance(kind, types.UnionType) or _origin(kind) is typing.Union else (kind,)


def _origin(kind: Any) -> Any:
    origin = typing.get_origin(kind) or kind
    return Callable if origin is typing.get_origin(Callable[..., Any]) else origin


def _converted(value: Any, kind: Any) -> Any:
    """The value as plain Python of one type; TypeError where it is of another."""
    origin, value = _origin(kind), scalar(value)
    if isinstance(value, np.ndarray) and (origin is not Sequence or value.ndim != 1 or np.ma.is_masked(value)):
        raise TypeError
    if origin is bool:
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
    elif isinstance(value, (bool, np.bool_)):
        pass  # a truth value is no number
    elif origin is int:
        return operator.index(value)
    elif origin is float:
        return _number(value)
    elif origin is str:
        if isinstance(value, str):
            return str.__str__(value)  # of an enumeration too, whatever it prints
    elif origin is os.PathLike:
        return os.fsdecode(value)
    elif origin is type(None):
        if value is None:
            return None
    elif origin is dict:
        if isinstance(value, Mapping):
            return dict(value)
    elif origin is Sequence and not isinstance(value, (str, bytes, Mapping)):
        return [_converted(item, typing.get_args(kind)[0]) for item in value]
    elif origin is Sequence and isinstance(value, np.ndarray):
        return [_converted(item, typing.get_args(kind)[0]) for item in value.tolist()]
    raise TypeError


def _number(value: Any) -> float:
    if isinstance(value, (float, np.floating)):
        return float(value)
    exact = value if isinstance(value, Fraction) else operator.index(value)
    try:
        if float(exact) == exact:
            return float(exact)
    except OverflowError:
        pass
    raise TypeError
