"""What a recurrence does with the energy of its state, in one object: what ``signalprop recurrence`` prints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import seed_of, shown, whole_number
from signalprop.recurrences.catalogue import Built, build
from signalprop.recurrences.laws import checked_correlation
from signalprop.recurrences.lti import LinearRecurrence
from signalprop.recurrences.operators import Rotations
from signalprop.recurrences.power_sums import Floats
from signalprop.recurrences.report_text import HINT_CORRELATION, decades, page
from signalprop.recurrences.sampled import SampledEnergies

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FILLED = 0.95
_CURVE = 200  # points of the curve in JSON and in the figure


@dataclass(frozen=True, eq=False)
class Report:
    """The energy path of one recurrence and what it means; `report` and `report_on` make one.

    ``print`` it for the page, ``.plot()`` for the picture, ``.as_dict()`` for JSON.

    Attributes
    ----------
    kind
        Name of the kind that it was drawn from; empty where it was given.
    about
        The recurrence in words.
    recurrence
        Itself.
    horizon, correlation, seed
        As asked for.
    steps
        Steps that are shown.
    energy, from_first_step, average
        Exact E||x_t||^2 at `steps` from x_0 = 0, by the first-step rule (rotrnn, lru), averaged over draws of W (gaussian); None
        where there is no such thing.
    left, gradient_left
        Share of the energy of one input, and of an isotropic gradient, that is left after the horizon.
    stationary, hinted
        Limit of the energy, and what it is at a correlation of 0.9; None without a limit.
    no_limit
        Why there is no limit, or none that float64 can determine; empty where there is one.
    rule
        The first-step rule in words; empty where there is none.
    filled
        Step from which on the energy has 95 % of its limit, as far as the horizon shows; beyond it where that is known in closed
        form (one head of RotRNN, white inputs), else None.
    sampled
        Energies of drawn input sequences, where they were asked for.
    """

    kind: str
    about: str
    recurrence: LinearRecurrence
    horizon: int
    correlation: float
    seed: int
    steps: NDArray[np.int64]
    energy: Floats
    from_first_step: Floats | None
    average: Floats | None
    left: float
    gradient_left: float
    stationary: float | None
    no_limit: str
    rule: str
    filled: int | None
    hinted: float | None
    sampled: SampledEnergies | None

    def __str__(self) -> str:
        return page(self)

    def plot(self) -> Figure:
        """Energy against step, with the limit, the first-step rule, the average over weights and draws where those exist."""
        from signalprop.recurrences.report_picture import picture

        return picture(self)

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        radius = self.recurrence.A.radius()
        content = {
            "kind": self.kind,
            "about": self.about,
            "horizon": self.horizon,
            "seed": self.seed,
            "correlation": self.correlation,
            "spectral_radius": radius.value if radius.known else None,
            "spectral_radius_interval": [math.exp(radius.log_low), math.exp(radius.log_high)],
            "steps": self.steps.tolist(),
            "energy": _listed(self.energy),
            "energy_with_first_step_rule": _listed(self.from_first_step),
            "energy_averaged_over_weights": _listed(self.average),
            "stationary_energy": self.stationary,
            "step_at_95_percent": self.filled,
            "share_of_an_input_left_at_horizon": self.left,
            "share_of_a_gradient_left_at_horizon": self.gradient_left,
        }
        if self.sampled is not None:
            content |= {
                "samples": len(self.sampled.by_head),
                "sampled_mean": _listed(self.sampled.mean[self.steps]),
                "sampled_stderr": _listed(self.sampled.stderr[self.steps]),
                "z": _listed(self.sampled.z[self.steps]),
            }
        return content


def report(
    kind: str,
    state_size: int = 64,
    horizon: int = 1000,
    *,
    correlation: float = 0.0,
    samples: int | None = None,
    seed: int = 0,
    **parameters: Any,
) -> Report:
    """Draw a recurrence of a kind and say what it does with the energy of its state.

    Parameters
    ----------
    kind
        A name in `signalprop.recurrences.catalogue`: ``"rotrnn"``, ``"lru"``, ``"s4"``, ``"s4d-lin"``, ``"s5"``,
        ``"gaussian"``, ``"orthogonal"``.
    state_size
        N.
    horizon
        Number of steps, from 1 to 10^7.
    correlation
        rho of AR(1) inputs, -1 < rho < 1; 0 is white.
    samples
        Also draw this many input sequences, at least 2.
    seed
        Seed of the parameters and of drawn inputs.
    **parameters
        Parameters of the kind, such as ``heads=4``; those left out take the defaults of its constructor.

    Raises
    ------
    ValueError
        An unknown kind, a parameter that belongs to another kind, whatever the constructor refuses, numbers out of range.
    OverflowError
        The energy leaves float64.

    Notes
    -----
    Status P, except for `SampledEnergies`. Cost: two energy paths, and one more per correlation considered.

    Examples
    --------
    >>> found = report("rotrnn", 64, 1000, gamma=0.999)
    >>> round(found.stationary, 9), found.filled
    (1.0, 1498)
    """
    seed = seed_of(seed)
    built = build(kind, whole_number(state_size, "state_size", 1), parameters, seed)
    return _found(built, horizon, correlation, samples, seed, kind=str(kind), about=f"{built.about}, seed {seed}")


def report_on(
    recurrence: LinearRecurrence,
    horizon: int = 1000,
    *,
    about: str = "a linear recurrence",
    correlation: float = 0.0,
    samples: int | None = None,
    seed: int = 0,
) -> Report:
    """What a given recurrence does with the energy of its state.

    Parameters
    ----------
    recurrence
        Any `LinearRecurrence`.
    about
        What to call it on the page.
    horizon, correlation, samples, seed
        As in `report`.

    Raises
    ------
    ValueError
        Something other than a recurrence, numbers out of range.
    OverflowError
        The energy leaves float64.

    Examples
    --------
    >>> report_on(LinearRecurrence([[0.5]], [[1.0]]), 10).left == 0.25**10
    True
    """
    if not isinstance(about, str):
        raise ValueError(f"about must be text, got {shown(about)}.")
    if not isinstance(recurrence, LinearRecurrence):
        raise ValueError(f"recurrence must be a LinearRecurrence, got {type(recurrence).__name__}.")
    if not recurrence.B.any():
        raise ValueError("recurrence has a B of zeros: no input reaches its state, and there is nothing to report.")
    built = Built(str(about), recurrence)
    return _found(built, horizon, correlation, samples, seed_of(seed), kind="", about=built.about)


def _found(
    built: Built, horizon: int, correlation: float, samples: int | None, seed: int, *, kind: str, about: str
) -> Report:
    last, rho, layer = whole_number(horizon, "horizon", 1), checked_correlation(correlation), built.layer
    path = layer.energy(last, correlation=rho)
    curve = np.round(np.geomspace(1, last, min(last, _CURVE))).astype(np.int64)
    steps = np.unique(np.concatenate([curve, decades(last)]))
    stationary, no_limit = _limit(layer, rho)
    return Report(
        kind=kind,
        about=about,
        recurrence=layer,
        horizon=last,
        correlation=rho,
        seed=seed,
        steps=steps,
        energy=path[steps],
        from_first_step=None if built.first_step is None else built.first_step.energy(last, correlation=rho)[steps],
        average=None if built.average is None or rho else built.average(steps),
        left=float(layer.forward_energy(last, layer.B)[-1]),
        gradient_left=float(layer.gradient_energy(last)[-1]),
        stationary=stationary,
        no_limit=no_limit,
        rule=built.rule,
        filled=None if stationary is None else _filled_at(layer, path, stationary, rho),
        hinted=None if stationary is None or rho else _limit(layer, HINT_CORRELATION)[0],
        sampled=None if samples is None else layer.sample(last, samples=samples, seed=seed, correlation=rho),
    )


def _limit(layer: LinearRecurrence, correlation: float) -> tuple[float | None, str]:
    """The stationary energy, or why there is none."""
    try:
        return layer.stationary_energy(correlation=correlation), ""
    except (ValueError, OverflowError) as error:
        if layer.A.radius(only_side_of_one=True).below_one is False:
            return None, f"The spectral radius is {_radius(layer)}, not below one: the energy has no limit."
        return None, f"{str(error)[0].upper()}{str(error)[1:]}"


def _radius(layer: LinearRecurrence) -> str:
    try:
        return f"{layer.A.spectral_radius():.6g}"
    except ValueError:  # not known to six digits
        return str(layer.A.radius())


def _filled_at(layer: LinearRecurrence, path: Floats, stationary: float, correlation: float) -> int | None:
    short = np.flatnonzero(path < _FILLED * stationary)  # correlated inputs may take it there and away again
    if short[-1] + 1 < len(path):
        return int(short[-1]) + 1
    if isinstance(layer.A, Rotations) and len(layer.A.log_gamma) == 1 and not correlation:
        return math.ceil(math.log(1.0 - _FILLED) / (2.0 * float(layer.A.log_gamma[0])))
    return None


def _listed(values: Floats | None) -> list[float] | None:
    return None if values is None else values.tolist()
