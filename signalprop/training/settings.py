"""What identifies a training: task, model, optimiser, seed; as keyword arguments or as a TOML file."""

from __future__ import annotations

import inspect
import math
import os
import tomllib
from dataclasses import asdict, dataclass, field, fields
from numbers import Real
from pathlib import Path
from typing import Any

from signalprop._checks import positive_float, whole_number
from signalprop.fields import one_of
from signalprop.tasks import MAKERS

LAYERS = ("rotrnn", "lru", "dense")
NORMALIZERS = ("recomputed", "learned")

# The published ListOps takes days on a CPU: without other wishes the expressions are short.
SHORT: dict[str, dict[str, Any]] = {
    "listops": {"train": 20_000, "validation": 512, "test": 2_000, "min_length": 10, "max_length": 65},
    "digits": {"validation": 200},
    "copy": {"blanks": 50, "validation": 512},
    "adding": {"steps": 50, "validation": 512},
}
SECTIONS = {
    "model": ("layer", "depth", "d_model", "d_state", "heads", "normalizer", "first_step_rule", "r_min", "r_max", "max_phase",
              "dropout", "bidirectional", "pooling"),
    "training": ("learning_rate", "recurrence_factor", "weight_decay", "clip", "batch", "steps", "epochs", "seed", "held_out",
                 "log_every", "checkpoint_every"),
}  # fmt: skip
UNREAD = ("published", "search")


@dataclass(frozen=True)
class Settings:
    """All that a training depends on; two with equal settings are equal to the last bit on one machine.

    Attributes
    ----------
    task, options
        Name and options of `signalprop.tasks.make`; options left out are those of `SHORT`, then of the task.
    layer
        ``"rotrnn"``, ``"lru"`` or ``"dense"``.
    depth, d_model, d_state
        Blocks, width of the model, size of the state (complex numbers for an LRU, real ones otherwise).
    heads, first_step_rule
        Of RotRNN.
    normalizer
        Of LRU, ``"recomputed"`` or ``"learned"``; RotRNN always recomputes.
    r_min, r_max, max_phase
        Bounds of the moduli (gamma of RotRNN) and phases at the start; None for those of the layer.
    dropout, bidirectional, pooling
        Of `signalprop.nn.SequenceClassifier`.
    learning_rate, weight_decay
        Of AdamW, for all but the parameters of the dynamics; constant over the training.
    recurrence_factor
        The rate of the dynamics is this times `learning_rate`; they have no weight decay.
    clip
        Largest norm of the gradient; 0 for no limit.
    batch, steps, epochs, seed
        Examples a step, number of steps, or instead of these passes through the training part, root seed of start and order.
    held_out
        Examples of the validation part (of the test part if there is none) on which loss, accuracy and energies are logged.
    log_every, checkpoint_every
        Steps between rows of the log and between checkpoints.

    Raises
    ------
    ValueError
        A number out of range, an unknown name.
    """

    task: str = "listops"
    options: dict[str, Any] = field(default_factory=dict)
    layer: str = "rotrnn"
    depth: int = 2
    d_model: int = 32
    d_state: int = 32
    heads: int = 8
    normalizer: str = "recomputed"
    first_step_rule: bool = True
    r_min: float | None = None
    r_max: float | None = None
    max_phase: float | None = None
    dropout: float = 0.0
    bidirectional: bool = False
    pooling: str = "mean"
    learning_rate: float = 3e-3
    recurrence_factor: float = 0.3
    weight_decay: float = 0.05
    clip: float = 1.0
    batch: int = 32
    steps: int = 1000
    epochs: int | None = None
    seed: int = 0
    held_out: int = 256
    log_every: int = 20
    checkpoint_every: int = 100

    def __post_init__(self) -> None:
        one_of(self.task, MAKERS, "task")
        one_of(self.layer, LAYERS, "layer")
        one_of(self.normalizer, NORMALIZERS, "normalizer")
        if self.layer != "lru" and self.normalizer != "recomputed":
            raise ValueError(
                f"only an lru has a learned normalizer, got normalizer='learned' for layer={self.layer!r}."
            )
        for name in (
            "depth",
            "d_model",
            "d_state",
            "heads",
            "batch",
            "steps",
            "held_out",
            "log_every",
            "checkpoint_every",
        ):
            whole_number(getattr(self, name), name, 1)
        whole_number(self.seed, "seed", 0)
        if self.epochs is not None:
            whole_number(self.epochs, "epochs", 1)
        for name in ("learning_rate", "recurrence_factor"):
            positive_float(getattr(self, name), name)
        for name in ("weight_decay", "clip"):
            if getattr(self, name) != 0:
                positive_float(getattr(self, name), name)
        for name in ("dropout", "r_min", "r_max", "max_phase"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and math.isfinite(value)):
                raise ValueError(f"{name} must be a number, got {value!r}.")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout must lie in [0, 1), got {self.dropout!r}.")
        known = [name for name in inspect.signature(MAKERS[self.task]).parameters if name != "progress"]
        for name in self.options:
            if name not in known:
                raise ValueError(f"task {self.task} has no option {name!r}; there are {', '.join(known)}.")

    def task_options(self) -> dict[str, Any]:
        """All options that the task is made with."""
        return SHORT.get(self.task, {}) | self.options

    def as_dict(self) -> dict[str, Any]:
        """As numbers, strings and one dict."""
        return asdict(self)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Keyword arguments from a TOML file with the sections ``[task]``, ``[model]`` and ``[training]``.

        ``[task]`` holds ``name`` and the options of that task. The sections ``[published]`` and ``[search]`` are for readers and
        change nothing.

        Raises
        ------
        ValueError
            Not TOML, or a section or key that is not known; the message has the file and what there is.
        """
        where = Path(path)
        try:
            content = tomllib.loads(where.read_text())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{where} is not a TOML file: {error}.") from None
        found: dict[str, Any] = {}
        for section, values in content.items():
            if section in UNREAD:
                continue
            if section not in ("task", *SECTIONS) or not isinstance(values, dict):
                raise ValueError(
                    f"{where} has {section!r}; what is read are the sections [task], [model] and [training]."
                )
            if section == "task":
                options = dict(values)
                if "name" not in options:
                    raise ValueError(f'{where} does not say which task: add name = "listops" to [task].')
                found |= {"task": options.pop("name"), "options": options}
                continue
            for key, value in values.items():
                if key not in SECTIONS[section]:
                    raise ValueError(f"{where} has {key!r} in [{section}]; there are {', '.join(SECTIONS[section])}.")
                found[key] = value
        return found


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Names of the settings in which two dicts of `Settings.as_dict` differ, each with both values."""
    names = [each.name for each in fields(Settings)]
    return [
        f"{name} = {one.get(name)!r}, not {other.get(name)!r}" for name in names if one.get(name) != other.get(name)
    ]
