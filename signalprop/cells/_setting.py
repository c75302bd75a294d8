"""What is asked of a simulation, checked, and what it would cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import (
    between,
    flag,
    positive_float,
    real_array,
    real_number,
    seed_of,
    shown,
    whole_number,
    whole_numbers,
)
from signalprop._cost import refuse_beyond_bounds
from signalprop.cells._weights import KINDS, weights_seconds
from signalprop.cells.catalogue import CELLS, Cell
from signalprop.fields import Field, as_field, one_of
from signalprop.meanfield import chrono_biases

Floats = NDArray[np.float64]
MAX_N, MAX_HORIZON, MAX_DRAWS = 10_000, 10**6, 10**6
LARGEST_SCALE = 100.0
DIRECTIONS = ("forward", "backward")
INPUTS = ("fresh", "constant")
_CACHE = 1 << 24  # bytes of weights that stay in the last cache
_ENTRY, _ENTRY_FROM_MEMORY, _UNIT, _DRAW = 3e-10, 1e-9, 6e-8, 2e-4  # seconds


@dataclass(frozen=True)
class Setting:
    """One simulation; the names are those of `gradient_energies`."""

    name: str
    cell: Cell
    n: int
    horizon: int
    scale: float
    kind: str
    field: Field
    leak: float
    direction: str
    tied: bool
    start_steps: int
    input_std: float
    inputs: str | Floats
    biases: dict[str, Floats]
    draws: int
    seed: int
    times: NDArray[np.int64]

    @property
    def steps(self) -> int:
        """Steps of the states."""
        return self.start_steps + self.horizon

    @property
    def backward(self) -> bool:
        """Whether a gradient is carried back."""
        return self.direction == "backward"

    @property
    def std(self) -> float:
        """Standard deviation of Gaussian weights."""
        return self.scale / math.sqrt(self.n)

    def seconds(self) -> float:
        """What one draw takes, about."""
        gates, n, steps = len(self.cell.gates), self.n, self.steps
        size = 8 * self.field.beta * gates * n * n
        unit = _UNIT * gates * n * (1.0 if self.tied else 1.5)
        if not self.tied:
            return _DRAW + steps * unit
        entry = _ENTRY if size <= _CACHE else _ENTRY_FROM_MEMORY
        work = entry * gates * n * n * self.field.beta + unit
        return _DRAW + weights_seconds(self.kind, gates, n, self.field) + steps * work

    def memory(self) -> float:
        """Bytes that one draw takes while it is made, about."""
        gates, n = len(self.cell.gates), self.n
        numbers = (3.0 if self.kind == "orthogonal" else 1.5) * self.field.beta * gates * n * n * self.tied
        if self.backward and not self.cell.linear:
            numbers += (2.0 + gates) * n * self.horizon
        return 8.0 * (numbers + 4.0 * gates * n + self.horizon) + 2.0**22

    def refuse_impossible(self, workers: int) -> None:
        """Refuse what would take longer, or more memory, than is allowed."""
        refuse_beyond_bounds(
            f"{self.draws} draws of width {self.n} and {self.steps} steps",
            seconds=self.draws * self.seconds() / workers,
            memory=workers * self.memory() + 8.0 * self.draws * (self.times.size + 4.0),
            instead="Fewer draws, or a smaller width, will do for most questions.",
        )


def setting_of(
    cell: Any, n: Any, horizon: Any, *, scale: Any, kind: Any, field: Any, leak: Any, direction: Any, tied: Any,
    burn_in: Any, input_std: Any, inputs: Any, biases: Any, memory: Any, draws: Any, seed: Any, times: Any,
) -> Setting:  # fmt: skip
    """The setting of these arguments."""
    name = CELLS.named(cell)
    record = CELLS[name]
    width = whole_number(n, "n", 1, MAX_N, "The laws in signalprop.meanfield are for larger widths.")
    steps = whole_number(horizon, "horizon", 0, MAX_HORIZON)
    before = whole_number(burn_in, "burn_in", 0, MAX_HORIZON)
    g = _at_most(positive_float(scale, "scale"), "scale", LARGEST_SCALE)
    law = one_of(kind, KINDS, "kind")
    numbers = _field(field, name, record, law)
    way, same = one_of(direction, DIRECTIONS, "direction"), flag(tied, "tied")
    if not same and (way == "backward" or law != "gaussian"):
        raise ValueError(
            f"tied=False draws fresh Gaussian weights at each step of a tangent, got kind={law!r} and direction={way!r}; "
            "leave tied out for those."
        )
    std, driven = _inputs(record, width, before + steps, input_std, inputs)
    return Setting(
        name, record, width, steps, g, law, numbers, _leak(leak, name, record), way, same, before, std, driven,
        _biases(name, record, width, biases, memory, _shaken(std, driven)), whole_number(draws, "draws", 1, MAX_DRAWS),
        seed_of(seed), _times(times, steps),
    )  # fmt: skip


def _at_most(value: float, name: str, largest: float) -> float:
    if not value <= largest:
        raise ValueError(f"{name} must be at most {largest:g}, got {value!r}.")
    return value


def _field(field: Any, name: str, record: Cell, kind: str) -> Field:
    found = as_field(field)
    if found is Field.QUATERNION or (found is Field.COMPLEX and not record.linear):
        raise ValueError(
            f"field must be 'real' for cell={name!r}, and 'real' or 'complex' for cell='linear', got {found.value!r}."
        )
    if found is Field.COMPLEX and kind == "uniform":
        raise ValueError("kind='uniform' has real weights, got field='complex'; take kind='gaussian' or 'orthogonal'.")
    return found


def _leak(leak: Any, name: str, record: Cell) -> float:
    found = real_number(leak, "leak")
    if not 0.0 < found <= 1.0:
        raise ValueError(f"leak must be above 0 and at most 1, got {shown(leak)}.")
    if record.gated and found != 1.0:
        raise ValueError(f"leak must be 1 for cell={name!r}, whose gates say what it keeps, got {shown(leak)}.")
    return found


def _inputs(record: Cell, n: int, steps: int, input_std: Any, inputs: Any) -> tuple[float, str | Floats]:
    if isinstance(inputs, str):
        std = between(1.0 if input_std is None else input_std, "input_std", 0.0, LARGEST_SCALE)
        return std, one_of(inputs, INPUTS, "inputs")
    array = real_array(inputs, "inputs", None)
    shape = (steps, len(record.gates), n)
    if not record.gated and array.shape == (steps, n):
        array = array[:, None, :]
    if array.shape != shape:
        raise ValueError(
            f"inputs must be 'fresh', 'constant' or an array of shape {shape}, one number per step, gate and unit, "
            f"got shape {array.shape}."
        )
    if input_std is not None:
        raise ValueError(f"input_std is that of random inputs; inputs are given, so leave out input_std={input_std!r}.")
    return 1.0, array


def _shaken(std: float, inputs: str | Floats) -> float:
    """What inputs that change from step to step add: root mean square over gates and units of the deviation over the steps."""
    if isinstance(inputs, str):
        return std if inputs == "fresh" else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        return math.sqrt(float(inputs.var(axis=0).mean()))


def _biases(name: str, record: Cell, n: int, biases: Any, memory: Any, shaken: float) -> dict[str, Floats]:
    if isinstance(biases, str):
        one_of(biases, ("chrono",), "biases")
        if not record.memory:
            raise ValueError(f"biases='chrono' are those of gates that keep, which cell={name!r} does not have.")
        if memory is None:
            raise ValueError("biases='chrono' needs memory=, the number of steps that the slowest units remember.")
        kept = chrono_biases(n, memory, shaken)
        return {gate: sign * kept for gate, sign in record.memory.items()}
    if memory is not None:
        raise ValueError(f"memory belongs to biases='chrono', got memory={shown(memory)} without it.")
    if biases is None:
        return {}
    if not isinstance(biases, dict):
        raise ValueError(f"biases must be a dict of numbers or arrays by gate, or 'chrono', got {shown(biases)}.")
    found = {}
    for gate, value in biases.items():
        one = real_array(value, f"biases[{one_of(gate, record.biases, 'biases')!r}]", None)
        if one.shape not in ((), (n,)):
            raise ValueError(
                f"biases[{gate!r}] must be a number, or one per unit, of shape ({n},), got shape {one.shape}."
            )
        found[str(gate)] = np.broadcast_to(one, (n,))
    return found


def _times(times: Any, horizon: int) -> NDArray[np.int64]:
    if times is None:
        return np.arange(horizon + 1)
    found = whole_numbers(times, "times", 0, horizon, "That is the horizon.")
    if found.ndim != 1 or found.size == 0 or not (np.diff(found) > 0).all():
        raise ValueError(f"times must be increasing numbers of steps, got {shown(times)}.")
    return found
