"""Means with a heavy tail: time to a standard error of 5 %, one thread, and accuracy at c = 5."""

import math
import time
from functools import partial

import numpy as np

from benchmarks.suite import OTHER, OURS, Comparison, Contender
from signalprop import Estimate, rnn_energy, sample
from signalprop._streams import stream
from signalprop._threads import stop_flag
from signalprop.fields import Field
from signalprop.ginibre import tempered
from signalprop.ginibre._hessenberg import hessenberg_kernel

POWERS = np.linspace(0.0, 1.0, 51)[1:]
WANTED = 0.05**2


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
        hessenberg_kernel(j, h, np.sqrt(2.0 * g[:, :j]), scale, norms, stop_flag())
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
            hessenberg_kernel(j, moved, np.sqrt(2.0 * other[:, :j]), scale, norms, stop_flag())
            accepted = np.log(rng.random(particles)) < tilt * norms[:, j] - now
            h[:, accepted], g[accepted] = moved[:, accepted], other[accepted]
            now = np.where(accepted, tilt * norms[:, j], now)
        before = now
    return out


def plain_draws(n, k, field, seed):
    return sample(n, k, field.value, samples=10_000, seed=seed, workers=1).rnn().log_mean


def hamiltonian(n, k, field, seed):
    moves = tempered.schedule(n, k, field, stream(0, "schedule"))
    return tempered.repetition(n, k, field, 100, moves, stream(seed, "repetition"))[-1]


def ladder(n, k, field, seed, **options):
    return autoregressive(n, k, field, rng=stream(seed, "repetition"), **options)


SAMPLERS = {
    "plain draws": plain_draws,
    "steps, no moves": partial(ladder, particles=1000, moves=0, reach=0.2),
    "steps, autoregressive": partial(ladder, particles=100, moves=5, reach=0.2),
    "powers of the norm, autoregressive": partial(ladder, particles=100, moves=2, reach=0.2, powers=POWERS),
    "steps, Hamiltonian (method='tempered')": hamiltonian,
}


def accuracy(quick):
    """At c = 5, n = 100: where the estimates of each sampler lie, over the exact mean, and what one costs."""
    n, k, repetitions = 100, 50, 4 if quick else 10
    lines = [
        "At c = 5 (n = 100, k = 50), estimates over the exact mean:",
        "",
        "| weights | sampler | median (10 % .. 90 %) | root mean square error | core seconds an estimate |",
        "|---|---|---|---|---|",
    ]
    for field in (Field.REAL, Field.COMPLEX):
        exact = float(rnn_energy(n, k, field, log=True))
        for name, run in SAMPLERS.items():
            run(n, k, field, 0)  # compiles
            start = time.process_time()
            ratios = np.exp([run(n, k, field, 1 + i) - exact for i in range(repetitions)])
            each = (time.process_time() - start) / repetitions
            low, median, high = np.quantile(ratios, [0.1, 0.5, 0.9])
            off = 100 * math.sqrt(np.mean((ratios - 1.0) ** 2))
            lines.append(f"| {field} | {name} | {median:.2f} ({low:.2f} .. {high:.2f}) | {off:.0f} % | {each:.2g} |")
    return "\n".join(lines)


def comparisons(quick):
    """Time to a standard error of 5 %, which plain draws have until c = 2 or 3 only.

    The spread of one draw is taken from many of them beforehand. Past c = 2 it is still too small, which favours plain draws.
    """
    n, many = 100, 20_000 if quick else 60_000
    for field in (Field.REAL, Field.COMPLEX):
        for c in (1.0, 2.0) if quick else (1.0, 1.5, 2.0, 2.5, 3.0):
            k = round(c * math.sqrt(n))
            spread = sample(n, k, field.value, samples=many, seed=7).rnn().relative_stderr ** 2 * many
            dense = sample(n, k, field.value, samples=many // 10, seed=7, method="dense").rnn().relative_stderr ** 2
            moves = tempered.schedule(n, k, field, stream(0, "schedule"))
            ends = [
                tempered.repetition(n, k, field, 32, moves, stream(seed, "repetition"))[-1]
                for seed in range(20 if quick else 100)
            ]
            even = Estimate.from_repetitions(ends).relative_stderr ** 2 * len(ends)

            def draw(method, count, k=k, field=field):
                return lambda: sample(n, k, field.value, samples=count, method=method, workers=1)

            def repeat(k=k, field=field, moves=moves):
                return tempered.repetition(n, k, field, 32, moves, stream(1, "repetition"))

            yield Comparison(
                f"{field} weights, n = 100, to 5 %", "c", c, "",
                [
                    Contender("method='tempered', 32 particles", OURS, repeat, WANTED / even),
                    Contender("plain draws, width-free", OTHER, draw("krylov", 4096), 4096 * WANTED / spread),
                    Contender("plain draws, dense W", OTHER, draw("dense", 256), 256 * WANTED / (dense * many / 10)),
                ],
                rounds=3,
            )  # fmt: skip
