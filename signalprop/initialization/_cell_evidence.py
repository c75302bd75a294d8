"""What trainings of recurrent cells showed, start by start: the numbers that the advice, the guide and a figure quote.

``python -m benchmarks.cell_trainings`` of the repository trains and writes ``cell_trainings.json`` beside this file. Groups are
there once every start of theirs is trained. Nothing is said about what was not trained.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from signalprop._files import our_own

NAME = "cell_trainings.json"
TASKS = {
    "adding": "adding problem",
    "copy": "copy memory",
    "digits": "digits, pixel by pixel",
    "noise": "a cue kept through noise",
    "rows": "digits, row by row",
}
"""Of each task, what it is called."""

_KERNELS = {
    "default": "PyTorch's default",
    "gaussian": "Gaussian, g = 1",
    "quantile": "Gaussian, quantile scale",
    "critical": "Gaussian, χ = 1",
    "orthogonal critical": "orthogonal, χ = 1",
    "he": "Gaussian, g = √2",
    "orthogonal": "orthogonal",
    "identity": "identity",
    "leaky": "near identity",
    "chrono": "default, chrono biases",
    "gaussian chrono": "Gaussian, chrono biases",
    "orthogonal chrono": "orthogonal, chrono biases",
    "one": "default, gate bias 1",
    "log": "default, gate bias log T",
}


def in_words(start: str) -> str:
    """What a start of the trainings is.

    "wide" is an input kernel that adds 1 to the preactivations, others are PyTorch's; near the identity is 0.9 I + 0.1 G with
    Gaussian G.
    """
    kernel = start.removesuffix(" wide")
    return _KERNELS[kernel] + (", inputs add 1" if kernel != start else "")


class Loss(NamedTuple):
    """A mean over seeds, and its 95 % t interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class StartEvidence:
    """The trainings from one start.

    Attributes
    ----------
    start
        Its name.
    frozen
        Whether the recurrent kernel was left as it started: a control.
    loss
        Held out, at the end, relative to that of a guess.
    seed_losses
        Of each seed, the same seeds in the same order for all starts of a group; a diverged training counts as 10.
    diverged
        Share of the trainings.
    accuracy
        Mean, held out; None where a number is asked for.
    learning_rate
        Of all parameters, chosen on other seeds.
    interior
        Whether both neighbours of that rate were trained to the end, and were worse.
    scale
        Factor on the recurrent kernel.
    verdict
        Against the best start whose kernel is trained, paired by seed: ``"best"``, ``"worse"``, or ``"tied"``, where the interval
        of the difference holds 0; of frozen kernels also ``"better"``. The intervals hold for all starts of a group at once
        (95 %, Bonferroni). The best is chosen on the same seeds, so its lead is a little too large.
    """

    start: str
    frozen: bool
    loss: Loss
    seed_losses: tuple[float, ...]
    diverged: float
    accuracy: float | None
    learning_rate: float
    interior: bool
    scale: float
    verdict: str


@dataclass(frozen=True)
class GroupEvidence:
    """All starts of a cell on one task at one horizon, trained under the same conditions.

    Attributes
    ----------
    cell, task, horizon, width, steps, seeds
        What was trained: T steps of a sequence, n units, training steps, trainings reported per start.
    guess
        The loss of an answer that ignores the inputs, in the unit of all losses here: 1.
    starts
        Best first.
    """

    cell: str
    task: str
    horizon: int
    width: int
    steps: int
    seeds: int
    guess: float
    starts: tuple[StartEvidence, ...]

    @property
    def trained(self) -> dict[str, StartEvidence]:
        """The starts with everything trained, best first."""
        return {one.start: one for one in self.starts if not one.frozen}

    @property
    def losses(self) -> dict[str, Loss]:
        """Their losses."""
        return {name: one.loss for name, one in self.trained.items()}

    @property
    def rates(self) -> dict[str, float]:
        """Their learning rates."""
        return {name: one.learning_rate for name, one in self.trained.items()}

    @property
    def best(self) -> str:
        """The start with the smallest mean loss."""
        return next(iter(self.trained))

    @property
    def tied(self) -> tuple[str, ...]:
        """The starts that are not significantly worse than the best, which is not among them."""
        return tuple(name for name, one in self.trained.items() if one.verdict == "tied")

    @property
    def frozen(self) -> dict[str, float]:
        """Mean losses of the best starts with their recurrent kernel left as it started."""
        return {one.start: one.loss.mean for one in self.starts if one.frozen}

    @property
    def learned(self) -> bool:
        """Whether the best start did better than a guess beyond its interval."""
        return self.losses[self.best].high < self.guess


def evidence(cell: str | None = None) -> list[GroupEvidence]:
    """The groups that were trained, of one cell or of all: in the order in which they were planned.

    Parameters
    ----------
    cell
        ``"tanh"``, ``"relu"``, ``"gru"``, ``"lstm"`` or ``"linear"``. Of other cells nothing was trained: an empty list.

    Raises
    ------
    ValueError
        The file, which comes with the package, is damaged.

    Examples
    --------
    >>> group = evidence("tanh")[0]
    >>> group.task, group.horizon, group.width, group.steps, group.seeds
    ('adding', 64, 64, 1000, 6)
    >>> group.losses[group.best].mean < 0.5 * group.losses["default"].mean
    True
    """
    return [group for group in _groups() if cell is None or group.cell == cell]


def origin() -> dict[str, Any]:
    """Settings, versions and machine of the trainings."""
    return {name: value for name, value in _read().items() if name != "groups"}


@cache
def _groups() -> tuple[GroupEvidence, ...]:
    found = _read()["groups"]
    with our_own(NAME):
        return tuple(GroupEvidence(**one | {"starts": tuple(map(_start, one["starts"]))}) for one in found)


def _start(row: dict[str, Any]) -> StartEvidence:
    return StartEvidence(**row | {"loss": Loss(*row["loss"]), "seed_losses": tuple(row["seed_losses"])})


def _read() -> dict[str, Any]:
    path = resources.files(__package__) / NAME
    with our_own(path):
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found
