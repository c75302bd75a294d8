"""What is no number: texts, paths, flags, functions, lists."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from signalprop._checks.words import REFUSED, masked, shown


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
    except (*REFUSED, UnicodeError):
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
    except REFUSED:
        raise ValueError(f"{name} must be two numbers, got {shown(value)}.") from None
    return low, high


def listed(value: Any, name: str, of: str) -> list[Any]:
    """The members of an iterable as a list, unchecked; text is not a list of letters, and a mask is not ignored."""
    if not isinstance(value, (str, bytes, bytearray, memoryview)) and not masked(value):
        try:
            return list(value)
        except REFUSED:
            pass
    raise ValueError(f"{name} must be a list of {of}, got {shown(value)}.")
