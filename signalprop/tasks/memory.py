"""Copy memory and the adding problem: what has to be kept, and for how many steps, is known exactly.

Hochreiter and Schmidhuber (1997), in the form of Arjovsky, Shah and Bengio, arXiv:1511.06464, sections 4.1 and 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import INT64_LIMIT, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop._streams import cell_key, chunk_sizes, generator
from signalprop.tasks.task import Kind, Split, Task, part_sizes

EXAMPLES = 1024  # of one chunk
_NUMBER_SECONDS = 5e-9  # measured, to draw and to copy


def copy_memory(
    blanks: int = 100,
    *,
    length: int = 10,
    symbols: int = 8,
    train: int = 10_000,
    validation: int = 0,
    test: int = 1_000,
    seed: int = 0,
) -> Task:
    r"""Copy memory: K symbols, a wait of T steps, then say the symbols again in order.

    Input: K uniform symbols 0..S-1, T - 1 blanks, one delimiter, K blanks; target: T + K blanks, then the K symbols. Without
    memory the best is to say blank and then to guess, with loss :math:`K \log S / (T + 2K)` per step.

    Parameters
    ----------
    blanks
        T, 1 or more.
    length, symbols
        K and S; 10 and 8 in the literature.
    train, validation, test
        Numbers of examples, of independent streams. A longer part begins with a shorter one.
    seed
        Root seed.

    Returns
    -------
    Task
        Tagging; inputs uint8 (examples, T + 2K), below S the symbols, S the blank, S + 1 the delimiter; targets below S + 1.
        Accuracy is judged at the last K steps, where a guess gets 1/S.

    Examples
    --------
    >>> task = copy_memory(4, length=3, train=1, test=1)
    >>> task.train.inputs[0], task.train.targets[0]
    (array([0, 6, 3, 8, 8, 8, 9, 8, 8, 8], dtype=uint8), array([8, 8, 8, 8, 8, 8, 8, 0, 6, 3]))
    >>> round(task.baseline, 3)         # 3 log 8 / 10
    0.624
    """
    wait, kept = (whole_number(value, name, 1, INT64_LIMIT) for value, name in ((blanks, "blanks"), (length, "length")))
    alphabet = whole_number(symbols, "symbols", 2, 254)
    blank, delimiter = alphabet, alphabet + 1
    steps = wait + 2 * kept
    sizes = part_sizes(train, validation, test)
    _refuse_impossible("copy", 9 * steps, steps, sizes)

    def draw(rng: np.random.Generator) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
        said = rng.integers(0, alphabet, size=(EXAMPLES, kept))
        inputs = np.full((EXAMPLES, steps), blank, dtype=np.uint8)
        inputs[:, :kept] = said
        inputs[:, kept + wait - 1] = delimiter
        targets = np.full((EXAMPLES, steps), blank, dtype=np.int64)
        targets[:, -kept:] = said
        return inputs, targets

    train_part, validation_part, test_part = _parts(draw, ("copy", wait, kept, alphabet), sizes, seed)
    return Task(
        name="copy",
        description=f"copy memory, {kept} of {alphabet} symbols after {wait} steps",
        kind=Kind.TAGGING,
        train=train_part,
        validation=validation_part if len(validation_part) else None,
        test=test_part,
        symbols=alphabet + 2,
        features=0,
        classes=alphabet + 1,
        chance=1.0 / alphabet,
        baseline=kept * math.log(alphabet) / steps,
        answers=kept,
    )


def adding(steps: int = 100, *, train: int = 10_000, validation: int = 0, test: int = 1_000, seed: int = 0) -> Task:
    """The adding problem: the sum of the two marked numbers of a sequence.

    Feature 0 is uniform in [0, 1); feature 1 is 1 at one step of the first half and one of the second, both uniform, and else 0.
    Always answering 1, the mean, has the loss 1/6, twice the variance of a uniform number.

    Parameters
    ----------
    steps
        Length of the sequence, 2 or more.
    train, validation, test
        Numbers of examples, of independent streams. A longer part begins with a shorter one.
    seed
        Root seed.

    Returns
    -------
    Task
        Regression; inputs float32 (examples, steps, 2).

    Examples
    --------
    >>> task = adding(4, train=1, test=1)
    >>> task.train.inputs[0, :, 1]
    array([1., 0., 0., 1.], dtype=float32)
    >>> task.train.targets[0] == task.train.inputs[0, [0, 3], 0].sum()
    np.True_
    """
    length, sizes = whole_number(steps, "steps", 2, INT64_LIMIT), part_sizes(train, validation, test)
    _refuse_impossible("adding", 8 * length, length, sizes)

    def draw(rng: np.random.Generator) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
        inputs = np.zeros((EXAMPLES, length, 2), dtype=np.float32)
        inputs[..., 0] = rng.random((EXAMPLES, length), dtype=np.float32)
        rows = np.arange(EXAMPLES)
        first = rng.integers(0, length // 2, size=EXAMPLES)
        second = rng.integers(length // 2, length, size=EXAMPLES)
        inputs[rows, first, 1] = inputs[rows, second, 1] = 1.0
        return inputs, inputs[rows, first, 0] + inputs[rows, second, 0]

    train_part, validation_part, test_part = _parts(draw, ("adding", length), sizes, seed)
    return Task(
        name="adding",
        description=f"adding problem, {length} steps",
        kind=Kind.REGRESSION,
        train=train_part,
        validation=validation_part if len(validation_part) else None,
        test=test_part,
        symbols=0,
        features=2,
        classes=0,
        chance=None,
        baseline=1.0 / 6.0,
    )


def _refuse_impossible(name: str, size: int, steps: int, sizes: tuple[int, int, int]) -> None:
    """Refuse data of `size` bytes per example that do not fit, twice while they are put together."""
    examples = float(max(EXAMPLES, sum(sizes)))
    refuse_beyond_bounds(
        f"The task {name} with {sum(sizes)} examples of {steps} steps",
        seconds=_NUMBER_SECONDS * examples * steps,
        memory=2.0 * examples * size,
        instead="Ask for fewer examples or steps.",
    )


def _parts(
    draw: Callable[[np.random.Generator], tuple[NDArray[np.generic], NDArray[np.generic]]],
    facts: tuple[object, ...],
    sizes: tuple[int, int, int],
    seed: int,
) -> tuple[Split, Split, Split]:
    """Training, validation and test part, each of its own stream."""
    root = whole_number(seed, "seed", 0)
    train, validation, test = (
        _part(draw, root, cell_key(*facts, name), count)
        for name, count in zip(("train", "validation", "test"), sizes, strict=True)
    )
    return train, validation, test


def _part(
    draw: Callable[[np.random.Generator], tuple[NDArray[np.generic], NDArray[np.generic]]],
    seed: int,
    cell: int,
    count: int,
) -> Split:
    chunks = [draw(generator(seed, cell, chunk)) for chunk in range(max(1, len(chunk_sizes(count, EXAMPLES))))]
    inputs, targets = (np.concatenate(arrays)[:count] for arrays in zip(*chunks, strict=True))
    return Split(inputs, targets, np.full(count, inputs.shape[1], dtype=np.int64))
