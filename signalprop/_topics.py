"""What a computation is to be cited by: the record that fields, methods, criteria, tasks and the rest carry with them.

`signalprop.citations` gathers them; what is registered with a topic of its own can be cited without a line there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ENSEMBLE = ("seleznova2026", "ginibre1965")
"""References of what holds for Gaussian weights as such."""


@dataclass(frozen=True)
class Topic:
    """What it is in words, keys of its references, the topics it takes along, and its options with their defaults."""

    about: str
    keys: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    options: Mapping[str, str | None] = field(default_factory=dict)


Cites = Topic | str
"""A topic of one's own, or the name of the topic of another."""


def spelled(name: str) -> str:
    """The one spelling of a topic: lower case, ``_`` for ``-``."""
    return name.lower().replace("-", "_")
