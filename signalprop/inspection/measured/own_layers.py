"""Layers of `signalprop.nn` as steps."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from signalprop.inspection.measured.steps import State, Stepper
from signalprop.nn.dense import DenseLinearRNN
from signalprop.nn.gated import GatedRecurrence
from signalprop.nn.recurrence import Gates, PlaneRecurrence, Recurrence, System
from signalprop.nn.recurrence import State as LayerState


@dataclass(frozen=True)
class OwnStepper:
    """A `signalprop.nn.Recurrence` with its weights at one moment; each of its steps is linear in the state.

    One step of the layer itself goes through a scan, which takes ten times as long as the products below.
    """

    layer: Recurrence
    system: System

    @property
    def out(self) -> int:
        """Numbers of an output."""
        return self.layer.d_model

    def step(self, x: Tensor, state: State, first: Tensor | None) -> State:
        """A x + B u, as the layer has them."""
        if not isinstance(self.layer, (PlaneRecurrence, DenseLinearRNN, GatedRecurrence)):
            return (self.layer.advance(x[:, None], LayerState(state[0], False, self.system))[1].values,)
        enter, device = self.system.enter, x.device.type
        u = x if torch.is_autocast_enabled(device) else x.to(enter.dtype)
        drive = functional.linear(u, enter).to(enter.dtype)
        if first is not None and self.system.first is not None:
            drive = torch.where(first[:, None], drive * self.system.first, drive)
        with torch.autocast(device, enabled=False):
            gates = self._gates(x)
            if gates is not None and gates.enter is not None:
                drive = _of_one_step(gates.enter) * drive
            return (self._moved(state[0], gates) + drive,)

    def tangent(self, x: Tensor, state: State, directions: State) -> State:
        """The linear part of a step."""
        values = directions[0]
        if not isinstance(self.layer, (PlaneRecurrence, DenseLinearRNN, GatedRecurrence)):
            many = x.expand(len(values), -1)
            return (self.step(many, (values,), None)[0] - self.step(many, (torch.zeros_like(values),), None)[0],)
        with torch.autocast(x.device.type, enabled=False):
            return (self._moved(values, self._gates(x)),)

    def cotangent(self, v: Tensor, x: Tensor) -> State:
        """C^T v, behind the gate where the layer has one."""
        gradient = v.to(self.system.leave.dtype) @ self.system.leave
        gates = self._gates(x)
        if gates is not None and gates.leave is not None:
            gradient = _of_one_step(gates.leave) * gradient
        return (gradient,)

    def _gates(self, x: Tensor) -> Gates | None:
        return self.layer._gates(x[:, None], self.system)

    def _moved(self, values: Tensor, gates: Gates | None) -> Tensor:
        if gates is not None:
            return _of_one_step(gates.decay) * values
        if isinstance(self.layer, DenseLinearRNN):
            return values @ self.system.transition[0].T
        decay, angle = self.system.transition
        even, odd = torch.unflatten(values, -1, (-1, 2)).unbind(-1)
        cosine, sine = decay * angle.cos(), decay * angle.sin()
        return torch.stack([cosine * even - sine * odd, sine * even + cosine * odd], -1).flatten(-2)


def _of_one_step(gate: Tensor) -> Tensor:
    """A gate (rows,), (1, rows) or (sequences, 1, rows), axes of length one allowed, as one that goes with (sequences, rows)."""
    return gate[:, 0] if gate.ndim == 3 else gate


def own_stepper(layer: Recurrence) -> tuple[Stepper, int, torch.dtype]:
    """The step of a layer, the numbers of its state, and their type."""
    with torch.no_grad():
        system = layer.initial_state(1).system
    assert system is not None
    return OwnStepper(layer, system), system.enter.shape[0], system.enter.dtype
