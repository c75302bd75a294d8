"""A recurrence as a step, and the sequences that it was run over, set so that all end together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

State = tuple[Tensor, ...]
"""Parts of a state, each (sequences, numbers)."""


class Stepper(Protocol):
    """One layer and direction of a recurrence."""

    def step(self, x: Tensor, state: State, first: Tensor | None) -> State:
        """The next state from inputs (sequences, features); `first` marks sequences whose first step it is, None: no one's."""

    def tangent(self, x: Tensor, state: State, directions: State) -> State:
        """The derivative of the step of one sequence along directions (count, numbers)."""

    def cotangent(self, v: Tensor, x: Tensor) -> State:
        """The gradient of <v, output> with respect to the state of the last step, whose input is x; v is (sequences, out)."""

    @property
    def out(self) -> int:
        """Numbers of an output."""


@dataclass(frozen=True)
class Precision:
    """The automatic mixed precision that a module was called under."""

    device: str
    enabled: bool
    dtype: torch.dtype

    @classmethod
    def now(cls, device: str) -> Precision:
        """That of the moment."""
        if not torch.amp.is_autocast_available(device):
            return cls(device, False, torch.float32)
        return cls(device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))

    @contextmanager
    def again(self) -> Iterator[None]:
        """The same once more. Casts of weights are not kept: graphs of chunks come and go."""
        if not torch.amp.is_autocast_available(self.device):
            yield
            return
        with torch.autocast(self.device, dtype=self.dtype, enabled=self.enabled, cache_enabled=False):
            yield


@dataclass(frozen=True)
class Course:
    """Sequences that end together: a shorter one starts later, and its state waits at the start until then.

    Attributes
    ----------
    inputs
        (time, sequences, features), in the order in which the layer runs.
    start
        State before the first step.
    begins
        The step at which each sequence starts, (sequences,).
    counted
        Steps of each that are no padding, the last ones, (sequences,).
    precision
        Of the call.
    """

    inputs: Tensor
    start: State
    begins: Tensor
    counted: Tensor
    precision: Precision

    @property
    def steps(self) -> int:
        """Of the longest."""
        return len(self.inputs)

    @property
    def sequences(self) -> int:
        """Their number."""
        return len(self.begins)

    def only(self, sequence: int) -> Course:
        """One sequence, from where it starts."""
        begin = int(self.begins[sequence])
        one = slice(sequence, sequence + 1)
        return replace(
            self,
            inputs=self.inputs[begin:, one],
            start=tuple(part[one] for part in self.start),
            begins=self.begins[one] - begin,
            counted=self.counted[one],
        )

    def cut(self, keep: Tensor) -> Course:
        """Each sequence ends after so many of its steps, counted from where it begins; of those without any nothing is left."""
        some = keep > 0
        run = (self.steps - self.begins)[some]
        lost = run - keep[some]
        counted = self.counted[some] - lost
        steps = int(keep[some].max()) if bool(some.any()) else 0
        order = torch.arange(steps)[:, None] + (self.begins[some] - (steps - keep[some]))[None]
        columns = torch.nonzero(some)[:, 0][None].expand_as(order)
        return replace(
            self,
            inputs=self.inputs[order.clamp(min=0).to(self.inputs.device), columns.to(self.inputs.device)],
            start=tuple(part[some.to(part.device)] for part in self.start),
            begins=steps - keep[some],
            counted=counted.clamp(min=0),
        )


def course_of(
    inputs: Tensor,
    start: State,
    precision: Precision,
    *,
    runs: Tensor,
    counted: Tensor,
    ends: Tensor | None = None,
) -> Course:
    """Sequences side by side, set so that all end together.

    Parameters
    ----------
    inputs
        (time, sequences, features), in the order of time.
    start, precision
        As in `Course`.
    runs
        Steps that the layer makes up to the last one that counts, (sequences,).
    counted
        Those that count, the last of these.
    ends
        For a layer that runs back: the step of the data at which each starts, plus one. None for one that runs on.
    """
    steps = int(runs.max())
    made = torch.arange(steps)[:, None] - (steps - runs)[None]  # steps already made
    place = made.clamp(min=0) if ends is None else (ends[None] - 1 - made.clamp(min=0))
    columns = torch.arange(len(runs))[None].expand_as(place)
    arranged = inputs[place.to(inputs.device), columns.to(inputs.device)]
    return Course(arranged, start, steps - runs, counted, precision)


def advance(stepper: Stepper, course: Course, t: int, state: State, latest: int) -> State:
    """The states after step t; those that have not begun stay. `latest` is the step at which the last one begins."""
    first = (course.begins == t).to(course.inputs.device) if t <= latest else None
    after = stepper.step(course.inputs[t], state, first)
    after = tuple(new.to(old.dtype) for new, old in zip(after, state, strict=True))
    if t < latest:
        going = (course.begins <= t).to(course.inputs.device)[:, None]
        after = tuple(torch.where(going, new, old) for new, old in zip(after, state, strict=True))
    return after
