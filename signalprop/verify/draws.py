"""Random draws against exact means and against each other.

Fixed seeds, at points where the tail of the energy is light, so that the outcome does not change from run to run.
"""

from __future__ import annotations

import math
from functools import partial

from signalprop.montecarlo import sampling
from signalprop.verify.check import FIELDS, Check

LARGEST_Z = 4.0


def checks(thorough: bool) -> list[Check]:
    """Means and laws of both samplers; the thorough ones with four times the draws."""
    times = 4 if thorough else 1
    found = []
    for field in FIELDS:
        found += [
            Check(
                "width-free sampler: mean Q, S = exact",
                f"{field}, n in 2..1e12, c <= 1",
                "largest |z|",
                LARGEST_Z,
                partial(_sampled, "krylov", field, 40_000 * times),
            ),
            Check(
                "dense sampler: mean Q, S = exact",
                f"{field}, n in 2..50, c <= 1",
                "largest |z|",
                LARGEST_Z,
                partial(_sampled, "dense", field, 16_000 * times),
            ),
            Check(
                "width-free = dense, whole law of the path",
                f"{field}, n = 12, k <= 14",
                "KS / critical",
                1,
                partial(_same_law, field, 6_000 * times),
            ),
        ]
        found.append(
            Check(
                "rare-event sampler: mean Q, S = exact",
                f"{field}, n in 2..49, c = 3",
                "largest |z|",
                LARGEST_Z,
                partial(_tempered, field, 32 * times),
            )
        )
    grid = "linear, ReLU, leaky ReLU, n = 50"
    found.append(
        Check("fresh layers keep the mean energy", grid, "largest |z|", LARGEST_Z, partial(_untied, 8_000 * times))
    )
    return found


def _sampled(method: str, field: str, samples: int) -> float:
    cells = [(2, 2), (10, 3), (50, 7)] + ([(1000, 30), (10**12, 12)] if method == "krylov" else [])
    worst = 0.0
    for cell, (n, k) in enumerate(cells):
        draw = sampling.sample(n, k, field, samples=samples, seed=cell, method=method)
        worst = max(worst, *(abs(one.z) for one in (draw.rnn(1), draw.rnn(), draw.lru()) if one.z is not None))
    return worst


def _tempered(field: str, particles: int) -> float:
    """Largest score, with Student's law mapped to the normal one."""
    from scipy import stats

    worst = 0.0
    for n, k in ((2, 4), (9, 9), (49, 21)):
        draw = sampling.sample(n, k, field, samples=16 * particles, seed=n, method="tempered")
        for one in (draw.rnn(k // 2), draw.rnn(), draw.lru()):
            if one.z is not None:
                worst = max(worst, float(stats.norm.isf(stats.t.sf(abs(one.z), one.samples - 1))))
    return worst


def _same_law(field: str, samples: int) -> float:
    """Two-sample Kolmogorov-Smirnov statistics over the 0.1 % critical value 1.949 sqrt(2/N), at three depths."""
    from scipy import stats

    free = sampling.sample(12, 14, field, samples=samples, seed=1)
    full = sampling.sample(12, 14, field, samples=samples, seed=2, method="dense")
    critical = 1.949 * math.sqrt(2.0 / samples)
    return max(
        float(stats.ks_2samp(free.log_norms[:, k], full.log_norms[:, k]).statistic) / critical for k in (1, 5, 14)
    )


def _untied(samples: int) -> float:
    draws = [
        sampling.sample(
            50, 10, "real", samples=samples, seed=i, method="dense", activation=name, negative_slope=slope, tied=False
        )
        for i, (name, slope) in enumerate((("linear", 0.0), ("relu", 0.0), ("leaky_relu", 0.5)))
    ]
    return max(abs(draw.rnn().z or 0.0) for draw in draws)
