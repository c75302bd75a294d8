r"""The diagonal LRU and RotRNN with given parameters: planes that shrink and turn, as complex units or as pairs of real rows.

A unit :math:`\lambda = \gamma e^{i\theta}` and a plane that turns by theta and shrinks by gamma are the same thing, so each
can be turned into the other. They are drawn from their laws in `lru_draws` and `rotrnn_draws`.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from signalprop._checks import finite_array, flag, real_array, whole_number
from signalprop.recurrences.lti import LinearRecurrence
from signalprop.recurrences.operators import Diagonal, Rotations
from signalprop.recurrences.power_sums import LOG_ZERO, Floats

_LOG_RATES = (math.log(1e-300), math.log(-LOG_ZERO))  # of gamma next to one and next to zero


class LRU(LinearRecurrence):
    """A diagonal layer with given parameters; `lru` draws one.

    Parameters
    ----------
    log_modulus, phase
        (N,) each: ``lambda = exp(log_modulus + i phase)``, log_modulus < 0.
    B
        (N, d), complex or real.
    C
        (p, N), or None; the output is Re(C x).
    normalizer
        (N,) factors on the rows of B; None takes ``sqrt(1 - |lambda|^2)``, their initial value.
    first_step
        Divide the rows of the first step by ``sqrt(1 - |lambda|^2)``: each unit starts at its stationary energy.
    heads
        Equal parts whose energies are given separately.

    Raises
    ------
    ValueError
        log_modulus not below 0, shapes that do not fit, values that are not finite.

    Examples
    --------
    >>> LRU([np.log(0.9)], [0.3], [[1.0]]).energy(3).round(12)   # 1 - 0.9^{2t}
    array([0.      , 0.19    , 0.3439  , 0.468559])
    """

    def __init__(
        self,
        log_modulus: ArrayLike,
        phase: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None = None,
        *,
        normalizer: ArrayLike | None = None,
        first_step: bool = False,
        heads: int = 1,
    ) -> None:
        diagonal = Diagonal(real_array(log_modulus, "log_modulus", 1), real_array(phase, "phase", 1))
        decay = diagonal.log_modulus
        if not (decay < 0.0).all():
            raise ValueError(f"log_modulus must be below 0 (|lambda| < 1), got {decay.max()}.")
        lost = np.sqrt(-np.expm1(2.0 * decay))
        self.normalizer = lost if normalizer is None else real_array(normalizer, "normalizer", 1)
        if self.normalizer.shape != decay.shape:
            raise ValueError(f"normalizer must have one factor per unit, {decay.shape}, got {self.normalizer.shape}.")
        self.first_step = flag(first_step, "first_step")
        rows = finite_array(B, "B", 2)
        if len(rows) != decay.size:
            raise ValueError(f"B must have one row for each of the {decay.size} units, got shape {rows.shape}.")
        with np.errstate(over="ignore"):
            entry = self.normalizer[:, None] * rows
            first = entry / lost[:, None] if self.first_step else None
        super().__init__(diagonal, entry, C, first=first, heads=heads)

    @property
    def diagonal(self) -> Diagonal:
        """The state matrix."""
        assert isinstance(self.A, Diagonal)
        return self.A

    def to_rotrnn(self, heads: int | None = None) -> RotRNN:
        """The same layer as rotations of planes: a unit becomes a plane with input rows Re b, Im b, readout Re c, -Im c.

        A conjugate pair of units (b and conj(b), c and conj(c)) has twice the real part of one as its output, so it
        equals one plane read out by 2 Re c, -2 Im c. Status P.

        Parameters
        ----------
        heads
            Number of heads, each of units that share their modulus; None makes every unit a head.

        Raises
        ------
        ValueError
            Units of one head with different moduli, which a RotRNN cannot have.
        """
        units = self.diagonal.size
        count = units if heads is None else whole_number(heads, "heads", 1)
        if units % count:
            raise ValueError(f"the {units} units must be divisible by heads, got {count} heads.")
        decay = self.diagonal.log_modulus.reshape(count, -1)
        spread = np.ptp(decay, axis=1)
        if (spread > 1e-13 * abs(decay).max(axis=1)).any():
            worst = int(spread.argmax())
            raise ValueError(
                f"units of a RotRNN head share one modulus, got {math.exp(decay[worst].min()):.9g} to "
                f"{math.exp(decay[worst].max()):.9g} in head {worst}; leave heads out to make every unit a head."
            )
        rows = np.stack([self.B.real, self.B.imag], axis=1).reshape(count, -1, self.input_size)
        readout = None
        if self.C is not None:
            readout = np.stack([self.C.real, -self.C.imag], axis=2).reshape(len(self.C), -1)
        return RotRNN(
            self.diagonal.phase.reshape(count, -1),
            rows,
            readout,
            log_rate=np.log(-decay[:, 0]),
            normalized=False,
            first_step=self.first_step,
        )


class RotRNN(LinearRecurrence):
    """A RotRNN layer with given parameters; `rotrnn` draws one.

    Parameters
    ----------
    angles
        (H, n // 2), the angle of each plane.
    B
        (H, n, d) input weights before normalisation.
    gamma
        In (0, 1), one number or one per head.
    log_rate
        In place of gamma: g with gamma = exp(-exp(g)), which keeps more digits than gamma next to one.
    C
        (p, H n) readout, or None.
    basis
        (H, n, n) orthogonal P, or None for the identity.
    normalized
        Multiply B by xi. False takes B as it is (conversions).
    first_step
        ``x_1 = B u_1/sqrt(tr B B^T)``: start at the stationary energy.

    Raises
    ------
    ValueError
        gamma outside (0, 1), both or neither of gamma and log_rate, shapes that do not fit, values that are not finite.

    Examples
    --------
    >>> head = RotRNN([[0.3]], [[[1.0], [0.0]]], gamma=0.9)
    >>> head.energy(3).round(12)                                 # 1 - 0.9^{2t}
    array([0.      , 0.19    , 0.3439  , 0.468559])
    >>> RotRNN([[0.3]], [[[1.0], [0.0]]], gamma=0.9, first_step=True).energy(3).round(12)
    array([0., 1., 1., 1.])
    """

    def __init__(
        self,
        angles: ArrayLike,
        B: ArrayLike,
        C: ArrayLike | None = None,
        *,
        gamma: ArrayLike | None = None,
        log_rate: ArrayLike | None = None,
        basis: ArrayLike | None = None,
        normalized: bool = True,
        first_step: bool = False,
    ) -> None:
        weights = real_array(B, "B", 3)
        heads, size, inputs = weights.shape
        turns, frame = cast("Floats", angles), cast("Floats | None", basis)
        state = Rotations(_log_gamma(gamma, log_rate, heads), turns, size, frame)
        largest = np.abs(weights).max(axis=(1, 2), keepdims=True)
        if not largest.all():
            raise ValueError("B must have a nonzero entry in every head.")
        lost = np.sqrt(-np.expm1(2.0 * state.log_gamma))
        self.first_step = flag(first_step, "first_step")
        with np.errstate(over="ignore"):
            if flag(normalized, "normalized"):
                # Relative to the largest entry, whose square could leave float64.
                unit = weights / largest
                power = np.sqrt(np.sum(unit**2, axis=(1, 2)))
                self.xi = lost / power / largest[:, 0, 0]
                entry = (lost / power)[:, None, None] * unit
            else:
                self.xi, entry = np.ones(heads), weights
            entry = entry.reshape(heads * size, inputs)
            first = entry / np.repeat(lost, size)[:, None] if self.first_step else None
        super().__init__(state, entry, C, first=first, heads=heads)

    @property
    def rotations(self) -> Rotations:
        """The state matrix."""
        assert isinstance(self.A, Rotations)
        return self.A

    @property
    def gamma(self) -> Floats:
        """Modulus of each head."""
        return np.exp(self.rotations.log_gamma)

    def to_lru(self) -> LRU:
        """The same layer as a diagonal one: a plane turning by theta is one unit ``lambda = gamma e^{i theta}``.

        Its input row is the pair of rows of ``P^T xi B`` as one complex number, its readout ``c_1 - i c_2`` from those
        of ``C P``. The outputs are equal at every step for any input. Status P.
        """
        modes = self.rotations.modes
        readout = None if self.C is None else self.rotations.to_modes(self.C.T).conj().T
        return LRU(
            modes.log_modulus,
            modes.phase,
            self.rotations.to_modes(self.B),
            readout,
            normalizer=np.ones(modes.size),
            first_step=self.first_step,
            heads=self.heads,
        )


def _log_gamma(gamma: ArrayLike | None, log_rate: ArrayLike | None, heads: int) -> Floats:
    if (gamma is None) == (log_rate is None):
        raise ValueError("give exactly one of gamma and log_rate (gamma = exp(-exp(log_rate))).")
    name = "gamma" if log_rate is None else "log_rate"
    values = real_array(gamma if log_rate is None else log_rate, name, None, finite=False)
    if values.shape not in ((), (1,), (heads,)):
        raise ValueError(f"{name} must be one number or one per head, {heads}, got shape {values.shape}.")
    values = np.broadcast_to(values, (heads,))
    low, high = (0.0, 1.0) if log_rate is None else _LOG_RATES
    outside = ~((values > low) & (values < high))
    if outside.any():
        bounds = "0 and 1" if log_rate is None else f"{low:.4g} and {high:.4g}"
        raise ValueError(f"{name} must lie strictly between {bounds}, got {values[outside].flat[0]}.")
    return np.log(values) if log_rate is None else -np.exp(values)
