from fractions import Fraction
from math import comb

import numpy as np
import pytest
import sympy

from signalprop import exact, moments, symbolic, wick

FIELDS = ["complex", "real", "quaternion"]
N = sympy.Symbol("n", integer=True, positive=True)
K = sympy.Symbol("k", integer=True, nonnegative=True)


@pytest.mark.parametrize("field", FIELDS)
def test_symbols_equal_fractions(field):
    for k in range(8):
        q, s = symbolic.rnn_energy("n", k, field), symbolic.lru_energy("n", k, field)
        for n in (1, 2, 9, 1000):
            want = exact.rnn_energy(n, k, field)
            assert q.subs(N, n) == sympy.Rational(want.numerator, want.denominator)
            assert symbolic.rnn_energy(n, k, field) == sympy.Rational(want.numerator, want.denominator)
            want = exact.lru_energy(n, k, field)
            assert s.subs(N, n) == sympy.Rational(want.numerator, want.denominator)


def test_symbolic_depth_equals_integer_depth():
    general, polynomial = symbolic.rnn_energy("n", "k", "complex"), symbolic.trace_polynomial("n", "k", "complex")
    for k in range(6):
        for n in (1, 3, 10):
            assert general.subs({K: k, N: n}).doit() == symbolic.rnn_energy(n, k, "complex")
            assert polynomial.subs({K: k, N: n}).doit() == sum(
                c * n**j for j, c in enumerate(moments.trace_polynomial(k, "complex"))
            )


def test_gamma_form():
    form = symbolic.rnn_energy("n", "k", "complex").rewrite(sympy.gamma)
    assert form.has(sympy.gamma)
    assert sympy.simplify(form.subs({N: 30, K: 4})) == symbolic.rnn_energy(30, 4, "complex")


def test_the_two_forms_of_s_are_equal():
    assert symbolic.lru_summed_form_residual() == 0
    for t in range(7):
        assert (
            sympy.expand(symbolic.lru_energy("n", t, "complex", form="summed") - symbolic.lru_energy("n", t, "complex"))
            == 0
        )
    t = sympy.Symbol("t", integer=True, nonnegative=True)
    for form in ("sum", "summed"):
        expression = symbolic.lru_energy("n", t, "complex", form=form)
        assert sympy.simplify(expression.subs({N: 7, t: 4}).doit()) == symbolic.lru_energy(7, 4, "complex")


def test_the_proof_of_the_summed_form_can_fail():
    # The residual is not identically zero by construction: a wrong factor leaves something.
    n, t, r, f = sympy.symbols("n t r f")
    r_next, f_next = r * (1 + (t + 1) / n), f * (1 - (t + 1) / n)
    wrong = (
        r + f - n / (t + 2) * (r_next - f_next) + n / (t + 1) * (r - f) - n * (r_next + f_next) / ((t + 1) * (t + 2))
    )
    assert sympy.simplify(wrong) != 0


def test_expansion_coefficients_named_in_the_notes():
    second = symbolic.expansion("complex", 2)[2]
    real = symbolic.expansion("real", 2)[2]
    for k in range(50):
        assert second.subs(K, k) == comb(k + 2, 4)
        assert real.subs(K, k) == comb(k + 2, 4) + (k - 1) * (k + 1) * (2 * k - 1) // 8
    assert sympy.expand(second - K * (K - 1) * (K + 1) * (K + 2) / 24) == 0


@pytest.mark.parametrize("field", FIELDS)
def test_expansion_reproduces_the_energy(field):
    # All orders up to k: the finite sum is the energy itself.
    coefficients = symbolic.expansion(field, 6)
    for k in range(6):
        total = sum(q.subs(K, k) / N**m for m, q in enumerate(coefficients))
        assert sympy.expand(total - symbolic.rnn_energy("n", k, field)) == 0


def test_quaternion_expansion_is_the_real_one_at_minus_two_n():
    for m, (real, quaternion) in enumerate(
        zip(symbolic.expansion("real", 4), symbolic.expansion("quaternion", 4), strict=True)
    ):
        assert sympy.simplify(quaternion - real / (-2) ** m) == 0


def test_no_symbol_is_captured_by_a_summation_index():
    for name in ("m", "k", "N", "width"):
        for form in ("sum", "summed"):
            for time in (3, "t"):
                expression = symbolic.lru_energy(name, time, "complex", form=form)
                value = expression.subs({symbolic.symbol(name): 7, symbolic.symbol("t"): 3}).doit()
                assert sympy.simplify(value) == symbolic.lru_energy(7, 3, "complex"), (name, form, time)
    assert symbolic.rnn_energy("N", 3, "complex").subs(symbolic.symbol("N"), 5) == symbolic.rnn_energy(5, 3, "complex")


def test_scale_as_a_number_and_as_a_symbol():
    g = sympy.Symbol("g", positive=True)
    assert symbolic.rnn_energy("n", 2, "real", scale=g) == sympy.expand(g**4 * (1 + 2 / N**2))
    half = sympy.Rational(1, 2)
    want = exact.lru_energy(9, 4, "real", scale=Fraction(1, 2))
    assert symbolic.lru_energy(9, 4, "real", scale=half) == sympy.Rational(want.numerator, want.denominator)
    general = symbolic.lru_energy("n", "t", "complex", scale=g).subs({N: 9, symbolic.symbol("t"): 4, g: half}).doit()
    want = exact.lru_energy(9, 4, "complex", scale=Fraction(1, 2))
    assert sympy.simplify(general) == sympy.Rational(want.numerator, want.denominator)


def test_hultman_rows():
    for k in range(9):
        assert symbolic.hultman_row(k) == wick.cycle_counts(k, "complex")
    assert symbolic.hultman_row(40) == moments.trace_polynomial(40, "complex")


def test_latex():
    assert symbolic.latex(symbolic.rnn_energy("n", 3, "real")) == r"1 + \frac{10}{n^{2}} + \frac{4}{n^{3}}"
    assert "n" in symbolic.latex(symbolic.lru_energy("n", "t", "complex", form="summed"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: symbolic.rnn_energy("n", "k", "real"), "a symbolic depth k needs field='complex'"),
        (lambda: symbolic.lru_energy("n", "t", "quaternion"), "a symbolic depth t needs field='complex'"),
        (lambda: symbolic.lru_energy("n", 3, "real", form="summed"), "form='summed' is known for complex weights only"),
        (lambda: symbolic.lru_energy("n", 3, "complex", form="closed"), "form must be 'sum' or 'summed', got 'closed'"),
        (lambda: symbolic.rnn_energy("n", -1, "complex"), "k must be at least 0, got -1"),
        (lambda: symbolic.rnn_energy(0, 1, "complex"), "n must be at least 1, got 0"),
        (lambda: symbolic.rnn_energy("n+1", 2, "complex"), r"n must be a symbol, a whole number or a name, got 'n\+1'"),
        (lambda: symbolic.rnn_energy("n", "n", "complex"), "n and k must be different symbols, got n and n"),
        (lambda: symbolic.symbol(3), "a symbol needs a name like 'n' or 'k', got 3"),
        (lambda: symbolic.rnn_energy("n", 2, "complex", scale=-1), "scale must be positive, got -1"),
        (
            lambda: symbolic.lru_energy("n", 2, "complex", scale=2, form="summed"),
            "form='summed' is known for scale 1 only",
        ),
        (lambda: symbolic.expansion("complex", 13), "order must be at most 12"),
        (lambda: symbolic.expansion("complex", -1), "order must be at least 0"),
        (lambda: symbolic.hultman_row(-1), "k must be at least 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_float_stays_a_float_and_a_fraction_a_fraction():
    for scale in (0.5, np.float16(0.5), np.float32(0.5), np.longdouble(0.5), np.array(0.5)):
        assert symbolic.rnn_energy("n", 2, "real", scale=scale) == symbolic.rnn_energy("n", 2, "real", scale=0.5)
    assert symbolic.rnn_energy("n", 2, "real", scale=Fraction(1, 2)) == sympy.expand(
        symbolic.rnn_energy("n", 2, "real") / 16
    )
    third = np.longdouble(1) / 3
    if Fraction(*third.as_integer_ratio()) != Fraction(float(third)):  # more digits than a double has
        assert symbolic.rnn_energy("n", 1, "real", scale=third) == sympy.Rational(*third.as_integer_ratio()) ** 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: symbolic.rnn_energy(6, 10**9, "real", scale=Fraction(1, 2)),
        lambda: symbolic.lru_energy("n", 10**9, "complex", form="summed"),
        lambda: symbolic.lru_energy("n", 10**9, "complex"),
    ],
)
def test_powers_without_end_are_refused_before_they_start(call):
    with pytest.raises(ValueError, match=r"must be at most|would take about"):
        call()
