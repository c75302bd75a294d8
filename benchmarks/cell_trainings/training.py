"""Training of many models of one cell side by side: per model its own loss, clipping and learning rate, without autograd."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from benchmarks.cell_trainings.cells import LAYERS
from benchmarks.cell_trainings.starts import LEAK, WIDE, parameters, scale, width
from benchmarks.cell_trainings.tasks import BATCH, COPIED, CUE_STEPS, CUES, HELD_OUT, SYMBOLS, task

CLIP = 1.0
BETAS, EPSILON = (0.9, 0.999), 1e-8
LAST, RUNNING = 100, 20
NAMES = ("W", "U", "b_input", "b_hidden", "C", "c")

SETTINGS = {
    "optimiser": f"Adam, betas {BETAS}, eps {EPSILON:g}, one learning rate for all parameters",
    "gradient clipped to norm": CLIP,
    "arithmetic": "float32, numbers below 1.2e-38 flushed to zero, one thread, deterministic",
    "batch": BATCH,
    "held-out examples": f"{HELD_OUT}, the same for all (digits: 360)",
    "losses": "relative to that of a guess: cross entropy over log(classes), squared error over the variance of the target",
    "train_loss": f"mean over the last {LAST} batches",
    "n": "64, linear 128",
    "wide": f"input kernel scaled from sqrt(sum E u^2 / (3n)), what inputs add to a preactivation, to {WIDE:g}",
    "leaky": f"(1 - a) I + a G, a = {LEAK:g}",
    "adding": "numbers of mean 0 and variance 1, marks 1",
    "copy": f"{COPIED} symbols of {SYMBOLS}",
    "noise": f"one of {CUES} classes at {CUE_STEPS} steps, unit Gaussian noise at every step",
    "learning rate": "least mean training loss of two tuning seeds; the worse ones of five dropped at a quarter of the steps",
    "steps_to_half": f"first step with a mean training loss over {RUNNING} batches of at most 1/2",
}
OUTCOMES = (
    "scale", "gradient_norm", "recurrent_gradient_norm", "train_loss", "loss", "accuracy", "steps_to_half", "stopped_at",
)  # fmt: skip


@dataclass(frozen=True, order=True)
class Cell:
    """What identifies a training; `role` is "tune" (chooses the learning rate) or "report"; `recurrent` "trained" or "frozen"."""

    cell: str
    task: str
    horizon: int
    start: str
    recurrent: str
    role: str
    learning_rate: float
    seed: int
    steps: int


def prepare() -> None:
    """The arithmetic of `SETTINGS`, for the whole process."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.set_flush_denormal(True)
    # Deterministic mode fills each new tensor with NaN; the buffers here are all written before they are read.
    torch.utils.deterministic.fill_uninitialized_memory = False


class Batch:
    """Models of one cell, task, horizon and start, each with its own seed and learning rate, trained in step."""

    def __init__(self, cells: list[Cell]) -> None:
        first = cells[0]
        self.cells, self.task = cells, task(first.task, first.horizon)
        n, models = width(first.cell), len(cells)
        self.layer = LAYERS[first.cell](models, first.horizon, BATCH, n)
        starts = [parameters(c.cell, c.start, self.task, c.seed) for c in cells]
        frozen = first.recurrent == "frozen"
        self.W = torch.stack([one["W"] for one in starts])
        names = NAMES[1:] if frozen else NAMES
        sizes = {name: starts[0][name].shape for name in names}
        length = sum(shape.numel() for shape in sizes.values())
        self.flat, self.gradient = torch.empty(models, length), torch.empty(models, length)
        self.parameters, self.gradients = _views(self.flat, sizes), _views(self.gradient, sizes)
        for name, view in self.parameters.items():
            view.copy_(torch.stack([one[name] for one in starts]))
        if not frozen:
            self.W = self.parameters["W"]
        self.adam = Adam(self.flat, torch.tensor([c.learning_rate for c in cells]))
        seeds = sorted({c.seed for c in cells})
        self.place = torch.tensor([seeds.index(c.seed) for c in cells])
        self.batches = [self.task.batches(seed) for seed in seeds]
        self.done = 0
        self.alive = torch.ones(models, dtype=torch.bool)
        self.losses: list[Tensor] = []
        self.found: list[dict[str, float | None]] = [
            dict.fromkeys(OUTCOMES) | {"scale": scale(c.cell, c.start, self.task)} for c in cells
        ]

    @torch.no_grad()
    def train(self, until: int) -> None:
        """Take steps up to number `until`."""
        while self.done < until:
            self.done += 1
            drawn = [next(batches) for batches in self.batches]
            inputs, targets = (torch.from_numpy(np.stack(arrays))[self.place] for arrays in zip(*drawn, strict=True))
            loss = self._loss(inputs, targets, gradient=True)[0].mean(1)
            norm = torch.linalg.vector_norm(self.gradient, dim=1, dtype=torch.float64)
            if self.done == 1:
                self._note_first(norm)
            self._stop(~(loss.isfinite() & norm.isfinite()))
            self.losses.append(loss)
            self.gradient *= torch.where(self.alive, CLIP / norm.clamp(min=CLIP), 0.0).float()[:, None]
            self.adam.step(self.gradient)
            self._note_half()

    @torch.no_grad()
    def outcomes(self) -> list[dict[str, float | None]]:
        """`OUTCOMES` of each model after the steps taken so far.

        scale: factor on the recurrent kernel. gradient_norm, recurrent_gradient_norm: norms of the first gradient, of
        everything that is trained and of W alone, before clipping; the latter None where W is frozen. train_loss, loss,
        accuracy: see `SETTINGS`; loss and accuracy are held out, accuracy None where a number is asked for. stopped_at: step
        with a loss or gradient that is not finite, which ends the training with infinite losses, None if never.
        """
        held, accuracy = self._held_out()
        train = torch.stack(self.losses[-LAST:]).double().mean(0)
        for place, found in enumerate(self.found):
            ended = found["stopped_at"] is not None or not math.isfinite(held[place])
            found["train_loss"] = math.inf if ended else float(train[place])
            found["loss"] = math.inf if ended else float(held[place])
            found["accuracy"] = None if not self.task.classes else 0.0 if ended else float(accuracy[place])
        return self.found

    def _loss(self, inputs: Tensor, targets: Tensor, *, gradient: bool) -> tuple[Tensor, Tensor]:
        """Loss of each answer relative to a guess, and whether it is right, (M, answers * batch); gradients into `gradient`."""
        p, asked = self.parameters, self.task.answers
        steps = inputs.transpose(1, 2)
        states = self.layer.forward(self.W, p["U"], p["b_input"], p["b_hidden"], steps)[:, -asked:]
        flat = states.flatten(1, 2)
        answers = torch.baddbmm(p["c"][:, None], flat, p["C"].transpose(1, 2))
        wanted = targets.transpose(1, 2).flatten(1)  # step by step, as the states
        if self.task.classes:
            logs = torch.log_softmax(answers, -1)
            loss = -logs.gather(-1, wanted[..., None])[..., 0] / self.task.guess
            right = (answers.argmax(-1) == wanted).float()
            toward = logs.exp_()
            toward.scatter_add_(-1, wanted[..., None], toward.new_tensor(-1.0).expand(*wanted.shape, 1))
            toward /= wanted.shape[1] * self.task.guess
        else:
            error = answers[..., 0] - wanted
            loss, right = error.square(), torch.zeros_like(error)
            toward = 2.0 / wanted.shape[1] * error[..., None]
        if gradient:
            torch.bmm(toward.transpose(1, 2), flat, out=self.gradients["C"])
            torch.sum(toward, 1, out=self.gradients["c"])
            self.layer.backward(self.W, torch.bmm(toward, p["C"]).view_as(states), self.gradients)
        return loss, right

    def _held_out(self) -> tuple[Tensor, Tensor]:
        inputs, targets = (torch.from_numpy(array) for array in self.task.held_out())
        models, found = len(self.cells), []
        for first in range(0, len(inputs), BATCH):
            rows = torch.arange(first, first + BATCH) % len(inputs)  # a short last batch is filled up
            parts = [array[rows].expand(models, *array[rows].shape) for array in (inputs, targets)]
            both = torch.stack(self._loss(*parts, gradient=False)).double()
            found.append(both.unflatten(-1, (self.task.answers, BATCH))[..., : len(inputs) - first])
        loss, right = torch.cat(found, -1).mean((-2, -1))
        return loss, right

    def _note_first(self, norm: Tensor) -> None:
        W = self.gradients.get("W")
        for place, found in enumerate(self.found):
            found["gradient_norm"] = float(norm[place])
            if W is not None:
                found["recurrent_gradient_norm"] = float(torch.linalg.vector_norm(W[place], dtype=torch.float64))

    def _stop(self, failed: Tensor) -> None:
        """Models that failed are set to 0, where they cost no more than others, and never come back."""
        for place in (failed & self.alive).nonzero()[:, 0].tolist():
            self.found[place]["stopped_at"] = self.done
        self.alive &= ~failed
        dead = ~self.alive
        if dead.any():
            self.flat[dead] = 0.0
            self.gradient[dead] = 0.0
            self.adam.forget(dead)

    def _note_half(self) -> None:
        if self.done >= RUNNING:
            running = torch.stack(self.losses[-RUNNING:]).mean(0)
            for place in ((running <= 0.5) & self.alive).nonzero()[:, 0].tolist():
                if self.found[place]["steps_to_half"] is None:
                    self.found[place]["steps_to_half"] = self.done


class Adam:
    """`torch.optim.Adam` for rows of `flat`, each with its own learning rate."""

    def __init__(self, flat: Tensor, rates: Tensor) -> None:
        self.flat, self.rates, self.steps = flat, rates[:, None], 0
        self.first, self.second = torch.zeros_like(flat), torch.zeros_like(flat)

    def step(self, gradient: Tensor) -> None:
        """One step of every row."""
        self.steps += 1
        self.first.lerp_(gradient, 1.0 - BETAS[0])
        self.second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1.0 - BETAS[1])
        size = self.second.sqrt().div_(math.sqrt(1.0 - BETAS[1] ** self.steps)).add_(EPSILON)
        self.flat -= (self.rates / (1.0 - BETAS[0] ** self.steps)) * self.first / size

    def forget(self, rows: Tensor) -> None:
        """Set the state of rows to 0."""
        self.first[rows] = 0.0
        self.second[rows] = 0.0


def _views(flat: Tensor, sizes: dict[str, torch.Size]) -> dict[str, Tensor]:
    """Parts of the rows of `flat` under their names and in their shapes."""
    found, first = {}, 0
    for name, shape in sizes.items():
        found[name] = flat[:, first : first + shape.numel()].unflatten(1, shape)
        first += shape.numel()
    return found
