"""Recurrent weights of one draw, one block of n rows per gate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._threads import go_on
from signalprop.fields import Field
from signalprop.ginibre._normals import fill_normal

KINDS = ("gaussian", "orthogonal", "identity", "uniform")
_SECONDS = {"gaussian": 9e-9, "orthogonal": 1.2e-8, "identity": 1e-9, "uniform": 4e-9}  # per entry
_QR_SECONDS = 4e-10  # per n^3


def draw_weights(kind: str, gates: int, n: int, scale: float, field: Field, rng: np.random.Generator) -> NDArray[Any]:
    """Weights of shape (gates * n, n)."""
    if kind == "gaussian":
        return _normal((gates * n, n), scale / math.sqrt(n), field, rng)
    if kind == "identity":
        return np.tile(scale * np.eye(n, dtype=np.float64 if field is Field.REAL else np.complex128), (gates, 1))
    if kind == "orthogonal":
        return np.concatenate([scale * _haar(n, field, rng) for _ in range(gates)])
    w = np.empty((gates * n, n))
    for rows in np.array_split(w, max(1, w.size >> 23)):
        rng.random(out=rows)
        rows -= 0.5
        rows *= 2.0 * scale / math.sqrt(n)
        go_on()
    return w


def _normal(shape: tuple[int, int], std: float, field: Field, rng: np.random.Generator) -> NDArray[Any]:
    if field is Field.REAL:
        return fill_normal(rng, np.empty(shape), std)
    return fill_normal(rng, np.empty((shape[0], 2 * shape[1])), std / math.sqrt(2.0)).view(np.complex128)


def _haar(n: int, field: Field, rng: np.random.Generator) -> NDArray[Any]:
    """Uniform on the orthogonal or the unitary group: QR of a Gaussian matrix, with the phases of R taken out (Mezzadri)."""
    q, r = np.linalg.qr(_normal((n, n), 1.0, field, rng))
    diagonal = np.diagonal(r)
    go_on()
    return np.asarray(q * (diagonal / np.abs(diagonal)))


def weights_seconds(kind: str, gates: int, n: int, field: Field) -> float:
    """What a draw of them takes, about."""
    each = _SECONDS[kind] * n * n + (_QR_SECONDS * n**3 if kind == "orthogonal" else 0.0)
    return each * gates * field.beta**2
