"""Skew matrices and the rotations they generate, there and back."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from signalprop._checks import real_array
from signalprop.fields import one_of
from signalprop.recurrences.power_sums import Floats


def orthogonal_from_skew(skew: ArrayLike, rotation: str = "expm") -> Floats:
    """The matrix in SO(n) made from a skew one, ``exp(S)`` or the Cayley transform ``(I + S)^{-1}(I - S)``; stacks allowed.

    The exponential is computed from the eigenvectors of the Hermitian i S, so it is orthogonal to rounding for any ||S||.

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


def skew_from_orthogonal(matrix: ArrayLike) -> Floats:
    """A skew S with ``exp(S)`` the given matrix of SO(n), angles of its planes in [-pi, pi]; stacks allowed.

    Raises
    ------
    ValueError
        A determinant of -1, which no rotation has.

    Examples
    --------
    >>> skew_from_orthogonal([[0.0, -1.0], [1.0, 0.0]]).round(6)
    array([[ 0.      , -1.570796],
           [ 1.570796,  0.      ]])
    """
    given = real_array(matrix, "matrix", None)
    if given.ndim > 2:
        return np.stack([skew_from_orthogonal(each) for each in given])
    from scipy.linalg import schur

    blocks, vectors = schur(given, output="real")
    S, flips, row = np.zeros_like(blocks), [], 0
    while row < len(S):
        below = row + 1
        if below < len(S) and blocks[below, row] != 0.0:
            angle = math.atan2(blocks[below, row] - blocks[row, below], blocks[row, row] + blocks[below, below])
            S[below, row], S[row, below] = angle, -angle
            row += 2
        else:
            if blocks[row, row] < 0.0:
                flips.append(row)
            row += 1
    if len(flips) % 2:
        raise ValueError("matrix must be a rotation, got one of determinant -1.")
    for one, other in zip(
        flips[::2], flips[1::2], strict=True
    ):  # two directions turned around are a plane turned by pi
        S[other, one], S[one, other] = math.pi, -math.pi
    turned = vectors @ S @ vectors.T
    return np.asarray((turned - turned.T) / 2.0)


def _exponential(S: Floats) -> Floats:
    values, vectors = np.linalg.eigh(1j * S)
    return np.real((vectors * np.exp(-1j * values)[..., None, :]) @ np.conj(np.swapaxes(vectors, -1, -2)))


def _cayley(S: Floats) -> Floats:
    one = np.eye(S.shape[-1])
    return np.asarray(np.linalg.solve(one + S, one - S), np.float64)


ROTATIONS = {"expm": _exponential, "cayley": _cayley}  # from a skew matrix to an orthogonal one
