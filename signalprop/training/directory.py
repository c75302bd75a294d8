"""The directory of a training: settings, data and versions that it was begun with, and what else may lie there."""

from __future__ import annotations

import os
from typing import Any

from signalprop._directory import DamagedError, Directory
from signalprop.tasks import Task
from signalprop.training import checkpoint, log
from signalprop.training.settings import Settings, differences

__all__ = ["begin", "first_rows_only", "taken"]

LIBRARIES = ("signalprop", "torch", "numpy", "scipy", "numba")  # another version may round, or draw, differently
RESULTS = "results.json"
LARGEST_LOG = 1 << 20  # bytes of a log that has not gone on after step 0
_MEND = (
    "Delete it to go on with these settings: the checkpoint knows its settings, data, versions and code, and is not used with "
    "others."
)


def taken(directory: Directory) -> bool:
    """Whether a training was begun here."""
    names = ("settings.json", log.NAME, checkpoint.NAME, RESULTS)
    return any(os.path.lexists(directory.path / name) for name in names)


def begin(directory: Directory, settings: Settings, task: Task | None, given: bool, resume: bool) -> None:
    """Compare settings, data, versions and code with those of the directory, or write them there.

    Parameters
    ----------
    task
        None before the data are made: then everything else is compared, and nothing is written.
    given
        Whether the task was handed over and not made from the settings, which then do not name it.

    Raises
    ------
    ValueError
        Another training; the message says in what it differs.
    """
    if not resume and taken(directory):
        raise ValueError(
            f"{directory.path} holds a training already; go on with it (resume=True, --resume), or choose another directory."
        )
    if task is None and not os.path.lexists(directory.path / "settings.json"):
        return
    facts: dict[str, Any] = {"settings": settings.as_dict(), "data": None}
    if given:
        facts["settings"] |= {"task": None, "options": None}
    if task is not None:
        facts["data"] = {
            "name": task.name,
            "description": task.description,
            "made_from": "an argument" if given else "the settings",
            "sha256": task.fingerprint,
        }

    def differ(held: dict[str, Any], new: dict[str, Any]) -> str | None:
        named = held["settings"]["task"] is not None and not given
        ignored = () if named else ("task", "options")
        other = differences(held["settings"], new["settings"], ignored)
        if other:
            return (
                f"{directory.path} belongs to a training with {'; '.join(other)}. Go on with those settings, or choose another "
                "directory."
            )
        was, now = held["data"], new["data"]
        if now is None or was["sha256"] == now["sha256"]:
            return None
        return (
            f"{directory.path} belongs to a training on other data: {_described(was)}, not {_described(now)}. Go on with those "
            "data, or choose another directory."
        )

    directory.begin(facts, LIBRARIES, differ, _MEND)


def first_rows_only(directory: Directory) -> None:
    """Refuse a log that went on while there is no checkpoint.

    Raises
    ------
    ValueError
        The checkpoint was removed.
    """
    path = directory.path / log.NAME
    try:
        content = directory.read(log.NAME, LARGEST_LOG)
    except FileNotFoundError:
        return
    except DamagedError as error:
        raise ValueError(f"{error} Start anew in another directory.") from None
    if content.count(b"\n") > 2:  # names of the columns, step 0
        raise ValueError(
            f"{path} goes on after step 0, and {checkpoint.NAME} is gone. Put it back, or start anew in another directory."
        )


def _described(data: dict[str, Any]) -> str:
    return f"{data['name']!r} ({data['description']}, SHA-256 {data['sha256'][:12]}..)"
