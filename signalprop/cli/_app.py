"""The command line, put together: one file per command, which parses, calls and prints.

Commands import what they need when they run, so that ``--help`` answers at once.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Annotated

import typer

from signalprop import __version__
from signalprop.cli._leaving import watch
from signalprop.cli._standard_streams import CTRL_C, escape_what_cannot_be_encoded, open_closed, written
from signalprop.cli._terminal import sentences
from signalprop.cli._usage import Commands
from signalprop.cli.cite import CONTEXT as CITE_CONTEXT
from signalprop.cli.cite import cite
from signalprop.cli.configs import configs
from signalprop.cli.energy import energy
from signalprop.cli.info import info
from signalprop.cli.inspect import inspect
from signalprop.cli.moment import moment
from signalprop.cli.recurrence import recurrence
from signalprop.cli.regime import regime
from signalprop.cli.reproduce import reproduce
from signalprop.cli.run import run
from signalprop.cli.sample import sample
from signalprop.cli.scale import scale
from signalprop.cli.train import train
from signalprop.cli.verify import verify


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"signalprop {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="signalprop",
    cls=Commands,
    help="Signal propagation in finite-width recurrences: exact energies, sampling, verification, figures.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _before_commands(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None: ...


for _command in (energy, scale, inspect, sample, recurrence, regime, moment, run, verify, reproduce):
    app.command()(_command)
app.command()(sentences()(train))
app.command()(configs)
app.command(context_settings=CITE_CONTEXT)(cite)
app.command()(info)


def main() -> None:
    """Entry point of the `signalprop` command; exit codes as in `signalprop.cli._standard_streams`."""
    _own_matplotlib()
    open_closed()
    escape_what_cannot_be_encoded()
    watch()
    try:
        with written():
            app()
    except SystemExit as end:
        # A thread that was left behind would still run while Python shuts down, which can itself take a second.
        threads = sys.modules.get("signalprop._threads")
        if end.code == CTRL_C or (threads is not None and threads.left_behind()):
            os._exit(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise


def _own_matplotlib() -> None:
    """Figures go to files: no backend of a notebook here, and no messages about font caches."""
    os.environ["MPLBACKEND"] = "agg"
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
