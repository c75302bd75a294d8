r"""Energies along a sequence and back: states are walked once, and a gradient is carried back over chunks of a few steps.

Of the way forward the states at the beginnings of chunks are kept. Each chunk is stepped again with a graph of its own, and the
gradient of <v, h_end> with respect to each of its states is taken by one backward pass per cotangent. In between v is brought
to entries of size one and logarithms are added; a chunk over which an energy changes so much that the type of the numbers might
not hold it is cut into halves, down to single steps. So nothing under- or overflows that does not within one step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from signalprop._streams import stream
from signalprop.inspection.measured.steps import Course, State, Stepper, advance

Floats = NDArray[np.float64]
_GRAPH = 1 << 25  # numbers that the graph of a chunk may hold, estimated
_LONGEST = 256  # steps of a chunk
_KEPT_PER_STEP = 16  # numbers per number of the state


@dataclass(frozen=True)
class Walk:
    """States on the way forward.

    Attributes
    ----------
    every
        Steps of a chunk.
    marks
        The states before every chunk.
    log_energy
        Of the state after each step, the sum over its output part, (steps, sequences), on the CPU.
    broken
        The first step after which a state is not finite, -1 where all are, (sequences,).
    """

    every: int
    marks: list[State]
    log_energy: Floats
    broken: Tensor


def chunk_of(course: Course) -> int:
    """Steps of a chunk, for the sizes of states and inputs."""
    per_step = sum(part.numel() for part in course.start) * _KEPT_PER_STEP + course.inputs[0].numel()
    return max(1, min(_LONGEST, _GRAPH // max(per_step, 1)))


@torch.no_grad()
def walk(stepper: Stepper, course: Course, every: int | None = None) -> Walk:
    """Step through the sequences and keep a state for every chunk."""
    size = chunk_of(course) if every is None else every
    state, latest = course.start, int(course.begins.max())
    marks: list[State] = []
    energies = torch.empty(course.steps, course.sequences, dtype=torch.float64, device=course.inputs.device)
    fine = torch.empty_like(energies, dtype=torch.bool)
    with course.precision.again():
        for t in range(course.steps):
            if t % size == 0:
                marks.append(state)
            state = advance(stepper, course, t, state, latest)
            energies[t] = state[0].double().square().sum(-1)
            fine[t] = torch.stack([torch.isfinite(part).all(-1) for part in state]).all(0)
    bad = ~fine.cpu() & (torch.arange(course.steps)[:, None] >= course.begins[None])
    broken = torch.where(bad.any(0), bad.int().argmax(0), -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(energies.cpu().numpy())
    return Walk(size, marks, logs, broken)


def carried_back(stepper: Stepper, course: Course, walked: Walk, cotangents: int, seed: int = 0) -> Floats:
    """Log of ||dL/dh_{T-k}||^2 relative to k = 0, (cotangents * sequences, steps + 1); NaN before the steps that count.

    L = <v, output of the last step>, v standard normal, one for each cotangent and sequence.
    """
    device, dtype = course.inputs.device, course.start[0].dtype
    draws = stream(seed, "cotangents", stepper.out).standard_normal((cotangents, course.sequences, stepper.out))
    logs = torch.full((cotangents, course.steps + 1, course.sequences), math.nan, dtype=torch.float64)
    v, base = [], []
    for draw in draws:
        with torch.no_grad(), course.precision.again():
            one = stepper.cotangent(torch.from_numpy(draw).to(device, dtype), course.inputs[-1])
        one, log = _evened(tuple(part.to(dtype) for part in one))
        v.append(one)
        base.append(torch.where(torch.isneginf(log), log, 0.0))  # of a readout of zeros nothing is left from the start
    sweep = _Sweep(stepper, course, logs, v, base)
    for c in range(cotangents):
        logs[c, -1] = base[c].cpu()
    for number in reversed(range(len(walked.marks))):
        if not sweep.alive():
            logs[:, : number * walked.every + 1] = -math.inf
            break
        low = number * walked.every
        sweep.back(low, min(low + walked.every, course.steps), walked.marks[number])
    lags = logs.flip(1)
    unknown = torch.arange(course.steps + 1)[:, None] > course.counted[None]
    lags[:, unknown] = math.nan
    return np.asarray(lags.permute(0, 2, 1).reshape(-1, course.steps + 1).numpy())


class _Sweep:
    """The gradients on their way back: v with entries of size one, and logs of what was divided out."""

    def __init__(self, stepper: Stepper, course: Course, logs: Tensor, v: list[State], base: list[Tensor]) -> None:
        self.stepper, self.course, self.logs, self.v, self.base = stepper, course, logs, v, base
        self.latest = int(course.begins.max())
        limits = torch.finfo(course.start[0].dtype)
        # Half of the exponents: the square root of the smallest number, and of the largest.
        self.window = 0.5 * min(-math.log(limits.tiny), math.log(limits.max))

    def alive(self) -> bool:
        """Whether any gradient is left."""
        return any(bool((one > -math.inf).any()) for one in self.base)

    def back(self, low: int, high: int, state: State) -> None:
        """Carry the gradients from after step `high` - 1 to before step `low`, where the state is given."""
        found = self._through(low, high, state)
        if found is None:
            middle = (low + high) // 2
            between = self._ahead(low, middle, state)
            self.back(middle, high, between)
            self.back(low, middle, state)
            return
        for c, (energies, gradients) in enumerate(found):
            self.logs[c, low:high] = (energies + self.base[c]).cpu()
            self.v[c], _ = _evened(gradients)
            self.base[c] = self.base[c] + energies[0]

    @torch.no_grad()
    def _ahead(self, low: int, high: int, state: State) -> State:
        with self.course.precision.again():
            for t in range(low, high):
                state = advance(self.stepper, self.course, t, state, self.latest)
        return state

    def _through(self, low: int, high: int, state: State) -> list[tuple[Tensor, State]] | None:
        """For each cotangent logs of energies at all states of a chunk, and the gradient at the first; None: halve the chunk."""
        with torch.enable_grad(), self.course.precision.again():
            states = [tuple(part.detach().requires_grad_() for part in state)]
            for t in range(low, high):
                after = advance(self.stepper, self.course, t, states[-1], self.latest)
                # Tensors of their own, so that parts of one state do not count as functions of each other.
                states.append(tuple(part.view_as(part) for part in after))
        wanted = [part for one in states[:-1] for part in one]
        parts = len(state)
        ends = [i for i, part in enumerate(states[-1]) if part.requires_grad]
        found = []
        for c, v in enumerate(self.v):
            flat: list[Tensor | None] = [None] * len(wanted)
            if ends:
                flat = list(
                    torch.autograd.grad(
                        [states[-1][i] for i in ends],
                        wanted,
                        [v[i] for i in ends],
                        retain_graph=c + 1 < len(self.v),
                        allow_unused=True,
                    )
                )
            whole = [torch.zeros_like(a) if g is None else g for a, g in zip(wanted, flat, strict=True)]
            before = _log_energy(v)
            energies = torch.stack([_log_energy(tuple(whole[i : i + parts])) for i in range(0, len(whole), parts)])
            changes = energies - before
            living = before > -math.inf
            if high - low > 1 and not bool((changes.abs() < 2.0 * self.window)[:, living].all()):
                return None
            changes = torch.where(living, changes, -math.inf)
            found.append((changes, tuple(whole[:parts])))
        return found


def _log_energy(parts: State) -> Tensor:
    return torch.stack([part.double().square().sum(-1) for part in parts]).sum(0).log()


def _evened(parts: State) -> tuple[State, Tensor]:
    """Each sequence's gradient with entries of mean square one, and the log of its energy before; zeros stay."""
    log = _log_energy(parts)
    size = sum(part.shape[-1] for part in parts)
    factor = torch.where(torch.isfinite(log), torch.exp(0.5 * (math.log(size) - log)), 0.0)[:, None]
    return tuple((part.double() * factor).to(part.dtype) for part in parts), log
