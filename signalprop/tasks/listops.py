"""ListOps of the Long Range Arena: nested lists of digits under MIN, MAX, MED and SM; the answer is one of ten digits.

``[MAX 2 [MED 9 4 5 8 ] [SM 7 8 ] ]`` is 6. `generate` draws a benchmark of any size and length, `load` reads the published
files, `write` writes files like them.

Nangia and Bowman, arXiv:1804.06028; Tay et al., arXiv:2011.04006 (lengths, splits; generator
``lra_benchmarks/data/listops.py`` of google-research/long-range-arena).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import function_or_none, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop.tasks._grammar import CLASSES, VOCABULARY, Grammar, decode, encode, evaluate
from signalprop.tasks._trees import draw_chunk
from signalprop.tasks._tsv import read, write
from signalprop.tasks.task import Kind, Split, Task, guess, part_sizes

__all__ = ["VOCABULARY", "decode", "encode", "evaluate", "generate", "load", "write"]

PATIENCE = 200  # chunks in a row without a new expression
_TOKEN_SECONDS = 1e-7  # measured: 17 s for 100 000 expressions of up to 2000 tokens


def generate(
    *,
    train: int = 96_000,
    validation: int = 2_000,
    test: int = 2_000,
    min_length: int = 500,
    max_length: int = 2000,
    max_depth: int = 10,
    max_args: int = 10,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Task:
    r"""Draw ListOps expressions by the law of the published generator, with its numbers as defaults.

    A node of depth below `max_depth` (the root has depth 1) is an operator with probability 1/4, with 2 to `max_args` arguments
    and one of four operators, all uniform, and else a uniform digit. Expressions are kept if
    ``min_length < length < max_length``, both ends excluded as published, and if they are new. (The published code calls the
    1/4 ``VALUE_P``, but compares it so that it is the probability of an operator.)

    Parameters
    ----------
    train, validation, test
        Numbers of expressions, all different. The test part comes first in the stream and the training part last, so a longer
        training part begins with a shorter one and leaves the others as they are.
    min_length, max_length
        Window of lengths, in digits, operators and closing brackets. ``min_length=20, max_length=100`` makes a small task.
    max_depth, max_args
        Limits of the tree: operators nest at most ``max_depth - 1`` deep and take at most `max_args` arguments.
    seed
        Root seed; different grammars draw independent streams.
    progress
        Called with (expressions found, expressions wanted) from time to time.

    Returns
    -------
    Task
        Classification; inputs are positions in `VOCABULARY`, uint8 (examples, max_length - 1), padded on the right by 0.
        Classes are not balanced: 0 and 9 have about 17 % each in the published window (`Task.shares`).

    Raises
    ------
    ValueError
        A number out of range, a window that no expression fits into, or one with fewer different expressions than wanted.

    Notes
    -----
    About 8 % of the trees fit into the published window; its 100,000 expressions take about 20 s on one core, and 200 MB.

    Examples
    --------
    >>> task = generate(train=200, validation=0, test=50, min_length=5, max_length=30)
    >>> task.train.inputs.shape, task.classes, task.symbols
    ((200, 29), 10, 16)
    >>> text = decode(task.test.inputs[0])
    >>> evaluate(text) == task.test.targets[0]
    np.True_
    """
    grammar = Grammar.checked(max_depth, max_args, min_length, max_length)
    sizes = part_sizes(train, validation, test)[::-1]
    function_or_none(progress, "progress")
    root = whole_number(seed, "seed", 0)
    total = sum(sizes)
    width = grammar.max_length - 1
    refuse_beyond_bounds(
        f"ListOps with {total} expressions of up to {width} tokens",
        seconds=_TOKEN_SECONDS * float(total) * width,
        memory=float(total) * (width + 16.0),
        instead="Ask for fewer or shorter expressions.",
    )
    inputs = np.zeros((total, width), dtype=np.uint8)
    lengths, targets = np.empty(total, dtype=np.int64), np.empty(total, dtype=np.int64)
    columns = np.arange(width)
    found = 0
    for codes, size, value in _different(grammar, root):
        stop = min(len(size), total - found)
        rows = slice(found, found + stop)
        lengths[rows], targets[rows] = size[:stop], value[:stop]
        inputs[rows][columns < lengths[rows, None]] = codes[: size[:stop].sum()]
        found += stop
        if progress is not None:
            progress(found, total)
        if found == total:
            break
    else:
        raise ValueError(
            f"only {found} different expressions were found, but {total} are needed: lengths between {grammar.min_length} and "
            f"{grammar.max_length} at max_depth={grammar.max_depth}, max_args={grammar.max_args} are too rare; widen the window."
        )
    ends = np.cumsum(sizes)
    parts = [
        Split(inputs[end - size : end], targets[end - size : end], lengths[end - size : end])
        for size, end in zip(sizes, ends, strict=True)
    ]
    return _task(parts[2], parts[1] if sizes[1] else None, parts[0])


def load(directory: str | os.PathLike[str], *, name: str = "basic", verify: bool = False) -> Task:
    """Read ``basic_train.tsv``, ``basic_val.tsv`` and ``basic_test.tsv``, the published files or what `write` wrote.

    Parameters
    ----------
    directory
        The folder of the three files, ``listops-1000`` in the release of the Long Range Arena.
    name
        What the file names begin with.
    verify
        Work out the value of each expression and compare it with its target; a few times slower, a minute or so for the published
        files.

    Returns
    -------
    Task
        As by `generate`; as many steps as the longest expression of the three files has tokens.

    Raises
    ------
    FileNotFoundError
        A file is missing; the message has its whole path.
    ValueError
        Columns other than Source and Target, or a malformed row; the message has file and row, the header being row 1.

    Examples
    --------
    >>> load("no/such/folder")
    Traceback (most recent call last):
    FileNotFoundError: .../no/such/folder/basic_train.tsv is not there; give the folder that holds basic_train.tsv, ...
    """
    train, validation, test = read(directory, name, verify)
    return _task(train, validation if len(validation) else None, test)


def _different(grammar: Grammar, seed: int) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]]:
    """Codes, lengths and values of the expressions that equal no earlier one, chunk by chunk."""
    seen: set[bytes] = set()
    chunk = last_new = 0
    while chunk - last_new <= PATIENCE:
        drawn = draw_chunk(grammar, seed, chunk)
        chunk += 1
        ends = np.cumsum(drawn.lengths)
        texts = [drawn.codes[end - size : end].tobytes() for end, size in zip(ends, drawn.lengths, strict=True)]
        new = np.zeros(len(texts), dtype=bool)
        for i, text in enumerate(texts):
            if text not in seen:
                seen.add(text)
                new[i] = True
        if new.any():
            last_new = chunk
            yield drawn.codes[np.repeat(new, drawn.lengths)], drawn.lengths[new], drawn.values[new]


def _task(train: Split, validation: Split | None, test: Split) -> Task:
    chance, baseline = guess(train.targets.astype(np.int64), test.targets.astype(np.int64), CLASSES)
    low, high = int(train.lengths.min()), int(train.lengths.max())
    return Task(
        name="listops",
        description=f"ListOps, expressions of {low} to {high} tokens",
        kind=Kind.CLASSIFICATION,
        train=train,
        validation=validation,
        test=test,
        symbols=len(VOCABULARY),
        features=0,
        classes=CLASSES,
        chance=chance,
        baseline=baseline,
        vocabulary=VOCABULARY,
    )
