"""What the layers are trained on: adding, copy memory, sequential digits, and a cue that has to be kept through noise."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from signalprop._streams import stream
from signalprop.tasks import Split

BATCH, HELD_OUT, CHUNK = 32, 512, 32  # CHUNK: batches drawn at once
COPIED, SYMBOLS = 4, 4
CUES, CUE_STEPS = 4, 4
IMAGES = {"digits": (64, 1), "rows": (8, 8)}  # steps and features
UNIT = math.sqrt(12.0)  # a uniform number of [0, 1) has variance 1/12

Arrays = tuple[NDArray[np.float32], NDArray[np.generic]]


@dataclass(frozen=True)
class Task:
    """Inputs of `features` numbers per step; at the `answers` last steps `classes` are asked for, 0 for one number.

    `mean_square` is the sum over features of their mean square over the steps that have inputs, which says what random
    kernels add to the preactivations. All losses are relative to that of a guess, so a guess has 1.
    """

    name: str
    horizon: int
    features: int
    classes: int
    answers: int
    mean_square: float

    @property
    def outputs(self) -> int:
        """Numbers that the read-out gives."""
        return self.classes or 1

    @property
    def guess(self) -> float:
        """Loss of the best answer that ignores the inputs: log of the classes, or the variance of the target, which is 1."""
        return math.log(self.classes) if self.classes else 1.0

    def batches(self, seed: int) -> Iterator[Arrays]:
        """Training batches of a seed, (BATCH, T, features) and (BATCH, answers), without end; the same for every start."""
        if self.name in IMAGES:
            pixels, labels = digits(self.name, self.horizon)[0]
            draw = stream(seed, "cell trainings", "digits", "order")
            while True:
                rows = draw.integers(0, len(labels), BATCH)
                yield pixels[rows], labels[rows]
        chunk = 0
        while True:
            inputs, targets = self._drawn(seed, "train", chunk, CHUNK * BATCH)
            for first in range(0, CHUNK * BATCH, BATCH):
                yield inputs[first : first + BATCH], targets[first : first + BATCH]
            chunk += 1

    def held_out(self) -> Arrays:
        """Examples that no training sees, the same for all of them."""
        return digits(self.name, self.horizon)[1] if self.name in IMAGES else self._drawn(0, "held out", 0, HELD_OUT)

    def _drawn(self, seed: int, part: str, chunk: int, count: int) -> Arrays:
        rng = stream(seed, "cell trainings", self.name, self.horizon, part, chunk=chunk)
        return _DRAWS[self.name](rng, count, self.horizon)


def _adding(rng: np.random.Generator, count: int, horizon: int) -> Arrays:
    """As `signalprop.tasks.adding`, but numbers and targets have mean 0 and variance 1; marks are 1, else 0."""
    inputs = np.zeros((count, horizon, 2), dtype=np.float32)
    inputs[..., 0] = UNIT * (rng.random((count, horizon), dtype=np.float32) - 0.5)
    rows = np.arange(count)
    first, second = rng.integers(0, horizon // 2, count), rng.integers(horizon // 2, horizon, count)
    inputs[rows, first, 1] = inputs[rows, second, 1] = 1.0
    total = inputs[rows, first, 0] + inputs[rows, second, 0]
    return inputs, total[:, None] / np.float32(math.sqrt(2.0))


def _copy(rng: np.random.Generator, count: int, horizon: int) -> Arrays:
    """`COPIED` symbols, one-hot, then zeros but for a delimiter; the symbols are asked for at the last steps.

    Zeros and not the usual symbol for a blank: shown at every step it would be a constant drive, which makes tanh forget.
    """
    symbols = rng.integers(0, SYMBOLS, (count, COPIED))
    inputs = np.zeros((count, horizon, SYMBOLS + 1), dtype=np.float32)
    inputs[:, :COPIED] = np.eye(SYMBOLS + 1, dtype=np.float32)[symbols]
    inputs[:, -COPIED - 1, SYMBOLS] = 1.0
    return inputs, symbols


def _noise(rng: np.random.Generator, count: int, horizon: int) -> Arrays:
    """One of `CUES` classes, one-hot at the first `CUE_STEPS` steps, to be kept through unit Gaussian noise at every step."""
    cue = rng.integers(0, CUES, count)
    inputs = np.zeros((count, horizon, CUES + 1), dtype=np.float32)
    inputs[..., CUES] = rng.standard_normal((count, horizon), dtype=np.float32)
    inputs[np.arange(count), :CUE_STEPS, cue] = 1.0
    return inputs, cue[:, None]


_DRAWS = {"adding": _adding, "copy": _copy, "noise": _noise}


@cache
def digits(name: str, horizon: int) -> tuple[Arrays, Arrays]:
    """Training and test part of `signalprop.tasks.sequential_digits`, by pixels or by rows of eight, zeros up to the horizon."""
    from signalprop.tasks import sequential_digits

    steps, features = IMAGES[name]
    task = sequential_digits()

    def padded(part: Split) -> Arrays:
        pixels = np.asarray(part.inputs, dtype=np.float32).reshape(-1, steps, features)
        return np.pad(pixels, ((0, 0), (0, horizon - steps), (0, 0))), np.asarray(part.targets)[:, None]

    return padded(task.train), padded(task.test)


def task(name: str, horizon: int) -> Task:
    """A task by name and horizon T, its steps."""
    if name == "adding":
        return Task(name, horizon, 2, 0, 1, 1.0 + 2.0 / horizon)
    if name == "copy":
        return Task(name, horizon, SYMBOLS + 1, SYMBOLS, COPIED, 1.0)
    if name == "noise":
        return Task(name, horizon, CUES + 1, CUES, 1, 1.0 + CUE_STEPS / horizon)
    features = IMAGES[name][1]
    return Task(name, horizon, features, 10, 1, float(features))
