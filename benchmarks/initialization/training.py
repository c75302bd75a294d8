"""One training from one start, and what is recorded of it."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from benchmarks.initialization.recurrence import last_states
from benchmarks.initialization.starts import scale, weights
from benchmarks.initialization.tasks import TASKS

BATCH = 64
CLIP = 1.0
OTHER_RATE = 0.01  # Adam's step for B, C and c
RATES = (1e-3, 1e-4, 1e-5)  # Adam's step for W: the grid each start chooses from
EVALUATE_EVERY = 10
LAST_BATCHES = 20

SETTINGS = {
    "optimiser": "Adam, betas (0.9, 0.999), eps 1e-8",
    "arithmetic": "float32, numbers below 1.2e-38 flushed to zero, one thread, deterministic",
    "batch": BATCH,
    "gradient clipped to norm": CLIP,
    "learning rate of B, C, c": OTHER_RATE,
    "learning rates tried for W": list(RATES),
    "W": "Gaussian g/sqrt(n) or Haar orthogonal",
    "B": "Gaussian, variance 1/(steps of input)",
    "C": "uniform on +-1/sqrt(n)",
    "c": "0",
    "held-out loss every": EVALUATE_EVERY,
    "train_loss": f"mean over the last {LAST_BATCHES} batches",
}


@dataclass(frozen=True, order=True)
class Cell:
    """What identifies a training; `role` is "tune" (chooses the learning rate) or "report"."""

    n: int
    task: str
    horizon: int
    start: str
    role: str
    learning_rate: float
    seed: int
    steps: int


OUTCOMES = (
    "scale",
    "gradient_norm",
    "recurrent_gradient_norm",
    "initial_loss",
    "train_loss",
    "loss",
    "accuracy",
    "steps_to_half",
    "stopped_at",
)


def prepare() -> None:
    """The arithmetic of `SETTINGS`, for the whole process; without flushing, starts that vanish are several times slower."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.set_flush_denormal(True)


def train(cell: Cell) -> dict[str, float | None]:
    """Train and return `OUTCOMES`.

    scale: g. gradient_norm, recurrent_gradient_norm: norms of the first gradient, of everything and of W alone, before clipping.
    initial_loss, loss, accuracy: held out, before and after training. train_loss: as in `SETTINGS`. steps_to_half: first step
    (of those evaluated) with a held-out loss of half that of a guess, None if never. stopped_at: step with a loss or gradient
    that is not finite, which ends the training (loss and train_loss inf, accuracy that of a guess), None if never.
    """
    task = TASKS[cell.task]
    W, B, C, c = parameters = start_parameters(cell)
    order = generator(cell, "batches")
    optimiser = torch.optim.Adam(
        [{"params": [W], "lr": cell.learning_rate}, {"params": [B, C, c]}], lr=OTHER_RATE, fused=True
    )

    def loss_of(inputs: Tensor, answers: Tensor) -> tuple[Tensor, Tensor]:
        logits = last_states(W, B, inputs, cell.horizon, task.answers) @ C.T + c
        return cross_entropy(logits.flatten(0, 1), answers.flatten()), logits.argmax(-1)

    @torch.no_grad()
    def held_out() -> tuple[float, float]:
        inputs, answers = task.test()
        loss, guess = loss_of(inputs, answers)
        return loss.item(), (guess == answers).float().mean().item()

    loss, accuracy = held_out()
    found: dict[str, float | None] = dict.fromkeys(OUTCOMES)
    found |= {"scale": scale(cell.start, cell.n, cell.horizon), "initial_loss": loss}
    half, losses = 0.5 * math.log(task.classes), []
    for step in range(1, cell.steps + 1):
        optimiser.zero_grad()
        batch_loss, _ = loss_of(*task.batch(BATCH, order))
        batch_loss.backward()
        recurrent = norm([W.grad])
        total = norm([p.grad for p in parameters])
        if step == 1:
            found |= {"gradient_norm": total, "recurrent_gradient_norm": recurrent}
        losses.append(batch_loss.item())
        if not (math.isfinite(losses[-1]) and math.isfinite(total)):
            return found | {"stopped_at": step, "train_loss": math.inf, "loss": math.inf, "accuracy": task.chance}
        if total > CLIP:
            for p in parameters:
                p.grad.mul_(CLIP / total)
        optimiser.step()
        if step % EVALUATE_EVERY == 0 or step == cell.steps:
            loss, accuracy = held_out()
            if loss <= half and found["steps_to_half"] is None:
                found["steps_to_half"] = step
    loss = loss if math.isfinite(loss) else math.inf
    return found | {"train_loss": float(np.mean(losses[-LAST_BATCHES:])), "loss": loss, "accuracy": accuracy}


def start_parameters(cell: Cell) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """W, B, C, c before training; state entries have variance near 1 if W preserves norms."""
    task = TASKS[cell.task]
    W = weights(cell.start, cell.n, cell.horizon, generator(cell, "W"))
    draw = generator(cell, "other")
    B = torch.randn(cell.n, task.inputs, generator=draw) / math.sqrt(task.steps)
    C = (2.0 * torch.rand(task.classes, cell.n, generator=draw) - 1.0) / math.sqrt(cell.n)
    return W.requires_grad_(), B.requires_grad_(), C.requires_grad_(), torch.zeros(task.classes, requires_grad=True)


def generator(cell: Cell, what: str) -> torch.Generator:
    """Random numbers that depend on width, seed and purpose alone: starts, tasks and horizons are compared on the same draws."""
    key = [cell.n, cell.seed, ("W", "other", "batches").index(what)]
    return torch.Generator().manual_seed(int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> 1))


def norm(gradients: list[Tensor]) -> float:
    """Euclidean norm in double precision, so that a gradient whose entries are finite has a finite norm."""
    return math.hypot(*(float(torch.linalg.vector_norm(g, dtype=torch.float64)) for g in gradients))
