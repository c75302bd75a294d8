"""`advise`: what to do about the recurrent weights of a given width and horizon, as numbers, a page of text and a figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

from signalprop._checks import positive_float, whole_number
from signalprop.fields import Field, as_field
from signalprop.initialization import one_draw_table
from signalprop.initialization._cell_advice import CellAdvice, advise_cell, cell_of
from signalprop.initialization.budget import depth_budget, width_needed
from signalprop.initialization.criteria import CRITERIA
from signalprop.initialization.criteria.record import MAX_HORIZON, MAX_WIDTH, WITHIN, mean_reach
from signalprop.initialization.scale import SafeScale, safe_scale
from signalprop.models import Model
from signalprop.regimes.names import SUBCRITICAL_WITHIN, regime_by_scale

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FADED = -math.log(one_draw_table.BOUND)
_QUANTILES = (0.05, 0.5, 0.95, 0.99)


@dataclass(frozen=True)
class Advice:
    """Answer for one width, horizon and field; ``print(advice)`` gives the page of text.

    Attributes
    ----------
    verdict
        - ``"keep"``: Glorot is fine. At most one draw in twenty passes ten times its energy at any step up to the horizon, and
          at most one in twenty ends below a tenth; both also at the upper end of the 95 % interval of these shares.
        - ``"rescale"``: otherwise, if some scale keeps at least half of the draws within a factor of ten at every step.
        - ``"replace"``: no Gaussian scale does; use a recurrence that preserves norms.

        Whether it is half is read from `held_share`, which has the standard error `held_error`.
    scales
        `SafeScale` by criterion: glorot, then every other of `CRITERIA` that reaches the horizon.
    log_energy
        Quantiles over draws (keys 0.05, 0.5, 0.95, 0.99) of the natural log of the energy at the horizon, at g = 1.
        At another scale add 2 horizon log g.
    log_mean
        Natural log of the mean energy at the horizon at g = 1; None beyond the reach of the exact energies.
    held_share, held_scale
        The largest share of draws that one scale keeps within a factor of ten at every step, and that scale.
    held_error
        One standard error of that share.
    budget
        The longest horizon for which the best scale keeps 95 % of draws within a factor of ten.
    mean_budget
        The longest horizon over which the mean stays within 10 % at g = 1; None beyond the reach of the exact energies.
    width_needed
        The width at which `horizon` is within the `budget`; None beyond 1e18.
    complex_scale, complex_log_energy
        The quantile scale and the median log-energy at the horizon (at g = 1) of complex weights of this width.
    """

    n: int
    horizon: int
    field: Field
    verdict: str
    regime: str
    scales: dict[str, SafeScale]
    log_energy: dict[float, float]
    log_mean: float | None
    held_share: float
    held_error: float
    held_scale: float
    budget: int
    mean_budget: int | None
    width_needed: int | None
    complex_scale: float
    complex_log_energy: float

    @property
    def c(self) -> float:
        """Horizon in units of sqrt(n)."""
        return self.horizon / math.sqrt(self.n)

    @property
    def scale(self) -> float:
        """The scale advised where a Gaussian recurrence is kept: 1 ("keep"), otherwise that of the quantile criterion."""
        return 1.0 if self.verdict == "keep" else self.scales["quantile"].scale

    def log_median(self, scale: float) -> float:
        """Natural log of the energy that the median draw has left at the horizon, for weights scaled by `scale`."""
        return self.log_energy[0.5] + 2.0 * self.horizon * math.log(positive_float(scale, "scale"))

    def plot(self) -> Figure:
        """Energy against step: band of draws, median and mean, with Glorot and, if that is not fine, with the quantile scale."""
        return self.scales["glorot" if self.verdict == "keep" else "quantile"].plot()

    def __str__(self) -> str:
        from signalprop.initialization.advice_text import page

        return page(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON, the page of text included."""
        from signalprop.initialization.advice_text import page

        return {
            "n": self.n,
            "horizon": self.horizon,
            "field": self.field.value,
            "c": self.c,
            "verdict": self.verdict,
            "regime": self.regime,
            "scale": self.scale,
            "std": self.scale / math.sqrt(self.n),
            "scales": {
                name: {
                    "scale": found.scale,
                    "std": found.std,
                    "interval": list(found.interval),
                    "exploding_share": dict(zip(("estimate", "low", "high"), found.exploding_share(), strict=True)),
                    "log_median_at_horizon": self.log_median(found.scale),
                }
                for name, found in self.scales.items()
            },
            "log_energy_at_horizon": {str(q): value for q, value in self.log_energy.items()},
            "log_mean_at_horizon": self.log_mean,
            "held_share": self.held_share,
            "held_error": self.held_error,
            "held_scale": self.held_scale,
            "budget": self.budget,
            "mean_budget": self.mean_budget,
            "width_needed": self.width_needed,
            "complex": {"quantile_scale": self.complex_scale, "log_median_at_horizon": self.complex_log_energy},
            "text": page(self, 80),
        }


@overload
def advise(
    n: int, horizon: int, field: str = ..., *, cell: Literal["linear"] = ..., input_std: None = ...
) -> Advice: ...


@overload
def advise(
    n: int,
    horizon: int,
    field: str = ...,
    *,
    cell: Literal["tanh", "relu", "gru", "lstm"],
    input_std: float | None = ...,
) -> CellAdvice: ...


@overload
def advise(
    n: int, horizon: int, field: str = ..., *, cell: str, input_std: float | None = ...
) -> Advice | CellAdvice: ...


def advise(
    n: int, horizon: int, field: str = "real", *, cell: str = "linear", input_std: float | None = None
) -> Advice | CellAdvice:
    """What happens to a signal in a recurrence of this width over this horizon, and what to do.

    The first question is which cell. For ``cell="linear"``, h <- W h, from the shipped quantiles of one draw
    (`signalprop.initialization.one_draw_table`) and the exact mean energies: exact for a linear recurrence, right for tanh while
    the signal is small. For the others from a shipped table of simulated gradients
    (`signalprop.initialization._cell_table`). Nothing is sampled, so it answers at once.

    Parameters
    ----------
    n, horizon
        Width, and number of steps the signal should survive, up to 1e6 (other cells: width 1e7, 1e5 steps).
    field
        ``"real"``, ``"complex"`` or ``"quaternion"`` weights; other cells have real ones.
    cell
        ``"linear"``, ``"tanh"``, ``"relu"``, ``"gru"`` or ``"lstm"``, the last four as in PyTorch.
    input_std
        For cells that are not linear: what inputs and biases add to a preactivation, its standard deviation over units and
        steps, 0 to 3; default 1. `signalprop.initialization.torch.input_std_of` measures it.

    Returns
    -------
    Advice
        ``print`` it for the page, ``.plot()`` for the figure, ``.as_dict()`` for JSON. `CellAdvice` for cells that are not
        linear, with the same three.

    Raises
    ------
    ValueError
        Arguments out of range.

    Examples
    --------
    >>> advise(4096, 64).verdict, advise(512, 2000).verdict
    ('keep', 'replace')
    >>> round(advise(256, 200, cell="lstm").left["orthogonal chrono"].median)      # natural log of the energy that is left
    -4
    """
    name = cell_of(cell, input_std)
    if name != "linear":
        return advise_cell(name, n, horizon, field, input_std)
    kind = as_field(field)
    width = whole_number(n, "n", 1, MAX_WIDTH)
    steps = whole_number(horizon, "horizon", 1, MAX_HORIZON, "No Gaussian recurrence holds a signal that long.")
    exact = steps <= mean_reach(kind, Model.RNN)
    wanted = [name for name in criteria_in_order() if steps <= CRITERIA[name].reach(kind, Model.RNN)]
    scales = {name: safe_scale(width, steps, kind, criterion=name) for name in wanted}
    levels = one_draw_table.log_energies(width, steps, kind)
    log_energy = {q: float(levels[one_draw_table.LEVELS.index(q)]) for q in _QUANTILES}
    held_share, log_held = one_draw_table.held(width, steps, kind)
    log_mean = scales["glorot"].log_mean_at_horizon if exact else None
    complex_levels = one_draw_table.log_energies(width, steps, Field.COMPLEX)
    return Advice(
        n=width,
        horizon=steps,
        field=kind,
        verdict=verdict(width, steps, kind),
        regime=_regime(width, steps, log_mean),
        scales=scales,
        log_energy=log_energy,
        log_mean=log_mean,
        held_share=held_share,
        held_error=one_draw_table.held_error(width, steps, kind),
        held_scale=math.exp(log_held),
        budget=depth_budget(width, kind, criterion="draw"),
        mean_budget=_or_none(lambda: depth_budget(width, kind)),
        width_needed=_or_none(lambda: width_needed(steps, kind, criterion="draw")),
        complex_scale=safe_scale(width, steps, Field.COMPLEX).scale,
        complex_log_energy=float(complex_levels[one_draw_table.LEVELS.index(0.5)]),
    )


def criteria_in_order() -> list[str]:
    """All of them; Glorot, which the others are compared with, comes first."""
    return sorted(CRITERIA, key=lambda name: name != "glorot")


def verdict(n: int, horizon: int, field: Field) -> str:
    """The verdict of `Advice`; errors of the table count against "keep"."""
    largest, _ = safe_scale(n, horizon, field).largest_interval
    levels = one_draw_table.log_energies(n, horizon, field)
    low = levels[one_draw_table.AT_DEFAULT] - WITHIN * one_draw_table.log_energy_error(n, horizon, field, 0.05)
    if largest >= 1.0 and low >= _FADED:
        return "keep"
    return "rescale" if one_draw_table.held(n, horizon, field)[0] >= 0.5 else "replace"


def _regime(n: int, horizon: int, log_mean: float | None) -> str:
    if log_mean is not None and abs(math.expm1(min(log_mean, 1.0))) <= SUBCRITICAL_WITHIN:
        return "subcritical"
    return regime_by_scale(n, horizon)


def _or_none(compute: Callable[[], int]) -> int | None:
    """None where the answer lies beyond what is tabulated or exact."""
    try:
        return compute()
    except ValueError:
        return None
