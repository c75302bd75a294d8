"""Refusals of the library in the words of the command line: ``criterion='quantile'`` becomes ``--criterion quantile``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

# What the library and the command line call by different names.
PHRASES = {
    "driven=True": "--model driven",
    "tied=False": "--untied",
    "resume=True, --resume": "--resume",
    "quality='full'": "--full",
    "signalprop.sample": "signalprop sample",
    "signalprop.rnn_energy": "signalprop energy",
    "signalprop.lru_energy": "signalprop energy --model driven",
    "Use signalprop.exact, which": "In Python, signalprop.exact",
    "regimes.two_term": "in Python signalprop.regimes.two_term",
    "use moments.trace_polynomial, or the real result at -2n": "take the real result at width -2n",
    "max_states=1000000 states at one level; raise max_states (about 1 kB per state), or ": "a million states at one level; ",
    "with signalprop.allow": "in Python, with signalprop.allow",
}
# Parameters of the library under the name of the commands, the first one that a command has.
_ALIASES = {"t": ("k",), "state_size": ("states", "d_state")}
_GAMMAS = {"gamma_min": ("r_min",), "gamma_max": ("r_max",)}  # of RotRNN, where a command has radii for all layers
_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)=('[^']*'|\"[^\"]*\"|-?[\w.+-]*\w)((?:(?:, | or )'[^']*')*)")
_MEMBER = re.compile(r"<\w+\.\w+: ('[^']*')>")  # repr of a choice
# A name with an underscore is not an English word; in quotes, paths and calls it is something else.
_NAME = re.compile(r"(?<![\w'\"/.=-])[a-z]+(?:_[a-z]+)+(?![\w'\"/.(=-])")
_ALLOWED = re.compile(r"with signalprop\.allow\(hours=([\w.]+)\)")
_SUBJECT = re.compile(r"^([A-Za-z_]\w*)(?= (?:must|has|needs|takes|lies|is|belongs)\b)")


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
    for name, others in (_ALIASES if "gamma" in spelled else _ALIASES | _GAMMAS).items():
        there = [spelled[other] for other in others if other in spelled]
        if there:
            spelled.setdefault(name, there[0])
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
        more = match[3].replace("'", "")  # criterion='quantile' or 'edge'
        return {"True": option, "False": f"no {option}"}.get(value) or f"{option} {value}{more}"

    def subject(match: re.Match[str]) -> str:
        return spelled.get(match[1], match[1])

    message = _SUBJECT.sub(subject, _ASSIGNED.sub(assigned, message))
    return _NAME.sub(lambda match: spelled.get(match[0], match[0]), message)
