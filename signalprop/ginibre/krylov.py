r"""Width-free sampler of the path ||W^k' x|| / ||x||, k' = 0..k: its cost does not depend on n.

Householder (Arnoldi) reflections turn W, started at x, into an upper Hessenberg matrix H without changing the law:
||W^k x||/||x|| has the law of ||H^k e_1||, where sqrt(n) H has independent entries, Gaussian of the field with
E|.|^2 = 1 on and above the diagonal, and H_{j+1,j} (j = 1, 2, ..) has squared modulus chi^2_{n-j} (real),
Gamma(n-j) (complex), chi^2_{4(n-j)}/4 (quaternion), zero once j >= n. Status P.

The state is carried as a vector near unit norm and the log of its norm, so nothing overflows. H^k e_1 lives in the first
min(k+1, n) coordinates; the cost is O(k min(k,n)^2) flops and O(min(k,n)^2) random numbers per sample.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import whole_number
from signalprop._threads import go_on, stop_flag
from signalprop.fields import Field
from signalprop.ginibre._arguments import generator_of, sizes
from signalprop.ginibre._hessenberg import hessenberg_kernel
from signalprop.ginibre._normals import fill_normal

_CHUNK_NUMBERS = 1 << 18
_CHUNK_STEPS = 1 << 24
_LARGEST_NUMBERS = 1 << 27


def samples_per_chunk(n: int, k: int, field: Field) -> int:
    """Samples of one chunk: a function of the cell alone, so that the digits never depend on the workers.

    Raises
    ------
    ValueError
        If the random numbers of a single sample would take more than 1 GiB.
    """
    n, k, field = sizes(n, k, field)
    numbers = field.beta * _entries(min(k, n))
    if numbers > _LARGEST_NUMBERS:
        raise ValueError(
            f"k must be at most {_largest_k(field)} for method='krylov' with {field.value} weights (1 GiB per sample), "
            f"got {k}; use signalprop.rnn_energy for the exact mean."
        )
    return max(1, min(512, _CHUNK_NUMBERS // max(1, numbers), _CHUNK_STEPS // (k + 1)))


def room(n: int, k: int, field: Field) -> float:
    """Bytes that drawing one chunk takes: random numbers, the matrix in use, and paths with their copies."""
    count, numbers = samples_per_chunk(n, k, field), field.beta * _entries(min(k, n))
    return 8.0 * numbers * (count + 2) + 40.0 * count * (k + 1.0)


def draw_chunk(n: int, k: int, field: Field, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Log-norms ``log ||W^k' x||/||x||`` of `count` samples, shape (count, k+1)."""
    n, k, field = sizes(n, k, field)
    columns = min(k, n)
    count = whole_number(count, "count", 1)
    generator_of(rng)
    out = np.zeros((count, k + 1))
    if columns == 0:
        return out
    normals = fill_normal(rng, np.empty((field.beta, count, _entries(columns))))
    # In units where each part of a Gaussian entry has variance one: |H_{j+1,j}|^2 ~ chi^2 with beta (n-j) degrees.
    shape = 0.5 * field.beta * (n - 1.0 - np.arange(columns))
    below = np.sqrt(2.0 * rng.standard_gamma(shape, size=(count, columns)))
    hessenberg_kernel(k, normals, below, 1.0 / math.sqrt(field.beta * n), out, stop_flag())
    go_on()
    return out


def _entries(columns: int) -> int:
    return columns * (columns + 1) // 2


def _largest_k(field: Field) -> int:
    return math.isqrt(2 * _LARGEST_NUMBERS // field.beta) - 1
