"""The command ``signalprop train``: parse, call, print."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signalprop._terminal import bar, print_json

if TYPE_CHECKING:
    from signalprop.training import Run


class TaskName(StrEnum):
    """Tasks, as on the command line."""

    LISTOPS = "listops"
    LISTOPS_FILES = "listops-files"
    DIGITS = "digits"
    COPY = "copy"
    ADDING = "adding"


class LayerName(StrEnum):
    """Layers, as on the command line."""

    ROTRNN = "rotrnn"
    LRU = "lru"
    DENSE = "dense"


class NormalizerName(StrEnum):
    """Normalisers of LRU, as on the command line."""

    RECOMPUTED = "recomputed"
    LEARNED = "learned"


def train(
    task: Annotated[TaskName | None, typer.Option("--task", help="What to learn.  [default: listops, short]")] = None,
    layer: Annotated[LayerName | None, typer.Option("--layer", help="The recurrence.  [default: rotrnn]")] = None,
    config: Annotated[
        str | None, typer.Option("--config", help="TOML file of settings (configs/*.toml); options here come first.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--set", help="Option of the task, NAME=VALUE, as --set max_length=100. Repeat.")
    ] = None,
    depth: Annotated[int | None, typer.Option("--depth", help="Number of blocks.")] = None,
    d_model: Annotated[int | None, typer.Option("--width", help="Width of the model.")] = None,
    d_state: Annotated[int | None, typer.Option("--state", help="Size of the state (complex for lru).")] = None,
    heads: Annotated[int | None, typer.Option("--heads", help="Heads of rotrnn; must divide the state.")] = None,
    normalizer: Annotated[NormalizerName | None, typer.Option("--normalizer", help="For lru.")] = None,
    max_phase: Annotated[float | None, typer.Option("--max-phase", help="Largest phase at the start, radians.")] = None,
    r_min: Annotated[float | None, typer.Option("--r-min", help="Smallest modulus (gamma) at the start.")] = None,
    r_max: Annotated[float | None, typer.Option("--r-max", help="Largest modulus (gamma) at the start.")] = None,
    dropout: Annotated[float | None, typer.Option("--dropout", help="Probability of dropout.")] = None,
    bidirectional: Annotated[bool | None, typer.Option("--bidirectional", help="A recurrence from each end.")] = None,
    learning_rate: Annotated[float | None, typer.Option("--lr", help="Learning rate.")] = None,
    recurrence_factor: Annotated[
        float | None, typer.Option("--recurrence-factor", help="Rate of the recurrence's dynamics over --lr.")
    ] = None,
    weight_decay: Annotated[float | None, typer.Option("--weight-decay", help="Not on the dynamics.")] = None,
    clip: Annotated[float | None, typer.Option("--clip", help="Largest gradient norm; 0 for none.")] = None,
    batch: Annotated[int | None, typer.Option("--batch", help="Examples a step.")] = None,
    steps: Annotated[int | None, typer.Option("--steps", help="Training steps.  [default: 1000]")] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Root seed of start and order.")] = None,
    log_every: Annotated[int | None, typer.Option("--log-every", help="Steps between rows of the log.")] = None,
    checkpoint_every: Annotated[
        int | None, typer.Option("--checkpoint-every", help="Steps between checkpoints.")
    ] = None,
    directory: Annotated[
        str | None, typer.Option("--directory", help="For log and checkpoint.  [default: runs/TASK-LAYER-SEED]")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in the directory.")] = False,
    device: Annotated[str, typer.Option("--device", help="cpu or cuda.")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Train a recurrence on a task.

    Logs loss, accuracy and E||x_t||^2 of each layer to log.csv.
    """
    try:
        from signalprop.training import Settings
        from signalprop.training import train as run
    except ImportError as error:
        raise ValueError(str(error)) from None
    given = {
        "task": task, "layer": layer, "depth": depth, "d_model": d_model, "d_state": d_state, "heads": heads,
        "normalizer": normalizer, "max_phase": max_phase, "r_min": r_min, "r_max": r_max, "dropout": dropout,
        "bidirectional": bidirectional, "learning_rate": learning_rate, "recurrence_factor": recurrence_factor,
        "weight_decay": weight_decay, "clip": clip, "batch": batch, "steps": steps, "seed": seed, "log_every": log_every,
        "checkpoint_every": checkpoint_every,
    }  # fmt: skip
    content: dict[str, Any] = {} if config is None else Settings.read(config)
    if task is not None and content.get("task", task) != task:
        content.pop("options")  # of another task
    content |= {name: _plain(value) for name, value in given.items() if value is not None}
    if steps is not None:
        content["epochs"] = None
    content["options"] = content.get("options", {}) | dict(_pair(text) for text in option or ())
    settings = Settings(**content)
    place = directory or f"runs/{settings.task}-{settings.layer}-{settings.seed}"
    title = f"training {settings.layer} on {settings.task}"
    try:
        with bar(title) as report:
            done = run(
                settings, directory=place, resume=resume, device=device,
                progress=lambda step, total, loss: report(step / total, f"{title}, loss {loss:.3f}"),
            )  # fmt: skip
    except FloatingPointError as error:
        typer.echo(f"signalprop: {error}", err=True)
        raise typer.Exit(1) from None
    if as_json:
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
    print(f"{settings.layer}, {settings.depth} blocks, {done.rows[-1]['step']} steps; {task.description}")
    print(f"{'test loss':<14} {done.loss:.4f}   (a guess: {task.baseline:.4f})")
    if done.accuracy is not None:
        print(f"{'test accuracy':<14} {done.accuracy:.4f}   (a guess: {task.chance:.4f})")
    print("\nE||x_t||^2     first       last   max/min over the training")
    for name, ratio in _ratios(done).items():
        first, last = float(done.rows[0][name]), float(done.rows[-1][name])
        print(f"layer {name.removeprefix('energy_'):<5} {first:>9.4g}  {last:>9.4g}   {ratio:.3f}")
    print(f"\nwrote {place}/log.csv and {place}/checkpoint.pt")


def _ratios(done: Run) -> dict[str, float]:
    """Of each layer: largest over smallest state energy of the log."""
    found = {}
    for name in done.rows[0]:
        if name.startswith("energy_") and not name.startswith(("energy_last", "energy_white")):
            values = [float(row[name]) for row in done.rows]
            found[name] = max(values) / min(values)
    return found


def _plain(value: Any) -> Any:
    """The text of a choice, anything else as it is."""
    return value.value if isinstance(value, StrEnum) else value


def _pair(text: str) -> tuple[str, Any]:
    """NAME=VALUE, the value a whole number where it looks like one, true or false, or text."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError(f"--set takes NAME=VALUE, got {text!r}.")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, int(value)
    except ValueError:
        return name, value
