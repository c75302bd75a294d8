"""A run of a model on a batch, and what is measured of each of its recurrences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from signalprop import _progress
from signalprop.inspection.measured.adjoint import carried_back, walk
from signalprop.inspection.measured.batch import Batch, batch_of, in_words
from signalprop.inspection.measured.calls import Call, Calls, Watch, where_broken
from signalprop.inspection.measured.courses import Piece, is_stepped, pieces_of
from signalprop.inspection.measured.exponents import exponents
from signalprop.inspection.measured.outputs import output_gradients, sequence_of
from signalprop.inspection.measured.record import BatchRun, Broken, Measured, band_of, gradient_path
from signalprop.inspection.measured.steps import Course
from signalprop.inspection.measured.untouched import untouched
from signalprop.inspection.paths import log_grid
from signalprop.nn._inputs import unwrapped

MOST_SEQUENCES = 16
_SAMPLES = 32  # sequences times cotangents, about


@dataclass(frozen=True)
class Findings:
    """What was measured, by the name of the recurrence; and for those found by measuring alone what they are."""

    run: BatchRun
    layers: dict[str, Measured] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)


def measure(model: nn.Module, batch: Any, sites: Iterable[str]) -> Findings:
    """Run a model on a batch and measure its recurrences.

    Parameters
    ----------
    model
        Any module; it is run as it is, in training or evaluation mode, under automatic mixed precision where that is on, and
        left as it was: parameters, gradients, buffers, attributes, random states.
    batch
        As in `signalprop.inspect`.
    sites
        Names of modules whose parameters are those of a recurrence, measured from their outputs where they have no steps.

    Raises
    ------
    ValueError
        A batch that is refused (`batch_of`), or on which the model raises.
    """
    eager = unwrapped(model)  # a model on several devices would call copies of its modules
    call = batch_of(eager, batch)
    stepped = {name: module for name, module in model.named_modules() if is_stepped(module)}
    outside = [site for site in sites if not _inside(site, stepped)]
    nearest = {site: name for site in outside if (name := _caller(model, site)) is not None}
    calls, watch = Calls(), Watch()
    with torch.inference_mode(False), torch.compiler.set_stance("force_eager"), untouched(model) as hooks:
        for name in dict.fromkeys((*stepped, *nearest.values())):
            calls.listen(name, model.get_submodule(name), hooks)
        watch.listen(model, hooks)
        _run(eager, call)
        while hooks:
            hooks.pop().remove()
        layers, about = _measured(model, call, calls, stepped, nearest)
    missed = tuple(name for name in (*stepped, *nearest) if nearest.get(name, name) not in calls.found)
    run = BatchRun(in_words(call), model.training, watch.broken, missed)
    return Findings(run, layers, about)


def _run(model: nn.Module, call: Batch) -> None:
    try:
        with torch.no_grad():
            model(*call.args, **call.kwargs)
    except Exception as error:
        words = " ".join(str(error).split())[:300].rstrip(".") or "without words"
        raise ValueError(f"model must run on the batch, and raises {type(error).__name__}: {words}.") from error


def _measured(
    model: nn.Module,
    batch: Batch,
    calls: Calls,
    stepped: dict[str, nn.Module],
    nearest: dict[str, str],
) -> tuple[dict[str, Measured], dict[str, str]]:
    found: dict[str, Measured] = {}
    about: dict[str, str] = {}
    work = len(stepped) + len(nearest)
    with _progress.bar("measuring") as report:
        for done, (name, module) in enumerate(stepped.items()):
            report(done / work, name or type(module).__name__)
            for piece in _pieces(model, name, module, calls, batch):
                found[piece.name] = _of_states(piece)
                about[piece.name] = piece.about
        for done, (site, name) in enumerate(nearest.items(), len(stepped)):
            report(done / work, site)
            one = _of_outputs(site, model.get_submodule(name), calls.found.get(name, []), batch)
            if one is not None:
                found[site] = one
    return found, about


def _pieces(model: nn.Module, name: str, module: nn.Module, calls: Calls, batch: Batch) -> Iterator[Piece]:
    made = calls.found.get(name)
    return iter(()) if not made else pieces_of(model, name, module, made, batch, MOST_SEQUENCES)


def _of_states(piece: Piece) -> Measured:
    course, broken = piece.course, None
    walked = walk(piece.stepper, course)
    if bool((walked.broken >= 0).any()):
        broken, keep = _first_broken(piece, course, walked.broken, walked.log_energy)
        course = course.cut(keep)
        if course.steps == 0 or course.sequences == 0 or int(course.counted.max()) == 0:
            return _nothing(piece, broken)
        walked = walk(piece.stepper, course)
    samples = carried_back(piece.stepper, course, walked, _cotangents(course.sequences))
    path, band, dies = gradient_path(samples)
    notes = list(piece.notes)
    try:
        found = exponents(piece.stepper, course)
    except ValueError as error:
        found = None
        notes.append(f"Exponents could not be measured: {error}")
    longest = int(course.counted.max())
    return Measured(
        name=piece.name,
        how="states",
        computed_in=str(course.start[0].dtype).removeprefix("torch."),
        gradient=path,
        gradient_band=band,
        forward=band_of(_from_the_start(walked.log_energy, course), log_grid(longest), 1),
        exponents=found,
        dies=dies,
        sequences=course.sequences,
        shortest=int(course.counted.min()),
        longest=longest,
        broken=broken,
        notes=tuple(notes),
    )


def _nothing(piece: Piece, broken: Broken) -> Measured:
    kind = str(piece.course.start[0].dtype).removeprefix("torch.")
    return Measured(piece.name, "states", kind, None, None, None, None, None, 0, 0, 0, broken, piece.notes)


def _first_broken(piece: Piece, course: Course, broken: Tensor, logs: Any) -> tuple[Broken, Tensor]:
    """Where the first sequence breaks, and how many steps of each are finite."""
    made = torch.where(broken >= 0, broken - course.begins, course.steps - course.begins)
    soonest = int(torch.where(broken >= 0, made, course.steps + 1).argmin())
    at = int(broken[soonest])
    given = not bool(torch.isfinite(course.inputs[at, soonest]).all())
    kind = "NaN" if np.isnan(logs[at, soonest]) else "infinite"
    return Broken(piece.name, kind, int(made[soonest]) + 1, soonest, given), made


def _from_the_start(logs: Any, course: Course) -> Any:
    """Log-energies (sequences, steps) from the first step that counts; NaN behind the last."""
    longest = int(course.counted.max())
    found = np.full((course.sequences, longest), np.nan)
    for b, counted in enumerate(course.counted.tolist()):
        found[b, :counted] = logs[course.steps - counted :, b]
    return found


def _of_outputs(site: str, module: nn.Module, calls: list[Call], batch: Batch) -> Measured | None:
    """By the gradients of a module's outputs, of its longest call."""
    given = [(found, call) for call in calls if (found := sequence_of(module, call)) is not None]
    if not given:
        return None
    found, call = max(given, key=lambda one: one[0].inputs.shape[1])
    whole = call_steps(call, found.inputs)
    first, last = batch.bounds(found.inputs.shape[0], whole)
    cut = whole - found.inputs.shape[1]
    first, last = (first - cut).clamp(min=0), (last - cut).clamp(min=0)
    broken = None
    notes = [f"Only the last {found.inputs.shape[1]} of {whole} steps are measured."] if cut else []
    if not bool(torch.isfinite(found.outputs).all()):
        broken = where_broken(found.outputs, site, not bool(torch.isfinite(found.inputs).all()))
        if broken.step is not None:
            last = last.clamp(max=broken.step - 1)
    some = last > first
    kind = str(found.outputs.dtype).removeprefix("torch.")
    if not bool(some.any()):
        return Measured(site, "outputs", kind, None, None, None, None, None, 0, 0, 0, broken, tuple(notes))
    last = torch.where(some, last, first + 1)
    counted = last - first
    try:
        samples = output_gradients(found, call, first, last, _cotangents(len(first)))
    except (RuntimeError, ValueError, TypeError) as error:
        words = " ".join(str(error).split())[:200]
        notes.append(f"No gradient could be taken through it: {words.rstrip('.')}.")
        samples = np.empty((0, 0))
    path = band = dies = None
    if samples.size and int(counted.max()) > found.near + 1:
        path, band, dies = gradient_path(samples)
    with np.errstate(divide="ignore"):
        logs = np.log(found.outputs.double().flatten(2).square().sum(-1).cpu().numpy())
    forward = np.full((len(first), int(counted.max())), np.nan)
    for b, (begin, end) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        forward[b, : end - begin] = logs[b, begin:end]
    return Measured(
        name=site,
        how="outputs",
        computed_in=kind,
        gradient=path,
        gradient_band=band,
        forward=band_of(forward, log_grid(int(counted.max())), 1),
        exponents=None,
        dies=dies,
        sequences=len(first),
        shortest=int(counted.min()),
        longest=int(counted.max()),
        broken=broken,
        notes=tuple(notes),
    )


def call_steps(call: Call, inputs: Tensor) -> int:
    """Steps of the whole call, of which `inputs` may be the last ones."""
    shapes = [one.shape[1] for one in (*call.args, *call.kwargs.values()) if isinstance(one, Tensor) and one.ndim >= 3]
    return max([inputs.shape[1], *shapes])


def _cotangents(sequences: int) -> int:
    return max(2, min(8, _SAMPLES // max(sequences, 1)))


def _inside(site: str, stepped: dict[str, nn.Module]) -> bool:
    return any(site == name or site.startswith(f"{name}.") or not name for name in stepped)


def _caller(model: nn.Module, site: str) -> str | None:
    """The module of a site, or the next one outside that can be called; None where the site is no module."""
    parts = site.split(".") if site else []
    for depth in range(len(parts), -1, -1):
        name = ".".join(parts[:depth])
        try:
            module = model.get_submodule(name)
        except AttributeError:
            continue
        if type(module).forward is not nn.Module.forward:
            return name
    return None
