"""Dense recurrences of one draw of W, to set beside the structured ones: Gaussian and Haar orthogonal."""

from __future__ import annotations

import math
from typing import Any, assert_never

import numpy as np

from signalprop._checks import positive_float, real_number, seed_of, whole_number
from signalprop._streams import stream
from signalprop.fields import Field, as_field
from signalprop.recurrences.dense_operators import Dense, ScaledUnitary
from signalprop.recurrences.lti import LinearRecurrence

MAX_WIDTH = 10_000


def gaussian(n: int, field: str = "real", *, scale: float = 1.0, seed: int = 0) -> LinearRecurrence:
    r"""One Gaussian W, E|w_ij|^2 = g^2/n, with an isotropic input of unit energy at each step, B = I/sqrt(n).

    Averaged over draws of W its energy is ``signalprop.lru_energy(n, t - 1, field, scale=g)``, because that recurrence
    starts at its first input; `forward_energy` averages to ``signalprop.rnn_energy(n, k, field, scale=g)``. Status P. Far
    past sqrt(n) steps those averages are carried by rare draws.

    Parameters
    ----------
    n
        Width, at most 10^4.
    field
        ``"real"`` or ``"complex"``.

    Raises
    ------
    ValueError
        Quaternion weights, which are not drawn here; a scale that is not positive.

    Examples
    --------
    >>> gaussian(32, seed=1).energy(1).round(12)
    array([0., 1.])
    """
    width, kind = whole_number(n, "n", 1, MAX_WIDTH), as_field(field)
    factor = positive_float(scale, "scale") / math.sqrt(width)
    rng = stream(seed_of(seed), "gaussian W", width, kind.value)
    W: Any = rng.standard_normal((width, width))
    match kind:
        case Field.REAL:
            pass
        case Field.COMPLEX:
            W = (W + 1j * rng.standard_normal((width, width))) / math.sqrt(2.0)
        case Field.QUATERNION:
            raise ValueError(
                "quaternion weights are not drawn here; use field='real' or 'complex', or signalprop.lru_energy."
            )
        case _:
            assert_never(kind)
    return LinearRecurrence(Dense(factor * W), np.eye(width) / math.sqrt(width))


def orthogonal(n: int, *, gamma: float = 1.0, seed: int = 0) -> LinearRecurrence:
    r"""A multiple gamma of a Haar orthogonal W, with an isotropic input of unit energy at each step, B = I/sqrt(n).

    Its energy is ``sum_{k<t} gamma^{2k}`` in every draw: t at gamma = 1, with nothing forgotten and no limit. The recurrence
    knows that its matrix is a multiple of an orthogonal one, so rounded eigenvalues play no part. Status P.

    Raises
    ------
    ValueError
        gamma outside (0, 1].

    Examples
    --------
    >>> orthogonal(8).energy(3).round(12)
    array([0., 1., 2., 3.])
    """
    width = whole_number(n, "n", 1, MAX_WIDTH)
    modulus = real_number(gamma, "gamma")
    if not 0.0 < modulus <= 1.0:
        raise ValueError(f"gamma must lie in (0, 1], got {gamma}.")
    rng = stream(seed_of(seed), "orthogonal W", width)
    Q, R = np.linalg.qr(rng.standard_normal((width, width)))
    # The signs of the diagonal of R make the law that of Haar.
    unitary = Q * np.where(np.diag(R) < 0.0, -1.0, 1.0)
    return LinearRecurrence(ScaledUnitary(unitary, math.log(modulus)), np.eye(width) / math.sqrt(width))
