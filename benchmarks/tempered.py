"""Rare-event samplers at c = 5: ten repetitions over the exact mean, median (10 % .. 90 %), and their root mean square error."""

import math
import time

import numpy as np

from signalprop import rnn_energy, sample
from signalprop.fields import Field
from signalprop.ginibre import tempered
from signalprop.ginibre._hessenberg import hessenberg_kernel

POWERS = np.linspace(0.0, 1.0, 51)[1:]


def entries(columns):
    return columns * (columns + 1) // 2


def resampled(weights, rng):
    count = len(weights)
    ends = np.cumsum(weights)
    return np.minimum(np.searchsorted(ends / ends[-1], (rng.random() + np.arange(count)) / count), count - 1)


def autoregressive(n, k, field, particles, rng, *, moves, reach, powers=None):
    """SMC with autoregressive Gaussian moves and Beta-Gamma moves of the subdiagonal, all entries at once.

    Through ||H^j e_1||^2, j = 1..k, with fresh columns, or for given `powers` b through ||H^k e_1||^{2b}. Returns the log of
    the estimate.
    """
    beta, scale = field.beta, 1.0 / math.sqrt(field.beta * n)
    shape = 0.5 * beta * (n - 1.0 - np.arange(k))
    stages = [(j, 2.0) for j in range(1, k + 1)] if powers is None else [(k, 2.0 * b) for b in powers]
    h, g = rng.standard_normal((beta, particles, entries(k))), rng.standard_gamma(shape, (particles, k))
    logs, before, out = np.zeros(particles), np.zeros(particles), 0.0
    for j, tilt in stages:
        norms = np.zeros((particles, j + 1))
        hessenberg_kernel(j, h, np.sqrt(2.0 * g[:, :j]), scale, norms)
        now = tilt * norms[:, j]
        logs += now - before
        weights = np.exp(logs - logs.max())
        last = (j, tilt) == stages[-1]
        if last or weights.sum() ** 2 / (weights @ weights) < 0.5 * particles:
            out += logs.max() + math.log(weights.mean())
            kept = resampled(weights, rng)
            h, g, now, logs = np.ascontiguousarray(h[:, kept]), g[kept], now[kept], np.zeros(particles)
        size, keep = entries(j), 1.0 - reach**2
        for _ in range(0 if last else moves):
            moved, other = h.copy(), g.copy()
            moved[:, :, :size] = math.sqrt(keep) * h[:, :, :size]
            moved[:, :, :size] += reach * rng.standard_normal((beta, particles, size))
            other[:, :j] = g[:, :j] * rng.beta(keep * shape[:j], (1.0 - keep) * shape[:j], (particles, j))
            other[:, :j] += rng.standard_gamma((1.0 - keep) * shape[:j], (particles, j))
            hessenberg_kernel(j, moved, np.sqrt(2.0 * other[:, :j]), scale, norms)
            accepted = np.log(rng.random(particles)) < tilt * norms[:, j] - now
            h[:, accepted], g[accepted] = moved[:, accepted], other[accepted]
            now = np.where(accepted, tilt * norms[:, j], now)
        before = now
    return out


def plain(n, k, field, particles, seed):
    return sample(n, k, field, samples=particles, seed=seed, workers=1).rnn().log_mean


def row(name, run, log_exact, repetitions):
    run(0)  # compile
    start = time.process_time()
    ratios = np.exp([run(1 + i) - log_exact for i in range(repetitions)])
    each = (time.process_time() - start) / repetitions
    low, median, high = np.quantile(ratios, [0.1, 0.5, 0.9])
    off = math.sqrt(np.mean((ratios - 1.0) ** 2))
    return name, f"{median:.2f} ({low:.2f}..{high:.2f})", f"off by {100 * off:.0f} % in {each:.2g} s of a core"


def rows():
    n, k, count = 100, 50, 10
    for field in (Field.REAL, Field.COMPLEX):
        exact = float(rnn_energy(n, k, field, log=True))
        case = f"{field}, n = {n}, k = {k}"

        def ladder(seed, field=field, **options):
            return autoregressive(n, k, field, rng=np.random.default_rng(seed), **options)

        yield row(f"{case}: plain draws", lambda s, f=field: plain(n, k, f, 10_000, s), exact, count)
        yield row("  steps, no moves", lambda s: ladder(s, particles=1000, moves=0, reach=0.2), exact, count)
        yield row("  steps, autoregressive", lambda s: ladder(s, particles=100, moves=5, reach=0.2), exact, count)
        yield row(
            "  powers of ||H^k e_1||, autoregressive",
            lambda s: ladder(s, particles=100, moves=2, reach=0.2, powers=POWERS),
            exact,
            count,
        )
        moves = tempered.schedule(n, k, field, np.random.default_rng(0))
        yield row(
            "  steps, Hamiltonian (method='tempered')",
            lambda s, f=field, m=moves: tempered.repetition(n, k, f, 100, m, np.random.default_rng(s))[-1],
            exact,
            count,
        )
