"""What identifies a training: task, model, optimiser, seed; as keyword arguments or as a TOML file."""

from __future__ import annotations

import math
import os
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from signalprop._catalogue import LAYERS, TASKS
from signalprop._checks import instance_of, listed, path_of, positive_float, text_of, whole_number
from signalprop._configurations import content_of
from signalprop._declared import as_declared, hints, known
from signalprop._names import NORMALIZERS, POOLINGS
from signalprop.fields import one_of
from signalprop.tasks import check_options

LARGEST_SIZE = 10**6
UNREAD = ("published", "search")


def _model(default: Any) -> Any:
    return field(default=default, metadata={"section": "model"})


def _training(default: Any) -> Any:
    return field(default=default, metadata={"section": "training"})


@dataclass(frozen=True)
class Settings:
    """All that a training depends on; two with equal settings are equal to the last bit on one machine.

    Attributes
    ----------
    task, options
        Name and options of `signalprop.tasks.make`; options left out are the short ones of `signalprop.tasks.TASKS`, then
        those of the task.
    layer
        A name in `signalprop.training.LAYERS`: ``"rotrnn"``, ``"lru"``, ``"dense"``. A setting that only another layer has is
        refused.
    depth, d_model, d_state
        Blocks, width of the model, size of the state (complex numbers for an LRU, real ones otherwise).
    heads, first_step_rule
        Of RotRNN; its published configuration has no first-step rule.
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
        Examples per step; number of steps, or of passes through the training part; root seed of start and order.
    held_out
        Examples of the validation part (of the test part if there is none) on which loss, accuracy and energies are logged.
    log_every, checkpoint_every
        Steps between rows of the log and between checkpoints.

    Raises
    ------
    ValueError
        A value of a type other than declared here (nothing is converted but a whole number to a float that equals it), a
        number out of range, an unknown name, a setting of another layer.
    """

    task: str = "listops"
    options: dict[str, Any] = field(default_factory=dict)
    layer: str = _model("rotrnn")
    depth: int = _model(2)
    d_model: int = _model(32)
    d_state: int = _model(32)
    heads: int = _model(8)
    normalizer: str = _model("recomputed")
    first_step_rule: bool = _model(False)
    r_min: float | None = _model(None)
    r_max: float | None = _model(None)
    max_phase: float | None = _model(None)
    dropout: float = _model(0.0)
    bidirectional: bool = _model(False)
    pooling: str = _model("mean")
    learning_rate: float = _training(3e-3)
    recurrence_factor: float = _training(0.3)
    weight_decay: float = _training(0.05)
    clip: float = _training(1.0)
    batch: int = _training(32)
    steps: int = _training(1000)
    epochs: int | None = _training(None)
    seed: int = _training(0)
    held_out: int = _training(256)
    log_every: int = _training(20)
    checkpoint_every: int = _training(100)

    def __post_init__(self) -> None:
        for name, kind in hints(type(self)).items():
            object.__setattr__(self, name, as_declared(getattr(self, name), kind, name))
        TASKS.find(self.task)
        LAYERS.find(self.layer)
        one_of(self.normalizer, NORMALIZERS, "normalizer")
        one_of(self.pooling, POOLINGS, "pooling")
        object.__setattr__(self, "options", check_options(self.task, self.options))
        self._refuse_foreign()
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
            whole_number(
                getattr(self, name), name, 1, LARGEST_SIZE if name in ("d_model", "d_state", "heads") else None
            )
        whole_number(self.seed, "seed", 0)
        if self.epochs is not None:
            whole_number(self.epochs, "epochs", 1)
        for name in ("learning_rate", "recurrence_factor"):
            positive_float(getattr(self, name), name)
        for name in ("weight_decay", "clip"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be a finite number, at least 0, got {getattr(self, name)!r}.")
        for name in ("dropout", "r_min", "r_max", "max_phase"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                raise ValueError(f"{name} must be a finite number, got {value!r}.")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout must lie in [0, 1), got {self.dropout!r}.")

    def _refuse_foreign(self) -> None:
        """Refuse a setting that other layers take and this one would not look at."""
        for each in fields(self):
            takers = [name for name, entry in LAYERS.items() if each.name in entry.takes]
            value = getattr(self, each.name)
            if takers and self.layer not in takers and value != each.default:
                raise ValueError(
                    f"{each.name} is a setting of {' and '.join(takers)}, not of layer={self.layer!r}: leave it out, "
                    f"got {value!r}."
                )

    def task_options(self) -> dict[str, Any]:
        """All options that the task is made with."""
        return {**TASKS[self.task].short, **self.options}

    def as_dict(self) -> dict[str, Any]:
        """As numbers, strings and one dict."""
        return asdict(self)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Keyword arguments from a TOML file, or from one of `configurations` by its name.

        The sections ``[task]``, ``[model]`` and ``[training]`` are read.

        ``[task]`` holds ``name`` and the options of that task; one that is called ``name`` itself stands in ``[task.options]``,
        where all of them may. The sections ``[published]`` and ``[search]`` are for readers and change nothing.

        Raises
        ------
        ValueError
            Not TOML, or a section or key that is not known; the message has the file and what there is.
        """
        where = str(path_of(path, "path"))
        content = content_of(path)
        sections = {name: _keys(name) for name in ("model", "training")}
        found: dict[str, Any] = {}
        for section, values in content.items():
            if section in UNREAD:
                continue
            if section not in ("task", *sections) or not isinstance(values, dict):
                raise ValueError(f"{where} has {section!r}; the sections read are [task], [model] and [training].")
            if section == "task":
                found |= _task_of(values, where)
                continue
            for key in values:
                known(key, sections[section], f"section [{section}] of {where}")
            found |= values
        return found


def _keys(section: str) -> list[str]:
    return [each.name for each in fields(Settings) if each.metadata.get("section") == section]


def _task_of(values: dict[str, Any], where: str) -> dict[str, Any]:
    """Task and options of the section ``[task]``."""
    options = dict(values)
    if "name" not in options:
        raise ValueError(f'{where} does not say which task: add name = "listops" to [task].')
    name, nested = options.pop("name"), options.pop("options", {})
    if not isinstance(nested, dict):
        raise ValueError(f"{where}: options of [task] must be a table, [task.options], got {nested!r}.")
    for key in nested:
        if key in options:
            raise ValueError(f"{where} gives the option {key!r} twice, in [task] and in [task.options].")
    return {"task": name, "options": options | nested}


def differences(one: dict[str, Any], other: dict[str, Any], ignored: tuple[str, ...] = ()) -> list[str]:
    """Names of the settings in which two dicts of `Settings.as_dict` differ, each with both values."""
    for name, value in (("one", one), ("other", other)):
        instance_of(value, dict, name, "a dict of Settings.as_dict")
    left_out = [
        text_of(name, "ignored", "names of settings") for name in listed(ignored, "ignored", "names of settings")
    ]
    names = [each.name for each in fields(Settings) if each.name not in left_out]
    return [
        f"{name} = {one.get(name)!r}, not {other.get(name)!r}" for name in names if one.get(name) != other.get(name)
    ]
