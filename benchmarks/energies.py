"""Exact energies in float64: many values at once, against exact fractions and against term-by-term sums."""

import numpy as np

from benchmarks._timing import nice, once, seconds
from signalprop import energy, exact


def rows():
    rng = np.random.default_rng(0)
    n = np.exp(rng.uniform(0.0, np.log(1e18), 10**6)).astype(np.int64)
    k = np.exp(rng.uniform(0.0, np.log(1e5), 10**6)).astype(np.int64)
    million = seconds(lambda: energy.rnn_energy(n, k, log=True))
    yield "complex, 1e6 random (n <= 1e18, k <= 1e5)", nice(million), f"{million * 1e3:.1f} ns a value"
    fraction = once(
        lambda: [exact.rnn_energy(int(a), int(b)) for a, b in zip(n[:200], k[:200], strict=True) if b < 2000]
    )
    values = int(np.sum(k[:200] < 2000))
    yield (
        f"complex, {values} exact fractions, k < 2000",
        nice(fraction),
        f"{fraction / values / (million / 1e6):.0f}x a float64 value",
    )
    for field in ("real", "quaternion"):
        path = seconds(lambda field=field: energy.rnn_energy(1000, np.arange(1001), field, log=True))
        single = seconds(lambda field=field: energy.rnn_energy(1000, 1000, field, log=True))
        yield (
            f"{field}, Q at n = 1000 for all k = 0..1000",
            nice(path),
            f"{single * 1001 / 3 / path:.1f}x one k after the other",
        )
    yield (
        "real, Q at n = 1000 for all k = 0..2000",
        nice(seconds(lambda: energy.rnn_energy(1000, np.arange(2001), "real", log=True))),
        "",
    )
    times = 10**5 + 1000 * np.arange(100)
    blocks = seconds(lambda: energy.lru_energy(10**6, times, log=True), 9) / times.size
    terms = seconds(lambda: energy.lru_energy(10**6, np.arange(10**5), log=True), 9)
    yield (
        "complex, S at n = 1e6, t ~ 1e5, by blocks",
        nice(blocks),
        f"a value, {terms / blocks:.0f}x one pass over all terms",
    )
