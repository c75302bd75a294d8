"""The published ListOps files: tab-separated Source and Target, one expression per row."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import flag, instance_of, path_of, shown, text_of
from signalprop._files import replacing, require_regular
from signalprop.tasks._grammar import CLASSES, DIGITS, VOCABULARY, decode, encode_one, pad, shortened, value_of
from signalprop.tasks.task import Kind, Split, Task

COLUMNS = ["Source", "Target"]
_LISTOPS = Kind.CLASSIFICATION, len(VOCABULARY), CLASSES
PARTS = {"train": "train", "validation": "val", "test": "test"}  # part -> end of the file name


def read(directory: str | os.PathLike[str], name: str, verify: bool) -> tuple[Split, Split, Split]:
    """Training, validation and test part, padded to one width."""
    verify, paths = flag(verify, "verify"), _paths(directory, name)
    for path in paths.values():
        if not path.exists():
            files = ", ".join(other.name for other in paths.values())
            raise FileNotFoundError(f"{path.absolute()} is not there; give the folder that holds {files}.")
        require_regular(path)
    rows = {part: _rows(path, verify) for part, path in paths.items()}
    width = max(len(codes) for part in rows.values() for codes in part[0])
    train, validation, test = (_split(*rows[part], width) for part in PARTS)
    return train, validation, test


def write(
    task: Task, directory: str | os.PathLike[str], *, name: str = "basic", parentheses: bool = True
) -> list[Path]:
    """Write the parts of a ListOps task as files that `load`, and programs for the published files, can read.

    Parameters
    ----------
    task
        What `generate` or `load` returned.
    directory
        A folder, made if it is not there; files of the same names are replaced.
    name
        What the file names begin with; the published ones begin with "basic".
    parentheses
        With the parentheses of the published files, which readers ignore.

    Returns
    -------
    list of Path
        The three files; that of a task without validation part has only the header.

    Raises
    ------
    ValueError
        A task other than ListOps; a name that no file name can begin with.
    """
    given = instance_of(task, Task, "task", "a ListOps task, as generate and load return it")
    if (given.kind, given.symbols, given.classes) != _LISTOPS:
        raise ValueError(
            f"task must be a ListOps task, as generate and load return it, got the task {shown(given.name)}."
        )
    parentheses, paths = flag(parentheses, "parentheses"), _paths(directory, name)
    Path(directory).mkdir(parents=True, exist_ok=True)
    for part, path in paths.items():
        split = task.parts.get(part)
        with replacing(path) as binary:
            file = io.TextIOWrapper(binary, encoding="ascii", newline="")
            rows = csv.writer(file, delimiter="\t")
            rows.writerow(COLUMNS)
            if split is not None:
                for tokens, target in zip(split.inputs, split.targets, strict=True):
                    rows.writerow([decode(tokens, parentheses=parentheses), int(target)])
            file.detach()  # which flushes it
    return list(paths.values())


def _paths(directory: str | os.PathLike[str], name: str) -> dict[str, Path]:
    start, folder = text_of(name, "name", "the beginning of a file name"), path_of(directory, "directory")
    if start != Path(start).name or not start.isprintable():
        raise ValueError(f"name must be the beginning of a file name, got {shown(start)}.")
    return {part: folder / f"{start}_{end}.tsv" for part, end in PARTS.items()}


def _rows(path: Path, verify: bool) -> tuple[list[NDArray[np.uint8]], list[int]]:
    """Codes and targets of one file."""
    codes, targets = [], []
    number = 0
    try:
        # A byte that is not text becomes a sign that is not a token, so its row is named. Cut at tabs here, because Python's
        # reader of CSV has a limit on the length of a field for the whole process.
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            for number, line in enumerate(file, 1):
                row = line.rstrip("\n").split("\t") if line.strip("\n") else []
                if number == 1:
                    if row != COLUMNS:
                        raise ValueError(
                            f"the columns must be {' and '.join(COLUMNS)}, got {shortened(', '.join(row))}."
                        )
                    continue
                tokens, target = _example(row, verify)
                codes.append(tokens)
                targets.append(target)
    except ValueError as error:
        raise ValueError(f"{path}, row {number}: {error}") from None
    if number == 0:
        raise ValueError(f"{path} is empty; its first row must be {' and '.join(COLUMNS)}, with a tab between them.")
    if not codes and not path.stem.endswith(PARTS["validation"]):
        raise ValueError(f"{path} has a header and no example.")
    return codes, targets


def _example(row: list[str], verify: bool) -> tuple[NDArray[np.uint8], int]:
    if len(row) != len(COLUMNS):
        raise ValueError(f"there must be two columns with a tab between them, got {len(row)}.")
    source, answer = row
    if answer not in DIGITS:
        raise ValueError(f"the target must be a digit, got {shortened(answer)}.")
    tokens = encode_one(source)
    if verify and (value := value_of(source)) != int(answer):
        raise ValueError(f"the target is {answer}, but the value of the expression is {value}.")
    return tokens, int(answer)


def _split(codes: list[NDArray[np.uint8]], targets: list[int], width: int) -> Split:
    tokens, lengths = pad(codes, width)
    return Split(tokens, np.array(targets, dtype=np.int64), lengths)
