"""What the linear recurrent layers share: sequences, single steps, chunks, energies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from signalprop._checks import INT64_LIMIT, flag, whole_number
from signalprop.nn._finite import require_finite
from signalprop.nn._inputs import has_numbers, lengths_of, reals, refuse_beyond_memory, within
from signalprop.nn.scan import rotation_scan

if TYPE_CHECKING:
    from signalprop.recurrences import LinearRecurrence

__all__ = ["Gates", "Recurrence", "State", "System"]


class System(NamedTuple):
    """The linear system that the parameters of a layer stand for; computed from them once per sequence."""

    transition: tuple[Tensor, ...]
    """What the layer's scan takes besides the inputs."""
    enter: Tensor
    """From inputs to states, normalisers included, (rows, d_model)."""
    leave: Tensor
    """From states to outputs, (d_model, rows)."""
    first: Tensor | None
    """Factor of the first input of a sequence, (rows,)."""
    through: Tensor | None = None
    """D, the factor of the inputs in the outputs, (d_model,); filled in by `Recurrence.system`."""
    weights: dict[str, Tensor] | None = None
    """What `GatedRecurrence.gates` reads besides the inputs; None where the transition does not depend on them."""

    def copy(self) -> System:
        """The same numbers in memory of their own, which no training step changes; gradients still reach the parameters."""
        first, through = (None if each is None else each.clone() for each in (self.first, self.through))
        weights = None if self.weights is None else {name: each.clone() for name, each in self.weights.items()}
        return System(
            tuple(each.clone() for each in self.transition),
            self.enter.clone(),
            self.leave.clone(),
            first,
            through,
            weights,
        )


class Gates(NamedTuple):
    """Coefficients that inputs decide on: x_t = decay_t x_{t-1} + enter_t (B u_t), y_t = C (leave_t x_t) + D u_t.

    Each is of shape (rows,), (time, rows) or (batch, time, rows); axes of length one broadcast.
    """

    decay: Tensor
    enter: Tensor | None = None
    leave: Tensor | None = None


class State(NamedTuple):
    """What is carried from step to step."""

    values: Tensor
    """x, (batch, rows); rows are real numbers."""
    fresh: bool
    """Whether no input has been seen yet."""
    system: System | None
    """The weights, as they were when the state was made; None after `detach`."""

    def detach(self) -> State:
        """The numbers alone, cut from all that led to them. The next `advance` or `step` reads the weights as they are then.

        For truncated back-propagation through time: gradients end here, and a training step may come in between.
        """
        return State(self.values.detach(), self.fresh, None)


class Recurrence(nn.Module):
    """A layer x_t = A x_{t-1} + B u_t, y_t = C x_t + D u_t; base of `LRU`, `RotRNN` and `DenseLinearRNN`.

    Parameters are real tensors. The states are computed in float32 or float64, whatever the type of the inputs, also under
    ``torch.autocast``; the two products with B and C follow autocast. Outputs have the type of the inputs.

    The parameters named in `dynamics` stay in float32 at least, also after ``.to(torch.bfloat16)`` or ``.half()``: in
    bfloat16 phases and decay rates would be off by up to 1 or 2 %, which adds up over the memory of a state, and most
    training steps would be rounded away.

    Parameters
    ----------
    d_model
        Size of inputs and outputs.
    d_state
        Size of the state.
    feedthrough
        Whether there is a term D u_t, with D diagonal.
    check_finite
        Whether inputs and outputs are checked for NaN and infinities, at the cost of a pass over each. Off, because a loss
        shows them anyway; `SequenceClassifier` looks where they would be hidden, and then says where they began.
    device, dtype
        Of the parameters; those of the dynamics are of float32 where `dtype` is narrower.
    """

    dynamics: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters that set the transition: float32 at least, no weight decay, often a smaller learning rate."""

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
        self.d_model = whole_number(d_model, "d_model", 1, INT64_LIMIT)
        self.d_state = whole_number(d_state, "d_state", 1, INT64_LIMIT)
        self.check_finite = flag(check_finite, "check_finite")
        if dtype is not None and dtype not in _TYPES:
            raise ValueError(f"the parameters are float16, bfloat16, float32 or float64, got dtype={dtype}.")
        self._device, self._dtype = device, dtype
        self._refuse_beyond_memory(4 * self.d_model * self.d_state)
        self.register_parameter("D", self._empty(self.d_model) if flag(feedthrough, "feedthrough") else None)

    def forward(self, inputs: Tensor) -> Tensor:
        """Outputs (batch, time, d_model) of whole sequences (batch, time, d_model) that start from x_0 = 0."""
        return self._advance(self._accept(inputs), self._start(inputs.shape[0]))[0]

    def initial_state(self, batch: int) -> State:
        """The state x_0 = 0 of `batch` sequences. It holds the weights as they are now: make a new one after a training step."""
        if not torch.compiler.is_compiling():  # where a whole number may stand for any
            batch = whole_number(batch, "batch", 0, INT64_LIMIT)
            self._refuse_beyond_memory(4 * batch * self.d_state)
        return self._holding(self._start(batch))

    def step(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """One time step: inputs (batch, d_model) to outputs (batch, d_model) and the next state."""
        inputs = reals(inputs, "the inputs of a step", ("batch", self.d_model))
        outputs, state = self.advance(inputs[:, None], state)
        return outputs[:, 0], state

    def advance(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """Any number of time steps: (batch, time, d_model) to outputs of that shape and the state after the last."""
        inputs = self._accept(inputs)
        if not isinstance(state, State):
            raise ValueError(f"state must be a State, as initial_state makes it, got {type(state).__name__}.")
        return self._advance(inputs, state if state.system is not None else self._holding(state))

    def states(self, inputs: Tensor) -> Tensor:
        """States (batch, time, rows) of whole sequences, as real numbers whose squares sum to ||x_t||^2."""
        return self._states(self._accept(inputs), self._start(inputs.shape[0]))

    @torch.no_grad()
    def state_energy(self, inputs: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Mean of ||x_t||^2 over the batch at each step, (time,): what to log in training.

        With `lengths` (batch,), the mean at step t is over the sequences of at least t steps, up to the longest.
        """
        if not self._accept(inputs).shape[0]:
            raise ValueError("a mean over the batch needs at least one sequence, got a batch of 0.")
        if lengths is None:
            return self.states(inputs).square().sum(-1).mean(0)
        lengths = lengths_of(lengths, *inputs.shape[:2])
        inside = within(inputs, lengths)[:, : int(lengths.max())]
        energy = self.states(inputs[:, : inside.shape[1]]).square().sum(-1)
        return energy.masked_fill(~inside, 0.0).sum(0) / inside.sum(0)

    def system(self) -> System:
        """The linear system that the parameters stand for now, in float32 or float64.

        Raises
        ------
        ValueError
            Dynamics that were rounded to 16 bits on the way here, as FSDP with ``param_dtype`` and `functional_call` do.
        """
        for each in dynamics_of(self):
            if is_narrow(each):
                raise ValueError(
                    f"{', '.join(self.dynamics)} of {self} must be in float32 or float64, got {each.dtype}: give FSDP a group "
                    "of its own for this layer, without param_dtype, and functional_call the parameters as the layer has them."
                )
        with torch.autocast(self._device_type(), enabled=False):
            system = self._system(torch.promote_types(self.B.dtype, torch.float32))
        return system._replace(through=self.D)

    def reset_parameters(self) -> None:
        """Draw all parameters again, in place."""
        raise NotImplementedError(f"{type(self).__name__} does not say how its parameters are drawn.")

    def linear(self) -> LinearRecurrence:
        """The recurrence as it is now, for the exact laws of `signalprop.recurrences`: C included, D left out, in float64.

        Its `energy` is the mean of `state_energy` over white or AR(1) inputs, its `stationary_energy` the limit of that. It is
        a copy: later training does not change it.

        Raises
        ------
        ValueError
            Parameters on the meta device, or beyond what a recurrence may have: a modulus that is 1 in float64, NaN.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say which linear recurrence it is.")

    @abstractmethod
    def _system(self, dtype: torch.dtype) -> System: ...

    @abstractmethod
    def _scan(self, transition: tuple[Tensor, ...], inputs: Tensor, initial: Tensor) -> Tensor: ...

    def _start(self, batch: int) -> State:
        """As `initial_state`, with the parameters themselves where they are part of the system."""
        system = self.system()
        return State(system.enter.new_zeros(batch, system.enter.shape[0]), True, system)

    def _holding(self, state: State) -> State:
        """The state with a copy of the weights as they are now."""
        return state._replace(system=(state.system or self.system()).copy())

    def _advance(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        assert state.system is not None
        states, gates = self._driven(inputs, state)
        seen = states if gates is None or gates.leave is None else gates.leave * states
        outputs = functional.linear(seen, state.system.leave)
        if state.system.through is not None:
            outputs = outputs + state.system.through * inputs
        outputs = outputs.to(inputs.dtype)
        if self.check_finite and has_numbers(outputs):
            require_finite(outputs, f"the outputs of {self}", FloatingPointError, "its inputs are finite.")
        values = states[:, -1] if inputs.shape[1] else state.values
        return outputs, State(values, state.fresh and not inputs.shape[1], state.system)

    def _rows(self) -> tuple[int, int] | None:
        """How many tensors the transition has, and how many rows the state; None where nothing is known."""
        return None

    def _gates(self, inputs: Tensor, system: System) -> Gates | None:
        """What depends on the inputs; None where nothing does."""
        return None

    def _states(self, inputs: Tensor, state: State) -> Tensor:
        return self._driven(inputs, state)[0]

    def _driven(self, inputs: Tensor, state: State) -> tuple[Tensor, Gates | None]:
        system = state.system
        assert system is not None
        rows, d_model = system.enter.shape
        if state.values.shape[0] != inputs.shape[0]:
            raise ValueError(
                f"the state has a batch of {state.values.shape[0]}, got a batch of {inputs.shape[0]} inputs."
            )
        own = self._rows()
        if (
            state.values.shape[1] != rows
            or d_model != self.d_model
            or own not in (None, (len(system.transition), rows))
        ):
            raise ValueError(
                f"the state belongs to another layer, with {rows} rows and d_model={d_model}, not to {self}."
            )
        if self.check_finite and has_numbers(inputs):
            require_finite(inputs, f"the inputs of {self}", ValueError, "check the data or the preceding layer.")
        autocast = torch.is_autocast_enabled(self._device_type())
        u = inputs if autocast else inputs.to(system.enter.dtype)
        drive = functional.linear(u, system.enter).to(system.enter.dtype)
        if system.first is not None and state.fresh:
            drive = torch.cat([drive[:, :1] * system.first, drive[:, 1:]], 1)
        with torch.autocast(self._device_type(), enabled=False):
            gates = self._gates(inputs, system)
            if gates is None:
                return self._scan(system.transition, drive, state.values), None
            drive = drive if gates.enter is None else gates.enter * drive
            return self._scan((gates.decay,), drive, state.values), gates

    def _accept(self, inputs: Tensor) -> Tensor:
        return reals(inputs, "inputs", ("batch", "time", self.d_model))

    def _refuse_beyond_memory(self, numbers: int) -> None:
        what = f"a {type(self).__name__} with d_model={self.d_model} and d_state={self.d_state}"
        refuse_beyond_memory(numbers, what, self._device)

    def _empty(self, *shape: int) -> nn.Parameter:
        return nn.Parameter(torch.empty(shape, device=self._device, dtype=self._dtype))

    def _empty_dynamics(self, *shape: int) -> nn.Parameter:
        wide = torch.promote_types(self._dtype or torch.get_default_dtype(), torch.float32)
        return nn.Parameter(torch.empty(shape, device=self._device, dtype=wide))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Recurrence:
        """What `.to`, `.half()`, `.cuda()` and their like go through; the dynamics and their gradients stay wide."""
        parameters = dynamics_of(self)
        buffers = [each for values in _parametrizations(self) for each in values.buffers()]
        beside = tuple(f"{name}_" for name in self.dynamics)  # of older spectral norm and pruning
        buffers += [each for name, each in self.named_buffers(recurse=False) if name.startswith(beside)]
        steady = [*parameters, *buffers, *(each.grad for each in parameters if each.grad is not None)]
        places = {id(each) for each in steady}

        def keep(tensor: Tensor) -> Tensor:
            moved = fn(tensor)
            return tensor.to(moved.device, torch.float32) if id(tensor) in places and is_narrow(moved) else moved

        super()._apply(keep, recurse)  # type: ignore[no-untyped-call]
        return self

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Weights that were saved in 16 bits become parameters by ``load_state_dict(.., assign=True)``."""
        for name in self.dynamics:
            value = state_dict.get(prefix + name)
            if isinstance(value, Tensor) and is_narrow(value):
                state_dict[prefix + name] = value.float()
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def _device_type(self) -> str:
        kind: str = self.B.device.type
        return "cpu" if kind == "meta" else kind  # which autocast does not know

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


_TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

# What older weight norm, spectral norm and pruning call the parameters that they compute `W` from.
_ENDINGS = ("", "_orig", "_g", "_v")


def dynamics_of(layer: Recurrence) -> list[nn.Parameter]:
    """The parameters behind the names in ``layer.dynamics``, also where those are computed from others."""
    names = {name + ending for name in layer.dynamics for ending in _ENDINGS}
    found = [each for name, each in layer.named_parameters(recurse=False) if name in names]
    return found + [each for values in _parametrizations(layer) for each in values.parameters()]


def _parametrizations(layer: Recurrence) -> list[nn.Module]:
    """What `torch.nn.utils.parametrize` computes parameters of the dynamics from."""
    lists = getattr(layer, "parametrizations", {})
    return [lists[name] for name in layer.dynamics if name in lists]


def is_narrow(tensor: Tensor) -> bool:
    """Whether it holds floating-point numbers of fewer than 32 bits."""
    return tensor.is_floating_point() and torch.finfo(tensor.dtype).bits < 32
