"""The command ``signalprop train``: parse, call, print."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signalprop._catalogue import LAYERS, TASKS
from signalprop._cost import allow
from signalprop._names import NORMALIZERS, POOLINGS
from signalprop._numbers import counted, show_value
from signalprop._progress import bar
from signalprop.cli import _completion as completion
from signalprop.cli._again import again
from signalprop.cli._leaving import saying
from signalprop.cli._options import MaxHours, named
from signalprop.cli._terminal import print_json, print_noted, print_text, working_directory_is_gone, wrapped

if TYPE_CHECKING:
    from signalprop.training import Run


def train(
    context: typer.Context,
    task: Annotated[
        str | None,
        typer.Option("--task", help="What to learn.  [default: listops, short]", **named(TASKS)),
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option("--layer", help="The recurrence.  [default: rotrnn]", **named(LAYERS)),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option(
            "--config",
            metavar="FILE|NAME",
            help="TOML file of settings, or one of those that signalprop configs lists; options here come first.",
            autocompletion=completion.configuration_names,
        ),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--set", help="Option of the task, NAME=VALUE, such as --set max_length=100; repeatable."),
    ] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Number of blocks.")] = None,
    d_model: Annotated[int | None, typer.Option("--width", help="Width of the model.")] = None,
    d_state: Annotated[int | None, typer.Option("--state", help="Size of the state (complex for lru).")] = None,
    heads: Annotated[int | None, typer.Option("--heads", help="Heads of rotrnn; must divide the state.")] = None,
    normalizer: Annotated[str | None, typer.Option("--normalizer", help="For lru.", **named(NORMALIZERS))] = None,
    first_step_rule: Annotated[
        bool | None, typer.Option("--first-step-rule", help="For rotrnn: the first state without sqrt(1 - gamma^2).")
    ] = None,
    max_phase: Annotated[float | None, typer.Option("--max-phase", help="Largest phase at the start, radians.")] = None,
    r_min: Annotated[float | None, typer.Option("--r-min", help="Smallest modulus (gamma) at the start.")] = None,
    r_max: Annotated[float | None, typer.Option("--r-max", help="Largest modulus (gamma) at the start.")] = None,
    dropout: Annotated[float | None, typer.Option("--dropout", help="Probability of dropout.")] = None,
    bidirectional: Annotated[bool | None, typer.Option("--bidirectional", help="A recurrence from each end.")] = None,
    pooling: Annotated[str | None, typer.Option("--pooling", help="Over time.", **named(POOLINGS))] = None,
    learning_rate: Annotated[float | None, typer.Option("--lr", help="Learning rate.")] = None,
    recurrence_factor: Annotated[
        float | None, typer.Option("--recurrence-factor", help="Learning rate of the dynamics, as a multiple of --lr.")
    ] = None,
    weight_decay: Annotated[
        float | None, typer.Option("--weight-decay", help="Weight decay; none on the dynamics.")
    ] = None,
    clip: Annotated[float | None, typer.Option("--clip", help="Largest gradient norm; 0 for none.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="Examples per step.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", help="Training steps.  [default: 1000]")] = None,
    epochs: Annotated[
        int | None, typer.Option("--epochs", help="Passes through the training part, instead of --steps.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Root seed of start and order.")] = None,
    held_out: Annotated[int | None, typer.Option("--held-out", help="Held-out examples judged for the log.")] = None,
    log_every: Annotated[int | None, typer.Option("--log-every", help="Steps between rows of the log.")] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option("--checkpoint-every", help="Steps between checkpoints.")
    ] = None,
    directory: Annotated[
        str | None, typer.Option("--directory", help="For log and checkpoint.  [default: runs/TASK-LAYER-SEED]")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in the directory.")] = False,
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    max_hours: MaxHours = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Train a recurrence on a task.

    Logs loss, accuracy and E||x_t||^2 of each layer to log.csv. Ctrl-C keeps what was done.
    """
    reached = ["before the first step"]
    command = again(context, "--resume")

    def note(step: int, total: int, _: float) -> None:
        reached[0] = f"after step {step} of {total}"

    try:
        with saying(lambda: f"stopped {reached[0]}; what was done is kept. To go on: {command}"):
            _train(context, note)
    except FloatingPointError as error:
        typer.echo(wrapped(f"signalprop: {error}", "  "), err=True)
        raise typer.Exit(1) from None


def _train(context: typer.Context, note: Callable[[int, int, float], None]) -> None:
    """What the command does, from its options to what is printed; `note` is called after each step."""
    if (
        working_directory_is_gone()
    ):  # the first product of matrices would end the process: MKL loads its parts from there
        raise ValueError("the working directory was removed; change to another one.")
    try:
        from signalprop.training import Settings
        from signalprop.training import train as run
    except ImportError as error:
        raise ValueError(str(error)) from None
    asked = context.params
    content: dict[str, Any] = {} if asked["config"] is None else Settings.read(asked["config"])
    if asked["task"] is not None and content.get("task", asked["task"]) != asked["task"]:
        content.pop("options")  # of another task
    if asked["layer"] is not None and content.get("layer", asked["layer"]) != asked["layer"]:
        for of_another in {setting for entry in LAYERS.values() for setting in entry.takes} - set(
            LAYERS[str(asked["layer"])].takes
        ):
            content.pop(of_another, None)
    content |= {each.name: asked[each.name] for each in fields(Settings) if asked.get(each.name) is not None}
    if asked["steps"] is not None and asked["epochs"] is not None:
        raise ValueError(
            f"--steps and --epochs exclude each other, got {asked['steps']} and {asked['epochs']}; give one of them."
        )
    if asked["steps"] is not None:
        content["epochs"] = None
    name = content.get("task", Settings.task)
    content["options"] = content.get("options", {}) | dict(_pair(text, name) for text in asked["option"] or ())
    settings = Settings(**content)
    if asked["directory"] == "":
        raise ValueError("--directory is empty; name a folder, or leave it out for runs/TASK-LAYER-SEED.")
    place = asked["directory"] or f"runs/{settings.task}-{settings.layer}-{settings.seed}"
    title = f"training {settings.layer} on {settings.task}"
    with bar(title) as report, allow(hours=asked["max_hours"]):

        def progress(step: int, total: int, loss: float) -> None:
            note(step, total, loss)
            report(step / total, f"{title}, loss {show_value(loss)}")

        done = run(settings, directory=place, resume=asked["resume"], device=asked["device"], progress=progress)
    if asked["as_json"]:
        print_json(_facts(done, place))
    else:
        _print(done, place)


def _facts(done: Run, place: str) -> dict[str, Any]:
    """What ``--json`` prints."""
    first, last = done.rows[0], done.rows[-1]
    return {
        "directory": place,
        "settings": done.settings.as_dict(),
        "task": done.task.description,
        "step": int(last["step"]),
        "loss": done.loss,
        "accuracy": done.accuracy,
        "baseline": done.task.baseline,
        "chance": done.task.chance,
        "energies": {
            name.removeprefix("energy_"): {"first": float(first[name]), "last": float(last[name]), "ratio": ratio}
            for name, ratio in _ratios(done).items()
        },
    }


def _print(done: Run, place: str) -> None:
    settings, task = done.settings, done.task
    print_text(
        f"{settings.layer}, {counted(settings.depth, 'block')}, {counted(int(done.rows[-1]['step']), 'step')}; {task.description}"
    )
    print(f"{'test loss':<14} {show_value(done.loss)}   (a guess: {show_value(task.baseline)})")
    if done.accuracy is not None and task.chance is not None:
        print(f"{'test accuracy':<14} {done.accuracy:.4f}   (a guess: {task.chance:.4f})")
    print()
    print_noted(f"{'E||x_t||^2':<12} {'first':>12} {'last':>12}", "largest over smallest in the training")
    for name, ratio in _ratios(done).items():
        first, last = (show_value(float(row[name])) for row in (done.rows[0], done.rows[-1]))
        spread = "-" if ratio is None else show_value(ratio)
        print_noted(f"layer {name.removeprefix('energy_'):<6} {first:>12} {last:>12}", spread)
    print()
    print_text(f"wrote {place}/log.csv, results.json and checkpoint.pt", "    ")


def _ratios(done: Run) -> dict[str, float | None]:
    """Of each layer: largest over smallest state energy of the log; None where one is 0."""
    found = {}
    for name in done.rows[0]:
        if name.startswith("energy_") and not name.startswith(("energy_last", "energy_white")):
            values = [float(row[name]) for row in done.rows]
            ratio = max(values) / min(values) if min(values) > 0.0 else math.inf
            found[name] = ratio if math.isfinite(ratio) else None
    return found


def _pair(text: str, task: str) -> tuple[str, Any]:
    """NAME=VALUE, the value of the type that the option of the task is declared with."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError(f"--set takes NAME=VALUE, got {text!r}.")
    from signalprop._declared import from_text, hints, known

    if task not in TASKS:  # from a file; the settings refuse it
        return name, value
    kinds = hints(TASKS[task].maker())
    known(name, kinds, f"task {task}")
    return name, from_text(value, kinds[name], f"--set {name}")
