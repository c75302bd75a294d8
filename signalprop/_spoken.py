"""Refusals of the library in the words of the command line: ``criterion='quantile'`` becomes ``--criterion quantile``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

# What the library calls otherwise than the command line does.
PHRASES = {
    "driven=True": "--model driven",
    "tied=False": "--untied",
    "resume=True, --resume": "--resume",
    "quality='full'": "--full",
}
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)=('[^']*'|\"[^\"]*\"|-?[\w.+-]*\w)")
_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")  # repr of a choice
# A name with an underscore is no word of English; in quotes, paths and calls it is something else.
_NAME = re.compile(r"(?<![\w'\"/.=-])[a-z]+(?:_[a-z]+)+(?![\w'\"/.(=-])")
_ALLOWED = re.compile(r"with signalprop\.allow\(hours=([\w.]+)\)")
_SUBJECT = re.compile(r"^([A-Za-z_]\w*)(?= (?:must|has|needs|takes|lies|is)\b)")


def current_context() -> Any:
    """The context of the running command, None outside of one; from click, or from the copy of it inside newer Typer."""
    import typer

    home = typer.Context.__mro__[1].__module__.rpartition(".")[0]
    return import_module(f"{home}.globals").get_current_context(silent=True)


def options(declared: Iterable[tuple[str | None, Iterable[str]]]) -> dict[str, str]:
    """The spelling of each parameter for a message, from its name and its declared spellings; arguments have none."""
    spelled = {}
    for name, given in declared:
        dashed = [one for one in given if one.startswith("-")]
        if name is not None and dashed:
            short = [one for one in dashed if one == f"-{name}"]  # -n, -k: as in the formulas
            spelled[name] = short[0] if short else max(dashed, key=len)
    return spelled


def spoken(message: str, spelled: Mapping[str, str], others: Mapping[str, str]) -> str:
    """The message with parameters as options.

    Parameters
    ----------
    message
        A sentence of the library.
    spelled, others
        `options` of the command that was called, and of all the other commands.
    """
    message = _MEMBER.sub(r"\1", message)
    if "max_hours" in spelled:
        message = _ALLOWED.sub(rf"{spelled['max_hours']} \1", message)
    for python, words in PHRASES.items():
        message = message.replace(python, words)

    def assigned(match: re.Match[str]) -> str:
        option = spelled.get(match[1]) or others.get(match[1])
        if option is None:
            return match[0]
        value = match[2].strip("'\"")
        return {"True": option, "False": f"no {option}"}.get(value) or f"{option} {value}"

    def subject(match: re.Match[str]) -> str:
        return spelled.get(match[1], match[1])

    message = _SUBJECT.sub(subject, _ASSIGNED.sub(assigned, message))
    return _NAME.sub(lambda match: spelled.get(match[0], match[0]), message)
