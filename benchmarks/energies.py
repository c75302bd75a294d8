"""Energies in float64: many values at once, and a whole path, against mpmath, SciPy's gammaln and one pass over the array."""

import numpy as np
from scipy.special import gammaln

from benchmarks.suite import FLOOR, OTHER, OURS, Comparison, Contender
from signalprop import energy, exact, precise


def drawn(count):
    rng = np.random.default_rng(0)
    n = np.exp(rng.uniform(np.log(2), np.log(1e12), count)).astype(np.int64)
    k = np.exp(rng.uniform(0.0, np.log(1e4), count)).astype(np.int64)
    return n, k


def by_gammaln(n, k):
    """The closed form as one would type it; its digits go where k^2 is far below n."""
    n, k = n.astype(float), k.astype(float)
    rise = gammaln(n + k + 2) - gammaln(n)
    with np.errstate(invalid="ignore", divide="ignore"):
        fall = np.where(n > k + 1, gammaln(n + 1) - gammaln(np.maximum(n - k - 1, 1)), -np.inf)
        return rise + np.log1p(-np.exp(fall - rise)) - np.log((k + 1) * (k + 2)) - (k + 1) * np.log(n)


def by_mpmath(n, k):
    """The closed form with mpmath at 50 digits, which is enough for the cancellation here."""
    import mpmath

    with mpmath.workdps(50):
        return [
            mpmath.log((mpmath.rf(a, b + 2) - mpmath.ff(a, b + 2)) / ((b + 1) * (b + 2) * mpmath.mpf(a) ** (b + 1)))
            for a, b in zip(n.tolist(), k.tolist(), strict=True)
        ]


def comparisons(quick):
    for count in (10**4, 10**5) if quick else (10**3, 10**4, 10**5, 10**6):
        n, k = drawn(count)
        few_n, few_k = n[:100], k[:100]
        yield Comparison(
            "complex Q, random n <= 1e12, k <= 1e4", "values", count, "per value",
            [
                Contender("rnn_energy", OURS, lambda n=n, k=k: energy.rnn_energy(n, k, "complex", log=True), count, 0.0),
                Contender("one pass over the arrays", FLOOR, lambda n=n, k=k: np.log(n * 1.0) * k, count, 0.0),
                Contender("SciPy gammaln, digits lost", OTHER, lambda n=n, k=k: by_gammaln(n, k), count, 0.0),
                Contender("mpmath, 100 of them", OTHER, lambda n=few_n, k=few_k: by_mpmath(n, k), 100),
                Contender(
                    "precise.rnn_energy (balls, 50 digits), 100 of them", OTHER,
                    lambda n=few_n, k=few_k: [
                        precise.rnn_energy(int(a), int(b), "complex") for a, b in zip(n, k, strict=True)
                    ], 100,
                ),
            ],
            rounds=5,
        )  # fmt: skip
    for k in (250, 500) if quick else (125, 250, 500, 1000, 2000):
        steps = np.arange(k + 1)
        contenders = [
            Contender(
                "all steps in one call", OURS, lambda s=steps: energy.rnn_energy(1000, s, "real", log=True), 1, 3.0
            ),
        ]
        if k <= 500:
            contenders.append(
                Contender(
                    "one step after the other", OTHER,
                    lambda s=steps: [energy.rnn_energy(1000, int(i), "real", log=True) for i in s],
                )
            )  # fmt: skip
        if k <= 125:
            contenders.append(
                Contender("fractions", OTHER, lambda s=steps: [exact.rnn_energy(1000, int(i), "real") for i in s])
            )
        yield Comparison("real Q, n = 1000, k = 0 .. K", "K", k, "a path", contenders, rounds=3)
    for t in (10**4, 10**5) if quick else (10**3, 10**4, 10**5, 10**6):
        whole = np.arange(t + 1)
        yield Comparison(
            "complex S, n = 1e6", "t", t, "per value",
            [
                Contender("lru_energy", OURS, lambda t=t: energy.lru_energy(10**6, t, "complex", log=True)),
                Contender(
                    "sum over all terms", OTHER,
                    lambda w=whole: np.logaddexp.reduce(energy.rnn_energy(10**6, w, "complex", log=True)),
                ),
            ],
            rounds=5,
        )  # fmt: skip
