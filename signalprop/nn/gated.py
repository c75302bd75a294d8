"""Recurrences whose transition depends on their inputs: the base of RG-LRU, minGRU and their like."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from operator import attrgetter
from typing import ClassVar

import torch
from torch import Tensor, nn

from signalprop.nn._inputs import tensor
from signalprop.nn._reset import require_plain
from signalprop.nn.recurrence import Gates, Recurrence, System
from signalprop.nn.scan import linear_scan
from signalprop.recurrences import LinearRecurrence

__all__ = ["GatedRecurrence"]


class GatedRecurrence(Recurrence):
    r"""A diagonal recurrence with gates: x_t = a_t x_{t-1} + e_t (B u_t), y_t = C (l_t x_t) + D u_t, products entry by entry.

    The gates a, e and l are functions of u_t and of parameters. A subclass states them in `gates`, names in `gated_by` the
    parameters that they read, draws these in `reset_parameters`, and has everything else of a `Recurrence`: the compiled scan,
    states, single steps, chunks, forward mode, `torch.compile`, `torch.export`.

    Parameters
    ----------
    d_model
        Size of inputs and outputs.
    d_state
        Size of the real state.
    feedthrough, check_finite, device, dtype
        As in `Recurrence`.

    Raises
    ------
    ValueError
        A size below one; gates of another shape, a name in `gated_by` that is no tensor of the layer.

    Notes
    -----
    The gates of a step may depend on the input of that step alone: a convolution over earlier inputs belongs in front of the
    layer, otherwise single steps would not be what sequences are. They are computed in float32 or float64, also under
    ``torch.autocast``. A decay beyond 1 is not refused.

    At the start B has variance 1/d_model, C 1/d_state, and D is standard normal.

    Examples
    --------
    The RG-LRU of De et al., arXiv:2402.19427, with dense gates:

    >>> import torch
    >>> from torch.nn import functional, init
    >>> class RGLRU(GatedRecurrence):
    ...     dynamics = ("rate",)
    ...     gated_by = ("rate", "W_a", "W_i")
    ...
    ...     def __init__(self, d_model, d_state, **options):
    ...         super().__init__(d_model, d_state, **options)
    ...         self.rate = self.new_parameter(d_state, dynamics=True)
    ...         self.W_a = self.new_parameter(d_state, d_model)
    ...         self.W_i = self.new_parameter(d_state, d_model)
    ...         self.reset_parameters()
    ...
    ...     def reset_parameters(self):
    ...         super().reset_parameters()
    ...         init.uniform_(self.rate, -7.0, -4.0)
    ...         init.xavier_normal_(self.W_a)
    ...         init.xavier_normal_(self.W_i)
    ...
    ...     def gates(self, inputs, weights):
    ...         r = (inputs @ weights["W_a"].mT).sigmoid()
    ...         i = (inputs @ weights["W_i"].mT).sigmoid()
    ...         log_a = -8.0 * functional.softplus(weights["rate"]) * r
    ...         return Gates(decay=log_a.exp(), enter=(-torch.expm1(2.0 * log_a)).sqrt() * i)
    >>> layer = RGLRU(8, 32)
    >>> layer(torch.randn(4, 100, 8)).shape
    torch.Size([4, 100, 8])
    >>> y, state = layer.step(torch.randn(4, 8), layer.initial_state(4))
    >>> y.shape
    torch.Size([4, 8])
    """

    gated_by: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters that the gates read; dotted for those of a module inside: ``"to_decay.weight"``."""

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
        super().__init__(
            d_model, d_state, feedthrough=feedthrough, check_finite=check_finite, device=device, dtype=dtype
        )
        self.B = self.new_parameter(self.d_state, self.d_model)
        self.C = self.new_parameter(self.d_model, self.d_state)

    @abstractmethod
    def gates(self, inputs: Tensor, weights: Mapping[str, Tensor]) -> Gates:
        """The gates of given inputs.

        Parameters
        ----------
        inputs
            u, (batch, time, d_model), in float32 or float64.
        weights
            The parameters named in `gated_by`, of that type too. Read them here and not from the layer: a `State` holds them
            as they were when it was made.
        """

    def new_parameter(self, *shape: int, dynamics: bool = False) -> nn.Parameter:
        """A parameter on the device and of the type of the layer, to be drawn; of float32 at least for one of `dynamics`."""
        return self._empty_dynamics(*shape) if dynamics else self._empty(*shape)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw B, C and D again; a subclass adds its own."""
        require_plain(self)
        nn.init.normal_(self.B, std=math.sqrt(1.0 / self.d_model))
        nn.init.normal_(self.C, std=math.sqrt(1.0 / self.d_state))
        if self.D is not None:
            nn.init.normal_(self.D)

    def linear(self) -> LinearRecurrence:
        """There is none, since the transition depends on the inputs.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            f"the transition of {type(self).__name__} depends on its inputs, so it is no linear recurrence; state_energy "
            "measures its energies on inputs that you have."
        )

    def _rows(self) -> tuple[int, int]:
        return 0, self.d_state

    def _system(self, dtype: torch.dtype) -> System:
        weights = {name: self._read(name) for name in self.gated_by}
        wide = {name: each.to(dtype) if each.is_floating_point() else each for name, each in weights.items()}
        return System((), self.B.to(dtype), self.C.to(dtype), None, weights=wide)

    def _read(self, name: str) -> Tensor:
        found = attrgetter(name)(self)
        if not isinstance(found, Tensor):
            raise ValueError(
                f"gated_by of {type(self).__name__} must name tensors, got {name!r}: {type(found).__name__}."
            )
        return found

    def _gates(self, inputs: Tensor, system: System) -> Gates:
        dtype, shape = system.enter.dtype, (inputs.shape[0], inputs.shape[1], self.d_state)
        found = self.gates(inputs.to(dtype), system.weights or {})
        if not isinstance(found, Gates):
            raise ValueError(f"gates of {type(self).__name__} must return Gates, got {type(found).__name__}.")
        decay = _fitting(found.decay, "decay", shape).to(dtype)
        enter, leave = (
            None if gate is None else _fitting(gate, name, shape).to(dtype)
            for name, gate in (("enter", found.enter), ("leave", found.leave))
        )
        return Gates(decay, enter, leave)

    def _scan(self, transition: tuple[Tensor, ...], inputs: Tensor, initial: Tensor) -> Tensor:
        return linear_scan(transition[0], inputs, initial)


def _fitting(gate: Tensor, name: str, shape: tuple[int, int, int]) -> Tensor:
    """A gate that broadcasts to `shape` without making it larger."""
    tensor(gate, f"the gate {name}")
    wanted = shape[3 - gate.ndim :] if 1 <= gate.ndim <= 3 else ()
    if not wanted or any(have not in (1, want) for have, want in zip(gate.shape, wanted, strict=True)):
        batch, steps, rows = shape
        raise ValueError(
            f"the gate {name} must have shape ({rows},), ({steps}, {rows}) or ({batch}, {steps}, {rows}), axes of length one "
            f"allowed, got {tuple(gate.shape)}."
        )
    return gate
