"""Lyapunov exponents of a recurrence along the sequence that it was run over."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from signalprop.cells.lyapunov import LyapunovExponents, lyapunov
from signalprop.inspection.measured.steps import Course, State, Stepper, advance

Floats = NDArray[np.float64]
FEWEST = 40  # steps
MOST = 2000  # steps, the last ones
COUNT = 4  # exponents
_BATCHES = 20


def exponents(stepper: Stepper, course: Course, count: int = COUNT, most: int = MOST) -> LyapunovExponents | None:
    """The leading exponents along the longest sequence, over its last steps; None for one that is too short.

    A fifth of the steps, at most 200, is for the directions to turn.
    """
    one = course.only(int(course.counted.argmax()))
    steps = min(int(one.counted[0]), most)
    if steps < FEWEST:
        return None
    begin = one.steps - steps
    state = _state_at(stepper, one, begin)
    sizes = [part.shape[1] for part in state]

    def parts(flat: Floats) -> State:
        """Columns, or one vector, as rows of the parts of a state."""
        rows = torch.from_numpy(np.ascontiguousarray(flat.reshape(sum(sizes), -1).T)).to(state[0])
        return tuple(part for part in torch.split(rows, sizes, 1))

    def flat(found: State) -> Floats:
        return np.asarray(torch.cat([part.double() for part in found], 1).cpu().numpy())

    def step(h: Floats, t: Any) -> Floats:
        place = begin + int(t)
        with torch.no_grad(), one.precision.again():
            return np.asarray(flat(advance(stepper, one, place, parts(h), 0))[0])

    def jvp(h: Floats, t: Any, frame: Floats) -> Floats:
        with torch.no_grad(), one.precision.again():
            return flat(stepper.tangent(one.inputs[begin + int(t)], parts(h), parts(frame))).T

    burn_in = min(steps // 5, 200)
    return lyapunov(
        step,
        flat(state)[0],
        np.arange(steps),
        jvp=jvp,
        count=min(count, sum(sizes)),
        burn_in=burn_in,
        batches=min(_BATCHES, (steps - burn_in) // 4),
    )


@torch.no_grad()
def _state_at(stepper: Stepper, course: Course, step: int) -> State:
    state = course.start
    with course.precision.again():
        for t in range(step):
            state = advance(stepper, course, t, state, 0)
    return state
