"""What the commands share: numbers of any size as text, JSON, a progress bar."""

from __future__ import annotations

import json
import math
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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
    if math.isinf(log_value):
        return "0" if log_value < 0.0 else "inf"
    if abs(log_value) < 14.0:
        value = math.exp(log_value)
        return f"{value:.6g}" if value >= 1e-3 else f"{value:.3e}"
    if abs(log_value) > 1e9:  # the digits of the mantissa are gone
        return f"e^{log_value:.6g}"
    decimal = log_value / math.log(10.0)
    exponent = math.floor(decimal)
    mantissa = round(10 ** (decimal - exponent), 4)
    if mantissa >= 10.0:
        mantissa, exponent = mantissa / 10.0, exponent + 1
    return f"{mantissa:.4f}e{exponent} (e^{log_value:.4g})"


def print_rows(rows: Iterable[tuple[str, str]], width: int = 100) -> None:
    """Print names and texts in two columns; a text longer than the page goes on below itself."""
    for name, text in rows:
        print(textwrap.fill(f"{name:<15} {text}", width, subsequent_indent=16 * " ", break_long_words=False))


def running_text(estimate: Estimate) -> str:
    """An estimate in a few words, beside a bar."""
    mean = "mean not to be trusted"
    if estimate.trusted:
        mean = f"mean {show(estimate.log_mean)} +- {100 * estimate.relative_stderr:.2g} %"
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
    """Turn a refusal into one sentence on standard error and exit code 2."""
    import typer

    try:
        yield
    except BrokenPipeError:  # for the entry point
        raise
    except (ValueError, OverflowError, OSError, MemoryError) as error:
        typer.echo(f"signalprop: {error}", err=True)
        raise typer.Exit(2) from None


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
    figure.savefig(path)
