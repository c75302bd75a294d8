"""What every task looks like to a training command: arrays, what is asked of them, and what a guess gets.

=================  ========================  =====================================  ==============================
kind               targets                   loss                                   what `Task.baseline` assumes
=================  ========================  =====================================  ==============================
classification     (examples,) whole         cross-entropy in nats                  the shares of the training part
tagging            (examples, steps) whole   cross-entropy, mean over all steps     the best guess without memory
regression         (examples,) numbers       mean squared error                     the mean
=================  ========================  =====================================  ==============================

Padding does not count: no mean, share or accuracy sees it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import INT64_LIMIT, finite_number, instance_of, listed, shown, text_of, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop.fields import member

ROWS = 4096  # looked at in one go, so that arrays mapped from a file are not read into memory
_CLASS_SECONDS, _CLASS_BYTES = 5e-8, 40.0  # of counts, shares and their logs


class Kind(StrEnum):
    """What is asked: one class per sequence, one class per step, or one number per sequence."""

    CLASSIFICATION = "classification"
    TAGGING = "tagging"
    REGRESSION = "regression"


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One part of a task; examples are rows.

    Attributes
    ----------
    inputs
        Symbols as whole numbers (examples, steps), or numbers (examples, steps, features).
    targets
        Classes as whole numbers (examples,), for tagging (examples, steps); numbers (examples,) for regression.
    lengths
        int64 (examples,): the steps an example has; what comes after them is padding, on the right.

    Raises
    ------
    ValueError
        Anything but arrays of numbers, shapes or lengths that do not fit, or a number before the padding that is not finite in
        float32.
    """

    inputs: NDArray[np.generic]
    targets: NDArray[np.generic]
    lengths: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name in ("inputs", "targets", "lengths"):
            part = getattr(self, name)
            if (
                not isinstance(part, np.ndarray)
                or part.ndim == 0
                or part.dtype.kind not in "iuf"
                or np.ma.is_masked(part)
            ):
                raise ValueError(f"{name} must be an array of numbers without masked entries, got {shown(part)}.")
        if self.lengths.ndim != 1 or self.lengths.dtype.kind == "f":
            raise ValueError(f"lengths must be a row of whole numbers, got {shown(self.lengths)}.")
        if self.inputs.ndim not in (2, 3):
            raise ValueError(
                f"inputs must be (examples, steps) or (examples, steps, features), got shape {self.inputs.shape}."
            )
        if not len(self.inputs) == len(self.targets) == len(self.lengths):
            raise ValueError(
                f"inputs, targets and lengths must have one row per example, got {len(self.inputs)}, {len(self.targets)} and "
                f"{len(self.lengths)}."
            )
        if len(self.lengths) and not 1 <= self.lengths.min() <= self.lengths.max() <= self.steps:
            raise ValueError(
                f"lengths must be between 1 and the number of steps, {self.steps}, got {self.lengths.min()} to "
                f"{self.lengths.max()}."
            )
        object.__setattr__(self, "lengths", self.lengths.astype(np.int64, copy=False))
        for name in ("inputs", "targets"):
            _finite(getattr(self, name), self.lengths, name)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def steps(self) -> int:
        """Steps of the longest example there may be."""
        return int(self.inputs.shape[1])

    @property
    def mask(self) -> NDArray[np.bool_]:
        """True where there is an input and not padding, (examples, steps)."""
        mask: NDArray[np.bool_] = np.arange(self.steps) < self.lengths[:, None]
        return mask


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Training, validation and test part of a task, and what a guess gets on the test part.

    Attributes
    ----------
    name, description
        For tables and messages.
    kind
        What is asked; see the table of this module.
    train, validation, test
        The parts; `validation` is None where none was asked for.
    symbols
        Inputs are whole numbers below this; 0 where they are numbers.
    features
        Columns of the inputs; 0 where they are symbols.
    classes
        Targets are whole numbers below this; 0 for regression.
    chance
        Accuracy of a guess over the last `answers` steps of the test part; None for regression.
    baseline
        Loss of a guess on the test part: a model that has learnt anything is below it.
    answers
        Number of last steps at which an answer is judged: 1 but for tagging.
    vocabulary
        Names of the symbols, if they have any.

    Raises
    ------
    ValueError
        A value of the wrong type, or parts and numbers that do not fit each other.
    """

    name: str
    description: str
    kind: Kind
    train: Split
    validation: Split | None
    test: Split
    symbols: int
    features: int
    classes: int
    chance: float | None
    baseline: float
    answers: int = 1
    vocabulary: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        self._settle()
        if (self.symbols == 0) == (self.features == 0):
            raise ValueError(
                f"a task has either symbols or features as inputs, got symbols={self.symbols} and features={self.features}."
            )
        if (self.classes == 0) != (self.kind is Kind.REGRESSION):
            raise ValueError(
                f"a task has classes unless it is a regression, got classes={self.classes} and kind={self.kind}."
            )
        for name, part in self.parts.items():
            if not len(part) or not part.steps:
                raise ValueError(
                    f"the {name} part needs at least one example of one step, got shape {part.inputs.shape}."
                )
            self._check(part)
        whole_number(self.answers, "answers", 1, self.steps, "There are no more steps.")

    @property
    def parts(self) -> dict[str, Split]:
        """The parts there are, by name."""
        named = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: part for name, part in named.items() if part is not None}

    @property
    def steps(self) -> int:
        """Steps of the longest example there may be."""
        return self.train.steps

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of each class among the targets of the training part; empty for regression."""
        targets = self.train.targets
        return class_shares(targets[self.train.mask] if self.kind is Kind.TAGGING else targets, self.classes)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that a training sees: the kind, the sizes and the arrays of every part, padding included."""
        digest = hashlib.sha256(
            repr((self.kind.value, self.symbols, self.features, self.classes, self.answers)).encode()
        )
        for name, part in self.parts.items():
            for array in (part.inputs, part.targets, part.lengths):
                digest.update(repr((name, array.shape, array.dtype.str)).encode())
                for start in range(0, len(array), ROWS):
                    digest.update(np.ascontiguousarray(array[start : start + ROWS]).data)
        return digest.hexdigest()

    def _settle(self) -> None:
        """Every field as it is declared, each looked at alone."""
        found: dict[str, Any] = {name: text_of(getattr(self, name), name) for name in ("name", "description")}
        found["kind"] = member(Kind, self.kind, "kind")
        for name in ("train", "validation", "test"):
            if name != "validation" or self.validation is not None:
                instance_of(getattr(self, name), Split, name, "a signalprop.tasks.Split")
        for name in ("symbols", "features", "classes"):
            found[name] = whole_number(getattr(self, name), name, 0, INT64_LIMIT)
        found["answers"] = whole_number(self.answers, "answers", 1)
        if self.chance is not None:
            found["chance"] = finite_number(self.chance, "chance", "None or a number between 0 and 1")
            if not 0.0 <= found["chance"] <= 1.0:
                raise ValueError(f"chance must be None or a number between 0 and 1, got {shown(self.chance)}.")
        if (self.chance is None) != (found["kind"] is Kind.REGRESSION):
            raise ValueError(
                f"chance must be None for a regression and a number for classes, got {shown(self.chance)} and "
                f"kind={found['kind']}."
            )
        found["baseline"] = finite_number(self.baseline, "baseline")
        found["vocabulary"] = tuple(
            text_of(word, "vocabulary", "a list of texts") for word in listed(self.vocabulary, "vocabulary", "texts")
        )
        if found["vocabulary"] and len(found["vocabulary"]) != found["symbols"]:
            raise ValueError(
                f"vocabulary must have a name for each of the symbols, got {len(found['vocabulary'])} names and "
                f"symbols={found['symbols']}."
            )
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def _check(self, part: Split) -> None:
        if part.steps != self.steps:
            raise ValueError(f"all parts of a task have the same number of steps, got {self.steps} and {part.steps}.")
        wanted = (len(part), self.steps) if self.kind is Kind.TAGGING else (len(part),)
        if part.targets.shape != wanted:
            raise ValueError(f"targets of a {self.kind} must have shape {wanted}, got {part.targets.shape}.")
        if part.inputs.ndim == 3:
            if part.inputs.shape[2] != self.features:
                raise ValueError(f"inputs must have {self.features} features, got shape {part.inputs.shape}.")
        else:
            _below(part.inputs, self.symbols, "inputs", "symbols", part.lengths)
        if self.classes:
            _below(
                part.targets, self.classes, "targets", "classes", part.lengths if self.kind is Kind.TAGGING else None
            )


def class_shares(targets: NDArray[np.generic], classes: int) -> NDArray[np.float64]:
    """Share of each class among whole-number targets."""
    if not classes:
        return np.empty(0)
    _refuse_many(classes)
    return np.bincount(targets.ravel().astype(np.int64), minlength=classes) / targets.size


def guess(train: NDArray[np.int64], test: NDArray[np.int64], classes: int) -> tuple[float, float]:
    """Accuracy on `test` of always naming the class most frequent in `train`, and cross-entropy of naming its shares.

    Shares are those of ``counts + 1`` (Laplace), so that a class that `train` lacks costs something finite.
    """
    _refuse_many(classes)
    counts = np.bincount(train, minlength=classes)
    logs = np.log((counts + 1) / (counts.sum() + classes))
    return float(np.mean(test == counts.argmax())), float(-logs[test].mean())


def part_sizes(train: Any, validation: Any, test: Any) -> tuple[int, int, int]:
    """Numbers of examples of the parts; 0 means no validation part."""
    return (
        whole_number(train, "train", 1, INT64_LIMIT),
        whole_number(validation, "validation", 0, INT64_LIMIT),
        whole_number(test, "test", 1, INT64_LIMIT),
    )


def _refuse_many(classes: int) -> None:
    """Refuse classes whose shares do not fit."""
    refuse_beyond_bounds(
        f"The shares of classes={classes}",
        seconds=_CLASS_SECONDS * classes,
        memory=_CLASS_BYTES * classes,
        instead="Number the classes from 0, without gaps.",
    )


def _finite(array: NDArray[Any], lengths: NDArray[np.int64], name: str) -> None:
    """Refuse NaN, infinities and what is infinite in float32, padding left out."""
    if array.dtype.kind != "f":
        return
    for start in range(0, len(array), ROWS):
        with np.errstate(over="ignore", under="ignore"):
            broken = ~np.isfinite(array[start : start + ROWS].astype(np.float32))
        if array.ndim > 1:
            inside = np.arange(array.shape[1]) < lengths[start : start + ROWS, None]
            broken &= inside.reshape(*inside.shape, *(1,) * (array.ndim - 2))
        if broken.any():
            first, *rest = (int(each) for each in np.argwhere(broken)[0])
            place = (first + start, *rest)
            raise ValueError(f"{name} must be finite in float32, got {array[place]} at {place}.")


def _below(values: NDArray[np.generic], bound: int, name: str, what: str, lengths: NDArray[np.int64] | None) -> None:
    """Refuse whole numbers out of range, those of the padding left alone."""
    if values.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers, got type {values.dtype}.")
    for start in range(0, len(values), ROWS):
        rows = values[start : start + ROWS]
        if lengths is not None:
            rows = rows[np.arange(values.shape[1]) < lengths[start : start + ROWS, None]]
        if not 0 <= int(rows.min()) <= int(rows.max()) < bound:
            raise ValueError(
                f"{name} must be between 0 and {bound - 1} for {what}={bound}, got {rows.min()} to {rows.max()}."
            )
