"""`safe_scale`: the factor g on Glorot-scaled Gaussian weights for a given width and horizon, by several criteria."""

from __future__ import annotations

import math
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import function_or_none, seed_of, shown, whole_number
from signalprop.fields import Field, as_field
from signalprop.initialization import one_draw_table
from signalprop.initialization._asked import Asked, bound_of, steps_of
from signalprop.initialization._cell_advice import CellAdvice, advise_cell, cell_of
from signalprop.initialization.criteria import CRITERIA, Request
from signalprop.initialization.criteria.edge import log_edge
from signalprop.initialization.criteria.record import MAX_WIDTH, WITHIN, Progress, mean_reach
from signalprop.initialization.drawn_scales import drawn_log_scales
from signalprop.initialization.mean_path import MeanPath
from signalprop.models import Model

__all__ = ["SafeScale", "log_edge", "safe_scale"]

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class SafeScale:
    """A scale for the recurrent weights and what it does to the mean energy and to one draw.

    Attributes
    ----------
    scale
        g: multiply Glorot-scaled (fan-in) Gaussian weights by it. For ``criterion="quantile"`` at most 1, as over few steps
        a larger one would spend the bound for nothing.
    interval
        For ``criterion="quantile"`` the 95 % confidence interval of g; otherwise both ends are g.
    largest, largest_interval
        Scale and interval of ``criterion="quantile"`` as its definition has them, which may lie above 1; otherwise as above.
    tolerance, quantile, bound
        What was asked for; each criterion reads its own.
    source
        ``"exact energies"``, ``"table"`` (shipped quantiles of one draw), ``"samples"`` (drawn for this call),
        ``"spectral edge"`` or ``"definition"``.
    """

    n: int
    horizon: int
    field: Field
    model: Model
    criterion: str
    scale: float
    interval: tuple[float, float]
    source: str
    tolerance: float
    quantile: float
    bound: float
    largest: float
    largest_interval: tuple[float, float]
    drawn: NDArray[np.float64] | None = dataclass_field(default=None, repr=False, compare=False)

    @property
    def std(self) -> float:
        """Standard deviation of one entry of W, g/sqrt(n) (complex, quaternion: sqrt(E|w|^2))."""
        return self.scale / math.sqrt(self.n)

    @cached_property
    def log_path(self) -> NDArray[np.float64]:
        """Natural log of the mean energy E(k; g) for k = 0..horizon; every step, so O(horizon^3) for real weights.

        Raises
        ------
        ValueError
            Horizons beyond the reach of the exact energies (20000, for model="driven" 5000), or beyond 1e6.
        """
        return self._mean.path(self._log_scale)

    @cached_property
    def peak(self) -> tuple[int, float]:
        """Step and natural log of the largest mean energy."""
        return self._mean.peak(self._log_scale)

    @cached_property
    def dip(self) -> tuple[int, float]:
        """Step and natural log of the smallest mean energy."""
        return self._mean.dip(self._log_scale)

    @cached_property
    def log_mean_at_horizon(self) -> float:
        """Natural log of E(horizon; g)."""
        return self._mean.last(self._log_scale)

    @cached_property
    def _mean(self) -> MeanPath:
        return MeanPath(self.n, self.horizon, self.field, self.model)

    @property
    def _log_scale(self) -> float:
        return math.log(self.scale)

    @property
    def has_mean(self) -> bool:
        """Whether the exact mean energies reach this horizon, and so `peak`, `dip` and `log_path`."""
        return self.horizon <= mean_reach(self.field, self.model)

    def exploding_share(
        self, bound: float | None = None, *, samples: int | None = None, seed: int = 0
    ) -> tuple[float, float, float]:
        """Share of draws of W whose energy passes `bound` at some step up to the horizon: estimate, and its 95 % interval.

        For `bound` = 10 (the default, unless this scale was asked for another) from the shipped table, where less than 1 % and
        more than 99 % are given as the intervals (0, 0.01) and (0.99, 1); for other bounds, or if `samples` is given, from
        draws (default 2000; Wilson interval), independent of those that chose this scale.

        Examples
        --------
        >>> share, low, high = safe_scale(512, 200).exploding_share()
        >>> low < 0.05 < high
        True
        """
        limit, root = bound_of(self.bound if bound is None else bound), seed_of(seed)
        count = None if samples is None else whole_number(samples, "samples", 2)
        if count is None and limit == one_draw_table.BOUND:
            quantiles, error = one_draw_table.log_scales(self.n, self.horizon, self.field, self.model)
            low, middle, high = (
                one_draw_table.share_below(quantiles, self._log_scale + shift * error)
                for shift in (-WITHIN, 0.0, WITHIN)
            )
            return 0.5 * (middle[0] + middle[1]), low[0], high[1]
        from scipy import stats

        log_scales = self.drawn if count is None and limit == self.bound else None
        if log_scales is None:
            log_scales = drawn_log_scales(
                "share", self.n, self.horizon, self.field, self.model, math.log(limit), count, root, None
            )
        passed = int(np.sum(log_scales < self._log_scale))
        found = stats.binomtest(passed, log_scales.size).proportion_ci(0.95, method="wilson")
        return passed / log_scales.size, float(found.low), float(found.high)

    @property
    def promise(self) -> str:
        """What the scale promises, as part of a sentence.

        Examples
        --------
        >>> safe_scale(512, 200, criterion="edge", quantile=0.9).promise
        'the largest eigenvalue is below 1 in 90 % of draws'
        """
        return CRITERIA[self.criterion].promise(self)

    @property
    def how_sure(self) -> str:
        """How sure the promise is: its status, or that it was sampled."""
        return CRITERIA[self.criterion].how_sure(self)

    def plot(self) -> Figure:
        """Energy against step before and after scaling: band of draws, median, mean, horizon."""
        from signalprop.initialization.scale_picture import scale_figure

        return scale_figure(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        peak, dip = (self.peak, self.dip) if self.has_mean else (None, None)
        share, low, high = self.exploding_share()
        return {
            "n": self.n,
            "horizon": self.horizon,
            "field": self.field.value,
            "model": self.model,
            "criterion": self.criterion,
            "scale": self.scale,
            "std": self.std,
            "interval": list(self.interval),
            "largest": {"scale": self.largest, "interval": list(self.largest_interval)},
            "source": self.source,
            "tolerance": self.tolerance,
            "quantile": self.quantile,
            "bound": self.bound,
            "exploding_share": {"bound": self.bound, "estimate": share, "interval": [low, high]},
            "mean_peak": None if peak is None else {"step": peak[0], "log_energy": peak[1]},
            "mean_dip": None if dip is None else {"step": dip[0], "log_energy": dip[1]},
        }


@overload
def safe_scale(
    n: int,
    horizon: int,
    field: str = ...,
    *,
    cell: Literal["linear"] = ...,
    input_std: None = ...,
    model: str = ...,
    criterion: str = ...,
    tolerance: float | None = ...,
    quantile: float | None = ...,
    bound: float | None = ...,
    samples: int | None = ...,
    seed: int | None = ...,
    progress: Progress | None = ...,
) -> SafeScale: ...


@overload
def safe_scale(
    n: int,
    horizon: int,
    field: str = ...,
    *,
    cell: Literal["tanh", "relu", "gru", "lstm"],
    input_std: float | None = ...,
) -> CellAdvice: ...


@overload
def safe_scale(
    n: int,
    horizon: int,
    field: str = ...,
    *,
    cell: str,
    input_std: float | None = ...,
    model: str = ...,
    criterion: str = ...,
    tolerance: float | None = ...,
    quantile: float | None = ...,
    bound: float | None = ...,
    samples: int | None = ...,
    seed: int | None = ...,
    progress: Progress | None = ...,
) -> SafeScale | CellAdvice: ...


def safe_scale(
    n: int,
    horizon: int,
    field: str = "real",
    *,
    cell: str = "linear",
    input_std: float | None = None,
    model: str = "rnn",
    criterion: str = "quantile",
    tolerance: float | None = None,
    quantile: float | None = None,
    bound: float | None = None,
    samples: int | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> SafeScale | CellAdvice:
    r"""The scale g for a width and a horizon: W has independent Gaussian entries with E|w_ij|^2 = g^2/n.

    That is for a linear layer, ``cell="linear"``. Tanh, ReLU, GRU and LSTM layers have one start each, which
    `signalprop.advise` tells: its ``scale`` multiplies kernels of its ``kind``, and for a GRU or an LSTM the biases of the gates
    come first (`signalprop.initialization.torch.init_recurrent_` sets all of it).

    Parameters
    ----------
    n, horizon
        Width, 1 <= n <= 1e18, and number of steps T the signal should survive. 1 <= T <= 1e6; where exact energies of real or
        quaternion weights are needed T <= 20000 (5000 for ``model="driven"``).
    field
        ``"real"``, ``"complex"`` or ``"quaternion"`` weights.
    cell
        ``"linear"``, or ``"tanh"``, ``"relu"``, ``"gru"``, ``"lstm"`` as in PyTorch: for these the options below have no
        meaning and are refused.
    input_std
        For cells that are not linear: what inputs and biases add to a preactivation, its standard deviation (default 1).
    model
        ``"rnn"``: h <- W h, energy E(k; g) = g^{2k} Q_{n,k}. ``"driven"`` (also ``"lru"``): h <- W h + x with a
        fresh input each step, energy per step E(k; g) = sum_{j<=k} g^{2j} Q_{n,j}/(k+1).
    criterion
        - ``"quantile"``: the largest g, but no more than 1, for which a share `quantile` of the draws of W keeps its energy at
          or below `bound` at every step. One draw is what gets trained, so this is the default. At once from a shipped table
          for the default quantile 0.95 and bound 10 (see `signalprop.initialization.one_draw_table`); otherwise, or if
          `samples` is given, from that many draws of the width-free sampler: minutes where T and n are both in the thousands.
        - ``"bounded"``: the largest g with max_k E(k; g) <= 1 + tolerance: bounds the average over draws, which far past
          sqrt(n) steps is carried by draws nobody will see.
        - ``"minimax"``: the g that minimises ``max_k |log E(k; g)|``.
        - ``"edge"``: one over the `quantile`-quantile of the spectral radius of W (the proposal of Bar et al.,
          arXiv:2505.19827): by Kostlan's product for complex and quaternion weights, from the shipped table for real ones up to
          n = 12288 (quantiles up to 0.99), see `signalprop.initialization.spectral_edge`. Quantiles from 0.01 on.
        - ``"glorot"``: 1.
    tolerance
        For ``"bounded"`` (default 0.1).
    quantile
        For ``"quantile"`` and ``"edge"`` (default 0.95).
    bound
        For ``"quantile"`` (default 10).
    samples, seed, progress
        For ``"quantile"``: number of draws (default: the table where it applies, else 2000), root seed of the draws if there
        are any (default 0), and a callback ``progress(done, total)``.

    Returns
    -------
    SafeScale
        `CellAdvice` for a cell that is not linear.

    Raises
    ------
    ValueError
        Unknown names, values outside their ranges, or an option that the criterion does not read; the message says which.

    Notes
    -----
    ``bounded`` and ``minimax`` are solved against the exact energies to the last bits of a double. For the linear recurrence
    each draw has a largest scale of its own, min_k (log bound - log ||W^k x||^2)/(2k) in logs, and the answer is a quantile of
    those. For ``model="driven"`` a draw is the energy given one input direction reused at every step (see `sample`).

    Examples
    --------
    >>> safe_scale(512, 2000, criterion="bounded").scale.__round__(3)
    0.484
    >>> safe_scale(4096, 64, criterion="glorot").peak[0]
    64
    >>> start = safe_scale(128, 64, cell="tanh", input_std=1.0)
    >>> start.kind, start.scale, round(start.critical_scale, 4)
    ('orthogonal', 1.0, 1.8556)
    """
    if cell_of(cell, input_std) != "linear":
        given = {"model": model != "rnn", "criterion": criterion != "quantile", "tolerance": tolerance is not None,
                 "quantile": quantile is not None, "bound": bound is not None, "samples": samples is not None,
                 "seed": seed is not None, "progress": progress is not None}  # fmt: skip
        for name, changed in given.items():
            if changed:
                raise ValueError(
                    f"{name} is for cell='linear' and has no meaning for cell={shown(cell)}; leave it out."
                )
        return advise_cell(cell, n, horizon, field, input_std)
    function_or_none(progress, "progress")
    asked = Asked.of(model, criterion, tolerance, quantile, bound, samples, seed)
    kind, chosen = as_field(field), CRITERIA[asked.criterion]
    width = whole_number(n, "n", 1, MAX_WIDTH)
    steps = steps_of(horizon, *chosen.longest(kind, asked.model))
    answer = chosen.solve(
        Request(
            width, steps, kind, asked.model, asked.tolerance, asked.quantile, asked.bound, asked.samples, asked.seed, progress
        )
    )  # fmt: skip
    largest = math.exp(answer.log_scale)
    low, high = (largest, largest) if answer.log_interval is None else map(math.exp, answer.log_interval)
    cap = chosen.at_most
    return SafeScale(
        n=width,
        horizon=steps,
        field=kind,
        model=asked.model,
        criterion=asked.criterion,
        scale=min(largest, cap),
        interval=(min(low, cap), min(high, cap)),
        source=answer.source,
        tolerance=asked.tolerance,
        quantile=asked.quantile,
        bound=asked.bound,
        largest=largest,
        largest_interval=(low, high),
        drawn=answer.drawn,
    )
