"""Registries: the names of one kind of thing each, written once and read by Python, the command line and the citations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar

from signalprop._checks import shown
from signalprop.fields import choices

Record = TypeVar("Record")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


@dataclass(frozen=True)
class Later:
    """A record that is loaded when it is first asked for; listing its name does not load it."""

    where: str
    """``module:name``."""

    def load(self) -> Any:
        """What it stands for."""
        return load(self.where)


class Registry(Mapping[str, Record], Generic[Record]):
    """Records of one kind by name, in the order in which they were registered.

    Parameters
    ----------
    kind
        What the records are, named like the argument that picks one: ``"task"``, ``"criterion"``.
    record
        Class of the records.
    records
        Those that come with the package; a `Later` is loaded when it is first asked for.

    Examples
    --------
    >>> colours = Registry("colour", str, {"red": "#f00"})
    >>> colours.register("blue", "#00f")
    >>> list(colours), colours.find("blue")
    (['red', 'blue'], '#00f')
    >>> colours.find("green")
    Traceback (most recent call last):
    ValueError: colour must be one of 'red' or 'blue', got 'green'.
    """

    def __init__(self, kind: str, record: type[Record], records: Mapping[str, Record | Later] | None = None) -> None:
        self.kind, self._record = kind, record
        self._records: dict[str, Record | Later] = {}
        for name, one in (records or {}).items():
            self.register(name, one)

    def register(self, name: str, record: Record | Later) -> None:
        """Add a record.

        Raises
        ------
        ValueError
            A name that is taken, or is not lower-case letters and digits with ``-`` or ``_`` between; a record of another class.
        """
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(
                f"the name of a {self.kind} must be lower-case letters, digits, '-' and '_', got {shown(name)}."
            )
        if name in self._records:
            raise ValueError(f"the {self.kind} {name!r} is already registered; choose another name.")
        self._records[name] = record if isinstance(record, Later) else self._of_its_class(record)

    def _of_its_class(self, record: Any) -> Record:
        if not isinstance(record, self._record):
            raise ValueError(f"the record of a {self.kind} must be a {self._record.__name__}, got {shown(record)}.")
        return record

    @contextmanager
    def with_record(self, name: str, record: Record) -> Iterator[None]:
        """Register a record inside the context only."""
        self.register(name, record)
        try:
            yield
        finally:
            del self._records[name]

    def find(self, name: Any, argument: str | None = None) -> Record:
        """The record of this name.

        Raises
        ------
        ValueError
            There is none; the message lists the names and calls the argument `argument`, by default the kind.
        """
        return self[self.named(name, argument)]

    def named(self, name: Any, argument: str | None = None) -> str:
        """The name itself, if there is a record of it; errors as for `find`."""
        if isinstance(name, str) and name in self._records:
            return str(name)
        raise ValueError(f"{argument or self.kind} must be one of {choices(self._records)}, got {shown(name)}.")

    def __getitem__(self, name: str) -> Record:
        record = self._records[name]
        if isinstance(record, Later):
            record = self._records[name] = self._of_its_class(record.load())
        return record

    def __contains__(self, name: object) -> bool:  # Mapping's would load the record
        return name in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return f"<registry of each {self.kind}: {', '.join(self._records)}>"


class Gathered(Mapping[str, Record], Generic[Record]):
    """A mapping that is rebuilt at each access, so that it has what is registered later.

    Examples
    --------
    >>> colours = Registry("colour", str, {"red": "#f00"})
    >>> upper = Gathered(lambda: {name.upper(): record for name, record in colours.items()})
    >>> with colours.with_record("blue", "#00f"):
    ...     list(upper)
    ['RED', 'BLUE']
    """

    def __init__(self, gather: Callable[[], Mapping[str, Record]]) -> None:
        self._gather = gather

    def __getitem__(self, name: str) -> Record:
        return self._gather()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._gather())

    def __len__(self) -> int:
        return len(self._gather())


def load(where: Any) -> Any:
    """The object that ``module:name`` stands for: a registry need not load what it names. Other objects stand for themselves."""
    if not isinstance(where, str):
        return where
    module, _, name = where.partition(":")
    return getattr(import_module(module), name)
