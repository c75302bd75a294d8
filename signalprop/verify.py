"""Every route to a number against every other: what `signalprop verify` runs.

A check compares two routes that share no formula on a stated grid and reports the worst deviation. Random checks use
a fixed seed and sit where the tail of the energy is light, so their outcome does not change from run to run.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from signalprop import energy, exact, moments, regimes, wick
from signalprop.montecarlo import sampling
from signalprop.wick import matchings, permutations, reference

FIELDS = ("complex", "real", "quaternion")
WIDTHS = (1, 2, 3, 5, 17, 64, 1000)
FLOAT_TOLERANCE = 1e-13
LARGEST_Z = 4.0


@dataclass(frozen=True)
class Check:
    """One comparison: what is compared with what, on which grid, and how far apart the two may be."""

    name: str
    grid: str
    unit: str
    allowed: float
    deviation: Callable[[], float]


@dataclass(frozen=True)
class Outcome:
    """Result of a `Check`."""

    name: str
    grid: str
    unit: str
    worst: float
    allowed: float
    seconds: float

    @property
    def passed(self) -> bool:
        """Whether the worst deviation is a number within what is allowed."""
        return self.worst <= self.allowed


def run(checks: Iterable[Check] | None = None) -> Iterator[Outcome]:
    """Run the checks one by one (default: all of `all_checks`) and yield their outcomes.

    An exception inside a check counts as an infinite deviation; its text is appended to the name.
    """
    for check in all_checks() if checks is None else checks:
        start = time.perf_counter()
        name = check.name
        try:
            worst = float(check.deviation())
        except Exception as error:
            worst, name = math.inf, f"{name} [{type(error).__name__}: {error}]"
        yield Outcome(name, check.grid, check.unit, worst, check.allowed, time.perf_counter() - start)


def all_checks() -> list[Check]:
    """The checks of this version, cheapest kinds first."""
    checks = [
        Check(
            "enumeration of permutations = commutators by definition",
            "complex, k <= 7",
            "wrong rows",
            0,
            _permutations_by_definition,
        ),
        Check(
            "enumeration of matchings = index sets by definition",
            "real, k <= 5",
            "wrong rows",
            0,
            _matchings_by_definition,
        ),
        Check(
            "enumeration = closed-form polynomial",
            "complex, k <= 10",
            "wrong rows",
            0,
            partial(_enumeration, "complex", 10),
        ),
        Check(
            "enumeration = closed-form polynomial", "real, k <= 9", "wrong rows", 0, partial(_enumeration, "real", 9)
        ),
        Check(
            "matchings across the two copies = permutations",
            "complex in real, k <= 5",
            "wrong rows",
            0,
            _complex_within_real,
        ),
    ]
    for field in FIELDS:
        checks += [
            Check(
                "polynomial = fraction",
                f"{field}, k <= 16, n in 1..1000",
                "wrong values",
                0,
                partial(_polynomials, field),
            ),
            Check(
                "fraction = moments of one Gaussian number",
                f"{field}, n = 1, k <= 30",
                "wrong values",
                0,
                partial(_one_by_one, field),
            ),
            Check(
                "S = sum of Q, as fractions",
                f"{field}, t <= 12, n in 1..1000",
                "wrong values",
                0,
                partial(_lru_sums, field),
            ),
            Check(
                "float64 Q = fraction",
                f"{field}, k <= 120, n in 1..1e18",
                "|error of log|",
                FLOAT_TOLERANCE,
                partial(_floats, field),
            ),
            Check(
                "float64 S = fraction",
                f"{field}, t <= 40, n in 1..1e18",
                "|error of log|",
                FLOAT_TOLERANCE,
                partial(_float_sums, field),
            ),
        ]
    checks.append(
        Check("float64 S by blocks = fraction", "complex, t = 2000", "|error of log|", FLOAT_TOLERANCE, _block_sums)
    )
    checks.append(
        Check(
            "scale g: float64 = fraction", "all fields, g in 1/2, 7/8, 3/2", "|error of log|", FLOAT_TOLERANCE, _scales
        )
    )
    checks += [
        Check(
            "Q -> (2/c^2) sinh(c^2/2)",
            "complex, n = 1e12, c in 0.1..6",
            "relative error",
            1e-4,
            partial(_critical_rnn, "complex", 10**12),
        ),
        Check(
            "Q -> (2/c^2) sinh(c^2/2)",
            "real, n = 1e7, c in 0.1..2",
            "relative error",
            5e-3,
            partial(_critical_rnn, "real", 10**7),
        ),
        Check(
            "Q -> (4/c^2) sinh(c^2/4)",
            "quaternion, n = 1e7, c in 0.1..4",
            "relative error",
            5e-3,
            partial(_critical_rnn, "quaternion", 10**7),
        ),
        Check(
            "S/sqrt(n) -> integral of the limit of Q",
            "complex, n = 1e10, c in 0.5..6",
            "relative error",
            5e-4,
            partial(_critical_lru, "complex", 10**10),
        ),
        Check(
            "S/sqrt(n) -> integral of the limit of Q",
            "real, n = 250000, c in 0.5..2",
            "relative error",
            1e-2,
            partial(_critical_lru, "real", 250_000),
        ),
        Check(
            "S/sqrt(n) -> integral of the limit of Q",
            "quaternion, n = 250000, c in 0.5..3",
            "relative error",
            5e-3,
            partial(_critical_lru, "quaternion", 250_000),
        ),
        Check("Q = two-term law (H)", "real, n in 1e3..1e5, c in 0.5..7", "relative error", 0.06, _two_terms),
    ]
    for field in FIELDS:
        checks += [
            Check(
                "width-free sampler: mean Q = exact",
                f"{field}, n in 2..1e12, c <= 1",
                "largest |z|",
                LARGEST_Z,
                partial(_sampled, "krylov", field),
            ),
            Check(
                "dense sampler: mean Q = exact",
                f"{field}, n in 2..50, c <= 1",
                "largest |z|",
                LARGEST_Z,
                partial(_sampled, "dense", field),
            ),
            Check(
                "width-free = dense, whole law of the path",
                f"{field}, n = 12, k <= 14",
                "KS / critical",
                1,
                partial(_same_law, field),
            ),
        ]
    checks.append(
        Check(
            "fresh layers keep the mean energy", "linear, ReLU, leaky ReLU, n = 50", "largest |z|", LARGEST_Z, _untied
        )
    )
    return checks


def _permutations_by_definition() -> float:
    return sum(permutations.count_cycles(k) != reference.permutation_counts(k) for k in range(4, 8))


def _matchings_by_definition() -> float:
    return sum(matchings.count_cycles(k) != reference.matching_counts(k) for k in range(4, 6))


def _enumeration(field: str, largest: int) -> float:
    return sum(wick.cycle_counts(k, field) != moments.trace_polynomial(k, field) for k in range(largest + 1))


def _complex_within_real() -> float:
    def across(k: int) -> tuple[int, ...]:
        counts = [0] * (k + 2)
        for pairing in reference.perfect_matchings(tuple(range(2 * k))):
            if all(f < k <= g for f, g in pairing):
                counts[reference.free_indices(k, pairing)] += 1
        return tuple(counts)

    return sum(across(k) != wick.cycle_counts(k, "complex") for k in range(1, 6))


def _polynomials(field: str) -> float:
    wrong = 0
    for k in range(17):
        coefficients, denominator = moments.trace_polynomial(k, field), moments.trace_denominator(k, field)
        for n in WIDTHS:
            value = Fraction(sum(c * n**j for j, c in enumerate(coefficients)), denominator * n ** (k + 1))
            wrong += value != exact.rnn_energy(n, k, field)
    return wrong


def _one_by_one(field: str) -> float:
    # At n = 1 the energy is E|g|^{2k}: (2k-1)!! real, k! complex, (k+1)!/2^k quaternion.
    def moment(k: int) -> Fraction:
        if field == "real":
            return Fraction(math.factorial(2 * k), 2**k * math.factorial(k))
        return Fraction(math.factorial(k)) if field == "complex" else Fraction(math.factorial(k + 1), 2**k)

    return sum(exact.rnn_energy(1, k, field) != moment(k) for k in range(31))


def _lru_sums(field: str) -> float:
    return sum(
        exact.lru_energy(n, t, field) != sum(exact.rnn_energy(n, k, field) for k in range(t + 1))
        for n in WIDTHS
        for t in (0, 1, 2, 5, 12)
    )


def _log_fraction(value: Fraction) -> float:
    """Natural log, also where numerator and denominator exceed float64."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    scaled = value / Fraction(2) ** shift
    near_one = scaled - 1 if shift == 0 else None
    if near_one is not None and abs(near_one) < Fraction(1, 4):
        return math.log1p(float(near_one))
    return math.log(float(scaled)) + shift * math.log(2.0)


def _relative(got: float, want: float) -> float:
    return abs(got - want) / max(1.0, abs(want))


def _floats(field: str) -> float:
    grid = [(n, k) for n in (*WIDTHS, 10**6, 10**12, 10**18) for k in (0, 1, 2, 3, 7, 15, 31, 63, 120)]
    logs = energy.rnn_energy([n for n, _ in grid], [k for _, k in grid], field, log=True)
    return max(
        _relative(got, _log_fraction(exact.rnn_energy(n, k, field))) for got, (n, k) in zip(logs, grid, strict=True)
    )


def _float_sums(field: str) -> float:
    grid = [(n, t) for n in (*WIDTHS, 10**9, 10**18) for t in (0, 1, 5, 40)]
    return max(
        _relative(float(energy.lru_energy(n, t, field, log=True)), _log_fraction(exact.lru_energy(n, t, field)))
        for n, t in grid
    )


def _block_sums() -> float:
    # One far t is summed by quadrature on blocks of terms.
    return max(
        _relative(float(energy.lru_energy(n, 2000, log=True)), _log_fraction(exact.lru_energy(n, 2000)))
        for n in (3, 300, 10**5, 10**9)
    )


def _scales() -> float:
    worst = 0.0
    for field in FIELDS:
        for g in (Fraction(1, 2), Fraction(7, 8), Fraction(3, 2)):
            for n, k in ((2, 9), (50, 20), (10**6, 30)):
                for name in ("rnn_energy", "lru_energy"):
                    want = _log_fraction(getattr(exact, name)(n, k, field, scale=g))
                    got = float(getattr(energy, name)(n, k, field, scale=float(g), log=True))
                    worst = max(worst, _relative(got, want))
    return worst


def _critical_rnn(field: str, n: int) -> float:
    c = {"complex": (0.1, 0.5, 1, 2, 3, 4, 5, 6), "real": (0.1, 0.5, 1, 1.5, 2), "quaternion": (0.1, 0.5, 1, 2, 3, 4)}[
        field
    ]
    k = np.round(np.array(c) * math.sqrt(n)).astype(int)
    law = regimes.critical_rnn(k / math.sqrt(n), field)
    return float(np.max(np.abs(law / energy.rnn_energy(n, k, field) - 1.0)))


def _critical_lru(field: str, n: int) -> float:
    c = np.array({"complex": (0.5, 1, 2, 3, 4, 5, 6), "real": (0.5, 1, 1.5, 2), "quaternion": (0.5, 1, 2, 3)}[field])
    t = np.round(c * math.sqrt(n)).astype(int)
    # The sum has one more term than the integral: add half of the first and of the last.
    law = math.sqrt(n) * regimes.critical_lru(t / math.sqrt(n), field) + 0.5 * (
        1.0 + regimes.critical_rnn(t / math.sqrt(n), field)
    )
    return float(np.max(np.abs(law / energy.lru_energy(n, t, field) - 1.0)))


def _two_terms() -> float:
    worst = 0.0
    for n in (1000, 10_000, 100_000):
        k = np.round(np.array((0.5, 1, 2, 3, 4, 5, 6, 7)) * math.sqrt(n)).astype(int)
        gap = regimes.two_term_rnn(n, k, log=True) - energy.rnn_energy(n, k, "real", log=True)
        worst = max(worst, float(np.max(np.abs(np.expm1(gap)))))
    return worst


def _sampled(method: str, field: str) -> float:
    cells = [(2, 2), (10, 3), (50, 7)] + ([(1000, 30), (10**12, 12)] if method == "krylov" else [])
    samples = 40_000 if method == "krylov" else 16_000
    worst = 0.0
    for cell, (n, k) in enumerate(cells):
        draw = sampling.sample(n, k, field, samples=samples, seed=cell, method=method)
        worst = max(worst, *(abs(one.z) for one in (draw.rnn(1), draw.rnn(), draw.lru()) if one.z is not None))
    return worst


def _same_law(field: str) -> float:
    """Two-sample Kolmogorov-Smirnov statistics over the 0.1 % critical value 1.949 sqrt(2/N), at three depths."""
    from scipy import stats

    samples = 6_000
    free = sampling.sample(12, 14, field, samples=samples, seed=1)
    full = sampling.sample(12, 14, field, samples=samples, seed=2, method="dense")
    critical = 1.949 * math.sqrt(2.0 / samples)
    return max(
        float(stats.ks_2samp(free.log_norms[:, k], full.log_norms[:, k]).statistic) / critical for k in (1, 5, 14)
    )


def _untied() -> float:
    draws = [
        sampling.sample(
            50, 10, "real", samples=8_000, seed=i, method="dense", activation=name, negative_slope=0.5, tied=False
        )
        for i, name in enumerate(("linear", "relu", "leaky_relu"))
    ]
    return max(abs(draw.rnn().z or 0.0) for draw in draws)
