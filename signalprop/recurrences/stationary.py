r"""Stationary energies of stored matrices: the Lyapunov equation ``P = A P A* + F`` by doubling, with a bound on the error.

.. math:: P_{j+1} = P_j + A^{2^j}P_j(A^{2^j})^*,\qquad P_0 = F

For F >= 0 nothing cancels. The error of tr P is ``tr(R H)``, with R the residual of P and H the solution of the adjoint
equation ``H = A* H A + I``, which comes from the same powers: an answer worse than `TOLERANCE` is refused. Status P.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop.recurrences.power_sums import Floats
from signalprop.recurrences.spectral_radius import UNIT

Array = NDArray[Any]
TOLERANCE = 1e-6
_DOUBLINGS = 64


def stationary_by_head(A: Array, forcing: Array, heads: int, forcing_error: float = 0.0) -> Floats:
    """Sums of the diagonal of P over the heads, for a matrix whose spectral radius is known to be below one.

    Parameters
    ----------
    A, forcing
        (N, N) each, F Hermitian.
    forcing_error
        Frobenius norm of what F may be off by.

    Raises
    ------
    ValueError
        The error may exceed `TOLERANCE` of the total.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        P, H = _doubled(A, forcing)
        diagonal = np.real(np.diag(P))
        bound = _error(A, forcing, P, H, forcing_error)
        total = float(diagonal.sum())
        if not bound <= TOLERANCE * total and (bound > 0.0 or not np.isfinite(total)):
            raise ValueError(
                "float64 cannot hold the stationary energy of this recurrence to six digits: A is too close to having none "
                "or too far from normal (its powers grow first); ask for energy(horizon) instead."
            )
    return np.asarray(diagonal.reshape(heads, -1).sum(axis=1))


def _doubled(A: Array, forcing: Array) -> tuple[Array, Array]:
    P, H, power = forcing, np.eye(len(A)), A
    for _ in range(_DOUBLINGS):
        entering, leaving = power @ P @ power.conj().T, power.conj().T @ H @ power
        P, H = P + entering, H + leaving
        small = np.linalg.norm(entering) <= UNIT / 8.0 * np.linalg.norm(P)
        if (small and np.linalg.norm(leaving) <= UNIT / 8.0 * np.linalg.norm(H)) or not np.isfinite(H).all():
            break
        power = power @ power
    return P, H


def _error(A: Array, forcing: Array, P: Array, H: Array, forcing_error: float) -> float:
    """Bound of the error of tr P; infinite where H does not solve its own equation to within a half."""
    lifted = A.conj().T @ H
    off = np.linalg.norm(lifted @ A + np.eye(len(A)) - H) + _rounding(A, lifted, H)
    if not off <= 0.5:
        return float("inf")
    # Also with states scaled by powers of two so that P and H have equal diagonals: norms then weigh each entry rightly.
    share = np.maximum(np.real(np.diag(P)), 1e-300) / np.real(np.diag(H))
    bounds = []
    for d in (np.ones(len(A)), np.ldexp(1.0, np.round(0.25 * np.log2(share)).astype(int))):
        scaled, weight = A / d[:, None] * d, P / d[:, None] / d
        source, moved = forcing / d[:, None] / d, scaled @ weight
        residual = np.linalg.norm(moved @ scaled.conj().T + source - weight) + _rounding(scaled, moved, weight, source)
        residual += forcing_error / float(d.min()) ** 2
        bounds.append(float(residual * 2.0 * np.linalg.norm(H * d[:, None] * d)))
    return min(bounds)


def _rounding(A: Array, product: Array, *others: Array) -> float:
    """What rounding does to a residual ``A X A* + .. - X`` with A X given, in the Frobenius norm."""
    size = float(np.linalg.norm(A)) * float(np.linalg.norm(product)) + sum(
        float(np.linalg.norm(each)) for each in others
    )
    return 4.0 * UNIT * math.sqrt(len(A)) * size
