from fractions import Fraction
from itertools import zip_longest
from math import factorial, prod

import numpy as np
import pytest
import two_by_two

import signalprop
from signalprop import exact, moments, sample, wick

FIELDS = ["complex", "real", "quaternion"]


def test_oracle_table(energies):
    for row in energies:
        if row["k"] > 300 and row["n"] > 10**6:
            continue
        for field in FIELDS:
            got = exact.rnn_energy(row["n"], row["k"], field)
            want = Fraction(row[field])
            assert abs(got / want - 1) < Fraction(1, 10**38), (row["n"], row["k"], field)


@pytest.mark.parametrize("field", FIELDS)
def test_fraction_equals_polynomial(field):
    for k in range(12):
        row, denominator = moments.trace_polynomial(k, field), moments.trace_denominator(k, field)
        for n in (1, 2, 3, 8, 1001):
            assert exact.rnn_energy(n, k, field) == Fraction(
                sum(c * n**j for j, c in enumerate(row)), denominator * n ** (k + 1)
            )


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("scale", [1, 2, Fraction(1, 2), Fraction(9, 10)])
def test_lru_energy_is_the_sum(field, scale):
    for n, t in [(1, 0), (1, 4), (2, 1), (3, 9), (50, 12), (4, 2), (4, 3), (4, 4)]:
        assert exact.lru_energy(n, t, field, scale=scale) == sum(
            exact.rnn_energy(n, k, field, scale=scale) for k in range(t + 1)
        )


@pytest.mark.parametrize("field", FIELDS)
def test_first_steps_keep_the_energy(field):
    assert exact.rnn_energy(7, 0, field) == exact.rnn_energy(7, 1, field) == 1


def test_the_fields_are_ordered():
    for n in (1, 2, 9):
        for k in (2, 3, 10):
            h, c, r = (exact.rnn_energy(n, k, field) for field in ("quaternion", "complex", "real"))
            assert 1 < h < c < r


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0, "k": 1}, "n must be at least 1, got 0"),
        ({"n": 3, "k": -2}, "k must be at least 0, got -2"),
        ({"n": 3, "k": 2001, "field": "real"}, r"k must be at most 2000, got 2001\. Use signalprop\.energy"),
        ({"n": 3, "k": 1, "scale": 0.9}, r"scale must be an int or a Fraction here, got 0\.9"),
        ({"n": 3, "k": 1, "scale": 0}, "scale must be positive"),
        ({"n": float("nan"), "k": 1}, "n must be a whole number, got nan"),
        ({"n": float("inf"), "k": 1}, "n must be a whole number, got inf"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        exact.rnn_energy(**arguments)


@pytest.mark.parametrize("field", FIELDS)
def test_variance_of_the_energy_after_one_step_is_that_of_chi_square(field):
    for n in (1, 2, 7, 100):
        assert exact.energy_variance(n, 1, field) == Fraction(2, {"real": 1, "complex": 2, "quaternion": 4}[field] * n)
        assert exact.energy_variance(n, 0, field) == 0


@pytest.mark.parametrize("field", FIELDS)
def test_variance_at_width_one(field):
    # W is one Gaussian number: E|g|^{2j} is (2j-1)!!, j! or (j+1)!/2^j.
    power = {
        "real": lambda j: Fraction(prod(range(1, 2 * j, 2))),
        "complex": lambda j: Fraction(factorial(j)),
        "quaternion": lambda j: Fraction(factorial(j + 1), 2**j),
    }[field]
    for k in range(13):
        assert exact.energy_variance(1, k, field) == power(2 * k) - power(k) ** 2


@pytest.mark.parametrize("field", FIELDS)
def test_variance_against_draws(field):
    # The sample variance of 1e5 draws at a light tail: 5 % is more than six of its standard errors.
    draws = np.exp(2.0 * sample(60, 4, field, samples=100_000, seed=2).log_norms[:, 4])
    assert draws.var() == pytest.approx(float(exact.energy_variance(60, 4, field)), rel=0.05)


@pytest.mark.parametrize(
    "k", [*range(1, 8), pytest.param(8, marks=pytest.mark.slow), pytest.param(9, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("field", ["complex", "real"])
def test_variance_equals_the_loop_equations(field, k):
    # The complex sum over partitions and the real table against words contracted letter by letter.
    square, trace = wick.second_moments(k, field)
    weight = 2 if field == "real" else 1
    for n in (1, 2, 3, 10, 10**12):
        fourth = sum((a + weight * b) * n**j for j, (a, b) in enumerate(zip_longest(square, trace, fillvalue=0)))
        want = Fraction(fourth, n * (n + weight) * n ** (2 * k)) - exact.rnn_energy(n, k, field) ** 2
        assert exact.energy_variance(n, k, field) == want


@pytest.mark.slow
@pytest.mark.parametrize("k", [10, 11])
def test_table_of_loop_equations_is_what_they_give(k):
    with signalprop.allow(hours=5):
        assert exact._loop_moments(k) == wick.second_moments(k, "real", max_states=10**7)


def test_variance_refuses_what_it_cannot_do():
    for field in ("real", "quaternion"):
        with pytest.raises(
            ValueError, match=r"k must be at most 12, got 13\. No closed form is known for these weights"
        ):
            exact.energy_variance(10, 13, field)
    with pytest.raises(
        ValueError, match=r"k must be at most 200, got 201\. signalprop\.spread\.relative_variance has it"
    ):
        exact.energy_variance(10, 201, "complex")


@pytest.mark.parametrize("depths", [range(61), [97, 150], pytest.param([300, 401], marks=pytest.mark.slow)])
def test_real_energy_at_width_two_by_a_route_of_its_own(depths):
    for k in depths:
        assert exact.rnn_energy(2, k, "real") == two_by_two.rnn_energy(k), k
