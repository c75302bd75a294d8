r"""Draws of the diagonal Linear Recurrent Unit of Orvieto et al. (arXiv:2303.06349), not the dense recurrence of `lru_energy`.

.. math:: x_t = \mathrm{diag}(\lambda)x_{t-1} + \mathrm{diag}(\gamma)Bu_t,\quad y_t = \mathrm{Re}(Cx_t),\quad
          \lambda = \exp(-e^\nu + ie^\theta),\;\; \gamma_i = \sqrt{1-|\lambda_i|^2}

From x_0 = 0: ``E||x_t||^2 = sum_i gamma_i^2 (B B*)_ii (1 - |lambda_i|^{2t})/(1 - |lambda_i|^2)``. Status P.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import flag, seed_of, whole_number
from signalprop._streams import stream
from signalprop.recurrences import laws
from signalprop.recurrences.arguments import check_numbers
from signalprop.recurrences.planes import LRU


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
