"""The command line: parse, call, print. Commands import what they need, so that ``--help`` answers at once."""

from __future__ import annotations

import logging
import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from signalprop import __version__
from signalprop import _completion as completion
from signalprop._again import again
from signalprop._cite_command import CONTEXT as CITE_CONTEXT
from signalprop._cite_command import cite
from signalprop._moment_command import moment
from signalprop._options import Depth, FieldOption, Json, MaxHours, ModelOption, Seed, Width
from signalprop._recurrence_command import recurrence
from signalprop._regime_command import regime
from signalprop._sample_command import sample
from signalprop._scale_command import scale
from signalprop._standard_streams import CTRL_C, escape_what_cannot_be_encoded, open_closed, written
from signalprop._status import mean_status
from signalprop._terminal import (
    bar,
    finite,
    in_options,
    plain,
    print_json,
    print_noted,
    print_rows,
    print_text,
    show,
    wrapped,
)
from signalprop._terminal import sentences as _sentences
from signalprop._text import counted, number
from signalprop._train_command import train
from signalprop.fields import Field
from signalprop.models import Model, energy_of

if TYPE_CHECKING:
    from signalprop.verify.check import Check


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"signalprop {__version__}")
        raise typer.Exit


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
    text: str = error.format_message()
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


app = typer.Typer(
    name="signalprop",
    cls=Commands,
    help="Signal propagation in finite-width recurrences: exact energies, sampling, verification, figures.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_LARGEST_HINT = 3000  # steps that `sample` draws in a minute


@app.callback()
def _before_commands(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", is_eager=True, callback=_print_version)
    ] = False,
) -> None: ...


@app.command()
def energy(
    n: Width,
    k: Depth,
    field: FieldOption = Field.REAL,
    model: ModelOption = Model.RNN,
    scale: Annotated[float, typer.Option("--scale", help="Factor g on every weight.")] = 1.0,
    as_json: Json = False,
) -> None:
    """Exact mean signal energy after k steps."""
    with _sentences():
        log_value = float(energy_of(model)(n, k, field, scale=scale, log=True))
        infinite_log = _infinite_width_log(model, k, scale)
    c = k / math.sqrt(n)
    symbol = model.symbol
    value, infinite = plain(log_value), plain(infinite_log)
    status, cited = mean_status(field), f"signalprop cite energy --field {field.value}"
    if as_json:
        print_json(
            {
                "n": n,
                "k": k,
                "c": c,
                "field": field.value,
                "model": model.value,
                "scale": scale,
                symbol: value,
                f"log_{symbol}": log_value,
                "infinite_width": infinite,
                "log_infinite_width": infinite_log,
                "status": status,
                "cite": cited,
            }
        )
        return
    what = f"E||W^k x||^2/n, k = {k}" if model is Model.RNN else f"E||h(t)||^2/n, t = {k}"
    scaled = "" if scale == 1.0 else f", scaled by g = {scale:.10g}"
    print_rows(
        [
            ("recurrence", f"{model.step}, {field.value} Gaussian weights{scaled}"),
            ("width", f"n = {n}"),
            ("steps", f"{k}, which is c = {number(c, 4)} times sqrt(n)"),
            (f"mean energy {symbol}", f"{show(log_value)}   ({what})"),
            ("infinite width", f"{show(infinite_log)}"),
            ("ratio", f"{show(log_value - infinite_log)}"),
            ("how sure", status),
            ("to cite", cited),
        ]
    )
    if abs(log_value - infinite_log) > 1.0:
        print()
        print_text("This is the average over draws of W; far past sqrt(n) steps it is carried by rare draws.")
        if scale == 1.0 and k <= _LARGEST_HINT:
            option = "" if model is Model.RNN else " --model driven"
            print_text(f"What one draw does: signalprop sample -n {n} -k {k} --field {field.value}{option}", "  ")


app.command()(scale)
app.command()(sample)
app.command()(recurrence)
app.command()(regime)
app.command()(moment)


@app.command()
def run(
    context: typer.Context,
    plan: Annotated[str, typer.Argument(metavar="PLAN.toml", help="What to draw: fields, n, k or c, samples, ..")],
    directory: Annotated[str, typer.Option("--directory", help="Where draws and table are kept.")],
    executor: Annotated[
        str,
        typer.Option(
            "--executor", help="threads, processes, or dask://HOST:PORT, tls://HOST:PORT (a running scheduler)."
        ),
    ] = "threads",
    workers: Annotated[int | None, typer.Option("--workers", help="Threads or processes (default: all cores).")] = None,
    max_hours: MaxHours = None,
    as_json: Json = False,
) -> None:
    """Draw a plan of many cells; survives being killed.

    The same command in the same directory goes on where it was.
    """
    with _sentences():
        from signalprop._cost import allow
        from signalprop.montecarlo.plan import Plan
        from signalprop.montecarlo.run import run as draw

        wanted = Plan.load(plan)
        try:
            with allow(hours=max_hours):
                frame = draw(wanted, directory, executor, workers=workers)
        except KeyboardInterrupt:
            typer.echo(f"\nstopped; what was drawn is safe in {directory}. To go on: {again(context)}", err=True)
            raise typer.Exit(CTRL_C) from None
    if as_json:
        rows = [{name: finite(value) for name, value in row.items()} for row in frame.to_dict("records")]
        print_json({"directory": directory, "rows": rows})
        return
    print_noted(
        f"{'field':<10} {'n':>7} {'k':>5} {'model':<6} {'median draw':>12} {'mean':>12}", "what the mean is worth"
    )
    for row in frame.itertuples():
        median = "-" if math.isnan(row.log_median) else show(row.log_median)
        numbers = f"{row.field:<10} {row.n:>7} {row.k:>5} {row.model:<6} {median:>12} {show(row.log_mean):>12}"
        print_noted(numbers, in_options(row.verdict))
    print()
    print_text(
        f"{counted(len(frame), 'row')} with quantiles and intervals: {os.path.join(directory, 'table.csv')}", "    "
    )


@app.command()
def verify(
    only: Annotated[
        str,
        typer.Option(
            "--only", help="Run the checks whose name contains this text.", autocompletion=completion.check_names
        ),
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="Larger grids: minutes instead of half a minute.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the checks and run none.")] = False,
    as_json: Json = False,
) -> None:
    """Check every formula against every other route.

    Prints one line per check; exit code 1 if any fails.
    """
    from signalprop.verify import all_checks, run

    with _sentences():
        checks = [check for check in all_checks(everything) if only in f"{check.name}: {check.grid}"]
        if not checks:
            raise ValueError(f"--only {only!r} names no check; signalprop verify --list has the names.")
    if listed:
        _list_checks(checks, as_json)
        return
    outcomes = []
    if not as_json:
        print_noted(f"{'':4} {'worst':>8} {'allowed':>8} {'':<14}", "check")
    with bar("verifying") as report:
        for outcome in run(checks):
            outcomes.append(outcome)
            report(len(outcomes) / len(checks))
            if not as_json:
                mark = "ok" if outcome.passed else "FAIL"
                numbers = f"{mark:4} {outcome.worst:8.3g} {outcome.allowed:8.3g} {outcome.unit:<14}"
                print_noted(numbers, f"{outcome.name}: {outcome.grid}")
    failed = [one for one in outcomes if not one.passed]
    if as_json:
        print_json(
            {
                "passed": not failed,
                "checks": [
                    {
                        "name": o.name,
                        "grid": o.grid,
                        "unit": o.unit,
                        "worst": finite(o.worst),
                        "allowed": o.allowed,
                        "passed": o.passed,
                        "seconds": o.seconds,
                    }
                    for o in outcomes
                ],
            }
        )
    else:
        took = sum(outcome.seconds for outcome in outcomes)
        print(f"\n{len(outcomes) - len(failed)} of {counted(len(outcomes), 'check')} passed in {took:.1f} s")
    if failed:
        raise typer.Exit(1)


def _list_checks(checks: list[Check], as_json: bool) -> None:
    """What ``verify --list`` prints."""
    if as_json:
        print_json({"checks": [{"name": check.name, "grid": check.grid} for check in checks]})
        return
    for check in checks:
        print_text(f"{check.name}: {check.grid}", "    ")
    print()
    print_text(f"{counted(len(checks), 'check')}. To run some: signalprop verify --only TEXT")


@app.command()
def reproduce(
    directory: Annotated[str, typer.Option("--directory", help="Where to write the figures.")] = "figures",
    quick: Annotated[bool, typer.Option("--quick", help="A look: few draws, under a minute.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Ten times the draws, and in a checkout the figures of trainings.")
    ] = False,
    only: Annotated[
        str | None,
        typer.Option("--only", metavar="NAME", help="Draw this one figure.", autocompletion=completion.figure_names),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Redraw every figure.

    Writes each as PNG and SVG, its numbers as CSV and their origin as JSON, and an index page.
    """
    with _sentences():
        if quick and full:
            raise ValueError("--quick and --full exclude each other; give one of them.")
        from signalprop._checks import whole_number
        from signalprop.figures.reproduce import figures_of
        from signalprop.figures.reproduce import reproduce as write

        whole_number(seed, "seed", 0)
        quality = "quick" if quick else "full" if full else "default"
        names = figures_of(quality, only)
        with bar("drawing") as report:

            def progress(name: str, share: float) -> None:
                report((names.index(name) + share) / len(names), f"drawing {name}")

            paths = write(directory, quality, seed=seed, only=only, progress=progress)
    if as_json:
        print_json({"quality": quality, "figures": [str(path) for path in paths]})
        return
    for path in paths:
        print_text(f"wrote {path} (and .svg, .csv, .json beside it)", "    ")


app.command()(_sentences()(train))


app.command(context_settings=CITE_CONTEXT)(cite)


@app.command()
def info(as_json: Json = False) -> None:
    """Versions, machine, git revision: for reports."""
    from signalprop._provenance import provenance

    facts = provenance()
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            print_rows((library, version or "not installed") for library, version in value.items())
        else:
            print_rows([(name.replace("_", " "), str(value) if value is not None else "unknown")])


def main() -> None:
    """Entry point of the `signalprop` command; exit codes as in `signalprop._standard_streams`."""
    _own_matplotlib()
    open_closed()
    escape_what_cannot_be_encoded()
    try:
        with written():
            app()
    except SystemExit as end:
        threads = sys.modules.get("signalprop._threads")
        if threads is not None and threads.left_behind():  # one of them would be running while Python takes itself down
            os._exit(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise


def _own_matplotlib() -> None:
    """Figures go to files: the backend of a notebook is not for this process, nor are words about caches of fonts."""
    os.environ["MPLBACKEND"] = "agg"
    logging.getLogger("matplotlib").setLevel(logging.ERROR)


def _infinite_width_log(model: Model, k: int, scale: float) -> float:
    """Log of g^{2k} (rnn) or of sum_{j<=k} g^{2j} (driven)."""
    rate = 2.0 * math.log(scale)
    if model is Model.RNN:
        return rate * k
    if rate == 0.0:
        return math.log(k + 1.0)
    # Geometric sum from its largest term.
    largest = max(0.0, rate * k)
    return largest + math.log(math.expm1(-abs(rate) * (k + 1)) / math.expm1(-abs(rate)))


if __name__ == "__main__":
    main()
