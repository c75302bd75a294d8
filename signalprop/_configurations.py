"""Settings of trainings that come with the package, by name: the files under ``training/configs``."""

from __future__ import annotations

import os
from importlib import resources
from typing import Any

from signalprop._files import our_own, parse_toml, read_text
from signalprop.fields import choices


def configurations() -> dict[str, str]:
    """Settings that come with the package: the text of each TOML file by its name.

    The first line of each says what it is. `Settings.read` and ``signalprop train --config`` take the names in place of a path,
    ``signalprop configs`` prints the files.

    Examples
    --------
    >>> sorted(configurations())
    ['listops-lru', 'listops-rotrnn']
    """
    folder = resources.files(__package__) / "training" / "configs"
    with our_own(folder):
        return {
            file.name.removesuffix(".toml"): file.read_text(encoding="utf-8")
            for file in sorted(folder.iterdir(), key=lambda file: file.name)
            if file.name.endswith(".toml")
        }


def content_of(config: str | os.PathLike[str]) -> dict[str, Any]:
    """The content of a TOML file: of one that comes with the package, by its name, else of the file at this path.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is not TOML, or a bare word that is neither a file nor one of the names.
    """
    where = os.fspath(config)
    shipped = configurations()
    if where in shipped:
        return parse_toml(shipped[where], where)
    if not (os.path.dirname(where) or os.path.splitext(where)[1] or os.path.exists(where)):
        raise ValueError(f"config must be a TOML file or one of {choices(shipped)}, got {where!r}.")
    return parse_toml(read_text(where), where)


def title(text: str) -> str:
    """What a configuration says of itself in its first line."""
    return text.splitlines()[0].lstrip("# ")
