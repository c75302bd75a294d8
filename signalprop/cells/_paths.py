"""One draw: its weights, its inputs in blocks of steps, and what the kernels make of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._streams import stream
from signalprop._threads import go_on, stop_flag
from signalprop.cells._kernels import backward_kernel, forward_kernel, linear_kernel, states_kernel
from signalprop.cells._setting import Setting
from signalprop.cells._weights import draw_weights
from signalprop.fields import Field
from signalprop.ginibre._normals import fill_normal

Floats = NDArray[np.float64]
_BLOCK = 1 << 16  # numbers of one block of inputs


class Drive:
    """What inputs and biases add to the preactivations of one draw, block after block."""

    def __init__(self, setting: Setting, rng: np.random.Generator) -> None:
        self.setting, self._rng, self.done = setting, rng, 0
        shape = (len(setting.cell.gates), setting.n)
        self._biases = np.zeros(shape)
        for gate, row in zip(setting.cell.gates, self._biases, strict=True):
            if gate in setting.biases:
                row[:] = setting.biases[gate]
        self.hidden = np.array(setting.biases.get("candidate_hidden", np.zeros(setting.n)), np.float64)
        if isinstance(setting.inputs, str) and setting.inputs == "constant":
            self._biases += fill_normal(rng, np.empty(shape), setting.input_std)
        self.longest = max(1, _BLOCK // (shape[0] * shape[1]))

    def block(self, most: int) -> Floats:
        """The next steps, `most` or fewer; shape (steps, gates, n)."""
        steps = min(most, self.longest)
        shape = (steps, *self._biases.shape)
        inputs = self.setting.inputs
        if isinstance(inputs, np.ndarray):
            found = inputs[self.done : self.done + steps] + self._biases
        elif inputs == "fresh" and self.setting.input_std > 0.0:
            found = fill_normal(self._rng, np.empty(shape), self.setting.input_std)
            found += self._biases
        else:
            found = np.broadcast_to(self._biases, shape).copy()
        self.done += steps
        return found

    def normals(self, steps: int) -> Floats:
        """Two normal numbers per step and row of W, for fresh weights; none where one W serves all steps."""
        rows = self._biases.size
        return np.empty((0, 2, rows)) if self.setting.tied else fill_normal(self._rng, np.empty((steps, 2, rows)))


def draw_path(setting: Setting, draw: int) -> Floats:
    """Log-energies of draw number `draw`, after 0, .., horizon steps; shape (horizon + 1,)."""
    cell, n = setting.cell, setting.n
    rng = stream(setting.seed, "gradient energies", setting.name, n, setting.kind, setting.field.value, chunk=draw)
    w: NDArray[Any]
    if setting.tied:
        w = draw_weights(setting.kind, len(cell.gates), n, setting.scale, setting.field, rng)
    else:
        w = np.empty((0, n), np.float64 if setting.field is Field.REAL else np.complex128)
    logs = np.zeros(setting.horizon + 1)
    if cell.linear:
        _linear(setting, w, rng, logs[1:])
    elif setting.backward:
        _backward(setting, w, rng, logs[1:])
    else:
        _forward(setting, w, rng, logs[1:])
    return logs


def start(setting: Setting, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A tangent (dh, dc) of length 1 in a random direction; a gradient of the output has no part in c."""
    two = len(setting.cell.states) > 1
    dh = rng.standard_normal(setting.n)
    dc = rng.standard_normal(setting.n) if two else np.empty(0)
    if setting.backward:
        dc[:] = 0.0
    length = float(np.sqrt(dh @ dh + dc @ dc))
    return dh / length, dc / length


def _linear(setting: Setting, w: NDArray[Any], rng: np.random.Generator, logs: Floats) -> None:
    d, _ = start(setting, rng)
    if setting.backward:
        w = np.ascontiguousarray(w.T)
    total, first, longest = 0.0, 0, max(1, _BLOCK // setting.n)
    d = d.astype(w.dtype)
    while first < logs.size:
        part = logs[first : first + longest]
        rows = 0 if setting.tied else part.size
        normals = _normals(setting.field, rng, (rows, setting.n))
        linear_kernel(setting.leak, w, normals, setting.std, d, total, part, stop_flag())
        go_on()
        total, first = float(part[-1]), first + part.size


def _normals(field: Field, rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[Any]:
    if field is Field.REAL:
        return rng.standard_normal(shape)
    return np.asarray(np.sqrt(0.5) * rng.standard_normal((*shape, 2)).view(np.complex128)[..., 0])


def _forward(setting: Setting, w: Floats, rng: np.random.Generator, logs: Floats) -> None:
    cell, (dh, dc) = setting.cell, start(setting, rng)
    drive = Drive(setting, rng)
    h, c = np.zeros(setting.n), np.zeros(dc.size)
    still, total, unread = np.zeros(setting.n), -np.inf, np.empty(drive.longest)
    while drive.done < setting.steps:
        first = drive.done - setting.start_steps
        settling = first < 0
        inputs = drive.block(-first if settling else setting.steps - drive.done)
        if first == 0:
            total = 0.0
        part = unread[: len(inputs)] if settling else logs[first : first + len(inputs)]
        done = forward_kernel(
            cell.step, setting.leak, cell.negative_slope, w, drive.normals(len(inputs)), setting.std, inputs, drive.hidden,
            h, c, still if settling else dh, dc, total, part, stop_flag(),
        )  # fmt: skip
        _finite(setting, done, len(inputs), drive.done)
        total = float(part[-1])


def _backward(setting: Setting, w: Floats, rng: np.random.Generator, logs: Floats) -> None:
    cell, (dh, dc) = setting.cell, start(setting, rng)
    drive = Drive(setting, rng)
    h, c = np.zeros(setting.n), np.zeros(dc.size)
    rows = 2 + len(cell.gates)
    kept, unread = np.empty((setting.horizon, rows, setting.n)), np.empty((drive.longest, rows, setting.n))
    while drive.done < setting.steps:
        first = drive.done - setting.start_steps
        inputs = drive.block(-first if first < 0 else setting.steps - drive.done)
        part = unread[: len(inputs)] if first < 0 else kept[first : first + len(inputs)]
        done = states_kernel(
            cell.step, setting.leak, cell.negative_slope, w, inputs, drive.hidden, h, c, part, stop_flag()
        )
        _finite(setting, done, len(inputs), drive.done)
    total, last = 0.0, setting.horizon
    while last > 0:
        first = max(0, last - drive.longest)
        part = logs[setting.horizon - last : setting.horizon - first]
        backward_kernel(cell.step, w, kept[first:last], dh, dc, total, part, stop_flag())
        go_on()
        total, last = float(part[-1]), first


def _finite(setting: Setting, done: int, steps: int, at: int) -> None:
    go_on()
    if done < steps:
        raise ValueError(
            f"the states of cell={setting.name!r} grow beyond 1e300 within {at - steps + done + 1} steps at "
            f"scale={setting.scale:g}; take a smaller scale or a shorter horizon."
        )
