"""The index page of a directory of figures: each picture with what it says, the command that draws it, and its numbers."""

from __future__ import annotations

import logging
from pathlib import Path

from signalprop._files import read_json
from signalprop.figures.base import FIGURES
from signalprop.figures.drawn import table_of

log = logging.getLogger("signalprop")


def index(directory: Path) -> str:
    """Markdown with a section for each figure that is in `directory`, with the command that drew it."""
    lines = [
        "# Figures",
        "",
        "Written by `signalprop reproduce`; below each figure is the command for that one. Beside each picture lie an SVG, a "
        "CSV of the numbers drawn, and a JSON that says what its columns are and which version drew it.",
    ]
    here = [name for name in FIGURES if (directory / f"{name}.png").exists()]
    for name in in_order(here):
        figure = FIGURES[name]
        drawn = _quality(directory / f"{name}.json", name)
        option = "" if drawn == "default" else f" --{drawn}"
        lines += [
            "",
            f"## {figure.title}",
            "",
            f"![{figure.title}: {figure.caption.split('. ')[0]}]({name}.png)",
            "",
            figure.caption,
            "",
            f"`signalprop reproduce{option} --only {name}` · [numbers]({table_of(directory, name).name}) · [SVG]({name}.svg) "
            f"· [origin]({name}.json)",
        ]
    return "\n".join(lines) + "\n"


def _quality(path: Path, name: str) -> str:
    """In which quality a figure was drawn; the usual one if its file does not say."""
    try:
        return str(read_json(path)["parameters"]["quality"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        log.warning(
            "%s does not say how its figure was drawn (%s: %s); draw it again: signalprop reproduce --only %s",
            path, type(error).__name__, error, name,
        )  # fmt: skip
        return "default"


def in_order(names: list[str]) -> list[str]:
    """As they stand on the page."""
    return sorted(names, key=lambda name: (FIGURES[name].place, name))
