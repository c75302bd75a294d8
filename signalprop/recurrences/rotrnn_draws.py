r"""Draws of RotRNN (Biegun, Dolga, Cunningham, Barber, arXiv:2407.07239): heads that rotate and shrink by one scalar gamma each.

.. math:: x_t = \gamma P\Theta P^T x_{t-1} + \xi B u_t,\qquad P = e^{M - M^T},\quad \xi^2 = \frac{1-\gamma^2}{\mathrm{tr}\,BB^T}

With white unit inputs, independent of the state before, and E||x_0||^2 = 1 the energy of a head is 1 at every step; from
x_0 = 0 it is 1 - gamma^{2t}. The rule ``x_1 = B u_1/sqrt(tr B B^T)`` removes that transient. Status P.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from signalprop._checks import seed_of, whole_number
from signalprop._streams import stream
from signalprop.fields import one_of
from signalprop.recurrences import laws
from signalprop.recurrences.arguments import check_numbers
from signalprop.recurrences.planes import RotRNN
from signalprop.recurrences.skew import ROTATIONS, orthogonal_from_skew


def rotrnn(
    state_size: int,
    input_size: int,
    *,
    heads: int = 1,
    gamma: ArrayLike | None = None,
    gamma_min: float = laws.GAMMAS[0],
    gamma_max: float = laws.GAMMAS[1],
    gamma_range: tuple[float, float] | None = None,
    max_phase: float = laws.MAX_PHASE,
    rotation: str = "expm",
    first_step: bool = False,
    output_size: int | None = None,
    seed: int = 0,
) -> RotRNN:
    r"""Draw a RotRNN layer from its initial law, that of `signalprop.recurrences.laws` as in `signalprop.nn.RotRNN`.

    Parameters
    ----------
    state_size, input_size, heads
        N, d, H; each head has N/H states; if that is odd, one direction does not turn.
    gamma
        Fixed, one number or one per head; None draws ``gamma = exp(-exp(g))``, g uniform, from gamma_min to gamma_max.
    gamma_min, gamma_max
        0 < gamma_min <= gamma_max < 1, as in `signalprop.nn.RotRNN`.
    gamma_range
        Both as one pair: an older spelling.
    max_phase
        Angles are uniform in (0, max_phase), at most 2 pi.
    rotation
        ``"expm"``: P = exp(S); ``"cayley"``: P = (I + S)^{-1}(I - S); S = M - M^T, M standard normal.
    first_step
        Start at the stationary energy.
    output_size
        Also draw a readout C with entries N(0, 1/N).
    seed
        Seed of all draws.

    Raises
    ------
    ValueError
        N not divisible by H, gamma outside (0, 1), not 0 < gamma_min <= gamma_max < 1, a phase out of range, an unknown
        rotation.

    Examples
    --------
    >>> layer = rotrnn(64, 16, heads=4, gamma=0.999)
    >>> layer.energy(1000)[[0, 100, 1000]].round(4)              # 4 heads, each 1 - gamma^{2t}
    array([0.    , 0.7254, 3.4592])
    >>> round(layer.stationary_energy(), 9)
    4.0
    """
    size, inputs, count = state_and_heads(state_size, input_size, heads)
    one_of(rotation, ROTATIONS, "rotation")
    check_numbers(count * size * max(size, inputs), "the weights")
    phase = laws.checked_phase(max_phase)
    low, high = laws.gamma_rates(*laws.gamma_ends(gamma_min, gamma_max, gamma_range))
    rng = stream(seed_of(seed), "rotrnn", size, inputs, count)
    rates: Any = None
    if gamma is None:
        rates = rng.uniform(low, high, count)
    angles = rng.uniform(0.0, phase, (count, size // 2))
    skew = rng.standard_normal((count, size, size))
    skew = skew - np.swapaxes(skew, 1, 2)
    weights = laws.rotrnn_input_std(inputs) * rng.standard_normal((count, size, inputs))
    readout = None
    if output_size is not None:
        shape = (whole_number(output_size, "output_size", 1, 10**6), count * size)
        check_numbers(shape[0] * shape[1], "C")
        readout = laws.rotrnn_readout_std(count * size) * rng.standard_normal(shape)
    return RotRNN(
        angles,
        weights,
        readout,
        gamma=gamma,
        log_rate=rates,
        basis=orthogonal_from_skew(skew, rotation),
        first_step=first_step,
    )


def state_and_heads(state_size: int, input_size: int, heads: int) -> tuple[int, int, int]:
    """States per head, inputs, heads.

    Raises
    ------
    ValueError
        `state_size` not divisible by `heads`, or a size below one.
    """
    total = whole_number(state_size, "state_size", 1, 10**6)
    inputs, count = whole_number(input_size, "input_size", 1, 10**6), whole_number(heads, "heads", 1)
    if total % count:
        raise ValueError(f"state_size must be divisible by heads, got {total} states and {count} heads.")
    return total // count, inputs, count
