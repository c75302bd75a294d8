"""Layers of `signalprop.nn` as steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from signalprop.inspection.measured.steps import State, Stepper
from signalprop.nn.recurrence import Recurrence, System
from signalprop.nn.recurrence import State as LayerState


@dataclass(frozen=True)
class OwnStepper:
    """A `signalprop.nn.Recurrence` with its weights at one moment; each of its steps is linear in the state."""

    layer: Recurrence
    system: System

    @property
    def out(self) -> int:
        """Numbers of an output."""
        return self.layer.d_model

    def step(self, x: Tensor, state: State, first: Tensor | None) -> State:
        """By the layer's own."""
        after = self._after(x, state[0], False)
        if first is not None and bool(first.any()):
            after = torch.where(first[:, None], self._after(x, state[0], True), after)
        return (after,)

    def tangent(self, x: Tensor, state: State, directions: State) -> State:
        """The difference of two steps, which is the derivative of a linear one."""
        count = len(directions[0])
        # Where inputs do not set the transition, none are needed: nothing is then lost in the difference.
        given = x.expand(count, -1) if self.system.weights is not None else torch.zeros_like(x).expand(count, -1)
        return (self._after(given, directions[0], False) - self._after(given, torch.zeros_like(directions[0]), False),)

    def cotangent(self, v: Tensor, x: Tensor) -> State:
        """C^T v, behind the gate where the layer has one."""
        gradient = v.to(self.system.leave.dtype) @ self.system.leave
        gates: Any = self.layer._gates(x[:, None], self.system)
        if gates is not None and gates.leave is not None:
            leave = gates.leave.expand(len(x), 1, -1) if gates.leave.ndim == 3 else gates.leave
            gradient = gradient * leave.reshape(-1, gradient.shape[1])
        return (gradient,)

    def _after(self, x: Tensor, values: Tensor, fresh: bool) -> Tensor:
        return self.layer.advance(x[:, None], LayerState(values, fresh, self.system))[1].values


def own_stepper(layer: Recurrence) -> tuple[Stepper, int, torch.dtype]:
    """The step of a layer, the numbers of its state, and their type."""
    with torch.no_grad():
        system = layer.initial_state(1).system
    assert system is not None
    return OwnStepper(layer, system), system.enter.shape[0], system.enter.dtype
