"""What the linear recurrent layers share: sequences, single steps, chunks, energies."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from signalprop._checks import whole_number
from signalprop.nn._finite import require_finite
from signalprop.nn.scan import rotation_scan

__all__ = ["Recurrence", "State", "System"]


class System(NamedTuple):
    """The linear system that the parameters of a layer stand for; computed from them once a sequence."""

    transition: tuple[Tensor, ...]
    """What the layer's scan takes besides the inputs."""
    enter: Tensor
    """From inputs to states, normalisers included, (rows, d_model)."""
    leave: Tensor
    """From states to outputs, (d_model, rows)."""
    first: Tensor | None
    """Factor of the first input of a sequence, (rows,)."""


class State(NamedTuple):
    """What is carried from step to step."""

    values: Tensor
    """x, (batch, rows); rows are real numbers."""
    fresh: bool
    """Whether no input has been seen yet."""
    system: System
    """The weights, as they were when the state was made."""


class Recurrence(nn.Module):
    """A layer x_t = A x_{t-1} + B u_t, y_t = C x_t + D u_t; base of `LRU`, `RotRNN` and `DenseLinearRNN`.

    Parameters are real tensors. The states are computed in float32 or float64, whatever the type of the inputs, also under
    ``torch.autocast``; the two products with B and C follow autocast. Outputs have the type of the inputs.

    Parameters
    ----------
    d_model
        Size of inputs and outputs.
    d_state
        Size of the state.
    feedthrough
        Whether there is a term D u_t, with D diagonal.
    check_finite
        Whether inputs and outputs are looked at for NaN and infinities, at the cost of a pass over each. Off, because a loss
        shows them anyway; `SequenceClassifier` looks where they would be hidden, and then says where they began.
    device, dtype
        Of the parameters.
    """

    dynamics: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters that set the transition: no weight decay, and often a smaller learning rate."""

    B: nn.Parameter
    C: nn.Parameter
    D: nn.Parameter | None

    def __init__(
        self,
        d_model: int,
        d_state: int,
        *,
        feedthrough: bool = True,
        check_finite: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.d_model = whole_number(d_model, "d_model", 1)
        self.d_state = whole_number(d_state, "d_state", 1)
        self.check_finite = check_finite
        if dtype is not None and not dtype.is_floating_point:
            raise ValueError(f"the parameters are real numbers, got dtype={dtype}.")
        self._device, self._dtype = device, dtype
        self.register_parameter("D", self._empty(self.d_model) if feedthrough else None)

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs (batch, time, d_model) of whole sequences (batch, time, d_model) that start from x_0 = 0."""
        self._accept(inputs)
        return self.advance(inputs, self.initial_state(inputs.shape[0]))[0]

    def initial_state(self, batch: int) -> State:
        """The state x_0 = 0 of `batch` sequences. It holds the weights as they are now: make a new one after a training step."""
        system, batch = self.system(), whole_number(batch, "batch", 0)
        return State(system.enter.new_zeros(batch, system.enter.shape[0]), True, system)

    def step(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """One time step: inputs (batch, d_model) to outputs (batch, d_model) and the next state."""
        if inputs.ndim != 2:
            raise ValueError(
                f"the inputs of a step must have shape (batch, {self.d_model}), got {tuple(inputs.shape)}."
            )
        outputs, state = self.advance(inputs[:, None], state)
        return outputs[:, 0], state

    def advance(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """Any number of time steps: (batch, time, d_model) to outputs of that shape and the state after the last."""
        states = self._states(inputs, state)
        outputs = functional.linear(states, state.system.leave)
        if self.D is not None:
            outputs = outputs + self.D * inputs
        outputs = outputs.to(inputs.dtype)
        if self.check_finite and not torch.compiler.is_compiling():
            require_finite(outputs, f"the outputs of {self}", FloatingPointError, "its inputs are finite.")
        values = states[:, -1] if inputs.shape[1] else state.values
        return outputs, State(values, state.fresh and not inputs.shape[1], state.system)

    def states(self, inputs: Tensor) -> Tensor:
        """States (batch, time, rows) of whole sequences, as real numbers whose squares sum to ||x_t||^2."""
        self._accept(inputs)
        return self._states(inputs, self.initial_state(inputs.shape[0]))

    @torch.no_grad()
    def state_energy(self, inputs: Tensor) -> Tensor:
        """Mean of ||x_t||^2 over the batch at each step, (time,): what to log in training."""
        return self.states(inputs).square().sum(-1).mean(0)

    def system(self) -> System:
        """The linear system that the parameters stand for now, in float32 or float64."""
        with torch.autocast(self._device_type(), enabled=False):
            return self._system(torch.promote_types(self.B.dtype, torch.float32))

    @abstractmethod
    def _system(self, dtype: torch.dtype) -> System: ...

    @abstractmethod
    def _scan(self, transition: tuple[Tensor, ...], inputs: Tensor, initial: Tensor) -> Tensor: ...

    def _states(self, inputs: Tensor, state: State) -> Tensor:
        self._accept(inputs)
        system = state.system
        if state.values.shape[0] != inputs.shape[0]:
            raise ValueError(
                f"the state is one of {state.values.shape[0]} sequences, got {inputs.shape[0]} sequences of inputs."
            )
        if self.check_finite and not torch.compiler.is_compiling():
            require_finite(inputs, f"the inputs of {self}", ValueError, "mend the data or the layer before.")
        autocast = torch.is_autocast_enabled(self._device_type())
        u = inputs if autocast else inputs.to(system.enter.dtype)
        drive = functional.linear(u, system.enter).to(system.enter.dtype)
        if system.first is not None and state.fresh:
            drive = torch.cat([drive[:, :1] * system.first, drive[:, 1:]], 1)
        with torch.autocast(self._device_type(), enabled=False):
            return self._scan(system.transition, drive, state.values)

    def _accept(self, inputs: Tensor) -> None:
        if inputs.ndim != 3 or inputs.shape[2] != self.d_model:
            raise ValueError(f"inputs must have shape (batch, time, {self.d_model}), got {tuple(inputs.shape)}.")
        if not inputs.is_floating_point():
            raise ValueError(f"inputs must be real floating-point numbers, got type {inputs.dtype}.")

    def _empty(self, *shape: int) -> nn.Parameter:
        return nn.Parameter(torch.empty(shape, device=self._device, dtype=self._dtype))

    def _device_type(self) -> str:
        kind: str = self.B.device.type
        return kind

    def extra_repr(self) -> str:
        """What ``repr`` shows in the brackets."""
        return f"d_model={self.d_model}, d_state={self.d_state}"


class PlaneRecurrence(Recurrence):
    """A recurrence whose state is made of planes that shrink and turn: transition (decay, angle), rows two to a plane."""

    def _scan(self, transition: tuple[Tensor, ...], inputs: Tensor, initial: Tensor) -> Tensor:
        decay, angle = transition
        batch, steps, rows = inputs.shape
        pairs, first = inputs.reshape(batch, steps, rows // 2, 2), initial.reshape(batch, rows // 2, 2)
        return rotation_scan(decay, angle, pairs, first).flatten(-2)
