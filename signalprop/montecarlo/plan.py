"""`Plan`: everything that decides the numbers of a Monte Carlo run, and nothing else."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from signalprop._checks import path_of, positive_float, real_number, shown, whole_number
from signalprop._declared import as_declared, hints, known
from signalprop._files import parse_toml, read_text, replace
from signalprop.fields import as_field
from signalprop.models import Model, as_model
from signalprop.montecarlo.cell import Cell, as_cell

MAX_CELLS = 1_000_000
_LARGEST_CELL = 1 << 30


@dataclass(frozen=True)
class Plan:
    r"""Cells to draw: every field at every width and every depth.

    Parameters
    ----------
    fields
        ``"real"``, ``"complex"``, ``"quaternion"``: one or several. Here and for the next three, a single value stands for a
        list of one.
    n
        Widths.
    k, c
        Depths: either k, the numbers of steps, or c, their ratios to sqrt(n), rounded: k = round(c sqrt(n)).
    models
        ``"rnn"``: the energy ||W^k x||^2/||x||^2. ``"driven"`` (also ``"lru"``): that of the driven recurrence (linear
        layers). Both are read off the same draws.
    method, samples, seed, activation, negative_slope, tied
        As for `signalprop.sample`: the draws of a cell are the draws of ``sample(n, k, field, ...)`` digit for digit.

    Raises
    ------
    ValueError
        A value of another type than declared here (``samples = 2.0``), anything `signalprop.sample` refuses, neither or both
        of k and c, empty lists, an entry or a cell that appears twice, more than a million cells.

    Examples
    --------
    >>> plan = Plan(fields=["real", "complex"], n=[100, 400], c=[1, 2], samples=1000)
    >>> [(cell.n, cell.k) for cell in plan.cells[:4]]
    [(100, 10), (100, 20), (400, 20), (400, 40)]
    >>> Plan.from_toml(plan.to_toml()) == plan
    True
    """

    fields: Sequence[str] | str
    n: Sequence[int] | int
    k: Sequence[int] | int | None = None
    c: Sequence[float] | float | None = None
    models: Sequence[str] | str = ("rnn",)
    method: str = "krylov"
    samples: int = 1000
    seed: int = 0
    activation: str = "linear"
    negative_slope: float = 0.01
    tied: bool = True

    def __post_init__(self) -> None:
        for name, kind in hints(type(self)).items():
            self._set(name, as_declared(getattr(self, name), kind, name))
        self._set("fields", tuple(str(as_field(name)) for name in _listed(self.fields, "fields")))
        self._set("n", tuple(whole_number(value, "n", 1, 10**18) for value in _listed(self.n, "n")))
        if (self.k is None) == (self.c is None):
            raise ValueError(
                "a plan needs either k (numbers of steps) or c (their ratios to sqrt(n)), not both, got "
                f"k={shown(self.k)} and c={shown(self.c)}."
            )
        if self.k is not None:
            self._set("k", tuple(whole_number(value, "k", 0) for value in _listed(self.k, "k")))
        else:
            self._set("c", tuple(_ratio(value) for value in _listed(self.c, "c")))
        self._set("models", tuple(str(as_model(name, "models")) for name in _listed(self.models, "models")))
        for name in ("fields", "n", "k", "c", "models"):
            _refuse_twice(getattr(self, name) or (), name)
        self._set("samples", whole_number(self.samples, "samples", 2, _LARGEST_CELL, "Split the plan over seeds."))
        self._set("seed", whole_number(self.seed, "seed", 0))
        if len(self.fields) * len(self._widths) * len(self.k or self.c or ()) > MAX_CELLS:  # type: ignore[arg-type]
            raise ValueError(f"a plan has at most {MAX_CELLS} cells (fields times n times k); split it.")
        first = self.cells[0]
        self._set("method", first.method.value)
        self._set("activation", first.layer.activation.value)
        self._set("negative_slope", first.layer.negative_slope)
        if not first.linear and Model.DRIVEN in self.models:
            raise ValueError(f"models='driven' needs activation='linear', got {self.activation!r}.")

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells, fields outermost, depths innermost."""
        made = []
        for field in self.fields:
            for n in self._widths:
                seen: dict[int, float] = {}
                for value in self.k or self.c or ():  # type: ignore[union-attr]
                    k = int(value) if self.k is not None else _steps(value, n)
                    if k in seen:
                        raise ValueError(f"c = {seen[k]!r} and c = {value!r} are both k = {k} at n = {n}; keep one.")
                    seen[k] = value
                    made.append(
                        as_cell(
                            n, k, field, samples=self.samples, seed=self.seed, method=self.method,
                            activation=self.activation, negative_slope=self.negative_slope, tied=self.tied,
                        )
                    )  # fmt: skip
        return tuple(made)

    @property
    def digest(self) -> str:
        """SHA-256 of the plan as TOML."""
        return hashlib.sha256(self.to_toml().encode()).hexdigest()

    def to_toml(self) -> str:
        """The plan as TOML; `from_toml` reads it back."""
        lines = [f"{name} = {_toml(value)}" for name, value in asdict(self).items() if value is not None]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Plan:
        """Read a plan; the keys are the parameters.

        Raises
        ------
        ValueError
            Text that is not TOML, unknown or missing keys, and anything the plan itself refuses.
        """
        if not isinstance(text, str):
            raise ValueError(f"text must be a plan in TOML, got {shown(text)}.")
        content = parse_toml(text, "the text of the plan")
        for name in content:
            known(name, (field.name for field in fields(cls)), "a plan")
        for name, example in (("fields", '["real"]'), ("n", "[100, 1000]")):
            if name not in content:
                raise ValueError(
                    f"the text of a plan needs {name!r}, which has no default, such as {name} = {example}."
                )
        return cls(**content)

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a TOML file."""
        text = read_text(path)
        try:
            return cls.from_toml(text)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the plan as a TOML file."""
        replace(path_of(path, "path"), self.to_toml().encode())

    @property
    def _widths(self) -> tuple[int, ...]:
        return self.n  # type: ignore[return-value]

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def _listed(value: Any, name: str) -> list[Any]:
    """One value as a list of one; lists as they are."""
    if not isinstance(value, list):
        return [value]
    if not value:
        raise ValueError(f"{name} is an empty list; name at least one value.")
    return value


def _steps(c: float, n: int) -> int:
    steps = c * math.sqrt(n)
    if not math.isfinite(steps):
        raise ValueError(
            f"c = {c!r} is more steps than a number can hold at n = {n}; c is the number of steps over sqrt(n)."
        )
    return round(steps)


def _ratio(value: Any) -> float:
    return 0.0 if real_number(value, "c") == 0.0 else positive_float(value, "c")


def _refuse_twice(values: Sequence[Any], name: str) -> None:
    if len(set(values)) < len(values):
        twice = next(value for value, count in Counter(values).items() if count > 1)
        raise ValueError(f"{name} holds {twice!r} twice; the same draws would be counted as two cells.")


def _toml(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value) if isinstance(value, float) else json.dumps(value)
