"""The model of a training, from its settings and what its task asks for."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from signalprop.nn import LRU, DenseLinearRNN, Recurrence, RotRNN, SequenceClassifier
from signalprop.tasks import Kind, Task
from signalprop.training.settings import Settings

__all__ = ["build_model"]


class SequenceTagger(SequenceClassifier):
    """A `SequenceClassifier` that does not pool: scores (batch, time, classes)."""

    def _pooled(self, sequence: Tensor, lengths: Tensor | None) -> Tensor:
        return sequence


def build_model(settings: Settings, task: Task) -> SequenceClassifier:
    """Residual blocks around the layer of the settings, with the inputs and outputs of the task; one output for a regression.

    Raises
    ------
    ValueError
        As the layers: a state that the heads do not divide, moduli or phases out of range.

    Examples
    --------
    >>> from signalprop.tasks import make
    >>> model = build_model(Settings(layer="lru", depth=3), make("copy", blanks=20, train=10, test=10))
    >>> len(model.blocks), model.head.out_features
    (3, 9)
    """
    kind = SequenceTagger if task.kind is Kind.TAGGING else SequenceClassifier
    return kind(
        lambda: _layer(settings, task.steps),
        settings.d_model,
        task.classes or 1,
        vocabulary=task.symbols or None,
        features=task.features or None,
        depth=settings.depth,
        dropout=settings.dropout,
        bidirectional=settings.bidirectional,
        pooling=settings.pooling,
    )


def _layer(settings: Settings, steps: int) -> Recurrence:
    low, high = ("gamma_min", "gamma_max") if settings.layer == "rotrnn" else ("r_min", "r_max")
    start = {low: settings.r_min, high: settings.r_max, "max_phase": settings.max_phase}
    given: dict[str, Any] = {name: value for name, value in start.items() if value is not None}
    if settings.layer == "lru":
        return LRU(settings.d_model, settings.d_state, normalizer=settings.normalizer, **given)
    if settings.layer == "rotrnn":
        return RotRNN(
            settings.d_model, settings.d_state, heads=settings.heads, first_step_rule=settings.first_step_rule, **given
        )
    if given:
        raise ValueError(
            f"a dense layer starts from a Gaussian matrix: leave out r_min, r_max and max_phase, got {given}."
        )
    return DenseLinearRNN(settings.d_model, settings.d_state, horizon=steps)
