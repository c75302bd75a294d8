"""What click says of a bad command line, in plain words and wrapped to the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from signalprop.cli._leaving import saying
from signalprop.cli._standard_streams import written
from signalprop.cli._terminal import wrapped


class Commands(TyperGroup):
    """The commands; what click says of a bad command line is wrapped to the terminal as everything else is."""

    def make_context(self, *arguments: Any, **extra: Any) -> Any:
        """Read the options before the command."""
        with _wrapped_usage():
            return super().make_context(*arguments, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Read the options of the command and run it."""
        with (
            written(),
            _wrapped_usage(),
            saying(lambda: "stopped"),
        ):  # inside of Typer, which has an exit code of its own for a reader that has gone
            return super().invoke(ctx)


_UsageError: Any = typer.BadParameter.__mro__[1]  # of click, or of the copy of it inside newer Typer


@contextmanager
def _wrapped_usage() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # its text is the help
            raise
        text = wrapped(f"Error: {_in_words(error)}", "  ").removeprefix("Error: ")
        error.format_message = lambda: text
        raise


def _in_words(error: Any) -> str:
    """What is wrong with a command line; newer Typer leaves that to pydantic, whose words are not those of a shell."""
    text = " ".join(str(error.format_message()).split())
    if not hasattr(error.__cause__, "errors"):
        return text
    found = error.__cause__.errors()[0]
    wanted = {"int": "a whole number", "float": "a number", "bool": "true or false"}.get(
        found["type"].partition("_")[0]
    )
    words = found["msg"].removeprefix("Value error, ")
    if wanted is not None:
        words = f"it must be {wanted}, got {found['input']!r}."
    return text.replace(found["msg"], words)
