"""Layers of `torch.nn.RNN`, `GRU`, `LSTM` and their cells as steps, and the courses of what they were given."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import PackedSequence, pad_packed_sequence

from signalprop.inspection.measured.steps import Course, Precision, State, Stepper, course_of

_VF: Any = torch._VF
_MODES = {"RNN_TANH": "tanh", "RNN_RELU": "relu", "LSTM": "lstm", "GRU": "gru"}
_CELLS = {"tanh": _VF.rnn_tanh_cell, "relu": _VF.rnn_relu_cell, "gru": _VF.gru_cell}
_WHOLE = {"tanh": _VF.rnn_tanh, "relu": _VF.rnn_relu, "gru": _VF.gru, "lstm": _VF.lstm}


@dataclass(frozen=True)
class TorchStepper:
    """One layer and direction.

    Attributes
    ----------
    cell
        ``"tanh"``, ``"relu"``, ``"gru"`` or ``"lstm"``; the state of the last is (h, c), that of the others (h,).
    weights
        ``weight_ih``, ``weight_hh``, and where there are some ``bias_ih``, ``bias_hh``.
    project
        ``weight_hr``, or None.
    """

    cell: str
    weights: tuple[Tensor, ...]
    project: Tensor | None = None

    @property
    def out(self) -> int:
        """Numbers of an output."""
        return self.weights[1].shape[1]

    @property
    def units(self) -> int:
        """Numbers of a state c, or of h where there is no projection."""
        return len(self.weights[1]) // {"lstm": 4, "gru": 3}.get(self.cell, 1)

    def step(self, x: Tensor, state: State, first: Tensor | None) -> State:
        """By PyTorch's cells; one with a projection by its formula, because they have none."""
        if self.project is not None:
            return self._projected(x, state)
        given = self.weights if len(self.weights) == 4 else (*self.weights, None, None)
        if self.cell == "lstm":
            return tuple(_VF.lstm_cell(x, list(state), *given))
        return (_CELLS[self.cell](x, state[0], *given),)

    def tangent(self, x: Tensor, state: State, directions: State) -> State:
        """Derivatives written out: fused cells have no forward mode, and PyTorch's own takes milliseconds per step."""
        biases = self._biases
        added = functional.linear(x, self.weights[0], biases[0])
        kept = functional.linear(state[0], self.weights[1], biases[1])
        moved = functional.linear(directions[0].to(state[0].dtype), self.weights[1])
        if self.cell == "lstm":
            return self._lstm_tangent(added + kept, state[1], moved, directions[1].to(state[1].dtype))
        if self.cell == "gru":
            return (_gru_tangent(added, kept, state[0], moved, directions[0].to(state[0].dtype)),)
        h = added + kept
        return (moved * (1.0 - h.tanh().square()) if self.cell == "tanh" else moved * (h > 0.0),)

    def _lstm_tangent(self, gates: Tensor, c: Tensor, moved: Tensor, dc: Tensor) -> State:
        i, f, g, o = gates.chunk(4, -1)
        di, df, dg, do = moved.chunk(4, -1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        after = (f * c + i * g).tanh()
        dc = f * dc + f * (1.0 - f) * c * df + i * (1.0 - i) * g * di + i * (1.0 - g * g) * dg
        dh = o * (1.0 - o) * after * do + o * (1.0 - after * after) * dc
        return (dh if self.project is None else functional.linear(dh, self.project), dc)

    def cotangent(self, v: Tensor, x: Tensor) -> State:
        """Of the output h: (v, 0) for an LSTM."""
        return (v, v.new_zeros(len(v), self.units)) if self.cell == "lstm" else (v,)

    @property
    def _biases(self) -> tuple[Tensor | None, ...]:
        return self.weights[2:] if len(self.weights) == 4 else (None, None)

    def _projected(self, x: Tensor, state: State) -> State:
        """An LSTM with a projection."""
        biases = self._biases
        gates = functional.linear(x, self.weights[0], biases[0]) + functional.linear(
            state[0], self.weights[1], biases[1]
        )
        i, f, g, o = gates.chunk(4, -1)
        c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
        assert self.project is not None
        return functional.linear(o.sigmoid() * c.tanh(), self.project), c


def _gru_tangent(added: Tensor, kept: Tensor, h: Tensor, moved: Tensor, dh: Tensor) -> Tensor:
    (xr, xz, xn), (hr, hz, hn), (dr, dz, dn) = added.chunk(3, -1), kept.chunk(3, -1), moved.chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    dn = (1.0 - n * n) * (r * (1.0 - r) * hn * dr + r * dn)
    return (1.0 - z) * dn + z * dh + z * (1.0 - z) * (h - n) * dz


def cell_name(module: nn.Module) -> str | None:
    """Which cell a module is made of; None for one that is not known."""
    if isinstance(module, nn.RNNBase):
        return _MODES.get(module.mode)
    if isinstance(module, nn.RNNCell):
        return module.nonlinearity if module.nonlinearity in ("tanh", "relu") else None
    return "lstm" if isinstance(module, nn.LSTMCell) else "gru" if isinstance(module, nn.GRUCell) else None


def stepper_of(module: Any, suffix: str) -> TorchStepper:
    """The step with the weights that a layer computes with, whatever they come from."""
    roles = ("weight_ih", "weight_hh", *(("bias_ih", "bias_hh") if module.bias else ()))
    weights = tuple(getattr(module, role + suffix).detach() for role in roles)
    project = getattr(module, f"weight_hr{suffix}").detach() if getattr(module, "proj_size", 0) else None
    return TorchStepper(str(cell_name(module)), weights, project)


@dataclass(frozen=True)
class Sequences:
    """What a module was given: (time, sequences, features), where sequences start and end, and whether the layer knows.

    Attributes
    ----------
    inputs
        Of all sequences, padded.
    first, last
        The first step of each that counts, and the last one plus one, (sequences,).
    packed
        Whether the layer stops at `last` by itself, and runs back from there.
    """

    inputs: Tensor
    first: Tensor
    last: Tensor
    packed: bool

    def course(self, inputs: Tensor, start: State, precision: Precision, backward: bool) -> Course:
        """The course of one direction over inputs that may be those of a layer above."""
        if not backward:
            return course_of(inputs, start, precision, runs=self.last, counted=self.last - self.first)
        ends = self.last if self.packed else torch.full_like(self.last, len(inputs))
        return course_of(inputs, start, precision, runs=ends - self.first, counted=self.last - self.first, ends=ends)


def unpacked(packed: PackedSequence) -> tuple[Tensor, Tensor]:
    """(time, sequences, features) and the lengths."""
    padded, lengths = pad_packed_sequence(packed)
    return padded, lengths


def layers_of(
    module: Any, given: Sequences, hidden: Any, precision: Precision, dtype: torch.dtype
) -> Iterator[tuple[str, Stepper, Course]]:
    """Every layer and direction with its suffix, step and course; `hidden` is (h_0, c_0) or h_0 as PyTorch has it, or None."""
    cell, inputs = cell_name(module), given.inputs
    directions = 2 if module.bidirectional else 1
    for number in range(module.num_layers):
        outputs = []
        for backward in range(directions):
            suffix = f"_l{number}{'_reverse' if backward else ''}"
            stepper = stepper_of(module, suffix)
            start = _start(stepper, hidden, number * directions + backward, inputs, dtype)
            yield suffix, stepper, given.course(inputs, start, precision, bool(backward))
            if number + 1 < module.num_layers:
                outputs.append(_outputs(cell, stepper, given, inputs, start, precision, bool(backward)))
        if outputs:
            inputs = torch.cat(outputs, -1)
            inputs = functional.dropout(inputs, module.dropout, module.training)


def _start(stepper: TorchStepper, hidden: Any, place: int, inputs: Tensor, dtype: torch.dtype) -> State:
    sizes = (stepper.out, stepper.units) if stepper.cell == "lstm" else (stepper.out,)
    if hidden is None:
        return tuple(torch.zeros(inputs.shape[1], size, dtype=dtype, device=inputs.device) for size in sizes)
    parts = hidden if isinstance(hidden, tuple) else (hidden,)
    return tuple(part[place].to(dtype) for part in parts)


@torch.no_grad()
def _outputs(
    cell: Any,
    stepper: TorchStepper,
    given: Sequences,
    inputs: Tensor,
    start: State,
    precision: Precision,
    backward: bool,
) -> Tensor:
    """Of all steps, padding included where the layer runs over it, by PyTorch's kernel for whole sequences."""
    order = None
    if backward:
        ends = given.last if given.packed else torch.full_like(given.last, len(inputs))
        order = ((ends[None] - 1 - torch.arange(len(inputs))[:, None]) % len(inputs)).to(inputs.device)
        order = order[..., None]
        inputs = inputs.gather(0, order.expand_as(inputs))
    weights = [*stepper.weights, *(() if stepper.project is None else (stepper.project,))]
    with precision.again():
        hidden = [part[None].to(inputs.dtype) for part in start]
        found: Tensor = _WHOLE[cell](
            inputs,
            hidden if cell == "lstm" else hidden[0],
            weights,
            len(stepper.weights) == 4,
            1,
            0.0,
            False,
            False,
            False,
        )[0]
    return found if order is None else found.gather(0, order.expand_as(found))
