"""Floats against fractions and against balls."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from signalprop import energy, exact, precise
from signalprop.fields import as_field, by_field
from signalprop.verify.check import FIELDS, WIDTHS, Check

FLOAT_TOLERANCE = 1e-13


def checks(thorough: bool) -> list[Check]:
    """All of them; the thorough ones go to the ends of the promised domain."""

    def floats(name: str, grid: str, deviation: partial[float]) -> Check:
        return Check(name, grid, "|error of log|", FLOAT_TOLERANCE, deviation)

    found = []
    for field in FIELDS:
        zonal = 2000 if thorough else 300
        deep = by_field(as_field(field), real=zonal, complex=100_000 if thorough else 20_000, quaternion=zonal)
        found += [
            floats("float64 Q = fraction", f"{field}, k <= 120, n in 1..1e18", partial(_floats, field)),
            floats("float64 S = fraction", f"{field}, t <= 40, n in 1..1e18", partial(_float_sums, field)),
            floats("float64 Q = ball", f"{field}, k <= {deep}, n in 1..1e18", partial(_balls, field, deep)),
            Check("ball contains fraction", f"{field}, k <= 20, n <= 1e30", "misses", 0, partial(_contained, field)),
        ]
    found += [
        floats("float64 S by blocks = fraction", "complex, t = 2000", partial(_block_sums)),
        floats("float64 S by blocks = ball", "complex, t = 50000", partial(_block_balls)),
        floats("scale g: float64 = fraction", "all fields, g in 1/2, 7/8, 3/2", partial(_scales)),
    ]
    return found


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
    # A single large t is summed by quadrature on blocks of terms.
    return max(
        _relative(
            float(energy.lru_energy(n, 2000, "complex", log=True)), _log_fraction(exact.lru_energy(n, 2000, "complex"))
        )
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


def _balls(field: str, deep: int) -> float:
    worst = 0.0
    for n in (1, 50, deep, deep * deep, 10**12, 10**18):
        for k in (deep // 17, deep):
            want = float(precise.rnn_energy_ball(n, k, field, digits=30).log())
            worst = max(worst, _relative(float(energy.rnn_energy(n, k, field, log=True)), want))
    return worst


def _block_balls() -> float:
    return max(
        _relative(
            float(energy.lru_energy(n, 50_000, "complex", log=True)),
            float(precise.lru_energy_ball(n, 50_000, "complex", digits=30).log()),
        )
        for n in (300, 10**5, 10**9)
    )


def _contained(field: str) -> float:
    from flint import arb, ctx, fmpq

    misses = 0
    for n, k in ((1, 5), (3, 20), (10**6, 12), (10**30, 7)):
        value = exact.rnn_energy(n, k, field)
        ball = precise.rnn_energy_ball(n, k, field, digits=20)
        with ctx.workprec(5000):
            misses += not (ball - arb(fmpq(value.numerator, value.denominator))).contains(0)
    return misses
