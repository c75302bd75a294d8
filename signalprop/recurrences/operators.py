"""State matrices that are never stored as such: a diagonal, blocks of scaled rotations. Each knows its radius and powers.

Matrices that are stored are in `dense_operators`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import INT64_LIMIT, finite_array, flag, real_array, square_matrix, whole_number
from signalprop.recurrences import spectral_radius
from signalprop.recurrences.dense_operators import UNITARY_TO, Array, Dense, Triangular, is_triangular
from signalprop.recurrences.power_sums import LOG_LARGEST, LOG_ZERO, Floats
from signalprop.recurrences.spectral_radius import UNIT, Radius


@dataclass(frozen=True, eq=False)
class Diagonal:
    """``diag(e^{L_i + i theta_i})``; a product costs N per vector.

    Raises
    ------
    ValueError
        Arrays of different lengths, values that are not finite, a log-modulus above 350 (its square leaves float64).
    """

    log_modulus: Floats
    phase: Floats

    def __post_init__(self) -> None:
        moduli = _log_moduli(self.log_modulus, "log_modulus")
        turns = _angles(self.phase, "phase", 1)
        if turns.shape != moduli.shape:
            raise ValueError(f"phase must have one angle for each of the {moduli.size} units, got shape {turns.shape}.")
        object.__setattr__(self, "log_modulus", moduli)
        object.__setattr__(self, "phase", turns)

    @classmethod
    def from_values(cls, values: ArrayLike) -> Diagonal:
        """From the diagonal itself; where moduli are next to one, their logarithms say more than the values do.

        A complex entry whose modulus is one to within rounding, such as e^{i theta}, counts as on the unit circle.
        """
        return _diagonal(finite_array(values, "values", 1), "values")

    @property
    def size(self) -> int:
        """N."""
        return len(self.log_modulus)

    @property
    def values(self) -> NDArray[np.complex128]:
        """The diagonal."""
        return np.exp(self.log_modulus + 1j * self.phase)

    def apply(self, states: Array) -> Array:
        """``A X`` for the columns of X."""
        product: Array = self.values[:, None] * states
        return product

    def adjoint(self) -> Diagonal:
        """``A*``."""
        return Diagonal(self.log_modulus, -self.phase)

    def power(self, k: int) -> Diagonal:
        """``A^k`` at cost N, for any k."""
        steps = whole_number(k, "k", 0, INT64_LIMIT)
        return Diagonal(np.maximum(steps * self.log_modulus, LOG_ZERO), steps * self.phase)

    def dense(self) -> Array:
        """The matrix."""
        return np.diag(self.values)

    def radius(self, *, only_side_of_one: bool = False) -> Radius:
        """The largest modulus."""
        flag(only_side_of_one, "only_side_of_one")
        return spectral_radius.exact(float(self.log_modulus.max()))

    def spectral_radius(self) -> float:
        """Largest modulus."""
        return self.radius().value

    def to_modes(self, columns: Array) -> Array:
        """The rows of `columns` that drive each mode."""
        return columns

    @property
    def modes(self) -> Diagonal:
        """Itself."""
        return self

    @property
    def multiplicity(self) -> Floats:
        """Real or complex state directions behind each mode: one."""
        return np.ones(self.size)


@dataclass(frozen=True, eq=False)
class Rotations:
    r"""Heads ``gamma_h P_h Theta_h P_h^T``: rotations of planes, one modulus per head.

    ``angles`` is (H, n//2): plane j of a head turns by ``R(theta_j)``; an odd n leaves one last direction fixed. `basis`
    is (H, n, n) orthogonal, or None for P = I. A product costs N in the coordinates P^T x and n^2 per head in those of x; a
    power costs N, because it turns by k theta and shrinks by gamma^k.

    Raises
    ------
    ValueError
        Shapes that do not fit, values that are not finite, a basis that is not orthogonal.
    """

    log_gamma: Floats
    angles: Floats
    head_size: int
    basis: Floats | None = None

    def __post_init__(self) -> None:
        moduli = _log_moduli(self.log_gamma, "log_gamma")
        size, heads = whole_number(self.head_size, "head_size", 1, 10**6), len(moduli)
        turns = np.zeros((heads, 0)) if size == 1 else _angles(self.angles, "angles", 2)
        if turns.shape != (heads, size // 2):
            raise ValueError(
                f"angles must have shape {(heads, size // 2)} for {heads} heads of {size} states, got {turns.shape}."
            )
        frame = None if self.basis is None else real_array(self.basis, "basis", 3)
        if frame is not None:
            if frame.shape != (heads, size, size):
                raise ValueError(f"basis must have shape {(heads, size, size)}, got {frame.shape}.")
            off = float(abs(np.swapaxes(frame, 1, 2) @ frame - np.eye(size)).max())
            if not off <= UNITARY_TO:
                raise ValueError(f"basis must hold orthogonal matrices, got P^T P off the identity by {off:.3g}.")
        for name, value in (("log_gamma", moduli), ("angles", turns), ("head_size", size), ("basis", frame)):
            object.__setattr__(self, name, value)

    @property
    def size(self) -> int:
        """N = H n."""
        return len(self.log_gamma) * self.head_size

    @property
    def modes(self) -> Diagonal:
        """One complex mode per plane, and a real one for the fixed direction; head by head."""
        heads, count = len(self.log_gamma), (self.head_size + 1) // 2
        phase = np.zeros((heads, count))
        phase[:, : self.head_size // 2] = self.angles
        return Diagonal(np.repeat(self.log_gamma, count), phase.ravel())

    @property
    def multiplicity(self) -> Floats:
        """Real directions behind each mode: two per plane."""
        one = np.full((self.head_size + 1) // 2, 2.0)
        if self.head_size % 2:
            one[-1] = 1.0
        return np.tile(one, len(self.log_gamma))

    def apply(self, states: Array) -> Array:
        """``A X`` for the columns of X."""
        turned = self._coordinates(states)
        out = np.empty_like(turned)
        planes = self.head_size // 2
        first, second = turned[:, 0 : 2 * planes : 2], turned[:, 1 : 2 * planes : 2]
        cos, sin = np.cos(self.angles)[:, :, None], np.sin(self.angles)[:, :, None]
        out[:, 0 : 2 * planes : 2] = cos * first - sin * second
        out[:, 1 : 2 * planes : 2] = sin * first + cos * second
        if self.head_size % 2:
            out[:, -1] = turned[:, -1]
        out *= np.exp(self.log_gamma)[:, None, None]
        if self.basis is not None:
            out = self.basis @ out
        return out.reshape(states.shape)

    def adjoint(self) -> Rotations:
        """``A^T``."""
        return Rotations(self.log_gamma, -self.angles, self.head_size, self.basis)

    def power(self, k: int) -> Rotations:
        """``A^k`` at cost N, for any k."""
        steps = whole_number(k, "k", 0, INT64_LIMIT)
        moduli = np.maximum(steps * self.log_gamma, LOG_ZERO)
        return Rotations(moduli, steps * self.angles, self.head_size, self.basis)

    def dense(self) -> Array:
        """The block-diagonal matrix."""
        return self.apply(np.eye(self.size))

    def radius(self, *, only_side_of_one: bool = False) -> Radius:
        """The largest gamma."""
        flag(only_side_of_one, "only_side_of_one")
        return spectral_radius.exact(float(self.log_gamma.max()))

    def spectral_radius(self) -> float:
        """Largest gamma."""
        return self.radius().value

    def to_modes(self, columns: Array) -> Array:
        """``P^T X`` with the two rows of a plane as one complex row: a rotation becomes a product with e^{i theta}."""
        turned = self._coordinates(columns)
        planes = self.head_size // 2
        pairs = turned[:, 0 : 2 * planes : 2] + 1j * turned[:, 1 : 2 * planes : 2]
        modes = np.concatenate([pairs, turned[:, 2 * planes :]], axis=1)
        return modes.reshape(-1, columns.shape[1])

    def _coordinates(self, columns: Array) -> Array:
        heads = columns.reshape(len(self.log_gamma), self.head_size, -1)
        return heads if self.basis is None else np.swapaxes(self.basis, 1, 2) @ heads


Operator = Dense | Diagonal | Rotations


def as_operator(A: Any) -> Operator:
    """An operator from a matrix, from the vector of a diagonal, or from itself; zeros on one side make a matrix triangular."""
    if isinstance(A, (Dense, Diagonal, Rotations)):
        return A
    given = finite_array(A, "A", None)
    if given.ndim == 1:
        return _diagonal(given, "A")
    matrix = square_matrix(given, "A", ", or a vector for a diagonal A")
    return Triangular(matrix) if is_triangular(matrix) else Dense(matrix)


def _diagonal(given: Array, name: str) -> Diagonal:
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(np.abs(given)), LOG_ZERO)
    if logs.max() > LOG_LARGEST:
        worst = given[logs.argmax()]
        raise ValueError(
            f"{name} must have moduli of at most e^{LOG_LARGEST:g}, whose squares are float64, got {worst}."
        )
    if np.iscomplexobj(given):
        logs[np.abs(logs) <= 4.0 * UNIT] = 0.0
    return Diagonal(logs, np.angle(given))


def _log_moduli(values: ArrayLike, name: str) -> Floats:
    logs = real_array(values, name, 1)
    if logs.max() > LOG_LARGEST:
        raise ValueError(f"{name} must be at most {LOG_LARGEST:g}, got {logs.max()}.")
    return np.maximum(logs, LOG_ZERO)


def _angles(values: ArrayLike, name: str, ndim: int) -> Floats:
    """Angles, reduced to one turn where they exceed it: multiples of a large angle would lose their digits."""
    angles = real_array(values, name, ndim)
    return np.where(np.abs(angles) > 2.0 * np.pi, np.angle(np.exp(1j * angles)), angles)
