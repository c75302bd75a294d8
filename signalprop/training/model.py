"""The model of a training, from its settings and what its task asks for."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from signalprop._catalogue import LAYERS
from signalprop._checks import instance_of
from signalprop._cost import refuse_beyond_bounds
from signalprop._numbers import number
from signalprop.nn import Recurrence, SequenceClassifier
from signalprop.tasks import Kind, Task
from signalprop.training.settings import Settings

__all__ = ["build_model"]

_BYTES = 16  # per parameter, in float32: the number, its gradient and the two moments of Adam


class SequenceTagger(SequenceClassifier):
    """A `SequenceClassifier` that does not pool: scores (batch, time, classes)."""

    def _pooled(self, sequence: Tensor, lengths: Tensor | None) -> Tensor:
        return sequence


def build_model(settings: Settings, task: Task) -> SequenceClassifier:
    """Residual blocks around the layer of the settings, with the inputs and outputs of the task; one output for a regression.

    Raises
    ------
    ValueError
        A model that does not fit into memory. As the layers: a state that the heads do not divide, moduli or phases out of
        range. A pooling for a tagging task.

    Examples
    --------
    >>> from signalprop.tasks import make
    >>> model = build_model(Settings(layer="lru", depth=3), make("copy", blanks=20, train=10, test=10))
    >>> len(model.blocks), model.head.out_features
    (3, 9)
    """
    instance_of(settings, Settings, "settings", "a signalprop.training.Settings")
    instance_of(task, Task, "task", "a signalprop.tasks.Task")
    if task.kind is Kind.TAGGING and settings.pooling != "mean":
        raise ValueError(
            f"a tagging task has an answer per step and pools nothing: leave out pooling={settings.pooling!r}."
        )
    _refuse_too_large(settings, task)
    kind = SequenceTagger if task.kind is Kind.TAGGING else SequenceClassifier
    return kind(
        lambda: _layer(settings, task),
        settings.d_model,
        task.classes or 1,
        vocabulary=task.symbols or None,
        features=task.features or None,
        depth=settings.depth,
        dropout=settings.dropout,
        bidirectional=settings.bidirectional,
        pooling=settings.pooling,
    )


def parameter_count(settings: Settings, task: Task) -> int:
    """Number of parameters of the model, except norms and biases; counted on a layer without numbers."""
    with torch.random.fork_rng(), torch.device("meta"):
        layer = sum(parameter.numel() for parameter in _layer(settings, task).parameters())
    layers = settings.depth * (2 if settings.bidirectional else 1)
    return layers * layer + settings.d_model * (task.symbols + task.features + task.classes)


def _refuse_too_large(settings: Settings, task: Task) -> None:
    """Refuse a model that does not fit into memory."""
    count = parameter_count(settings, task)
    refuse_beyond_bounds(
        f"a model of {number(float(count))} parameters",
        memory=_BYTES * count,
        instead="Take a smaller width, state or depth.",
    )


def _layer(settings: Settings, task: Task) -> Recurrence:
    entry = LAYERS[settings.layer]
    taken = {keyword: getattr(settings, name) for name, keyword in entry.takes.items()}
    given: dict[str, Any] = {keyword: value for keyword, value in taken.items() if value is not None}
    given |= {keyword: getattr(task, name) for keyword, name in entry.of_task.items()}
    layer = entry.maker()(settings.d_model, settings.d_state, **given)
    assert isinstance(layer, Recurrence)
    return layer
