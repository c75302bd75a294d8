"""How a model does: the loss of a batch, loss and accuracy on a part of a task, and the row of the log."""

from __future__ import annotations

import math
from typing import assert_never

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from signalprop._threads import go_on
from signalprop.nn import GatedRecurrence, SequenceClassifier
from signalprop.tasks import Kind, Split, Task
from signalprop.training.energies import StateEnergies, names, white_energy
from signalprop.training.examples import tensors
from signalprop.training.settings import Settings

EVALUATION_BATCH = 128


def judge(scores: Tensor, targets: Tensor, lengths: Tensor, task: Task) -> tuple[Tensor, int, Tensor | None]:
    """Mean loss of a batch, the number of its answers and, except for a regression, whether each judged answer is right.

    The answers of a tagging are those of its steps; padding has none.
    """
    match task.kind:
        case Kind.REGRESSION:
            return functional.mse_loss(scores[:, 0], targets), len(targets), None
        case Kind.CLASSIFICATION:
            return functional.cross_entropy(scores, targets), len(targets), scores.detach().argmax(-1) == targets
        case Kind.TAGGING:
            steps = torch.arange(targets.shape[1], device=targets.device)
            inside = steps < lengths[:, None]
            right = (scores.detach().argmax(-1) == targets)[inside & (steps >= lengths[:, None] - task.answers)]
            return functional.cross_entropy(scores[inside], targets[inside]), int(inside.sum()), right
        case _:
            assert_never(task.kind)


@torch.no_grad()
def evaluate(
    model: SequenceClassifier, task: Task, part: Split, device: torch.device, count: int | None = None
) -> tuple[float, float | None, StateEnergies]:
    """Loss, accuracy and state energies on the first `count` examples of a part, without dropout.

    Every answer counts alike, in whichever batch it comes.
    """
    total, answers, size = 0.0, 0, len(part) if count is None else min(count, len(part))
    right, judged = 0, 0
    training = model.training
    model.eval()
    try:
        with StateEnergies(model) as energies:
            for start in range(0, size, EVALUATION_BATCH):
                go_on()
                rows = np.arange(start, min(start + EVALUATION_BATCH, size))
                inputs, targets, lengths = tensors(part, task, rows, device)
                energies.lengths = lengths
                loss, number, correct = judge(model(inputs, lengths), targets, lengths, task)
                total, answers = total + loss.item() * number, answers + number
                if correct is not None:
                    right, judged = right + int(correct.sum()), judged + correct.numel()
    finally:
        model.train(training)
    return total / answers, right / judged if judged else None, energies


def row_of(
    step: int, losses: list[float], model: SequenceClassifier, task: Task, settings: Settings, device: torch.device
) -> dict[str, float | int | None]:
    """The row of the log after a step: losses since the row before, and what the held-out examples say."""
    part = task.test if task.validation is None else task.validation
    try:
        loss, accuracy, energies = evaluate(model, task, part, device, settings.held_out)
    except FloatingPointError as error:
        raise FloatingPointError(f"after training step {step}: {error}") from None
    row: dict[str, float | int | None] = {
        "step": step,
        "train_loss": math.fsum(losses) / len(losses) if losses else None,
        "loss": loss,
        "accuracy": accuracy,
    }
    # As many sequences have a step t as are at least that long.
    lengths = torch.from_numpy(part.lengths[: settings.held_out])
    weights = (torch.arange(part.steps) < lengths[:, None]).sum(0).double()
    layers = zip(names(model), energies.layers, energies.mean(), energies.last(), strict=True)
    for name, layer, mean, last in layers:
        row |= {f"energy_{name}": mean, f"energy_last_{name}": last, f"energy_white_{name}": None}
        if not isinstance(layer, GatedRecurrence):  # whose response to white inputs is known by no formula
            white = white_energy(layer, task.steps).double()
            row[f"energy_white_{name}"] = float((white * weights).sum() / weights.sum())
    return row
