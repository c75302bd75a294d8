"""``signalprop verify``: every formula by every route."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from signalprop._numbers import counted, finite
from signalprop._progress import bar
from signalprop.cli import _completion as completion
from signalprop.cli._options import Json
from signalprop.cli._terminal import print_json, print_noted, print_text, sentences

if TYPE_CHECKING:
    from signalprop.verify.check import Check


def verify(
    only: Annotated[
        str,
        typer.Option(
            "--only", help="Run the checks whose name contains this text.", autocompletion=completion.check_names
        ),
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="Larger grids: minutes instead of one.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the checks and run none.")] = False,
    as_json: Json = False,
) -> None:
    """Check every formula against every other route.

    Prints one line per check; exit code 1 if any fails.
    """
    from signalprop.verify import all_checks, run

    with sentences():
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
