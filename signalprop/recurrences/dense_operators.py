"""State matrices that are stored, and what their structure tells: any, triangular, a multiple of a unitary one."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import INT64_LIMIT, between, flag, square_matrix, whole_number
from signalprop.recurrences import spectral_radius
from signalprop.recurrences.power_sums import LOG_LARGEST, LOG_ZERO
from signalprop.recurrences.spectral_radius import Radius

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Dense:
    """Any N x N matrix; a product costs N^2 per vector.

    Rounded eigenvalues are not used: the spectral radius is an interval, found from the zeros of the matrix and the norms of
    its powers (N^3 per squaring).

    Raises
    ------
    ValueError
        Not a square matrix of finite numbers.
    """

    matrix: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", square_matrix(self.matrix, "matrix"))

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
        return Dense(_finite_power(self.matrix, k))

    def dense(self) -> Array:
        """The matrix."""
        return self.matrix

    def radius(self, *, only_side_of_one: bool = False) -> Radius:
        """Interval that holds the spectral radius; `only_side_of_one` stops once that is decided."""
        return spectral_radius.enclose(self.matrix, only_side_of_one=flag(only_side_of_one, "only_side_of_one"))

    def spectral_radius(self) -> float:
        """Largest modulus of an eigenvalue.

        Raises
        ------
        ValueError
            float64 does not hold six digits of it.
        """
        return self.radius().value


@dataclass(frozen=True, eq=False)
class Triangular(Dense):
    """A lower or upper triangular matrix: its eigenvalues are the entries on the diagonal, whatever the others are.

    Raises
    ------
    ValueError
        Entries other than zero on both sides of the diagonal.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_triangular(self.matrix):
            raise ValueError("matrix must have exact zeros on one side of its diagonal, got others on both.")

    def adjoint(self) -> Triangular:
        """``A*``."""
        return Triangular(self.matrix.conj().T)

    def power(self, k: int) -> Triangular:
        """``A^k`` by repeated squaring, triangular too."""
        side = np.tril if not np.triu(self.matrix, 1).any() else np.triu
        return Triangular(side(_finite_power(self.matrix, k)))

    def radius(self, *, only_side_of_one: bool = False) -> Radius:
        """The largest modulus on the diagonal."""
        flag(only_side_of_one, "only_side_of_one")
        return spectral_radius.of_moduli(np.diag(self.matrix))


@dataclass(frozen=True, eq=False)
class ScaledUnitary(Dense):
    """``gamma Q`` with Q orthogonal or unitary: every eigenvalue has modulus gamma, and k steps shrink every state by gamma^k.

    Parameters
    ----------
    unitary
        Q, orthogonal to rounding.
    log_gamma
        Logarithm of gamma; 0 for an orthogonal A, which forgets nothing and has no stationary energy.

    Raises
    ------
    ValueError
        Q is not unitary, log_gamma is not a finite number.

    Examples
    --------
    >>> ScaledUnitary([[0.0, 1.0], [-1.0, 0.0]]).spectral_radius()
    1.0
    """

    matrix: Array = field(init=False)
    unitary: Array
    log_gamma: float = 0.0

    def __post_init__(self) -> None:
        Q = square_matrix(self.unitary, "unitary")
        with np.errstate(over="ignore", invalid="ignore"):
            off = float(np.abs(Q.conj().T @ Q - np.eye(len(Q))).max())
        if not off <= UNITARY_TO:
            raise ValueError(f"unitary must hold a unitary matrix, got Q* Q off the identity by {off:.3g}.")
        log_gamma = between(self.log_gamma, "log_gamma", LOG_ZERO, LOG_LARGEST)
        object.__setattr__(self, "unitary", Q)
        object.__setattr__(self, "log_gamma", log_gamma)
        object.__setattr__(self, "matrix", math.exp(log_gamma) * Q)

    def adjoint(self) -> ScaledUnitary:
        """``A*``."""
        return ScaledUnitary(self.unitary.conj().T, self.log_gamma)

    def power(self, k: int) -> ScaledUnitary:
        """``gamma^k Q^k`` by repeated squaring."""
        steps = whole_number(k, "k", 0, INT64_LIMIT)
        Q, square = np.eye(self.size, dtype=self.unitary.dtype), self.unitary
        for bit in reversed(f"{steps:b}"):
            if bit == "1":
                Q = _nearest_unitary(Q @ square)
            square = _nearest_unitary(square @ square)
        return ScaledUnitary(Q, max(steps * self.log_gamma, LOG_ZERO))

    def radius(self, *, only_side_of_one: bool = False) -> Radius:
        """Gamma."""
        flag(only_side_of_one, "only_side_of_one")
        return spectral_radius.exact(self.log_gamma)


UNITARY_TO = 1e-10


def is_triangular(matrix: Array) -> bool:
    """Whether all entries on one side of the diagonal are exactly zero."""
    return not np.triu(matrix, 1).any() or not np.tril(matrix, -1).any()


def is_diagonal(matrix: Array) -> bool:
    """Whether all entries off the diagonal are exactly zero."""
    return not np.triu(matrix, 1).any() and not np.tril(matrix, -1).any()


def _finite_power(matrix: Array, k: int) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        power: Array = np.linalg.matrix_power(matrix, whole_number(k, "k", 0, INT64_LIMIT))
    if not np.isfinite(power).all():
        raise OverflowError(f"A to the power of {k} leaves float64.")
    return power


def _nearest_unitary(Q: Array) -> Array:
    """One Newton step towards the unitary factor, so that errors of squarings do not add up in the moduli."""
    nearer: Array = Q @ (1.5 * np.eye(len(Q)) - 0.5 * (Q.conj().T @ Q))
    return nearer
