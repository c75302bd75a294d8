from fractions import Fraction

import mpmath
import pytest
from flint import arb, ctx, fmpq

from signalprop import energy, exact, precise

FIELDS = ["complex", "real", "quaternion"]


def as_fraction(value):
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def test_oracle_table(energies):
    for row in energies:
        for field in FIELDS:
            if field != "complex" and row["k"] > 300:
                continue
            got = precise.rnn_energy(row["n"], row["k"], field, digits=38)
            with mpmath.workdps(60):
                assert abs(mpmath.mpf(got) / mpmath.mpf(row[field]) - 1) < mpmath.mpf(10) ** -38, (row, field)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("digits", [1, 15, 50, 400])
def test_digits_are_right_against_fractions(field, digits):
    for n, k in [(1, 0), (1, 9), (2, 3), (7, 30), (1000, 12), (10**18, 20), (10**30, 5)]:
        want = exact.rnn_energy(n, k, field)
        got = as_fraction(precise.rnn_energy(n, k, field, digits))
        assert abs(got / want - 1) <= Fraction(1, 10**digits), (n, k)
        want = exact.lru_energy(n, k, field)
        got = as_fraction(precise.lru_energy(n, k, field, digits))
        assert abs(got / want - 1) <= Fraction(1, 10**digits), (n, k)


@pytest.mark.parametrize("field", FIELDS)
def test_the_ball_contains_the_exact_value(field):
    for n, k in [(3, 8), (50, 20), (10**12, 40)]:
        value = exact.rnn_energy(n, k, field)
        ball = precise.rnn_energy_ball(n, k, field, digits=25)
        with ctx.workprec(2000):
            assert (ball - arb(fmpq(value.numerator, value.denominator))).contains(0)


@pytest.mark.parametrize("field", FIELDS)
def test_floats_agree_with_balls(field):
    for n in (1, 63, 64, 1000, 10**6, 10**12, 10**18):
        for k in (2, 50, 200):
            want = float(precise.rnn_energy_ball(n, k, field, digits=40).log())
            assert abs(energy.rnn_energy(n, k, field, log=True) - want) <= 1e-13 * max(1.0, abs(want))
    for n, t in [(50, 3000), (10**6, 20_000), (10**9, 10**5)]:
        want = float(precise.lru_energy_ball(n, t, "complex", digits=40).log())
        assert abs(energy.lru_energy(n, t, "complex", log=True) - want) <= 1e-13 * max(1.0, abs(want))


def test_the_largest_promised_arguments():
    # k^2 << n: the two factorials agree to 50 digits, and the difference still has its digits.
    value = precise.rnn_energy(10**30, 10**5, "complex", digits=60)
    with mpmath.workdps(80):
        want = 1 + mpmath.binomial(10**5 + 2, 4) / mpmath.mpf(10) ** 60
        assert abs(mpmath.mpf(value) - want) < mpmath.mpf(10) ** -59
    # k = n: only the rising factorial is left, here through mpmath's gamma function.
    n = 10**5
    value = precise.rnn_energy(n, n, "complex", digits=40)
    with mpmath.workdps(60):
        rising = mpmath.loggamma(2 * n + 2) - mpmath.loggamma(n)
        want = mpmath.exp(rising - mpmath.log((n + 1) * (n + 2)) - (n + 1) * mpmath.log(n))
        assert abs(mpmath.mpf(value) / want - 1) < mpmath.mpf(10) ** -40


@pytest.mark.slow
@pytest.mark.parametrize("field", ["real", "quaternion"])
def test_the_largest_promised_zonal_depth(field):
    want = float(precise.rnn_energy_ball(10**6, 3000, field, digits=20).log())
    assert abs(energy.rnn_energy(10**6, 3000, field, log=True) - want) <= 1e-13 * max(1.0, abs(want))


def test_the_value_prints_and_keeps_its_digits():
    value = precise.rnn_energy(10**12, 5000, "complex", digits=40)
    assert str(value) == "1.000000000026052082291453396175148336424"
    assert str(2 * value) == "2.000000000052104164582906792350296672848"
    assert float(value) == pytest.approx(energy.rnn_energy(10**12, 5000, "complex"), rel=1e-15)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("scale", [0.3, Fraction(7, 8), 2])
def test_scale(field, scale):
    for n, k in [(5, 7), (100, 12)]:
        for name in ("rnn_energy", "lru_energy"):
            got = as_fraction(getattr(precise, name)(n, k, field, 30, scale=scale))
            assert abs(got / getattr(exact, name)(n, k, field, scale=Fraction(scale)) - 1) < Fraction(1, 10**30)


def test_global_precisions_are_left_alone():
    before = (mpmath.mp.prec, ctx.prec)
    precise.rnn_energy(10, 40, "complex", digits=300)
    assert (mpmath.mp.prec, ctx.prec) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0, "k": 1}, "n must be at least 1"),
        ({"n": 10**31, "k": 1}, r"n must be at most .*exact\.rnn_energy has no bound on n"),
        (
            {"n": 3, "k": 10**6, "field": "complex"},
            r"k must be at most 100000, got 1000000\. energy\.rnn_energy goes further",
        ),
        ({"n": 3, "k": 3001, "field": "real"}, "k must be at most 3000"),
        ({"n": 3, "k": 1, "scale": "2"}, "scale must be an int, a Fraction or a float"),
        ({"n": 3, "k": 1, "scale": 0}, "scale must be positive and finite"),
        ({"n": 3, "k": 1, "scale": float("nan")}, "scale must be positive and finite"),
        ({"n": 3, "k": 1, "digits": 0}, "digits must be at least 1, got 0"),
        ({"n": 3, "k": 1, "digits": 2.5}, "digits must be a whole number"),
        ({"n": 3, "k": 1, "field": "h"}, "field must be one of"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        precise.rnn_energy(**arguments)
