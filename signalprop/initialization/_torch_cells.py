"""The recurrent layers in a PyTorch module, and the parameters of each by their role."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

_CELLS = {"RNN_TANH": "tanh", "RNN_RELU": "relu", "LSTM": "lstm", "GRU": "gru"}


@dataclass(frozen=True)
class RecurrentLayer:
    """One layer and direction of a recurrent module.

    Attributes
    ----------
    home
        Name of the module, empty for the one that was asked about.
    owner
        The module.
    suffix
        What the names of its parameters end in: ``_l0_reverse``, or nothing for a cell.
    cell
        Name in `signalprop.initialization.starts.STARTS`, or None for a cell that is not known.
    below
        The layers whose states are its inputs: none for the first.
    """

    home: str
    owner: nn.Module
    suffix: str
    cell: str | None
    below: tuple[RecurrentLayer, ...] = ()

    def name(self, role: str) -> str:
        """The full name of ``weight_hh``, ``weight_ih``, ``bias_hh``, ``bias_ih`` or ``weight_hr``."""
        return f"{self.home}.{role}{self.suffix}" if self.home else f"{role}{self.suffix}"

    def tensor(self, role: str) -> torch.Tensor:
        """The parameter itself.

        Raises
        ------
        ValueError
            It is computed from others.
        """
        own = dict(self.owner.named_parameters(recurse=False, remove_duplicate=False))
        found = own.get(f"{role}{self.suffix}")
        if found is None:
            raise ValueError(
                f"{self.name(role)} is computed from other parameters (weight norm, pruning or the like); "
                "fill it before it is reparametrised."
            )
        return found

    def value(self, role: str) -> torch.Tensor:
        """The tensor that the layer computes with, whatever it comes from."""
        found: torch.Tensor = getattr(self.owner, f"{role}{self.suffix}")
        return found

    @property
    def units(self) -> int:
        """Width n: of the states c of an LSTM with a projection."""
        return int(self.owner.hidden_size)  # type: ignore[arg-type]

    @property
    def projection(self) -> int:
        """``proj_size``, 0 where there is none."""
        return int(getattr(self.owner, "proj_size", 0))

    @property
    def has_biases(self) -> bool:
        """Whether the module was built with biases."""
        return bool(self.owner.bias)


def recurrent_layers(module: nn.Module) -> list[RecurrentLayer]:
    """All of them, in the order of the module.

    Raises
    ------
    ValueError
        There are none, or some are quantised.
    """
    found: list[RecurrentLayer] = []
    for home, part in module.named_modules():
        kind = type(part)
        if ".quantized." in f"{kind.__module__}." and hasattr(part, "hidden_size"):
            raise ValueError(
                f"{home or 'module'} is a quantised {kind.__name__}, whose weights are packed; initialize the module that it was "
                "made from."
            )
        found += _layers(home, part)
    if not found:
        raise ValueError(
            f"{type(module).__name__} holds no RNN, GRU, LSTM or cell of these; fill kernels of your own by ginibre_."
        )
    return found


def _layers(home: str, part: nn.Module) -> Iterator[RecurrentLayer]:
    if isinstance(part, nn.RNNCellBase):
        yield RecurrentLayer(home, part, "", cell_of(part))
    if isinstance(part, nn.RNNBase):
        below: tuple[RecurrentLayer, ...] = ()
        for layer in range(part.num_layers):
            ends = ("", "_reverse") if part.bidirectional else ("",)
            here = tuple(RecurrentLayer(home, part, f"_l{layer}{end}", cell_of(part), below) for end in ends)
            yield from here
            below = here


def cell_of(part: nn.Module) -> str | None:
    """Which cell a module is: its name in `STARTS`, or None."""
    if isinstance(part, nn.RNNBase):
        return _CELLS.get(part.mode)
    if isinstance(part, nn.RNNCell):
        return part.nonlinearity if part.nonlinearity in ("tanh", "relu") else None
    return "lstm" if isinstance(part, nn.LSTMCell) else "gru" if isinstance(part, nn.GRUCell) else None
