"""Which cells are simulated: their gates, biases and states, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from signalprop._registry import Registry

# Which step of `_kernels` a cell takes. Compiled kernels on disk know them by these numbers: add at the end.
GRU, LSTM, TANH, ERF, HARDTANH, RECTIFIER, SILU, GELU, LINEAR = range(9)


@dataclass(frozen=True, slots=True)
class Cell:
    """A recurrent cell in PyTorch's convention. States start at zero, and so do biases.

    Attributes
    ----------
    gates
        Blocks of W, in PyTorch's order; each meets h and has inputs of its own.
    biases
        Vectors of one number per unit: those of the gates, in their order, and the one inside of a GRU's reset product.
    states
        h, or h and c.
    step
        Number of its step in the compiled loop.
    negative_slope
        Of a rectifier.
    memory
        Which biases hold a memory, and with which sign they take `signalprop.meanfield.chrono_biases`.
    """

    gates: tuple[str, ...]
    biases: tuple[str, ...]
    states: tuple[str, ...]
    step: int
    negative_slope: float = 0.0
    memory: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def linear(self) -> bool:
        """Whether the gradient is that of W alone, whatever the states."""
        return self.step == LINEAR

    @property
    def gated(self) -> bool:
        """Whether it has more than one gate."""
        return len(self.gates) > 1


def _of_one_gate(step: int, negative_slope: float = 0.0) -> Cell:
    return Cell(("state",), ("state",), ("h",), step, negative_slope)


CELLS: Registry[Cell] = Registry(
    "cell",
    Cell,
    {
        "linear": _of_one_gate(LINEAR),
        "tanh": _of_one_gate(TANH),
        "relu": _of_one_gate(RECTIFIER),
        "leaky_relu": _of_one_gate(RECTIFIER, 0.01),
        "hardtanh": _of_one_gate(HARDTANH),
        "erf": _of_one_gate(ERF),
        "silu": _of_one_gate(SILU),
        "gelu": _of_one_gate(GELU),
        "gru": Cell(
            ("reset_gate", "update_gate", "candidate"),
            ("reset_gate", "update_gate", "candidate", "candidate_hidden"),
            ("h",),
            GRU,
            memory=MappingProxyType({"update_gate": 1.0}),
        ),
        "lstm": Cell(
            ("input_gate", "forget_gate", "candidate", "output_gate"),
            ("input_gate", "forget_gate", "candidate", "output_gate"),
            ("h", "c"),
            LSTM,
            memory=MappingProxyType({"input_gate": -1.0, "forget_gate": 1.0}),
        ),
    },
)
