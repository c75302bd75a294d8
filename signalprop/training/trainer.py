"""The training loop."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from signalprop._checks import flag, function_or_none, instance_of, path_of, shown
from signalprop._directory import Directory
from signalprop._provenance import provenance
from signalprop._streams import cell_key
from signalprop._threads import Threads, go_on, result_of
from signalprop.nn import SequenceClassifier, parameter_groups
from signalprop.tasks import Task, make
from signalprop.training.checkpoint import Checkpoint, random_states
from signalprop.training.cost import refuse_impossible
from signalprop.training.directory import RESULTS, begin, first_rows_only
from signalprop.training.energies import names
from signalprop.training.evaluation import evaluate, judge, row_of
from signalprop.training.examples import batch_of
from signalprop.training.log import Log, columns
from signalprop.training.model import build_model
from signalprop.training.settings import Settings

__all__ = ["Run", "train"]


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
        Where ``log.csv``, ``settings.json``, ``checkpoint.pt`` and at the end ``results.json`` go; without it nothing is written.
        One process at a time works there.
    resume
        Go on from the checkpoint in the directory, or start there if none was written yet. On one machine, with the same number
        of threads, a training that was killed and resumed gives the same log as one that was not. Other settings, data, versions
        of the libraries or code are refused, and so is a file that was damaged or changed.
    task
        A task that you already have; left out, it is made from the settings. With it ``settings.json`` holds its name and the
        SHA-256 of its data in place of the name and options of `Settings`.
    device
        Of PyTorch.
    progress
        Called as ``progress(step, steps, loss)`` after each step.

    Raises
    ------
    ValueError
        Settings that do not fit the task; without `resume`, a directory that holds a training; with it, one that holds another
        training or damaged files.
    OSError
        Another process works in the directory; the disk is full.
    FloatingPointError
        A number that is not finite, with the training step and the layer.
    KeyboardInterrupt
        Ctrl-C, after the checkpoint of the last finished step was written. It does not wait for the step in progress, however
        long that takes: its operation ends on a thread that is left behind, and changes nothing any more.

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
    instance_of(settings, Settings, "settings", "a signalprop.training.Settings")
    where, given, resume = _device(device), task is not None, flag(resume, "resume")
    if task is not None:
        instance_of(task, Task, "task", "a signalprop.tasks.Task or None")
    if directory is not None:
        directory = path_of(directory, "directory")
    function_or_none(progress, "progress")

    def opened() -> Directory:
        assert directory is not None
        return stack.enter_context(Directory(directory, "training", "resume the training (resume=True, --resume)"))

    with ExitStack() as stack:
        # Data may take a minute to make: what can be refused without them is refused first.
        place = opened() if directory is not None and os.path.lexists(directory) else None
        if place is not None:
            begin(place, settings, None, given, resume)
        task = make(settings.task, **settings.task_options()) if task is None else task
        steps, batch = _course(settings, task)
        if where.type == "cpu":
            refuse_impossible(settings, task, steps)
        stack.enter_context(_repeatable())
        torch.manual_seed(cell_key("start", settings.seed) >> 1)
        model = build_model(settings, task).to(where)
        if directory is not None:
            place = opened() if place is None else place
            begin(place, settings, task, given, resume)
        training = _Training(settings, task, model, where, place, steps, batch)
        # An operation of PyTorch may take many seconds, and Python sees Ctrl-C after it: the main thread only waits.
        worker = Threads(1)
        stack.callback(worker.stop)
        for block in model.blocks:
            stack.callback(block.register_forward_pre_hook(lambda *_: go_on()).remove)
        try:
            result_of(worker.submit(training.settle))
            while training.step < steps:
                loss = result_of(worker.submit(training.onward))
                if progress is not None:
                    progress(training.step, steps, loss)
            loss, accuracy = result_of(worker.submit(training.finish))
        except KeyboardInterrupt:
            worker.tell()
            training.save()
            raise
    return Run(settings, task, training.log.rows, model, loss, accuracy)


def _course(settings: Settings, task: Task) -> tuple[int, int]:
    """Number of steps, and examples per step."""
    if settings.batch > len(task.train):
        raise ValueError(
            f"batch must be at most the {len(task.train)} examples of the training part, got {settings.batch}."
        )
    if settings.epochs is None:
        return settings.steps, settings.batch
    return settings.epochs * (len(task.train) // settings.batch), settings.batch


class _Training:
    """A training at the end of a step, whose row and checkpoint may still be due.

    A thread takes the steps. Whatever belongs together changes under one lock, and no longer once that thread was told to stop:
    whoever told it finds the end of a step under the lock, and it stays so.
    """

    def __init__(
        self,
        settings: Settings,
        task: Task,
        model: SequenceClassifier,
        device: torch.device,
        directory: Directory | None,
        steps: int,
        batch: int,
    ) -> None:
        self.settings, self.task, self.model, self.device = settings, task, model, device
        self.directory, self.steps, self.batch = directory, steps, batch
        groups = parameter_groups(
            model,
            settings.learning_rate,
            weight_decay=settings.weight_decay,
            dynamics_factor=settings.recurrence_factor,
        )
        self.optimiser = torch.optim.AdamW(groups, fused=True)
        self.step, self.losses = 0, list[float]()
        self._saved = False
        self._changing = threading.Lock()
        self._tested: tuple[float, float | None] | None = None
        rows = b""
        if directory is not None:
            try:
                saved, rows = Checkpoint.read(directory, model, steps)
            except FileNotFoundError:
                first_rows_only(directory)
            else:
                saved.restore(model, self.optimiser, device)
                self.step, self.losses, self._saved = saved.step, list(saved.losses), True
        self.log = Log(columns(names(model)), directory, rows)
        self.random = random_states(device)

    def onward(self) -> float:
        """Take a step, and write what is due after it; returns the loss of the batch."""
        batch = batch_of(self.task, self.settings.seed, self.step + 1, self.batch, self.device)
        loss = _gradients(self.step + 1, self.model, self.optimiser, batch, self.task, self.settings.clip)
        with self._changing:
            go_on()
            self.optimiser.step()
            self.step += 1
            self.losses.append(loss)
            self.random = random_states(self.device)
            self._saved = False
        self.settle()
        return loss

    def settle(self) -> None:
        """Write the row and the checkpoint that are due after this step."""
        last = self.step == self.steps
        if self.log.step < self.step and (last or self.step % self.settings.log_every == 0):
            row = row_of(self.step, self.losses, self.model, self.task, self.settings, self.device)
            if last:
                row["test_loss"], row["test_accuracy"] = self.test()
            with self._changing:
                go_on()
                self.log.append(row)
                self.losses, self._saved = [], False
        if not self._saved and (last or self.step % self.settings.checkpoint_every == 0):
            self.save()

    def save(self) -> None:
        """Write the checkpoint of this step, unless it is written."""
        with self._changing:
            go_on()
            if self.directory is None or self._saved:
                return
            Checkpoint(
                self.directory.origin,
                self.step,
                self.losses,
                self.log.mark,
                self.model.state_dict(),
                self.optimiser.state_dict(),
                self.random,
            ).write(self.directory)
            self._saved = True

    def test(self) -> tuple[float, float | None]:
        """Loss and accuracy on the test part."""
        if self._tested is None:
            loss, accuracy, _ = evaluate(self.model, self.task, self.task.test, self.device)
            self._tested = loss, accuracy
        return self._tested

    def finish(self) -> tuple[float, float | None]:
        """Write what came out; returns loss and accuracy on the test part."""
        loss, accuracy = self.test()
        if self.directory is not None:
            facts = {
                "step": self.step,
                "test": {"loss": loss, "accuracy": accuracy, "examples": len(self.task.test)},
                "guess": {"loss": self.task.baseline, "accuracy": self.task.chance},
                "task": self.task.description,
                "origin": self.directory.origin,
                **provenance(),
            }
            with self._changing:
                go_on()
                self.directory.write_json(RESULTS, facts)
        return loss, accuracy


def _device(name: str) -> torch.device:
    """The device of this name, if a tensor can be made there."""
    if not isinstance(name, (str, torch.device)):
        raise ValueError(f"device must be the name of a device of PyTorch, got {shown(name)}.")
    try:
        device = torch.device(name)
        device = torch.empty(1, device=device).device  # with its number: which GPU is the current one differs by thread
    except (RuntimeError, AssertionError, NotImplementedError, ValueError) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise ValueError(f"device must be one that PyTorch can use here, got {shown(name)}: {why}.") from None
    if device.type == "meta":
        raise ValueError("device must be one that holds numbers, got 'meta'.")
    return device


def _gradients(
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
    loss, _, _ = judge(scores, targets, lengths, task)
    go_on()
    loss.backward()  # type: ignore[no-untyped-call]
    go_on()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip or math.inf)
    value = loss.item()
    if not (math.isfinite(value) and math.isfinite(norm.item())):
        _explain(step, value, model)
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
