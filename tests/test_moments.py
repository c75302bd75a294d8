import math
from fractions import Fraction

import pytest

from signalprop import moments


@pytest.mark.parametrize("field", ["complex", "real"])
def test_all_oracle_rows(field, trace_polynomials):
    for k, row in trace_polynomials[field].items():
        assert moments.trace_polynomial(k, field) == row, k


@pytest.mark.parametrize("k", [0, 1, 2, 5, 24, 40, 60])
def test_real_coefficients_are_counts_of_matchings(k):
    row = moments.trace_polynomial(k, "real")
    assert len(row) == k + 2
    assert min(row) >= 0
    assert sum(row) == math.prod(range(1, 2 * k, 2))


@pytest.mark.parametrize("k", [0, 1, 7, 30])
def test_complex_coefficients_are_hultman_numbers(k):
    # c(k+2, j)/binom(k+2, 2) for k - j odd, from the recursion of the unsigned Stirling numbers.
    stirling = [1]
    for m in range(k + 2):
        stirling = [a + m * b for a, b in zip([0, *stirling], [*stirling, 0], strict=True)]
    want = [stirling[j] // math.comb(k + 2, 2) if (k - j) % 2 else 0 for j in range(k + 2)]
    assert moments.trace_polynomial(k, "complex") == tuple(want)


@pytest.mark.parametrize("k", [0, 1, 2, 3, 8, 25])
def test_quaternion_row_is_the_real_one_at_minus_two_n(k):
    real, row = moments.trace_polynomial(k, "real"), moments.trace_polynomial(k, "quaternion")
    for n in (1, 2, 5, 11):
        value = Fraction(sum(c * n**j for j, c in enumerate(row)), moments.trace_denominator(k, "quaternion"))
        assert value == Fraction(sum(c * (-2 * n) ** j for j, c in enumerate(real)), (-2) ** (k + 1))


def test_every_zonal_coefficient_is_positive():
    for k in range(1, 40):
        rows = list(moments.zonal_coefficients(k))
        assert all(d > 0 for *_, d in rows)
        assert sorted({(a, b, c) for a, b, c, _ in rows}) == sorted(
            (a, b, k + 1 - a - b) for a in range(1, k + 2) for b in range(1, a + 1) if a + b <= k + 1
        )


def test_the_numerator_of_d_is_linear_in_b():
    # The identity that _zonal_energy relies on: P = 2e(2D-1)(4D+e+3) + 8b(e^2 + 2De - 2D^2 - 3D), K = a+b+c, e = K-D.
    for k in (1, 2, 3, 10, 31):
        size = k + 1
        for a, b, _, d in moments.zonal_coefficients(k):
            gap, e = a - b, size - a + b
            top = 2 * e * (2 * gap - 1) * (4 * gap + e + 3) + 8 * b * (e * e + 2 * gap * e - 2 * gap * gap - 3 * gap)
            bottom = (2 * gap + 3) * (2 * gap - 1) * (size + gap) * (size + gap + 1) * (e - 1) * e
            want = Fraction(top, bottom) if gap else Fraction(2 * (3 * size + 1 - 4 * b), 3 * (size**2 - 1))
            assert d == want


@pytest.mark.parametrize(
    ("k", "message"), [(-1, "at least 0"), (501, "at most 500"), ("3", "whole number"), (1.5, "whole number")]
)
def test_bad_depth(k, message):
    with pytest.raises(ValueError, match=message):
        moments.trace_polynomial(k, "real")
