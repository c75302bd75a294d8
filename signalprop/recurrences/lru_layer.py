r"""The diagonal Linear Recurrent Unit of Orvieto et al. (arXiv:2303.06349), not the dense recurrence of `lru_energy`.

.. math:: x_t = \mathrm{diag}(\lambda)x_{t-1} + \mathrm{diag}(\gamma)Bu_t,\quad y_t = \mathrm{Re}(Cx_t),\quad
          \lambda = \exp(-e^\nu + ie^\theta),\;\; \gamma_i = \sqrt{1-|\lambda_i|^2}

From x_0 = 0: ``E||x_t||^2 = sum_i gamma_i^2 (B B*)_ii (1 - |lambda_i|^{2t})/(1 - |lambda_i|^2)``. Status P.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import finite_array, flag, real_array, seed_of, whole_number
from signalprop._streams import stream
from signalprop.recurrences import laws
from signalprop.recurrences.arguments import check_numbers
from signalprop.recurrences.lti import LinearRecurrence
from signalprop.recurrences.operators import Diagonal

if TYPE_CHECKING:
    from signalprop.recurrences.rotrnn_layer import RotRNN


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
        Equal parts whose energies are told apart.

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
            Units of one head with different moduli: such a head is no RotRNN.
        """
        from signalprop.recurrences.rotrnn_layer import RotRNN

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


def lru(
    state_size: int,
    input_size: int,
    *,
    r_min: float = laws.MODULI[0],
    r_max: float = laws.MODULI[1],
    max_phase: float = laws.MAX_PHASE,
    normalized: bool = True,
    first_step: bool = False,
    output_size: int | None = None,
    seed: int = 0,
) -> LRU:
    r"""Draw the diagonal layer of Orvieto et al. from its initial law.

    :math:`|\lambda|^2` is uniform in [r_min^2, r_max^2] (a ring of the disc, uniform in area), the phase in
    (0, max_phase); B has proper complex Gaussian entries, E|b|^2 = 1/d, C likewise with 2/N. The law and its source are in
    `signalprop.recurrences.laws`, which `signalprop.nn.LRU` reads too.

    Parameters
    ----------
    state_size, input_size
        N units, d inputs.
    r_min, r_max
        0 <= r_min <= r_max <= 1.
    normalized
        Rows of B times ``sqrt(1 - |lambda|^2)``, as initialised; False leaves it out.
    first_step
        Each unit starts at its stationary energy.
    output_size
        Also draw a readout.

    Raises
    ------
    ValueError
        Radii or phase out of range, sizes below one.

    Examples
    --------
    >>> layer = lru(64, 64, r_min=0.9, r_max=0.999)
    >>> bool(abs(layer.stationary_energy() / 64 - 1) < 0.1)      # about one per unit
    True
    """
    units, inputs = whole_number(state_size, "state_size", 1, 10**6), whole_number(input_size, "input_size", 1, 10**6)
    check_numbers(2 * units * inputs, "B")
    low, high = laws.checked_moduli(r_min, r_max)
    phase = laws.checked_phase(max_phase)
    rng = stream(seed_of(seed), "lru", units, inputs)
    share = np.clip(rng.random(units), 2.0**-54, 1.0 - 2.0**-53)  # 0 and 1 would be moduli of zero and one
    phases = rng.uniform(0.0, phase, units)
    rows = _complex_normal(rng, (units, inputs), laws.lru_input_std(inputs))
    readout = None
    if output_size is not None:
        outputs = whole_number(output_size, "output_size", 1, 10**6)
        check_numbers(2 * units * outputs, "C")
        readout = _complex_normal(rng, (outputs, units), laws.lru_readout_std(units))
    ones = None if flag(normalized, "normalized") else np.ones(units)
    moduli = laws.ring_log_moduli(share, low, high, np)
    return LRU(moduli, phases, rows, readout, normalizer=ones, first_step=first_step)


def _complex_normal(rng: np.random.Generator, shape: tuple[int, int], std: float) -> NDArray[np.complex128]:
    """Entries whose real and imaginary parts have standard deviation `std`."""
    parts: NDArray[np.float64] = std * rng.standard_normal((2, *shape))
    entries: NDArray[np.complex128] = parts[0] + 1j * parts[1]
    return entries
