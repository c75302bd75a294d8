"""What the commands print with: paragraphs, rows and JSON, and refusals in the words of the command line."""

from __future__ import annotations

import errno
import io
import json
import os
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from signalprop._text import NARROWEST, columns, lines_of
from signalprop.cli._standard_streams import is_of_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def print_text(text: str, indent: str = "") -> None:
    """Print one paragraph, wrapped to the terminal; lines after the first are indented."""
    print(wrapped(text, indent))


def print_rows(rows: Iterable[tuple[str, str]], margin: int = 15) -> None:
    """Print names and texts in two columns; a text longer than a line continues below itself."""
    rows = list(rows)
    margin = max([margin, *(len(name) for name, _ in rows)])
    for name, text in rows:
        print(wrapped(f"{name:<{margin}} {text}", " " * (margin + 1)))


def print_noted(cells: str, note: str) -> None:
    """Print a row of a table with a longer text in its last column, or below the row where that column is narrow."""
    width = columns()
    if width - len(cells) - 2 >= min(len(note), NARROWEST - 10):
        print(wrapped(f"{cells}  {note}", " " * (len(cells) + 2)))
    else:
        print(cells.rstrip())
        print(textwrap.indent(wrapped(note, width=width - 4), "    "))


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON document; NaN and infinities are refused."""
    print(json.dumps(content, indent=2, allow_nan=False))


@contextmanager
def sentences() -> Iterator[None]:
    """Turn a refusal into one sentence on standard error, in the words of the command line, and exit code 2."""
    import typer

    try:
        yield
    except (ValueError, OverflowError, OSError, MemoryError) as error:
        if is_of_output(error):  # for the entry point
            raise
        typer.echo(wrapped(f"signalprop: {in_options(_said(error))}", "  "), err=True)
        raise typer.Exit(2) from None


_WHAT_TO_DO = {
    errno.ENOENT: "check the name",
    errno.ENOTDIR: "a part of it is a file; check the name",
    errno.EISDIR: "it is a folder; name a file",
    errno.EACCES: "check its permissions, or name another place",
    errno.EPERM: "check its permissions, or name another place",
    errno.EROFS: "name a place that can be written",
    errno.ENAMETOOLONG: "shorten it",
    errno.ELOOP: "its symbolic links lead in a circle; name the place itself",
}


def _said(error: Exception) -> str:
    """The message of an error; that of the system as a sentence with what to do."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    if error.errno == errno.ENOENT and error.filename is None and working_directory_is_gone():
        return "The working directory was removed; change to another one."
    if error.filename is None:  # a sentence of ours with a number of the system
        return f"{error.strerror.rstrip('.')}."
    mend = _WHAT_TO_DO.get(error.errno or 0, "check the place, or name another")
    if error.errno == errno.ENOENT and not os.path.isabs(error.filename) and working_directory_is_gone():
        mend = "the working directory was removed; change to another one"
    name = error.filename if error.filename2 is None else error.filename2
    return f"{name!r} cannot be used ({error.strerror}): {mend}."


def working_directory_is_gone() -> bool:
    """Whether the directory that relative paths start from was removed."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def in_options(message: str) -> str:
    """A sentence of the library with the parameters it names as options, those of the running command first."""
    from signalprop.cli._spoken import current_context, options, spoken

    context = current_context()
    if context is None:
        return message
    commands = getattr(context.find_root().command, "commands", {})
    others = options((p.name, p.opts) for command in commands.values() for p in command.params)
    return spoken(message, options((p.name, p.opts) for p in context.command.params), others)


def wrapped(text: str, indent: str = "", width: int | None = None) -> str:
    """A paragraph in lines as long as the terminal, those after the first indented."""
    return "\n".join(lines_of(text, columns() if width is None else width, rest=indent))


def save_figure(figure: Figure, path: str) -> None:
    """Write a figure; the ending decides the format.

    Raises
    ------
    ValueError
        An ending other than .png, .svg or .pdf.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--plot needs a file that ends in .png, .svg or .pdf, got {path!r}.")
    from signalprop._files import replace, require_regular
    from signalprop._house_style import house_style

    if os.path.exists(path):
        require_regular(path)

    with house_style():  # ticks are made, and fonts are looked up, while it is drawn
        picture = io.BytesIO()
        figure.savefig(picture, format=ending[1:])
    replace(os.path.realpath(path), picture.getvalue())
