"""The blocked Hessenberg products against H^r e_1 with the matrix written out and multiplied by NumPy."""

import math

import numpy as np
import pytest

from signalprop._threads import stop_flag
from signalprop.ginibre._hessenberg import hessenberg_kernel

BETAS = [1, 2, 4]
# Fewer columns than a panel, panels that just end or just begin, paths shorter than a pass, as long as H and far longer,
# and rows longer than a strip.
SHAPES = [
    *[(k, k) for k in (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 18, 24, 25, 31, 32, 33, 40, 41, 63, 100)],
    *[(k, columns) for columns in (1, 2, 3, 7, 8, 9, 16, 17, 40) for k in (columns + 1, columns + 8, 5 * columns + 3)],
    (300, 2),
    (600, 600),
]


def _numbers(columns, beta, count, ends):
    """Entries above, on and below the diagonal; `ends` is a width reached, where the last subdiagonal entry is zero."""
    rng = np.random.default_rng(columns)
    normals = rng.standard_normal((beta, count, columns * (columns + 1) // 2))
    below = np.sqrt(rng.chisquare(beta * (columns + 0.5 - np.arange(columns)), (count, columns)))
    if ends:
        below[:, -1] = 0.0
    return normals, below


def _matrix(normals, below):
    beta, columns = normals.shape[0], below.shape[0]
    parts = np.zeros((beta, columns + 1, columns + 1))
    for j in range(columns):
        parts[:, : j + 1, j] = normals[:, j * (j + 1) // 2 : (j + 1) * (j + 2) // 2]
        parts[0, j + 1, j] = below[j]
    if beta == 1:
        return parts[0]
    a = parts[0] + 1j * parts[1]
    if beta == 2:
        return a
    # Left multiplication by p + qi + rj + sk as a complex 2 x 2 block.
    b = parts[2] + 1j * parts[3]
    return np.block([[a, b], [-b.conj(), a.conj()]])


def _log_norms(matrix, k):
    vector = np.zeros(matrix.shape[0], matrix.dtype)
    vector[0] = 1.0
    logs = [0.0]
    for _ in range(k):
        vector = matrix @ vector
        norm = np.linalg.norm(vector)
        logs.append(logs[-1] + math.log(norm))
        vector = vector / norm
    return logs


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize(("k", "columns"), SHAPES)
def test_kernel_against_the_matrix_written_out(beta, k, columns):
    count, scale = 2, 1.0 / math.sqrt(beta * columns)
    normals, below = _numbers(columns, beta, count, ends=k > columns)
    got = np.zeros((count, k + 1))
    hessenberg_kernel(k, normals, below, scale, got, stop_flag())
    for i in range(count):
        want = _log_norms(scale * _matrix(normals[:, i], below[i]), k)
        np.testing.assert_allclose(got[i], want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_a_prefix_of_the_path_is_the_shorter_path(beta):
    # The first columns of H decide the first steps, whatever pass they fall into.
    normals, below = _numbers(30, beta, 3, ends=False)
    whole = np.zeros((3, 31))
    hessenberg_kernel(30, normals, below, 0.1, whole, stop_flag())
    for k in range(1, 30):
        part = np.zeros((3, k + 1))
        hessenberg_kernel(k, normals[:, :, : k * (k + 1) // 2].copy(), below[:, :k].copy(), 0.1, part, stop_flag())
        np.testing.assert_allclose(part, whole[:, : k + 1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e15])
def test_a_pass_of_tiny_or_huge_numbers_keeps_its_digits(size):
    normals, below = np.array([[[size]]]), np.zeros((1, 1))
    got = np.zeros((1, 101))
    hessenberg_kernel(100, normals, below, 1.0, got, stop_flag())
    np.testing.assert_allclose(got[0], math.log(size) * np.arange(101), rtol=1e-12)
