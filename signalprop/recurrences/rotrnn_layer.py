r"""RotRNN (Biegun, Dolga, Cunningham, Barber, arXiv:2407.07239): heads that rotate and shrink by one scalar gamma each.

.. math:: x_t = \gamma P\Theta P^T x_{t-1} + \xi B u_t,\qquad P = e^{M - M^T},\quad \xi^2 = \frac{1-\gamma^2}{\mathrm{tr}\,BB^T}

With white unit inputs, independent of the state before, and E||x_0||^2 = 1 the energy of a head is 1 at every step; from
x_0 = 0 it is 1 - gamma^{2t}. The rule ``x_1 = B u_1/sqrt(tr B B^T)`` removes that transient. Status P.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from signalprop._checks import whole_number
from signalprop._streams import stream
from signalprop.fields import one_of
from signalprop.recurrences.lti import LinearRecurrence
from signalprop.recurrences.operators import Rotations, finite_array
from signalprop.recurrences.power_sums import Floats, checked_phase

if TYPE_CHECKING:
    from signalprop.recurrences.lru_layer import LRU

ROTATIONS = ("expm", "cayley")
GAMMA_RANGE = (0.9, 0.999)  # of the published layer


class RotRNN(LinearRecurrence):
    """A RotRNN layer with given parameters; `rotrnn` draws one.

    Parameters
    ----------
    angles
        (H, n // 2), the angle of each plane.
    B
        (H, n, d) input weights before normalisation.
    gamma
        In (0, 1), one number or one a head.
    log_rate
        In place of gamma: g with gamma = exp(-exp(g)), which says more than gamma next to one.
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
        gamma outside (0, 1), both or none of gamma and log_rate, shapes that do not fit, values that are not finite.

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
        weights = finite_array(B, "B", 3)
        heads, size, inputs = weights.shape
        turns = np.zeros((heads, 0)) if size == 1 else finite_array(angles, "angles", 2)
        if turns.shape != (heads, size // 2):
            raise ValueError(
                f"angles must have shape {(heads, size // 2)} for B of shape {weights.shape}, got {turns.shape}."
            )
        log_gamma = np.broadcast_to(_log_gamma(gamma, log_rate), (heads,))
        frame = None if basis is None else finite_array(basis, "basis", 3)
        if frame is not None:
            if frame.shape != (heads, size, size):
                raise ValueError(f"basis must have shape {(heads, size, size)}, got {frame.shape}.")
            off = abs(np.swapaxes(frame, 1, 2) @ frame - np.eye(size)).max()
            if off > 1e-8:
                raise ValueError(f"basis must hold orthogonal matrices, got P^T P off the identity by {off:.3g}.")
        power = np.sum(weights**2, axis=(1, 2))
        if np.iscomplexobj(weights) or not power.all():
            raise ValueError("B must be real with some entry other than zero in every head.")
        lost = -np.expm1(2.0 * log_gamma)
        self.xi = np.sqrt(lost / power) if normalized else np.ones(heads)
        self.first_step = first_step
        entry = (self.xi[:, None, None] * weights).reshape(heads * size, inputs)
        super().__init__(
            Rotations(log_gamma, turns, size, frame),
            entry,
            C,
            first=entry / np.repeat(np.sqrt(lost), size)[:, None] if first_step else None,
            heads=heads,
        )

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
        from signalprop.recurrences.lru_layer import LRU

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


def rotrnn(
    state_size: int,
    input_size: int,
    *,
    heads: int = 1,
    gamma: ArrayLike | None = None,
    gamma_range: tuple[float, float] = GAMMA_RANGE,
    max_phase: float = 2.0 * math.pi,
    rotation: str = "expm",
    first_step: bool = False,
    output_size: int | None = None,
    seed: int = 0,
) -> RotRNN:
    r"""Draw a RotRNN layer from its initial law.

    Parameters
    ----------
    state_size, input_size, heads
        N, d, H; each head has N/H states, an odd one a direction that does not turn.
    gamma
        Fixed, one number or one a head; None draws ``gamma = exp(-exp(g))``, g uniform, inside `gamma_range`.
    max_phase
        Angles are uniform in (0, max_phase), at most 2 pi.
    rotation
        ``"expm"``: P = exp(S); ``"cayley"``: P = (I + S)^{-1}(I - S); S = M - M^T, M standard normal.
    first_step
        Start at the stationary energy.
    output_size
        Also draw a readout C with entries N(0, 1/N).
    seed
        Of all draws.

    Raises
    ------
    ValueError
        N not divisible by H, gamma or `gamma_range` outside (0, 1), a phase out of range, an unknown rotation.

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
    phase = checked_phase(max_phase)
    rng = stream(whole_number(seed, "seed", 0), "rotrnn", size, inputs, count)
    rates: Any = None
    if gamma is None:
        low, high = gamma_rates(gamma_range)
        rates = rng.uniform(low, high, count)
    angles = rng.uniform(0.0, phase, (count, size // 2))
    skew = rng.standard_normal((count, size, size))
    skew = skew - np.swapaxes(skew, 1, 2)
    weights = rng.standard_normal((count, size, inputs)) / math.sqrt(inputs)
    readout = None
    if output_size is not None:
        shape = (whole_number(output_size, "output_size", 1), count * size)
        readout = rng.standard_normal(shape) / math.sqrt(count * size)
    return RotRNN(
        angles,
        weights,
        readout,
        gamma=gamma,
        log_rate=rates,
        basis=orthogonal_from_skew(skew, rotation),
        first_step=first_step,
    )


def orthogonal_from_skew(skew: ArrayLike, rotation: str = "expm") -> Floats:
    """The matrix in SO(n) of a skew one, ``exp(S)`` or the Cayley transform ``(I + S)^{-1}(I - S)``; stacks allowed.

    The exponential goes by the eigenvectors of the Hermitian i S, so that it is orthogonal to rounding whatever ||S||.

    Examples
    --------
    >>> orthogonal_from_skew([[0.0, -np.pi / 2], [np.pi / 2, 0.0]]).round(12) + 0.0
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    S = np.asarray(skew, np.float64)
    if one_of(rotation, ROTATIONS, "rotation") == "cayley":
        one = np.eye(S.shape[-1])
        return np.asarray(np.linalg.solve(one + S, one - S), np.float64)
    values, vectors = np.linalg.eigh(1j * S)
    return np.real((vectors * np.exp(-1j * values)[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2)))


def gamma_rates(gamma_range: tuple[float, float]) -> tuple[float, float]:
    """Ends of g = log(-log gamma) for gamma between the two ends of `gamma_range`, ascending.

    Raises
    ------
    ValueError
        Not 0 < low < high < 1.
    """
    low, high = (float(end) for end in gamma_range)
    if not 0.0 < low < high < 1.0:
        raise ValueError(f"gamma_range must be two numbers 0 < low < high < 1, got {gamma_range}.")
    return math.log(-math.log(high)), math.log(-math.log(low))


def state_and_heads(state_size: int, input_size: int, heads: int) -> tuple[int, int, int]:
    """States a head, inputs, heads.

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


def _log_gamma(gamma: ArrayLike | None, log_rate: ArrayLike | None) -> Floats:
    if (gamma is None) == (log_rate is None):
        raise ValueError("give either gamma or log_rate (gamma = exp(-exp(log_rate))), not both and not neither.")
    if log_rate is not None:
        return np.asarray(-np.exp(finite_array(log_rate, "log_rate", np.ndim(log_rate))))
    values = np.asarray(gamma, np.float64)
    outside = ~((values > 0.0) & (values < 1.0))
    if outside.any():
        raise ValueError(f"gamma must lie strictly between 0 and 1, got {values[outside].flat[0]}.")
    return np.log(values)
