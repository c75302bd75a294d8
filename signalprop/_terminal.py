"""What the commands share: numbers of any size as text, JSON, a progress bar."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from signalprop._standard_streams import CTRL_C, is_of_output
from signalprop._text import NARROWEST, columns, lines_of, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from signalprop.montecarlo.estimate import Estimate

PATIENCE = 0.5  # seconds between two running estimates on a terminal


def plain(log_value: float) -> float | None:
    """The number itself where it is a float64, else None (the log is printed beside it)."""
    return math.exp(log_value) if abs(log_value) < 708.0 else None


def finite(value: Any) -> Any:
    """The value, or None where it is a number that JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def show(log_value: float) -> str:
    """A number given by its natural log, readable at any size."""
    if math.isnan(log_value):
        return "not a number"
    if math.isinf(log_value):
        return "0" if log_value < 0.0 else "inf"
    if math.log(1e-3) <= log_value < math.log(999_999.5):
        return f"{math.exp(log_value):.6g}"
    decimal = log_value / math.log(10.0)
    if abs(log_value) > 1e9:  # the digits of the mantissa are gone
        return f"10^({decimal:.6g})"
    exponent = math.floor(decimal)
    mantissa = round(10 ** (decimal - exponent), 4)
    if mantissa >= 10.0:
        mantissa, exponent = mantissa / 10.0, exponent + 1
    return f"{mantissa:.4f}e{exponent}"


def show_value(value: float) -> str:
    """A number that is not negative, or NaN, readable at any size."""
    return show(-math.inf if value == 0.0 else math.log(value))


def print_text(text: str, indent: str = "") -> None:
    """Print one paragraph, wrapped to the terminal; lines after the first are indented."""
    print(wrapped(text, indent))


def print_rows(rows: Iterable[tuple[str, str]], margin: int = 15) -> None:
    """Print names and texts in two columns; a text longer than the page goes on below itself."""
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


def running_text(estimate: Estimate) -> str:
    """An estimate in a few words, beside a bar."""
    mean = "mean not to be trusted"
    if estimate.trusted:
        mean = f"mean {show(estimate.log_mean)} +- {percent(estimate.relative_error)}"
    if estimate.repeated:
        return f"{mean} ({estimate.samples} repetitions)"
    return f"median {show(estimate.log_median)}, {mean} ({estimate.samples} draws)"


def print_json(content: dict[str, Any]) -> None:
    """Print one JSON document; NaN and infinities are refused."""
    print(json.dumps(content, indent=2, allow_nan=False))


@contextmanager
def bar(title: str) -> Iterator[Callable[..., None]]:
    """A progress bar with the time left on a terminal; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda share, text=title: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("time left"),
        TimeRemainingColumn(),
    )
    # Lines printed meanwhile appear above the bar on a terminal, and still reach a redirected standard output.
    to_terminal = sys.stdout.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=to_terminal) as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda share, text=title: progress.update(task, completed=share, description=text)


@contextmanager
def sentences() -> Iterator[None]:
    """Turn a refusal into one sentence on standard error, in the words of the command line, and exit code 2; Ctrl-C into 130."""
    import typer

    try:
        yield
    except KeyboardInterrupt:
        typer.echo("\nstopped", err=True)
        raise typer.Exit(CTRL_C) from None
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
    from signalprop._spoken import current_context, options, spoken

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
    """Write a figure; the format goes by the ending.

    Raises
    ------
    ValueError
        Another ending than .png, .svg or .pdf.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending not in (".png", ".svg", ".pdf"):
        raise ValueError(f"--plot needs a file that ends in .png, .svg or .pdf, got {path!r}.")
    from signalprop.figures.house_style import house_style

    with house_style():  # ticks are made, and fonts are looked up, while it is drawn
        figure.savefig(path)
