"""Sequences of your own, from NumPy files: any task that `Task` can describe, without a line of code."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import INT64_LIMIT, path_of, whole_number
from signalprop._files import require_regular
from signalprop._numbers import counted
from signalprop.tasks.task import ROWS, Kind, Split, Task, guess

PARTS = ("train", "validation", "test")
LARGEST_SYMBOL = 10**6  # without being asked for: an embedding has a row for each

Array = NDArray[np.generic]


def load_arrays(path: str | os.PathLike[str], *, symbols: int | None = None, classes: int | None = None) -> Task:
    r"""Sequences and what they should be mapped to, from one ``.npz`` file or a folder of ``.npy`` files.

    For each part, ``train``, ``test`` and, where there is one, ``validation``:

    ====================  =====================================================================  =============================
    name                  shape                                                                  holds
    ====================  =====================================================================  =============================
    ``train_inputs``      (samples, time) whole numbers from 0                                   symbols
    \                     (samples, time) or (samples, time, features), numbers                  features
    ``train_targets``     (samples,) whole numbers from 0                                        a class per sequence
    \                     (samples, time) whole numbers from 0                                   a class per step
    \                     (samples,) numbers                                                     a number per sequence
    ``train_lengths``     (samples,) whole numbers from 1 to time; left out: all of them         steps before the padding
    ====================  =====================================================================  =============================

    The types decide what is asked: whole-number targets are classes, floating-point ones a regression. Padding stands on the
    right, may hold anything, and changes nothing. Whole numbers in three dimensions are features.

    Parameters
    ----------
    path
        File or folder. Arrays of a folder, and those of an ``.npz`` written by `numpy.savez`, are mapped into memory and read
        as they are needed; a compressed ``.npz`` is unpacked into memory once.
    symbols, classes
        How many there are; the largest number found plus one where they are left out.

    Returns
    -------
    Task
        `Task.baseline` is the loss of always answering the class shares (for a regression, the mean) of the training part.

    Raises
    ------
    FileNotFoundError
        Nothing at `path`.
    ValueError
        An array that is missing, unknown, of another shape or type, or holds NaN, infinities or numbers out of range; the
        message has file, name and value.

    Examples
    --------
    >>> import tempfile
    >>> rng = np.random.default_rng(0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part, size in (("train", 60), ("test", 20)):
    ...         inputs = rng.normal(size=(size, 30, 2)).astype(np.float32)
    ...         np.save(f"{folder}/{part}_inputs.npy", inputs)
    ...         np.save(f"{folder}/{part}_targets.npy", (inputs[:, 0, 0] > 0).astype(int))
    ...     task = load_arrays(folder)
    >>> task.kind.value, task.features, task.classes, task.steps
    ('classification', 2, 2, 30)
    """
    where = path_of(path, "path")
    arrays = _open(where)
    known = [f"{part}_{what}" for part in PARTS for what in ("inputs", "targets", "lengths")]
    for name in arrays:
        if name not in known:
            raise ValueError(f"{where} has an array {name!r}; the names read are {', '.join(known)}.")
    parts = {part: _part(where, part, arrays) for part in PARTS if part != "validation" or _mentioned(part, arrays)}
    train, test = parts["train"], parts["test"]
    first = f"{where}, train_targets"
    if train.targets.dtype.kind == "f":
        kind, count = Kind.REGRESSION, 0
    else:
        kind = Kind.TAGGING if train.targets.ndim == 2 else Kind.CLASSIFICATION
        count = _count(classes, "classes", "targets", parts, where)
    if classes is not None and kind is Kind.REGRESSION:
        raise ValueError(
            f"{first} are floating-point numbers, a regression: leave out classes, got classes={classes!r}."
        )
    for name, part in parts.items():
        if (part.targets.dtype.kind == "f", part.targets.ndim) != (kind is Kind.REGRESSION, train.targets.ndim):
            raise ValueError(
                f"{where}, {name}_targets must be like train_targets, {train.targets.dtype} in "
                f"{counted(train.targets.ndim, 'dimension')}, got {part.targets.dtype} in {part.targets.ndim}."
            )
        if part.inputs.shape[1:] != train.inputs.shape[1:] or part.inputs.ndim != train.inputs.ndim:
            raise ValueError(
                f"{where}, {name}_inputs must have the shape of train_inputs but for the samples, (.., "
                f"{', '.join(map(str, train.inputs.shape[1:]))}), got {part.inputs.shape}."
            )
    tokens = 0
    if train.inputs.ndim == 2:
        tokens = _count(symbols, "symbols", "inputs", parts, where)
    elif symbols is not None:
        raise ValueError(f"{where}, train_inputs are features: leave out symbols, got symbols={symbols!r}.")
    chance, baseline = _guess(kind, train, test, count)
    return Task(
        name="arrays",
        description=f"{where.name}, {len(train)} sequences of up to {counted(train.steps, 'step')}",
        kind=kind,
        train=train,
        validation=parts.get("validation"),
        test=test,
        symbols=tokens,
        features=0 if tokens else train.inputs.shape[2],
        classes=count,
        chance=chance,
        baseline=baseline,
        answers=train.steps if kind is Kind.TAGGING else 1,
    )


def _open(where: Path) -> dict[str, Array]:
    """The arrays of a file or a folder by name, mapped where that is possible."""
    if not where.exists():
        raise FileNotFoundError(f"{where.absolute()} is not there; give an .npz file or a folder of .npy files.")
    if where.is_dir():
        return {path.stem: _mapped(path) for path in sorted(where.glob("*.npy"))}
    require_regular(where)
    try:
        with zipfile.ZipFile(where) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        raise ValueError(f"{where} is not an .npz file ({error}); numpy.savez writes one.") from None
    found = {}
    for member in members:
        name = member.filename.removesuffix(".npy")
        found[name] = _stored(where, member) if member.compress_type == zipfile.ZIP_STORED else _unpacked(where, name)
    return found


def _mapped(path: Path) -> Array:
    require_regular(path)
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} is not an array of numbers: {_sentence(error)}") from None


def _unpacked(where: Path, name: str) -> Array:
    try:
        with np.load(where, allow_pickle=False) as archive:
            return np.asarray(archive[name])
    except Exception as error:  # zlib, zip and NumPy raise what they like for damaged files
        raise ValueError(f"{where}, {name} is not an array of numbers: {_sentence(error)}") from None


def _stored(where: Path, member: zipfile.ZipInfo) -> Array:
    """An array that stands in the archive as it is: mapped, not copied."""
    name = member.filename.removesuffix(".npy")
    try:
        with where.open("rb") as file, zipfile.ZipFile(file) as archive, archive.open(member) as entry:
            version = np.lib.format.read_magic(entry)
            read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}.get(version[0])
            if read is None:
                return _unpacked(where, name)
            shape, fortran, dtype = read(entry)
            start = entry.tell()
            # Behind the local header, whose two last lengths differ from those of the directory of the archive.
            file.seek(member.header_offset + 26)
            offset = member.header_offset + 30 + sum(np.frombuffer(file.read(4), "<u2").tolist()) + start
        if dtype.hasobject:
            raise ValueError("it holds Python objects.")
        if member.file_size - start != dtype.itemsize * int(np.prod(shape, dtype=object)):
            raise ValueError("its size is not that of its shape.")
        if 0 in shape or not shape:
            return _unpacked(where, name)
        order: Literal["F", "C"] = "F" if fortran else "C"
        return np.asarray(np.memmap(where, dtype=dtype, mode="r", offset=offset, shape=shape, order=order))
    except (ValueError, OSError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{where}, {name} is not an array of numbers: {_sentence(error)}") from None


def _part(where: Path, part: str, arrays: dict[str, Array]) -> Split:
    """One part, its shapes and numbers checked."""
    for what in ("inputs", "targets"):
        if f"{part}_{what}" not in arrays:
            there = ", ".join(arrays) or "no array at all"
            raise ValueError(f"{where} lacks {part}_{what}; it has {there}.")
    inputs, targets = arrays[f"{part}_inputs"], arrays[f"{part}_targets"]
    for what, array, dimensions in (("inputs", inputs, (2, 3)), ("targets", targets, (1, 2))):
        if array.dtype.kind not in "iuf":
            raise ValueError(f"{where}, {part}_{what} must be whole or floating-point numbers, got type {array.dtype}.")
        if array.ndim not in dimensions or 0 in array.shape:
            shapes = (
                "(samples, time) or (samples, time, features)" if what == "inputs" else "(samples,) or (samples, time)"
            )
            raise ValueError(f"{where}, {part}_{what} must have shape {shapes} and no side 0, got {array.shape}.")
    if targets.dtype.kind == "f" and targets.ndim == 2:
        raise ValueError(
            f"{where}, {part}_targets in two dimensions are classes, whole numbers, got type {targets.dtype}."
        )
    if targets.ndim == 2 and targets.shape != inputs.shape[:2]:
        raise ValueError(
            f"{where}, {part}_targets must have one class per step, {inputs.shape[:2]}, or per sequence, {inputs.shape[:1]}, "
            f"got {targets.shape}."
        )
    if inputs.ndim == 2 and inputs.dtype.kind == "f":
        inputs = inputs[..., None]
    lengths = arrays.get(f"{part}_lengths")
    if lengths is None:
        lengths = np.full(len(inputs), inputs.shape[1], dtype=np.int64)
    elif lengths.dtype.kind not in "iu" or lengths.ndim != 1:
        raise ValueError(
            f"{where}, {part}_lengths must be whole numbers (samples,), got {lengths.dtype} of shape {lengths.shape}."
        )
    if len(lengths) and not 1 <= lengths.min() <= lengths.max() <= inputs.shape[1]:
        raise ValueError(
            f"{where}, {part}_lengths must be between 1 and the number of steps, {inputs.shape[1]}, got {lengths.min()} to "
            f"{lengths.max()}."
        )
    try:
        split = Split(inputs, targets, lengths.astype(np.int64))
    except ValueError as error:
        raise ValueError(f"{where}, {part}_{error}") from None
    for what, array in (("inputs", inputs), ("targets", targets)):
        if array.dtype.kind != "f" and array.ndim < 3:  # symbols or classes
            least = _extreme(array, split.lengths, min, 0)
            if least < 0:
                raise ValueError(f"{where}, {part}_{what} must be whole numbers from 0, got {least}.")
    return split


def _count(given: Any, what: str, side: str, parts: dict[str, Split], where: Path) -> int:
    """How many symbols or classes: as given, or the largest number before the padding plus one."""
    largest = max(_largest(getattr(part, side), part.lengths) for part in parts.values())
    if given is not None:
        count = whole_number(given, what, 1, INT64_LIMIT)
        if count <= largest:
            raise ValueError(
                f"{what} must be at least {largest + 1}, as {where} has {side} up to {largest}, got {count}."
            )
        return count
    if largest >= LARGEST_SYMBOL:
        raise ValueError(
            f"{where} has numbers up to {largest}, which would be {largest + 1} {what}; number them from 0, or say "
            f"{what}={largest + 1}."
        )
    return largest + 1


def _largest(array: Array, lengths: NDArray[np.int64]) -> int:
    return _extreme(array, lengths, max, 0)


def _extreme(array: Array, lengths: NDArray[np.int64], most: Callable[[int, int], int], found: int) -> int:
    """The smallest or largest of `found` and the whole numbers before the padding."""
    for start in range(0, len(array), ROWS):
        rows = array[start : start + ROWS]
        if array.ndim == 2:
            rows = rows[np.arange(array.shape[1]) < lengths[start : start + ROWS, None]]
        found = most(found, int(rows.min() if most is min else rows.max()))
    return found


def _guess(kind: Kind, train: Split, test: Split, classes: int) -> tuple[float | None, float]:
    if kind is Kind.REGRESSION:
        mean = train.targets.astype(np.float64).mean()
        return None, float(np.mean((test.targets.astype(np.float64) - mean) ** 2))
    seen, asked = (
        (part.targets[part.mask] if kind is Kind.TAGGING else part.targets[:]).astype(np.int64)
        for part in (train, test)
    )
    return guess(seen, asked, classes)


def _mentioned(part: str, arrays: dict[str, Array]) -> bool:
    return any(name.startswith(f"{part}_") for name in arrays)


def _sentence(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".") + "."
