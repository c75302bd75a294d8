"""Monte Carlo: paths ||W^k x||, k steps, against a dense W and against the random numbers and the flops alone.

Floors of the width-free sampler: drawing the same random numbers with NumPy's Generator, and multiplying by the growing
triangle in a plain compiled loop. One thread everywhere but where it says so.
"""

import math

import numpy as np
from numba import njit

from benchmarks.suite import FLOOR, OTHER, OURS, Comparison, Contender
from signalprop import sample
from signalprop._blas import one_blas_thread
from signalprop.fields import Field
from signalprop.ginibre.krylov import samples_per_chunk


def einsum_paths(n, k, samples, field):
    """What scripts usually do: a dense W, einsum, one sample after the other."""
    rng = np.random.default_rng(0)
    norms = np.zeros((samples, k + 1))
    for row in norms:
        w = rng.standard_normal((n, n)) / math.sqrt(field.beta * n)
        if field is Field.COMPLEX:
            w = w + 1j * rng.standard_normal((n, n)) / math.sqrt(2 * n)
        x = np.zeros(n, w.dtype)
        x[0] = 1.0
        for step in range(1, k + 1):
            x = np.einsum("ij,j->i", w, x)
            row[step] = np.linalg.norm(x)
    return norms


def numbers(n, k, samples, field):
    """The random numbers of the width-free sampler and nothing else."""
    rng = np.random.default_rng(np.random.Philox(0))
    columns = min(n, k)
    rng.standard_normal((field.beta, samples, columns * (columns + 1) // 2))
    return rng.standard_gamma(0.5 * field.beta * (n - 1.0 - np.arange(columns)), (samples, columns))


@njit(nogil=True)
def triangle(h, k, samples):
    """K products with the growing upper Hessenberg triangle, rows in plain loops."""
    zero = 0.0 * h[0, 0]
    total = zero
    columns = h.shape[0] - 1
    for _ in range(samples):
        x = np.zeros(columns + 1, h.dtype)
        x[0] = 1.0
        y = np.zeros(columns + 1, h.dtype)
        for step in range(k):
            active = min(step + 1, columns)
            for i in range(active + 1):
                s = zero
                for j in range(max(0, i - 1), active):
                    s += h[i, j] * x[j]
                y[i] = s
            x, y = y, x
        total += x[0]
    return total


def plain_triangle(columns, field):
    """A triangle, complex for complex weights; entries small enough that nothing overflows."""
    rng = np.random.default_rng(0)
    h = rng.standard_normal((columns + 1, columns))
    if field is Field.COMPLEX:
        h = h + 1j * rng.standard_normal((columns + 1, columns))
    return np.triu(h, -1) / (4 * math.sqrt(columns))


def krylov(n, k, field, count, workers=1):
    return lambda: sample(n, k, field.value, samples=count, workers=workers)


def floors(n, k, field, count, exponents):
    h = plain_triangle(min(n, k), field)
    yield Contender(
        "its random numbers, NumPy Generator", FLOOR, lambda: numbers(n, k, count, field), count, exponents[0]
    )
    yield Contender("its flops, plain compiled loop", FLOOR, lambda: triangle(h, k, count), count, exponents[1])


def comparisons(quick):
    for field in (Field.COMPLEX, Field.REAL):
        for n in (200, 1000) if quick else (100, 200, 500, 1000, 2000):
            k = int(2 * math.sqrt(n))
            count, dense = 2048, 24 if n <= 200 else 3
            case = f"{field} weights, k = 2 sqrt(n)"

            def matmul(n=n, k=k, field=field, dense=dense):
                return sample(n, k, field.value, samples=dense, method="dense", workers=1, driven=False)

            def einsum(n=n, k=k, field=field, dense=dense):
                with one_blas_thread():
                    return einsum_paths(n, k, dense, field)

            yield Comparison(
                case, "n", n, "a path",
                [
                    Contender("width-free", OURS, krylov(n, k, field, count), count, 1.0),
                    *floors(n, k, field, count, (1.0, 1.5)),
                    Contender("dense W, batched BLAS", OTHER, matmul, dense, 2.0),
                    Contender("dense W, einsum", OTHER, einsum, dense, 2.0),
                ],
                rounds=5,
            )  # fmt: skip
    for field in (Field.COMPLEX, Field.REAL):
        for k in (250, 500) if quick else (125, 250, 500, 1000, 2000):
            chunk = samples_per_chunk(10**6, k, field)
            count = 4 * chunk * max(1, 5_000_000 // k**3 // chunk)  # whole chunks, for two threads
            case = f"{field} weights, n = 1e6"
            yield Comparison(
                case, "k", k, "a path",
                [
                    Contender("width-free", OURS, krylov(10**6, k, field, count), count, 2.5),
                    Contender("width-free, two threads", OTHER, krylov(10**6, k, field, count, 2), count, 2.5),
                    *floors(10**6, k, field, count, (2.0, 3.0)),
                ],
                rounds=5,
            )  # fmt: skip
    for n in (10**3, 10**6, 10**9, 10**12):
        yield Comparison(
            "complex weights, k = 300", "n", n, "a path",
            [Contender("width-free", OURS, krylov(n, 300, Field.COMPLEX, 64), 64, 0.0)],
            rounds=5,
        )  # fmt: skip
