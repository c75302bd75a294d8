"""Biases of the gates that hold a memory: their law, in words and drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from signalprop.cells.catalogue import Cell
from signalprop.initialization._torch_fill import whole_copy
from signalprop.meanfield import keeping_bias

_NEGLIGIBLE = 0.01  # change of a bias that the table does not mention


@dataclass(frozen=True)
class GateLaw:
    """Biases b' of the gate that keeps the state, which keeps with inputs what it would keep with the bias b without.

    Attributes
    ----------
    law
        Of b: ``"chrono"`` or ``"constant"``.
    odds
        exp of the largest b.
    input_std
        s, what inputs add to the preactivation.
    """

    law: str
    odds: float
    input_std: float

    def ends(self) -> tuple[float, float]:
        """The smallest and the largest b'.

        Raises
        ------
        ValueError
            Inputs that are too large to be made up for.
        """
        low, high = keeping_bias([self._lowest, math.log(self.odds)], self.input_std)
        return float(low), float(high)

    def words(self) -> str:
        """What the table says."""
        plain, shaken = (self._lowest, math.log(self.odds)), self.ends()
        shifted = max(abs(a - b) for a, b in zip(plain, shaken, strict=True)) >= _NEGLIGIBLE
        reason = f" plus what makes up for inputs of std {self.input_std:.3g}" if shifted else ""
        memory = f"{self.odds + 1.0:.7g} steps"
        if plain[0] == plain[1]:
            return f"{shaken[1]:.4g} = log {self.odds:.7g}{reason}: a memory of {memory}"
        return f"log U(1, {self.odds:.7g}){reason and ','}{reason}: memories of 2 to {memory}"

    def drawn(self, tensor: torch.Tensor, cell: Cell, generator: torch.Generator | None) -> torch.Tensor:
        """The vector of biases with those gates replaced that have to do with memory."""
        values, blocks = _blocks(tensor, cell)
        with torch.no_grad():
            one = torch.full_like(blocks[cell.gates[0]], math.log(self.odds))
            if self.law == "chrono":
                one.uniform_(1.0, self.odds, generator=generator).log_()
            if self.input_std > 0.0 and not one.is_meta:
                shaken = keeping_bias(one.cpu().double().numpy(), self.input_std)
                one.copy_(torch.from_numpy(np.asarray(shaken)).to(one.dtype))
            for gate, sign in cell.memory.items():
                blocks[gate].copy_(one * sign)
        return values

    @property
    def _lowest(self) -> float:
        return 0.0 if self.law == "chrono" else math.log(self.odds)


def without_memory(tensor: torch.Tensor, cell: Cell) -> torch.Tensor:
    """The vector of biases with zeros for those gates."""
    values, blocks = _blocks(tensor, cell)
    with torch.no_grad():
        for gate in cell.memory:
            blocks[gate].zero_()
    return values


def _blocks(tensor: torch.Tensor, cell: Cell) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    values = whole_copy(tensor)
    return values, dict(zip(cell.gates, values.chunk(len(cell.gates)), strict=True))
