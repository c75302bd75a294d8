r"""Recurrences whose units decay on their own, x_t = a_t x_{t-1} + ..: what each unit keeps, exactly and as it is computed.

A formula gives log \|a\| from the stored numbers. It is evaluated in float64; with every operation rounded to the type in
which the model computes; and at the neighbours of the stored numbers, any of which might have been what was rounded.

Where a gate has the preactivation b + s z, z standard normal and fresh at every step, energies multiply by E a^2 per step;
rates below are minus half of its logarithm, so that a constant decay has rate -log \|a\|.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from signalprop.inspection.paths import EnergyPath, path_of
from signalprop.inspection.storage import STORAGES, Storage
from signalprop.inspection.tensors import Stored

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Step = Callable[[Floats], Floats]
CASTS = ("bfloat16", "float16")
AT_ONCE = 2  # steps


class Formula(Protocol):
    r"""log \|a\| of every unit from the numbers of the parameters by role; `rounded` wraps the result of each operation."""

    def __call__(self, values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
        """`shift` is added to the preactivation of the gate."""


def exactly(values: Floats) -> Floats:
    """No rounding."""
    return values


@dataclass(frozen=True)
class Rounding:
    """What types of storage and computation do to decays.

    Attributes
    ----------
    storage
        The type of the parameters; the coarsest of several.
    computed_in
        The type in which the model computes the decay.
    lost
        Units whose decay is 1 in the type it is computed in: they never forget. Those of `zero` are among them.
    zero
        Units whose rate is 0 as it is stored.
    lost_if_cast
        The same if the parameters were cast to a type and the decay computed in it.
    known_within
        By how much the memory of a unit may be off because its parameters are rounded: the largest relative difference
        between the memory at the stored numbers and at their neighbours. Infinite where a neighbour does not decay.
    """

    storage: str
    computed_in: str
    lost: Mask
    zero: Mask
    lost_if_cast: Mapping[str, Mask]
    known_within: float


@dataclass(frozen=True)
class Decays:
    r"""Units that decay on their own.

    Attributes
    ----------
    rate
        -log \|a\| of each unit, or minus half of log E a^2; negative where it grows.
    axes
        What the axes of `rate` count: ``("head",)``, ``("channel", "state")``.
    weights
        Energy per unit at the start, of an input (`forward`) and of a gradient; equal where missing.
    rounding
        What the types do, where it is known.
    """

    rate: Floats
    axes: tuple[str, ...]
    weights: Mapping[str, Floats] = field(default_factory=dict)
    rounding: Rounding | None = None

    @property
    def memory(self) -> Floats:
        """Steps after which 1/e of the energy of a unit is left, infinite for one that never forgets."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.where(self.rate > 0.0, 0.5 / np.where(self.rate > 0.0, self.rate, 1.0), np.inf))

    def never(self, beyond: float) -> Mask:
        """Units that never forget: a decay of exactly 1, or a memory of more steps than this."""
        lost = np.zeros(self.rate.shape, dtype=bool) if self.rounding is None else self.rounding.lost
        return np.asarray(lost | ((self.rate >= 0.0) & (self.memory > beyond)))

    @property
    def at_once(self) -> Mask:
        """Units that keep less than 1 % of their energy over two steps."""
        return np.asarray(2.0 * AT_ONCE * self.rate >= math.log(100.0))

    @property
    def growing(self) -> Mask:
        """Units that grow."""
        return np.asarray(self.rate < 0.0)

    def log_energy(self, steps: Floats, which: str = "forward") -> Floats:
        """Log of the energy that is left, of the sum over units, at any steps."""
        weight = self.weights.get(which)
        share = np.ones(self.rate.size) if weight is None else np.broadcast_to(weight, self.rate.shape).ravel()
        rate = self.rate.ravel()[share > 0.0]
        log_share = np.log(share[share > 0.0] / share.sum())
        # Equal units once: thousands of channels have a few rates.
        rates, back = np.unique(rate, return_inverse=True)
        mass = np.bincount(back, np.exp(log_share), minlength=len(rates))
        out = np.empty(len(steps))
        for i, step in enumerate(steps):
            with np.errstate(invalid="ignore"):
                exponent = np.where(np.isinf(rates), -np.inf if step > 0 else 0.0, -2.0 * rates * step)
            top = exponent.max()
            out[i] = -np.inf if top == -np.inf else top + math.log(float(mass @ np.exp(exponent - top)))
        return out

    def path(self, which: str, reach: int) -> EnergyPath:
        """The path of `log_energy`."""
        return path_of(lambda steps: self.log_energy(steps, which), reach)


def decays_of(
    formula: Formula,
    parameters: Mapping[str, Stored],
    axes: tuple[str, ...],
    *,
    infinite: tuple[str, ...] = (),
    computed_in: str | None = None,
    input_std: float = 0.0,
    weights: Mapping[str, Floats] | None = None,
) -> Decays:
    """Decays by a formula of stored parameters.

    Parameters
    ----------
    formula
        As in `Formula`.
    parameters
        By the role that the formula knows them under.
    axes
        What the axes of the result count.
    infinite
        Roles that may be minus infinity, the logarithm of zero.
    computed_in
        Name of the type that the model computes the decay in, whatever the type of its parameters; None for that type.
    input_std
        s, what inputs add to the preactivation of the gate.
    weights
        As in `Decays`.
    """
    values = {role: one.numbers(infinite="-" if role in infinite else "") for role, one in parameters.items()}
    storage = coarsest(one.real_type for one in parameters.values())
    exact = np.asarray(formula(values, exactly))
    rate = -exact if input_std == 0.0 else _mean_rate(formula, values, input_std)
    rounding = Rounding(
        storage=storage.name,
        computed_in=computed_in or storage.name,
        zero=exact == 0.0,
        lost=one_in(formula, values, STORAGES[computed_in or storage.name]) | (exact == 0.0),
        lost_if_cast={name: one_in(formula, _cast(values, STORAGES[name]), STORAGES[name]) for name in CASTS},
        known_within=_known_within(formula, values, parameters, exact),
    )
    return Decays(rate, axes, dict(weights or {}), rounding)


def coarsest(types: object) -> Storage:
    """The type of the fewest bits in its fraction."""
    return min(types, key=lambda one: one.fraction)  # type: ignore[call-overload, no-any-return]


def one_in(formula: Formula, values: Mapping[str, Floats], storage: Storage) -> Mask:
    """Units whose decay is 1 where every operation of the formula is rounded to a type."""
    with np.errstate(over="ignore"):
        log_decay = formula(values, storage.rounded)
        return np.asarray(storage.rounded(np.exp(log_decay)) == 1.0)


def _cast(values: Mapping[str, Floats], storage: Storage) -> dict[str, Floats]:
    return {role: storage.rounded(one) for role, one in values.items()}


def _known_within(
    formula: Formula, values: Mapping[str, Floats], parameters: Mapping[str, Stored], exact: Floats
) -> float:
    """The largest relative difference of a memory if every parameter were any of its neighbours; rates are monotone in each."""
    ends = {role: parameters[role].real_type.neighbours(one) for role, one in values.items()}
    rates = [
        -formula({role: ends[role][side] for role, side in zip(values, sides, strict=True)}, exactly)
        for sides in itertools.product((0, 1), repeat=len(values))
    ]
    slowest, fastest = np.minimum.reduce(rates), np.maximum.reduce(rates)
    middle = -exact
    alive = (middle > 0.0) & np.isfinite(middle)
    if not alive.any():
        return 0.0
    with np.errstate(divide="ignore"):
        longer = np.where(slowest[alive] > 0.0, middle[alive] / np.maximum(slowest[alive], 1e-300), np.inf) - 1.0
        shorter = 1.0 - middle[alive] / fastest[alive]
    return float(max(longer.max(), shorter.max()))


def _mean_rate(formula: Formula, values: Mapping[str, Floats], s: float) -> Floats:
    """Minus half of log E a^2 over the preactivation, by the trapezoidal rule."""
    z = np.linspace(-8.5, 8.5, 171)
    log_weight = -0.5 * z * z
    logs = np.stack([2.0 * formula(values, exactly, float(s * one)) for one in z])
    total = np.logaddexp.reduce(logs + log_weight.reshape(-1, *[1] * (logs.ndim - 1)), axis=0)
    return np.asarray(-0.5 * (total - np.logaddexp.reduce(log_weight)))
