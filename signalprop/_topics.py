"""What to cite for a computation: the record that fields, methods, criteria, tasks and the rest carry with them.

`signalprop.citations` gathers them; what is registered with a topic of its own can be cited without a line there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ENSEMBLE = ("seleznova2026", "ginibre1965")
"""References for Gaussian weights in general."""


@dataclass(frozen=True)
class Topic:
    """What it is in words, keys of its references, the topics it takes along, and its options with their defaults."""

    about: str
    keys: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    options: Mapping[str, str | None] = field(default_factory=dict)


Cites = Topic | str
"""A topic, or the name of a topic that something else carries."""


def spelled(name: str) -> str:
    """The one spelling of a topic: lower case, ``_`` for ``-``."""
    return name.lower().replace("-", "_")
