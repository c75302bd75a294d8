"""What a call of `init_recurrent_` fills with what: checked as a whole before any number is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from signalprop.fields import choices
from signalprop.initialization._entries import EntryScale
from signalprop.initialization._initialized import Row
from signalprop.initialization._torch_cells import RecurrentLayer
from signalprop.initialization._torch_fill import (
    REAL,
    dtype_name,
    gaussian,
    mean_square,
    near_identity,
    orthogonal,
    require_fillable,
    require_own_memory,
)
from signalprop.initialization._torch_wish import LARGEST_STD, SMALLEST_STD, Wish
from signalprop.initialization.starts import STARTS, Start, expected_biases, longest_odds

if TYPE_CHECKING:
    from signalprop.cells.catalogue import Cell


@dataclass(frozen=True)
class Fill:
    """One parameter that will be filled."""

    tensor: torch.Tensor
    rows: tuple[Row, ...]
    draw: Callable[[], torch.Tensor]


@dataclass
class Plan:
    """All that will be filled; a parameter that several modules share is there once."""

    wish: Wish
    fills: list[Fill] = field(default_factory=list)
    _seen: dict[torch.Tensor, tuple[Row, ...]] = field(default_factory=dict)
    _scales: dict[RecurrentLayer, float] = field(default_factory=dict)
    _stds: dict[RecurrentLayer, float] = field(default_factory=dict)

    def add(self, tensor: torch.Tensor, rows: tuple[Row, ...], draw: Callable[[], torch.Tensor]) -> None:
        """One more, unless it is there already."""
        if tensor not in self._seen:
            self._seen[tensor] = rows
            self.fills.append(Fill(tensor, rows, draw))
            return
        before = self._seen[tensor]
        if [(row.part, row.law) for row in before] != [(row.part, row.law) for row in rows]:
            raise ValueError(
                f"{rows[0].parameter} and {before[0].parameter} are one parameter, which would be filled in two ways: "
                f"{rows[0].law}, and {before[0].law}; fill one of the modules alone."
            )

    def layer(self, layer: RecurrentLayer) -> None:
        """What one layer needs, after the layers below it."""
        wish = self.wish
        if wish.linear is not None:
            self._scales[layer] = self._linear_kernel(layer, wish.linear)
        else:
            self._scales[layer] = self._kernel(layer, _start_of(layer))
        if wish.input_kernel:
            self._input_kernel(layer)
        if wish.law is not None and has_memory_gates(layer):
            self._biases(layer, _cell_of(layer), wish.law)

    def _linear_kernel(self, layer: RecurrentLayer, scales: EntryScale) -> float:
        name, tensor = layer.name("weight_hh"), layer.tensor("weight_hh")
        require_fillable(tensor, self.wish.generator, name)
        if layer.projection:
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)}: with proj_size={layer.projection} the recurrent kernel is not "
                "square and linear theory has no scale for it; give horizon alone, or a kind."
            )
        std = scales.std(tensor.shape, dtype_name(tensor), name=name)
        require_own_memory(tensor, self.wish.generator, name)
        g = std * math.sqrt(tensor.shape[1])
        row = Row(name, _all_of(tensor.shape[0] // tensor.shape[1]), *_gaussian_words(g, std))
        self.add(tensor, (row,), lambda: gaussian(tensor, std, self.wish.generator))
        return g

    def _kernel(self, layer: RecurrentLayer, start: Start) -> float:
        """Recurrent kernels, and the projection of an LSTM that has one; their scale."""
        wish, kind, blocks = self.wish, self.wish.kind or start.kind, len(_cell_of(layer).gates)
        name, width = layer.name("weight_hh"), layer.projection or layer.units
        tensor = self._real(layer, "weight_hh", (blocks * layer.units, width))
        if isinstance(wish.input_std, Mapping):
            self.input_std(layer)  # has a number for it, whether that is read or not
        if wish.critical:
            _require_critical(name, layer, kind, start)
        if kind == "identity":
            if layer.projection:
                raise ValueError(
                    f"{name} has shape {tuple(tensor.shape)}: with proj_size={layer.projection} its gates are not square, and "
                    "kind must be 'gaussian' or 'orthogonal', got 'identity'."
                )
            g = 1.0 if wish.scale is None else wish.scale
            leak = wish.leak if wish.kind is not None else start.leak
            law = (
                _times("identity", g) if leak is None else f"{1.0 - leak:.4g} I + {leak:.4g} W, Gaussian W, g = {g:.4g}"
            )
            numbers = {"scale": g} if leak is None else {"scale": g, "leak": leak}
            self.add(
                tensor,
                (Row(name, _all_of(blocks), law, numbers),),
                lambda: near_identity(tensor, blocks, g, leak, wish.generator),
            )
            return g
        s = self.input_std(layer) if wish.critical else None
        g = start.scale if wish.scale is None else wish.scale
        if s is not None and start.critical is not None:
            g = start.critical(s)
        self._matrix(tensor, name, _all_of(blocks), blocks, kind, g, s)
        if layer.projection:
            projection = self._real(layer, "weight_hr", (layer.projection, layer.units))
            self._matrix(projection, layer.name("weight_hr"), "projection", 1, kind, 1.0, None)
        return g

    def _matrix(
        self, tensor: torch.Tensor, name: str, part: str, blocks: int, kind: str, g: float, s: float | None
    ) -> None:
        """Gaussian of fan-in variance, or orthogonal block by block; s is what g was worked out for."""
        wish, std = self.wish, g / math.sqrt(tensor.shape[1])
        reason, read = ("", {}) if s is None else (f": chi = 1 where inputs add {s:.3g}", {"input_std": s})
        if kind == "gaussian":
            law, numbers = _gaussian_words(g, std)
            row = Row(name, part, law + reason, numbers | read)
            self.add(tensor, (row,), lambda: gaussian(tensor, std, wish.generator))
        else:
            square = tensor.shape[0] == blocks * tensor.shape[1]
            law = _times("orthogonal" if square else "semi-orthogonal", g)
            row = Row(name, part, law + reason, {"scale": g} | read)
            self.add(tensor, (row,), lambda: orthogonal(tensor, blocks, g, wish.generator))

    def input_std(self, layer: RecurrentLayer) -> float:
        """What inputs and biases add to the preactivations of a layer: as given, or from its weights as they are.

        Biases count where they only add; in a layer with gates, where they set its memory, they do not.
        """
        if layer not in self._stds:
            self._stds[layer] = self._input_std(layer)
        return self._stds[layer]

    def _input_std(self, layer: RecurrentLayer) -> float:
        given, name = self.wish.input_std, layer.name("weight_ih")
        if isinstance(given, Mapping):
            if name not in given:
                raise ValueError(
                    f"input_std has no number for {name}, only for {choices(given)}; input_std_of measures all of them."
                )
            return given[name]
        if given is not None or self.wish.input_kernel:
            return 1.0 if given is None else given
        squares = [mean_square(layer.value("weight_ih"))]
        if layer.has_biases and not has_memory_gates(layer):
            squares.append(mean_square(layer.value("bias_ih") + layer.value("bias_hh")))
        if any(math.isnan(one) for one in squares):  # the meta device has no numbers
            return 1.0
        kernel, bias = (*squares, 0.0)[:2]
        s = math.sqrt(kernel * self._input_energy(layer, roughly=True) + bias)
        largest = _largest_std(layer)
        if not s <= largest:
            raise ValueError(
                f"inputs add {s:.3g} to the preactivations of {name} as it is, more than {largest:g}; initialize it before, "
                "or give input_std."
            )
        return s if s >= SMALLEST_STD else 0.0

    def _input_energy(self, layer: RecurrentLayer, roughly: bool = False) -> float:
        """Squared length of the inputs of a layer: one for each feature, or what the states below have."""
        features = int(layer.value("weight_ih").shape[-1])
        energies = [self._state_energy(below, roughly) for below in layer.below] or [1.0]
        return features * sum(energies) / len(energies)

    def _input_kernel(self, layer: RecurrentLayer) -> None:
        wish, s = self.wish, self.input_std(layer)
        shape = layer.tensor("weight_ih").shape
        tensor = self._real(layer, "weight_ih", tuple(shape))
        energy = self._input_energy(layer)
        if s > 0.0 and not 0.0 < energy < math.inf:
            raise ValueError(
                f"{layer.name('weight_ih')} gets states of mean square {energy / shape[1]:g}, and no scale makes them add "
                f"input_std={s:g}; give another scale or input_std."
            )
        std = s / math.sqrt(energy) if s > 0.0 else 0.0
        source = f"states of mean square {energy / shape[1]:.3g}" if layer.below else "unit inputs"
        law = f"Gaussian, std {std:.4g}: {source} add {s:.4g}"
        row = Row(layer.name("weight_ih"), "input kernel", law, {"std": std, "input_std": s})
        self.add(tensor, (row,), lambda: gaussian(tensor, std, wish.generator))

    def _state_energy(self, layer: RecurrentLayer, roughly: bool) -> float:
        """Mean square of the states of a layer that was planned before.

        Roughly: Gaussian kernels stand for the identity in a layer with gates, whose states have up to twice their energy.
        """
        start, wish, name = _start_of(layer), self.wish, layer.name("weight_hh")
        if wish.horizon is None:
            raise ValueError(
                f"horizon is needed for the layers above the first, to know how large the states of {name} get."
            )
        kind = "gaussian" if wish.linear is not None else wish.kind or start.kind
        leak = wish.leak if wish.kind is not None else start.leak
        s, memory = self.input_std(layer), _cell_of(layer).memory
        if roughly and memory:
            kind = "gaussian"
        keeps = expected_biases(wish.law, wish.horizon, s) if memory else np.zeros(1)
        signed = {gate: sign * keeps for gate, sign in memory.items()}
        energy = start.state_energy(kind, self._scales[layer], s, wish.horizon, signed)
        if math.isnan(energy) or (kind == "identity" and leak is not None):
            raise ValueError(
                f"kind='identity' gives {name} states whose size no theory here has, and the layer above needs it; leave "
                "input_kernel out, and look with input_std_of."
            )
        return energy

    def _biases(self, layer: RecurrentLayer, cell: Cell, law: str) -> None:
        """Biases of the gates that have to do with memory: the law in one of PyTorch's two vectors, 0 in the other."""
        wish, kind = self.wish, type(layer.owner).__name__
        assert wish.horizon is not None  # by checked_wish
        if not layer.has_biases:
            raise ValueError(
                f"{layer.home or 'module'} ({kind}) has bias=False, and its memory is set by biases of its gates: build it with "
                "bias=True, or give biases=None to fill its kernels alone."
            )
        from signalprop.initialization._torch_gates import GateLaw, without_memory  # loads SciPy

        found, blocks = GateLaw(law, longest_odds(wish.horizon), self.input_std(layer)), len(cell.gates)
        given, other = (self._real(layer, role, (blocks * layer.units,)) for role in ("bias_ih", "bias_hh"))
        words, ends = found.words(), found.ends()
        (keeps,) = (_words(gate) for gate, sign in cell.memory.items() if sign > 0)
        rows = []
        for gate, sign in sorted(cell.memory.items(), key=lambda one: -one[1]):
            lowest, highest = sorted(sign * end + 0.0 for end in ends)
            law_here = words if sign > 0 else f"minus that of the {keeps}"
            numbers = {"lowest": lowest, "highest": highest, "input_std": found.input_std}
            rows.append(Row(layer.name("bias_ih"), _words(gate), law_here, numbers))
        self.add(given, tuple(rows), lambda: found.drawn(given, cell, wish.generator))
        gates = "both gates" if len(cell.memory) > 1 else keeps
        zero = Row(layer.name("bias_hh"), gates, "0, PyTorch adds it to bias_ih", {"lowest": 0.0, "highest": 0.0})
        self.add(other, (zero,), lambda: without_memory(other, cell))

    def _real(self, layer: RecurrentLayer, role: str, shape: tuple[int, ...]) -> torch.Tensor:
        """A parameter of real numbers in the shape that its role asks for, fit to be filled."""
        name, tensor = layer.name(role), layer.tensor(role)
        require_fillable(tensor, self.wish.generator, name)
        if dtype_name(tensor) not in REAL:
            raise ValueError(
                f"{name} must be real to be filled for {layer.cell}, got {dtype_name(tensor)}; give scale alone, which fills "
                "complex kernels too."
            )
        if tuple(tensor.shape) != shape:
            raise ValueError(
                f"{name} must have shape {shape} in this {type(layer.owner).__name__}, got {tuple(tensor.shape)}."
            )
        require_own_memory(tensor, self.wish.generator, name)
        return tensor


def _name_of(layer: RecurrentLayer) -> str:
    if layer.cell is None:
        raise ValueError(
            f"{layer.name('weight_hh')} belongs to a {type(layer.owner).__name__}, a cell without a start of its own; give "
            "scale, or criterion, for the scale of a linear recurrence."
        )
    return layer.cell


def _require_critical(name: str, layer: RecurrentLayer, kind: str, start: Start) -> None:
    if start.critical is None:
        raise ValueError(
            f"scale='critical' has no meaning for {name}: gates keep a gradient by their biases; leave it out."
        )
    if kind == "identity":
        raise ValueError(
            f"scale='critical' is for Gaussian and orthogonal kernels, and {name} would get the identity; give a kind."
        )


def _start_of(layer: RecurrentLayer) -> Start:
    return STARTS[_name_of(layer)]


def _cell_of(layer: RecurrentLayer) -> Cell:
    from signalprop.cells.catalogue import CELLS  # loads SciPy, which kernels of linear theory do not need

    return CELLS[_name_of(layer)]


def has_memory_gates(layer: RecurrentLayer) -> bool:
    """Whether biases of its gates hold a memory."""
    return layer.cell is not None and bool(_cell_of(layer).memory)


def _largest_std(layer: RecurrentLayer) -> float:
    """What inputs may add to the preactivations of a layer."""
    if not has_memory_gates(layer):
        return LARGEST_STD
    from signalprop.meanfield.memory import LARGEST_INPUT

    return LARGEST_INPUT


def _words(gate: str) -> str:
    return gate.replace("_", " ")


def _all_of(blocks: int) -> str:
    return "kernel" if blocks == 1 else f"kernel, {blocks} gates"


def _times(word: str, g: float) -> str:
    return word if g == 1.0 else f"{word}, times {g:.4g}"


def _gaussian_words(g: float, std: float) -> tuple[str, dict[str, float]]:
    return f"Gaussian, g = {g:.4g} (std {std:.4g})", {"scale": g, "std": std}
