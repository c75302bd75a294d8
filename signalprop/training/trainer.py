"""The training loop."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import assert_never

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from signalprop._provenance import installed_version, provenance
from signalprop._streams import cell_key, generator
from signalprop.nn import SequenceClassifier, parameter_groups
from signalprop.tasks import Kind, Split, Task, make
from signalprop.training.checkpoint import Checkpoint, random_states
from signalprop.training.energies import StateEnergies, names, white_energy
from signalprop.training.log import Log, columns
from signalprop.training.model import build_model
from signalprop.training.settings import Settings

__all__ = ["Run", "train"]

EVALUATION_BATCH = 128


@dataclass(frozen=True)
class Run:
    """A finished training.

    Attributes
    ----------
    rows
        Of the log, as text; columns as in `signalprop.training.log.columns`.
    model
        The trained model.
    loss, accuracy
        On the test part; accuracy is None for a regression.
    """

    settings: Settings
    task: Task
    rows: list[dict[str, str]]
    model: SequenceClassifier
    loss: float
    accuracy: float | None


def train(
    settings: Settings,
    *,
    directory: str | os.PathLike[str] | None = None,
    resume: bool = False,
    task: Task | None = None,
    device: str = "cpu",
    progress: Callable[[int, int, float], None] | None = None,
) -> Run:
    """Train a model by AdamW with constant rates, and log its loss and the state energies of its layers.

    Parameters
    ----------
    settings
        All that the result depends on.
    directory
        Where ``log.csv``, ``settings.json`` and ``checkpoint.pt`` go; nothing is written without.
    resume
        Go on from the checkpoint in the directory, or start there if none was written yet. On one machine, with the same number
        of threads, a training that was killed and resumed gives the same log as one that was not.
    task
        The task, if it is at hand; else made from the settings.
    device
        Of PyTorch.
    progress
        Called as ``progress(step, steps, loss)`` after each step.

    Raises
    ------
    ValueError
        Settings that do not fit the task; a directory that holds a training, without `resume`, or another training, with it.
    FloatingPointError
        A number that is not finite, with the training step and the layer.

    Notes
    -----
    Seeds: the start is drawn by PyTorch's generator, whose state the caller keeps; the order of the examples of each pass is a
    permutation drawn from (seed, pass).

    Examples
    --------
    >>> options = {"train": 64, "validation": 0, "test": 16, "min_length": 5, "max_length": 20}
    >>> run = train(Settings(options=options, d_model=8, d_state=8, heads=2, steps=2, log_every=1))
    >>> [row["step"] for row in run.rows]
    ['0', '1', '2']
    """
    place = None if directory is None else Path(directory)
    if place is not None and not resume and (place / "log.csv").exists():
        raise ValueError(
            f"{place} holds a training already; go on with it (resume=True, --resume), or choose another directory."
        )
    where = _device(device)
    saved = None
    if place is not None and resume and (place / "checkpoint.pt").exists():
        saved = Checkpoint.read(place / "checkpoint.pt", settings)
    task = make(settings.task, **settings.task_options()) if task is None else task
    steps = settings.steps
    batch = settings.batch
    if batch > len(task.train):
        raise ValueError(f"batch must be at most the {len(task.train)} examples of the training part, got {batch}.")
    if settings.epochs is not None:
        steps = settings.epochs * (len(task.train) // batch)
    with _repeatable():
        torch.manual_seed(cell_key("start", settings.seed) >> 1)
        model = build_model(settings, task).to(where)
        groups = parameter_groups(
            model,
            settings.learning_rate,
            weight_decay=settings.weight_decay,
            dynamics_factor=settings.recurrence_factor,
        )
        optimiser = torch.optim.AdamW(groups, fused=True)
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
            _write_origin(place / "settings.json", settings)
        log = Log(place and place / "log.csv", columns(names(model)), -1 if saved is None else saved.step)
        done, losses = 0, []
        if saved is not None:
            saved.restore(model, optimiser, where)
            done, losses = saved.step, saved.losses
        else:
            log.append(_row(0, [], model, task, settings, where))
        for step in range(done + 1, steps + 1):
            loss = _step(step, model, optimiser, _batch(task, settings.seed, step, batch, where), task, settings.clip)
            losses.append(loss)
            if step % settings.log_every == 0 or step == steps:
                log.append(_row(step, losses, model, task, settings, where))
                losses = []
            if place is not None and (step % settings.checkpoint_every == 0 or step == steps):
                Checkpoint(
                    settings.as_dict(), step, losses, model.state_dict(), optimiser.state_dict(), random_states(where)
                ).write(place / "checkpoint.pt")
            if progress is not None:
                progress(step, steps, loss)
        loss, accuracy, _ = evaluate(model, task, task.test, where)
    return Run(settings, task, log.rows, model, loss, accuracy)


def _device(name: str) -> torch.device:
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise ValueError(f"device {name!r} cannot be used here: {str(error).splitlines()[0]}") from None
    return device


def _step(
    step: int,
    model: SequenceClassifier,
    optimiser: torch.optim.Optimizer,
    batch: tuple[Tensor, Tensor, Tensor],
    task: Task,
    clip: float,
) -> float:
    inputs, targets, lengths = batch
    optimiser.zero_grad()
    try:
        scores = model(inputs, lengths)
    except FloatingPointError as error:
        raise FloatingPointError(f"training step {step}: {error}") from None
    loss, _, _ = _judge(scores, targets, lengths, task)
    loss.backward()  # type: ignore[no-untyped-call]
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf)
    value = loss.item()
    if not (math.isfinite(value) and math.isfinite(norm.item())):
        _explain(step, value, model)
    optimiser.step()
    return value


def _explain(step: int, loss: float, model: nn.Module) -> None:
    """Raise with the first parameter whose gradient is not finite."""
    for name, parameter in model.named_parameters():
        if parameter.grad is not None and not bool(parameter.grad.isfinite().all()):
            raise FloatingPointError(
                f"training step {step}: the loss is {loss:.6g} and the gradient of {name} is not finite; "
                "try a smaller learning rate, or a clip."
            )
    raise FloatingPointError(f"training step {step}: the loss is {loss:.6g} or its gradient too large for float32.")


def _judge(scores: Tensor, targets: Tensor, lengths: Tensor, task: Task) -> tuple[Tensor, int, Tensor | None]:
    """Mean loss of a batch, over how many answers, and but for a regression whether each judged answer is right.

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
                rows = np.arange(start, min(start + EVALUATION_BATCH, size))
                inputs, targets, lengths = _tensors(part, task, rows, device)
                energies.lengths = lengths
                loss, number, correct = _judge(model(inputs, lengths), targets, lengths, task)
                total, answers = total + loss.item() * number, answers + number
                if correct is not None:
                    right, judged = right + int(correct.sum()), judged + correct.numel()
    finally:
        model.train(training)
    return total / answers, right / judged if judged else None, energies


def _row(
    step: int, losses: list[float], model: SequenceClassifier, task: Task, settings: Settings, device: torch.device
) -> dict[str, float | int | None]:
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
        white = white_energy(layer, task.steps).double()
        row |= {
            f"energy_{name}": mean,
            f"energy_last_{name}": last,
            f"energy_white_{name}": float((white * weights).sum() / weights.sum()),
        }
    return row


def _batch(task: Task, seed: int, step: int, batch: int, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs, targets and lengths of training step `step`; the last incomplete batch of a pass is left out."""
    passes, place = divmod(step - 1, len(task.train) // batch)
    order = _order(seed, passes, len(task.train))
    return _tensors(task.train, task, order[place * batch : (place + 1) * batch], device)


@lru_cache(maxsize=1)
def _order(seed: int, passes: int, count: int) -> NDArray[np.int64]:
    """The order of the examples in a pass."""
    return generator(seed, cell_key("order"), passes).permutation(count)


def _tensors(part: Split, task: Task, rows: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of a part, cut to the longest of them; padding of targets becomes 0."""
    lengths = part.lengths[rows]
    steps = int(lengths.max())
    inputs = part.inputs[rows, :steps].astype(np.int64 if task.symbols else np.float32)
    targets = part.targets[rows, :steps] if part.targets.ndim == 2 else part.targets[rows]
    targets = targets.astype(np.int64 if task.classes else np.float32)
    if targets.ndim == 2:
        targets[np.arange(steps) >= lengths[:, None]] = 0
    first, second, third = (torch.from_numpy(made).to(device) for made in (inputs, targets, lengths))
    return first, second, third


@contextmanager
def _repeatable() -> Iterator[None]:
    """Deterministic algorithms; the caller's generators and settings come back afterwards."""
    before, warn = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    fill = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    with torch.random.fork_rng():
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # a tenth of the time
        try:
            yield
        finally:
            torch.use_deterministic_algorithms(before, warn_only=warn)
            torch.utils.deterministic.fill_uninitialized_memory = fill  # type: ignore[attr-defined]


def _write_origin(path: Path, settings: Settings) -> None:
    facts = provenance()
    facts["libraries"]["torch"] = installed_version("torch")
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps({"settings": settings.as_dict(), **facts}, indent=2) + "\n")
    temporary.replace(path)
