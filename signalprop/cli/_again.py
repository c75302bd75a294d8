"""The command line that was given, to be pasted again."""

from __future__ import annotations

import shlex
from enum import Enum
from typing import Any

import typer


def again(context: typer.Context, *more: str) -> str:
    """The command with every argument and option that was given, however it was spelled, and `more` options.

    Examples
    --------
    For ``signalprop train --lr=0.1 --set train=64`` and ``"--resume"``: ``signalprop train --set train=64 --lr 0.1 --resume``.
    """
    words = ["signalprop", str(context.info_name)]
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if source is None or source.name != "COMMANDLINE":
            continue
        value = context.params[str(parameter.name)]
        if parameter.param_type_name == "argument":
            words += [_text(value)]
        elif isinstance(value, bool):
            words += [_longest(parameter.opts if value else parameter.secondary_opts)]
        else:
            for each in value if isinstance(value, (list, tuple)) else (value,):
                words += [_longest(parameter.opts), _text(each)]
    words += [word for word in more if word not in words]
    return shlex.join(words)


def _longest(names: list[str]) -> str:
    return max(names, key=len)


def _text(value: Any) -> str:
    return str(value.value if isinstance(value, Enum) else value)
