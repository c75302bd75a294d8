"""From the calls of a module to its layers as steps, and the courses they were run over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from signalprop.inspection.measured.batch import Batch
from signalprop.inspection.measured.calls import Call
from signalprop.inspection.measured.own_layers import own_stepper
from signalprop.inspection.measured.steps import Course, State, Stepper, course_of
from signalprop.inspection.measured.torch_layers import Sequences, cell_name, layers_of, stepper_of, unpacked
from signalprop.nn.bidirectional import Bidirectional
from signalprop.nn.recurrence import Recurrence


@dataclass(frozen=True)
class Piece:
    """One recurrence: its name, what it is, its step and its course."""

    name: str
    about: str
    stepper: Stepper
    course: Course
    notes: tuple[str, ...] = ()


def is_stepped(module: nn.Module) -> bool:
    """Whether the states of a module can be reached."""
    if isinstance(module, (nn.RNNBase, nn.RNNCellBase)):
        return cell_name(module) is not None
    return isinstance(module, Recurrence)


def pieces_of(model: nn.Module, name: str, module: Any, calls: list[Call], batch: Batch, most: int) -> Iterator[Piece]:
    """Every layer and direction of a module, over the longest run of calls, for at most so many sequences."""
    if isinstance(module, Recurrence):
        yield _own(model, name, module, calls, batch, most)
    elif isinstance(module, nn.RNNBase):
        yield from _whole(name, module, calls, batch, most)
    else:
        yield _cell(name, module, calls, batch, most)


def _whole(name: str, module: Any, calls: list[Call], batch: Batch, most: int) -> Iterator[Piece]:
    runs = _runs(calls, lambda call: call.argument(1, "hx"), lambda call: call.output[1])
    if module.bidirectional:
        runs = [[call] for call in calls]
    steps = [sum(_steps(module, call) for call in run) for run in runs]
    run = runs[steps.index(max(steps))]
    given = _sequences(module, run, batch, most)
    sequences = len(given.last)
    hidden = run[0].argument(1, "hx")
    if hidden is not None:
        flat = given.inputs.ndim - run[0].argument(0, "input").ndim if not _is_packed(run[0]) else 0
        parts = hidden if isinstance(hidden, tuple) else (hidden,)
        hidden = tuple((part[:, None] if flat else part)[:, :sequences] for part in parts)
    output = run[0].output[0]
    dtype = output.data.dtype
    about = f"{type(module).__name__} of {module.hidden_size} units"
    notes = _notes(runs, run, given.last.numel(), _all_sequences(module, run[0]))
    for suffix, stepper, course in layers_of(module, given, hidden, run[0].precision, dtype):
        yield Piece(f"{name}{'' if suffix == '_l0' else suffix}", about, stepper, course, notes)


def _is_packed(call: Call) -> bool:
    return isinstance(call.argument(0, "input"), PackedSequence)


def _all_sequences(module: Any, call: Call) -> int:
    given = call.argument(0, "input")
    if isinstance(given, PackedSequence):
        return int(given.batch_sizes[0])
    return 1 if given.ndim == 2 else int(given.shape[0 if module.batch_first else 1])


def _steps(module: Any, call: Call) -> int:
    given = call.argument(0, "input")
    if isinstance(given, PackedSequence):
        return len(given.batch_sizes)
    return int(given.shape[1 if module.batch_first and given.ndim == 3 else 0])


def _sequences(module: Any, run: list[Call], batch: Batch, most: int) -> Sequences:
    """(time, sequences, features), whatever the layout of the module."""
    if _is_packed(run[0]):
        padded, lengths = unpacked(run[0].argument(0, "input"))
        return Sequences(padded[:, :most], torch.zeros_like(lengths[:most]), lengths[:most], True)
    pieces = []
    for call in run:
        given = call.argument(0, "input")
        given = given[:, None] if given.ndim == 2 else given.transpose(0, 1) if module.batch_first else given
        pieces.append(given)
    inputs = torch.cat(pieces)
    first, last = batch.bounds(inputs.shape[1], inputs.shape[0])
    return Sequences(inputs[:, :most], first[:most], last[:most], False)


def _cell(name: str, module: Any, calls: list[Call], batch: Batch, most: int) -> Piece:
    """A cell that is called step by step: calls whose state is the answer of the call before make one run."""
    runs = _runs(calls, lambda call: call.argument(1, "hx"), lambda call: call.output)
    run = max(runs, key=len)
    inputs = torch.stack([_rows(call.argument(0, "input")) for call in run])
    stepper = stepper_of(module, "")
    outputs = run[0].output if isinstance(run[0].output, tuple) else (run[0].output,)
    given = run[0].argument(1, "hx")
    parts = outputs if given is None else given if isinstance(given, tuple) else (given,)
    start: State = tuple(
        (torch.zeros_like(_rows(one)) if given is None else _rows(one))[:most].to(outputs[0].dtype) for one in parts
    )
    first, last = batch.bounds(inputs.shape[1], len(run))
    course = course_of(inputs[:, :most], start, run[0].precision, runs=last[:most], counted=(last - first)[:most])
    about = f"{type(module).__name__} of {module.hidden_size} units"
    return Piece(name, about, stepper, course, _notes(runs, run, min(most, inputs.shape[1]), inputs.shape[1]))


def _own(model: nn.Module, name: str, layer: Recurrence, calls: list[Call], batch: Batch, most: int) -> Piece:
    call = max(calls, key=lambda one: one.argument(0, "inputs").shape[1])
    given: Tensor = call.argument(0, "inputs")
    sequences, steps = given.shape[:2]
    first, last = batch.bounds(sequences, steps)
    if _runs_back(model, name):
        # Bidirectional turns each sequence around within its length where it was told that, else all of them whole.
        told = batch.steps is None
        first, last = (first, last) if told else (steps - last, steps - first)
    stepper, rows, dtype = own_stepper(layer)
    start = (torch.zeros(min(sequences, most), rows, dtype=dtype, device=given.device),)
    course = course_of(
        given[:most].transpose(0, 1), start, call.precision, runs=last[:most], counted=(last - first)[:most]
    )
    about = f"{type(layer).__name__} of {layer.d_state} states"
    return Piece(
        name, about, stepper, course, _notes([[one] for one in calls], [call], min(most, sequences), sequences)
    )


def _runs_back(model: nn.Module, name: str) -> bool:
    home, _, last = name.rpartition(".")
    return last == "back" and isinstance(model.get_submodule(home), Bidirectional)


def _runs(calls: list[Call], start: Any, end: Any) -> list[list[Call]]:
    """Calls in which each one goes on from where the one before it ended."""
    runs = [[calls[0]]]
    for call in calls[1:]:
        if _same(start(call), end(runs[-1][-1])) and not _is_packed(call):
            runs[-1].append(call)
        else:
            runs.append([call])
    return runs


def _same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return False
    mine, its = (value if isinstance(value, tuple) else (value,) for value in (one, other))
    return len(mine) == len(its) and all(
        a.shape == b.shape and bool(torch.equal(a, b)) for a, b in zip(mine, its, strict=True)
    )


def _rows(value: Tensor) -> Tensor:
    return value[None] if value.ndim == 1 else value


def _notes(runs: list[list[Call]], run: list[Call], measured: int, sequences: int) -> tuple[str, ...]:
    notes = []
    if len(runs) > 1:
        notes.append(
            f"It is called for {len(runs)} sequences or batches one after another, or its state is changed in between: the "
            "longest is measured."
        )
    if measured < sequences:
        notes.append(f"The first {measured} of {sequences} sequences are measured.")
    return tuple(notes)
