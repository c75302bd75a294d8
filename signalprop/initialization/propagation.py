"""`propagate`: what an actual recurrent matrix does to signals and gradients, against the law of a Gaussian one of its size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import whole_number
from signalprop._numbers import show
from signalprop._streams import stream
from signalprop.fields import Field
from signalprop.initialization import one_draw_table
from signalprop.initialization.criteria.record import MAX_HORIZON

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TOO_MANY = 1 << 26
_TOO_LARGE = 1 << 28
_PRESERVED = 0.01


@dataclass(frozen=True)
class Propagation:
    """Measured energy paths of one matrix.

    Attributes
    ----------
    n, horizon, field
        Size, number of steps, real or complex.
    scale
        Measured g: ``sqrt(n mean |w_ij|^2)``, 1 for Glorot.
    log_signal, log_gradient
        Natural logs of ``||W^k x||^2/||x||^2`` and of ``||(W*)^k x||^2/||x||^2`` for random directions x, shape
        (directions, horizon+1). -inf once nothing is left.
    """

    n: int
    horizon: int
    field: Field
    scale: float
    log_signal: NDArray[np.float64]
    log_gradient: NDArray[np.float64]

    def band(self, step: int | None = None) -> tuple[float, float, float]:
        """5 %, 50 % and 95 % quantile of the log-energy after `step` steps (default: the horizon) for a Gaussian W of this size
        and scale.
        """
        k = self.horizon if step is None else whole_number(step, "step", 0, self.horizon)
        if k == 0:
            return 0.0, 0.0, 0.0
        levels = one_draw_table.log_energies(self.n, k, self.field) + 2.0 * k * math.log(self.scale)
        low, middle, high = (float(levels[one_draw_table.LEVELS.index(q)]) for q in (0.05, 0.5, 0.95))
        return low, middle, high

    @property
    def share_inside(self) -> float:
        """Share of directions, signal and gradient, that end inside the 90 % band of a Gaussian W.

        About 0.9 over many draws of W; for one W its directions share their fate.
        """
        low, _, high = self.band()
        ends = np.concatenate([self.log_signal[:, -1], self.log_gradient[:, -1]])
        return float(np.mean((ends >= low) & (ends <= high)))

    @property
    def drift(self) -> float:
        """Largest distance of any measured log-energy from 0 over all steps: 0 for orthogonal and unitary W."""
        return float(max(np.abs(self.log_signal).max(), np.abs(self.log_gradient).max()))

    def plot(self) -> Figure:
        """Signal and gradient energy against step, over the band of draws and the exact mean for this width and scale."""
        from signalprop.initialization.propagation_picture import propagation_figure

        return propagation_figure(self)

    def __str__(self) -> str:
        low, middle, high = self.band()
        lines = [
            f"W is {self.n} x {self.n}, {self.field.value}; its entries have {self.scale:.4g} times Glorot's standard deviation.",
            f"Energy after {self.horizon} steps, {len(self.log_signal)} random directions: lowest, median, highest",
        ]
        for name, paths in (("signal", self.log_signal), ("gradient", self.log_gradient)):
            ends = paths[:, -1]
            lines.append(f"  {name:<9} {show(ends.min())}, {show(float(np.median(ends)))}, {show(ends.max())}")
        lines.append(
            f"A Gaussian W of this size and scale: 90 % of draws end in {show(low)} .. {show(high)}, median {show(middle)}."
        )
        lines.append(self._verdict())
        return "\n".join(lines)

    def _verdict(self) -> str:
        if self.drift < _PRESERVED:
            return "This W preserves energy to 1 % at every step, as orthogonal and unitary matrices do."
        if self.share_inside >= 0.5:
            return "Its energies are among those of Gaussian draws of its size and scale."
        low, _, high = self.band()
        median = float(np.median(self.log_signal[:, -1]))
        side = "above" if median > high else "below" if median < low else "around"
        return f"This W does not behave like a typical Gaussian draw of its size and scale: its signals end {side} the band."


def propagate(weights: Any, horizon: int, *, directions: int = 16, seed: int = 0) -> Propagation:
    r"""Measure the signal and gradient energy path of an actual recurrent matrix.

    Forward x -> W x and backward x -> W* x from random unit directions, renormalised at each step, in float64: nothing
    overflows. The gradient of a linear recurrence carried back k steps is multiplied by (W*)^k, which for Gaussian W has the law
    of W^k.

    Parameters
    ----------
    weights
        A square matrix (NumPy, pandas, PyTorch, JAX; a sparse one is made dense), a ``torch.nn.RNN`` or ``RNNCell`` (the
        recurrent kernel of its first layer, taken as linear), or a ``torch.nn.Linear`` with as many outputs as inputs.
    horizon
        Number of steps, at most 1e6.
    directions
        Number of random directions.
    seed
        Seed of the directions.

    Raises
    ------
    ValueError
        Not a square matrix of numbers, more than 2^28 entries, entries that are masked or not finite, all zero, or gated cells,
        whose recurrence is not W alone.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> W = np.linalg.qr(rng.standard_normal((64, 64)))[0]
    >>> propagate(W, 100).drift < 1e-10
    True
    """
    matrix = _matrix(weights)
    n = matrix.shape[0]
    steps = whole_number(horizon, "horizon", 1, MAX_HORIZON)
    count = whole_number(directions, "directions", 1)
    if count * (steps + 1) > _TOO_MANY:
        raise ValueError(
            f"directions * (horizon + 1) must be at most {_TOO_MANY}, got {count} * {steps + 1}; take fewer."
        )
    rng = stream(whole_number(seed, "seed", 0), "directions", n)
    field = Field.COMPLEX if np.iscomplexobj(matrix) else Field.REAL
    start = rng.standard_normal((n, count))
    if field is Field.COMPLEX:
        start = start + 1j * rng.standard_normal((n, count))
    largest = float(np.abs(matrix).max())
    unit = (
        matrix / largest
    )  # squares of the entries could leave the range of float64; relative to the largest they cannot
    scale = largest * math.sqrt(n * float(np.mean(np.abs(unit) ** 2)))
    gain = 2.0 * math.log(largest) * np.arange(steps + 1)
    forward, backward = (_log_energies(one, start, steps) + gain for one in (unit, unit.conj().T))
    return Propagation(n, steps, field, scale, forward, backward)


def _log_energies(matrix: NDArray[Any], start: NDArray[Any], steps: int) -> NDArray[np.float64]:
    state = start / np.linalg.norm(start, axis=0)
    out = np.zeros((start.shape[1], steps + 1))
    total = np.zeros(start.shape[1])
    for step in range(1, steps + 1):
        state = matrix @ state
        norms = np.linalg.norm(state, axis=0)
        alive = norms > 0.0
        with np.errstate(divide="ignore"):
            total = total + 2.0 * np.log(norms)
        out[:, step] = total
        state = state / np.where(alive, norms, 1.0)
    return out


def _matrix(weights: Any) -> NDArray[Any]:
    """The square matrix in float64 or complex128, from whatever holds it; no framework is imported."""
    if hasattr(weights, "named_parameters"):
        weights = _kernel_of(weights, type(weights).__name__)
    name = type(weights).__name__
    if getattr(weights, "is_meta", False):
        raise ValueError("weights is on the meta device and holds no numbers; materialise it first.")
    if np.ma.isMaskedArray(weights) and np.ma.getmaskarray(weights).any():
        raise ValueError(f"weights has {int(np.ma.getmaskarray(weights).sum())} masked entries; fill them first.")
    shape = tuple(getattr(weights, "shape", ()))
    if len(shape) == 2 and shape[0] * shape[1] > _TOO_LARGE:
        raise ValueError(f"weights must have at most {_TOO_LARGE} entries, which are held densely, got shape {shape}.")
    try:
        array = _dense(weights)
        if array.dtype.kind not in "biufcV":  # V: also bfloat16 of JAX
            raise TypeError
        with np.errstate(over="ignore"):  # what leaves float64 is refused below
            array = array.astype(np.complex128 if np.iscomplexobj(array) else np.float64)
    except (TypeError, ValueError, RuntimeError, NotImplementedError):
        raise ValueError(f"weights must be a square matrix of numbers, got {name} that holds none.") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise ValueError(f"weights must be a square matrix, got {name} of shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"weights has {int((~np.isfinite(array)).sum())} entries that are not finite numbers.")
    if not array.any():
        raise ValueError("weights must not be all zero, as no signal would pass; got zeros.")
    return array


def _dense(weights: Any) -> NDArray[Any]:
    """What NumPy makes of it, sparse, sharded and quantised matrices included."""
    if hasattr(weights, "detach"):  # PyTorch
        weights = weights.detach()
        if hasattr(weights, "full_tensor"):
            weights = weights.full_tensor()
        if weights.is_quantized:
            weights = weights.dequantize()
        weights = weights.to_dense().cpu()
        weights = (weights.cdouble() if weights.is_complex() else weights.double()).numpy()
    elif hasattr(weights, "toarray"):  # SciPy
        weights = weights.toarray()
    elif hasattr(weights, "todense"):  # JAX
        weights = weights.todense()
    return np.asarray(weights)


def _kernel_of(module: Any, name: str) -> Any:
    parameters = dict(module.named_parameters())
    kinds = {kind.__name__ for kind in type(module).__mro__}
    for kind, parameter in (("RNN", "weight_hh_l0"), ("RNNCell", "weight_hh"), ("Linear", "weight")):
        if kind in kinds and parameter in parameters:
            return parameters[parameter]
    if kinds & {"GRU", "LSTM", "GRUCell", "LSTMCell"}:
        raise ValueError(f"{name} has gates, so its recurrence is not W alone; pass one n x n block of its weight_hh.")
    raise ValueError(
        f"weights must be a square matrix, nn.RNN, nn.RNNCell or nn.Linear, got a module {name}; pass its kernel."
    )
