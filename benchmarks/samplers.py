"""Monte Carlo: width-free sampler against a dense W applied by einsum, complex weights, c = 2, same n, k, samples."""

import math

import numpy as np

from benchmarks._timing import nice, once, seconds
from signalprop import sample


def einsum_path(n, k, samples):
    rng = np.random.default_rng(0)
    for _ in range(samples):
        w = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
        w *= 1.0 / math.sqrt(2.0 * n)
        x = np.zeros(n, complex)
        x[0] = 1.0
        norms = np.zeros(k + 1)
        for step in range(1, k + 1):
            x = np.einsum("ij,j->i", w, x)
            norms[step] = np.linalg.norm(x)


def rows():
    for n, repeats in ((200, 20), (1000, 3), (2000, 2)):
        k = int(2.0 * math.sqrt(n))
        dense = once(lambda n=n, k=k, r=repeats: einsum_path(n, k, r), 3) / repeats
        count = 2048
        free = seconds(lambda n=n, k=k, count=count: sample(n, k, samples=count, workers=1), 5) / count
        blas = once(lambda n=n, k=k, r=repeats: sample(n, k, samples=max(2, r), method="dense", workers=1), 3) / max(
            2, repeats
        )
        yield f"einsum over dense W, n = {n}, k = {k}", nice(dense), "per sample"
        yield f"dense W by BLAS (method='dense'), n = {n}", nice(blas), f"per sample, {dense / blas:.1f}x einsum"
        threads = seconds(lambda n=n, k=k, count=count: sample(n, k, samples=count), 5) / count
        yield (
            f"width-free (method='krylov'), n = {n}, one thread",
            nice(free),
            f"per sample, {dense / free:.0f}x einsum",
        )
        yield (
            f"width-free (method='krylov'), n = {n}, all cores",
            nice(threads),
            f"per sample, {dense / threads:.0f}x einsum",
        )
    thousand, trillion = (seconds(lambda n=n: sample(n, 300, samples=200), 3) / 200 for n in (1000, 10**12))
    yield "width-free, k = 300, n = 1000", nice(thousand), "per sample, all cores"
    yield "width-free, k = 300, n = 1e12", nice(trillion), f"per sample, {trillion / thousand:.2f}x n = 1000"
    one, two = (seconds(lambda w=w: sample(1000, 300, samples=200, workers=w), 3) for w in (1, 2))
    yield "width-free, k = 300, two threads against one", f"{one / two:.2f}x", ""
