"""The three shapes of a state matrix A: dense, diagonal, blocks of scaled rotations. Each applies itself at its own cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop.recurrences.power_sums import LOG_ZERO, Floats

Array = NDArray[Any]


def finite_array(value: ArrayLike, name: str, ndim: int) -> Array:
    """Return `value` as a float64 or complex128 array of `ndim` axes.

    Raises
    ------
    ValueError
        Other numbers of axes, no numbers, NaN or infinities; the message names `name`.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "iufc":
        raise ValueError(f"{name} must hold numbers, got values of type {array.dtype}.")
    array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    if array.ndim != ndim or array.size == 0:
        raise ValueError(f"{name} must have {ndim} axes and at least one entry, got shape {array.shape}.")
    broken = ~np.isfinite(array)
    if broken.any():
        place = tuple(int(i) for i in np.argwhere(broken)[0])
        raise ValueError(f"{name} must be finite, got {array[broken][0]} at position {place}.")
    return array


@dataclass(frozen=True)
class Dense:
    """Any N x N matrix; a product costs N^2 a vector."""

    matrix: Array

    @property
    def size(self) -> int:
        """N."""
        return len(self.matrix)

    def apply(self, states: Array) -> Array:
        """``A X`` for the columns of X."""
        product: Array = self.matrix @ states
        return product

    def adjoint(self) -> Dense:
        """``A*``."""
        return Dense(self.matrix.conj().T)

    def power(self, k: int) -> Dense:
        """``A^k`` by repeated squaring, N^3 log k."""
        return Dense(np.linalg.matrix_power(self.matrix, k))

    def dense(self) -> Array:
        """The matrix."""
        return self.matrix

    def spectral_radius(self) -> float:
        """Largest modulus of an eigenvalue."""
        return float(np.abs(np.linalg.eigvals(self.matrix)).max())


@dataclass(frozen=True)
class Diagonal:
    """``diag(e^{L_i + i theta_i})``; a product costs N a vector."""

    log_modulus: Floats
    phase: Floats

    @classmethod
    def from_values(cls, values: ArrayLike) -> Diagonal:
        """From the diagonal itself; where moduli are next to one, their logarithms say more than the values do."""
        diagonal = np.asarray(finite_array(values, "the diagonal of A", 1), np.complex128)
        with np.errstate(divide="ignore"):
            return cls(np.maximum(np.log(np.abs(diagonal)), LOG_ZERO), np.angle(diagonal))

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
        return Diagonal(k * self.log_modulus, k * self.phase)

    def dense(self) -> Array:
        """The matrix."""
        return np.diag(self.values)

    def spectral_radius(self) -> float:
        """Largest modulus."""
        return float(np.exp(self.log_modulus.max()))

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


@dataclass(frozen=True)
class Rotations:
    r"""Heads ``gamma_h P_h Theta_h P_h^T``: rotations of planes, one modulus a head.

    ``angles`` is (H, n//2): plane j of a head turns by ``R(theta_j)``; an odd n leaves one last direction fixed. `basis`
    is (H, n, n) orthogonal, or None for P = I. A product costs N in the coordinates P^T x and n^2 a head in those of x; a
    power costs N, because it turns by k theta and shrinks by gamma^k.
    """

    log_gamma: Floats
    angles: Floats
    head_size: int
    basis: Floats | None = None

    @property
    def size(self) -> int:
        """N = H n."""
        return len(self.log_gamma) * self.head_size

    @property
    def modes(self) -> Diagonal:
        """One complex mode a plane, and a real one for the fixed direction; head by head."""
        heads, count = len(self.log_gamma), (self.head_size + 1) // 2
        phase = np.zeros((heads, count))
        phase[:, : self.head_size // 2] = self.angles
        return Diagonal(np.repeat(self.log_gamma, count), phase.ravel())

    @property
    def multiplicity(self) -> Floats:
        """Real directions behind each mode: two a plane."""
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
        return Rotations(k * self.log_gamma, k * self.angles, self.head_size, self.basis)

    def dense(self) -> Array:
        """The block-diagonal matrix."""
        return self.apply(np.eye(self.size))

    def spectral_radius(self) -> float:
        """Largest gamma."""
        return float(np.exp(self.log_gamma.max()))

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
    """An operator from a matrix, from the vector of a diagonal, or from itself."""
    if isinstance(A, (Dense, Diagonal, Rotations)):
        return A
    if np.ndim(A) == 1:
        return Diagonal.from_values(A)
    matrix = finite_array(A, "A", 2)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A must be square, or a vector for a diagonal A, got shape {matrix.shape}.")
    return Dense(matrix)
