r"""RotRNN (Biegun, Dolga, Cunningham, Barber, arXiv:2407.07239): heads that rotate and shrink by one scalar gamma each.

.. math:: x_t = \gamma P\Theta P^T x_{t-1} + \xi B u_t,\qquad P = e^{M - M^T},\quad \xi^2 = \frac{1-\gamma^2}{\mathrm{tr}\,BB^T}

With white unit inputs, independent of the state before, and E||x_0||^2 = 1 the energy of a head is 1 at every step; from
x_0 = 0 it is 1 - gamma^{2t}. The rule ``x_1 = B u_1/sqrt(tr B B^T)`` removes that transient. Status P.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from signalprop._checks import flag, pair_of, real_array, seed_of, whole_number
from signalprop._streams import stream
from signalprop.fields import one_of
from signalprop.recurrences import laws
from signalprop.recurrences.arguments import check_numbers
from signalprop.recurrences.lti import LinearRecurrence
from signalprop.recurrences.operators import Rotations
from signalprop.recurrences.power_sums import LOG_ZERO, Floats

if TYPE_CHECKING:
    from signalprop.recurrences.lru_layer import LRU

_LOG_RATES = (math.log(1e-300), math.log(-LOG_ZERO))  # of gamma next to one and next to zero


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
        weights = real_array(B, "B", 3)
        heads, size, inputs = weights.shape
        turns, frame = cast("Floats", angles), cast("Floats | None", basis)
        state = Rotations(_log_gamma(gamma, log_rate, heads), turns, size, frame)
        largest = np.abs(weights).max(axis=(1, 2), keepdims=True)
        if not largest.all():
            raise ValueError("B must have some entry other than zero in every head.")
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
    gamma_range: tuple[float, float] = laws.GAMMAS,
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
        N, d, H; each head has N/H states, an odd one a direction that does not turn.
    gamma
        Fixed, one number or one per head; None draws ``gamma = exp(-exp(g))``, g uniform, inside `gamma_range`.
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
        N not divisible by H, gamma outside (0, 1), not 0 < low <= high < 1 in `gamma_range`, a phase out of range, an unknown
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
    rng = stream(seed_of(seed), "rotrnn", size, inputs, count)
    rates: Any = None
    if gamma is None:
        low, high = laws.gamma_rates(*laws.checked_gammas(*pair_of(gamma_range, "gamma_range")))
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


def orthogonal_from_skew(skew: ArrayLike, rotation: str = "expm") -> Floats:
    """The matrix in SO(n) of a skew one, ``exp(S)`` or the Cayley transform ``(I + S)^{-1}(I - S)``; stacks allowed.

    The exponential goes by the eigenvectors of the Hermitian i S, so that it is orthogonal to rounding whatever ||S||.

    Examples
    --------
    >>> orthogonal_from_skew([[0.0, -np.pi / 2], [np.pi / 2, 0.0]]).round(12) + 0.0
    array([[ 0., -1.],
           [ 1.,  0.]])
    """
    S = real_array(skew, "skew", None)
    if S.ndim < 2 or S.shape[-1] != S.shape[-2] or not np.array_equal(S, -np.swapaxes(S, -1, -2)):
        raise ValueError(
            f"skew must hold square matrices with S^T = -S, got an array of shape {S.shape} that does not."
        )
    return ROTATIONS[one_of(rotation, ROTATIONS, "rotation")](S)


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


def _exponential(S: Floats) -> Floats:
    values, vectors = np.linalg.eigh(1j * S)
    return np.real((vectors * np.exp(-1j * values)[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2)))


def _cayley(S: Floats) -> Floats:
    one = np.eye(S.shape[-1])
    return np.asarray(np.linalg.solve(one + S, one - S), np.float64)


ROTATIONS = {"expm": _exponential, "cayley": _cayley}  # from a skew matrix to an orthogonal one


def _log_gamma(gamma: ArrayLike | None, log_rate: ArrayLike | None, heads: int) -> Floats:
    if (gamma is None) == (log_rate is None):
        raise ValueError("give either gamma or log_rate (gamma = exp(-exp(log_rate))), not both and not neither.")
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
