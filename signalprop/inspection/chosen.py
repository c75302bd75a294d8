"""Which layers of a model are meant: all of them, or those whose names were given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from signalprop._checks import listed, shown, text_of


def patterns_of(layers: Any) -> tuple[str, ...] | None:
    """Names and patterns as they were given: one, several, or None for all."""
    if layers is None:
        return None
    given = [layers] if isinstance(layers, str) else listed(layers, "layers", "names of layers")
    if not given:
        raise ValueError("layers must name at least one layer, got none; leave it out for all.")
    return tuple(text_of(one, "layers", "names of layers") for one in given)


def chosen(names: Sequence[str], patterns: Iterable[str] | None) -> set[str]:
    """The names that are meant.

    Raises
    ------
    ValueError
        A name or pattern that fits none.
    """
    if patterns is None:
        return set(names)
    found: set[str] = set()
    for pattern in patterns:
        fits = {name for name in names if fnmatchcase(name, pattern)}
        if not fits:
            raise ValueError(f"layers must name recurrences of the model, {_some(names)}, got {shown(pattern)}.")
        found |= fits
    return found


def _some(names: Sequence[str]) -> str:
    few = [repr(name) for name in names[:6]]
    if len(names) > len(few):
        return f"which are {', '.join(few)} and {len(names) - len(few)} more"
    return f"which are {', '.join(few[:-1])} and {few[-1]}" if len(few) > 1 else f"which is {few[0]}"
