"""`CellAdvice`: what to do about a tanh, ReLU, GRU or LSTM layer of a given width, horizon and size of inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from signalprop._checks import between, shown, whole_number
from signalprop.fields import Field, as_field, one_of
from signalprop.initialization import _cell_table
from signalprop.initialization._cell_table import INPUT_STDS, TABLED, Left
from signalprop.initialization._cell_words import NAMES
from signalprop.initialization.starts import STARTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST, WIDEST = 10**5, 10**7
UNIT_INPUT = 1.0
LARGEST_INPUT = float(INPUT_STDS[-1])
ADVISED = {"tanh": "orthogonal", "relu": "identity", "gru": "orthogonal chrono", "lstm": "orthogonal chrono"}


@dataclass(frozen=True)
class CellAdvice:
    """Answer for one cell, width, horizon and size of inputs; ``print(advice)`` gives the page of text.

    Attributes
    ----------
    cell
        ``"tanh"``, ``"relu"``, ``"gru"`` or ``"lstm"``, in PyTorch's convention.
    n, horizon
        Width, and steps over which a gradient should last.
    input_std
        What inputs and biases add to a preactivation: its standard deviation.
    left
        For each start the quantiles 0.05, 0.5, 0.95 over draws of the natural log of the energy that is left of a gradient,
        carried back over the horizon.
    advised
        The start that `signalprop.initialization.torch.init_recurrent_` makes, by its name in `left`.
    kind
        Of its recurrent kernels, each gate by itself: ``"orthogonal"`` or ``"identity"``.
    scale
        g, what these are multiplied by.
    critical_scale
        The g of Gaussian and orthogonal kernels at which a step keeps the mean energy of a gradient; None for gates.
    """

    cell: str
    n: int
    horizon: int
    input_std: float
    left: dict[str, Left]
    advised: str
    kind: str
    scale: float
    critical_scale: float | None

    @property
    def gated(self) -> bool:
        """Whether gates keep the state."""
        return self.cell in ("gru", "lstm")

    @property
    def tabled(self) -> bool:
        """Whether width, inputs and horizon lie within the table; outside of it the page says what was read instead."""
        return (
            _cell_table.WIDTHS[0] <= self.n <= _cell_table.WIDTHS[-1]
            and _cell_table.HORIZONS[0] <= self.horizon <= _cell_table.HORIZONS[-1]
            and self.input_std >= INPUT_STDS[0]
        )

    def plot(self) -> Figure:
        """What is left of a gradient against the steps it is carried back, for each start: median, and band of 90 % of draws."""
        from signalprop.initialization._cell_picture import cell_figure

        return cell_figure(self)

    def __str__(self) -> str:
        from signalprop.initialization._cell_text import page

        return page(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON, the page of text included."""
        from signalprop.initialization._cell_text import page

        def plain(value: float) -> float | None:
            return value if math.isfinite(value) else None  # a gradient that died

        return {
            "cell": self.cell,
            "n": self.n,
            "horizon": self.horizon,
            "input_std": self.input_std,
            "advised": self.advised,
            "kind": self.kind,
            "scale": self.scale,
            "critical_scale": self.critical_scale,
            "within_table": self.tabled,
            "log_energy_left": {
                name: {"low": plain(one.low), "median": plain(one.median), "high": plain(one.high), "error": plain(one.error)}
                for name, one in self.left.items()
            },
            "text": page(self, 80),
        }  # fmt: skip


def cell_of(cell: str, input_std: float | None) -> str:
    """`cell` if it is "linear" or in the table; "linear" reads no `input_std`."""
    name = one_of(cell, ("linear", *NAMES), "cell")
    if name == "linear" and input_std is not None:
        raise ValueError(
            f"input_std is for cells that are not linear, got {shown(input_std)}; leave it out for cell='linear'."
        )
    return name


def advise_cell(cell: str, n: int, horizon: int, field: str, input_std: float | None) -> CellAdvice:
    """The advice for a cell of `_cell_table.TABLED`."""
    if as_field(field) is not Field.REAL:
        raise ValueError(f"field must be 'real' for cell={cell!r}, got {shown(field)}.")
    width = whole_number(n, "n", 1, WIDEST)
    steps = whole_number(horizon, "horizon", 1, LONGEST)
    given = UNIT_INPUT if input_std is None else input_std
    std = between(given, "input_std", 0.0, LARGEST_INPUT, "Normalise larger inputs, or make the input kernel smaller.")
    start = STARTS[cell]
    return CellAdvice(
        cell=cell,
        n=width,
        horizon=steps,
        input_std=std,
        left={name: _cell_table.left(cell, name, width, steps, std) for name in TABLED[cell]},
        advised=ADVISED[cell],
        kind=start.kind,
        scale=1.0 if start.kind == "identity" else start.scale,
        critical_scale=None if start.critical is None else start.critical(std),
    )
