import math

import numpy as np
import pytest
from scipy import integrate

from signalprop import energy, regimes
from signalprop.fields import Field
from signalprop.models import Model


@pytest.mark.parametrize("field", ["complex", "real", "quaternion"])
def test_lru_limit_is_the_integral_of_the_rnn_limit(field):
    for c in (1e-3, 0.04, 0.0499, 0.0501, 0.06, 0.5, 1.0, 3.0, 6.0, 12.0):
        area, _ = integrate.quad(
            lambda x: float(regimes.critical_rnn(x, field)), 0.0, c, epsabs=0.0, epsrel=1e-12, limit=200
        )
        assert float(regimes.critical_lru(c, field)) == pytest.approx(area, rel=1e-10), c


def test_distance_to_the_limit_shrinks_like_one_over_sqrt_n():
    for field in ("complex", "quaternion"):
        gaps = [
            float(regimes.critical_rnn(2.0, field) / energy.rnn_energy(root**2, 2 * root, field)) - 1.0
            for root in (200, 400, 800)
        ]
        assert gaps[0] / gaps[1] == pytest.approx(2.0, rel=0.05)
        assert gaps[1] / gaps[2] == pytest.approx(2.0, rel=0.03)
    # The size stated in the docstring, and the figures for S.
    for c in (0.5, 1.0, 5.0):
        n, k, half = 10**8, round(c * 10**4), c * c / 2
        stated = (c**3 / 6 - 3 / c * (half / math.tanh(half) - 1)) / 10**4
        assert float(regimes.critical_rnn(c, "complex") / energy.rnn_energy(n, k, "complex")) - 1.0 == pytest.approx(
            stated, rel=0.02
        )
    for c, want in ((0.1, -0.09), (1.0, -0.01), (5.0, 0.096)):
        assert 100 * regimes.critical_lru(c, "complex") / energy.lru_energy(
            10**4, round(100 * c), "complex"
        ) - 1.0 == pytest.approx(want, rel=0.1)


def test_limits_far_out_as_logs():
    assert regimes.critical_rnn(1000.0, "complex", log=True) == pytest.approx(5e5 - math.log(1e6), rel=1e-14)
    around = regimes.critical_lru([999.999, 1000.001], "complex", log=True)
    assert around[1] - around[0] == pytest.approx(0.002 * (1000.0 - 3.0 / 1000.0), rel=1e-6)
    assert regimes.critical_lru(0.0, "complex", log=True) == -np.inf
    assert regimes.critical_rnn(1e-3, "complex", log=True) == pytest.approx(1e-12 / 24, rel=1e-6)


def test_real_weights_share_the_limit_but_slower():
    # sqrt(n)(Q^R/Q^C - 1) tends to about 0.0336, 0.334, 6.9 at c = 0.5, 1, 2.
    for c, want in ((0.5, 0.0336), (1.0, 0.334), (2.0, 6.9)):
        n = 4000**2
        k = round(c * 4000)
        ratio = energy.rnn_energy(n, k, "real") / energy.rnn_energy(n, k, "complex")
        assert 4000 * (ratio - 1.0) == pytest.approx(want, rel=0.02)


def test_two_term_law_within_its_stated_error():
    for n in (1000, 30_000):
        k = np.round(np.linspace(0.5, 8.0, 16) * math.sqrt(n)).astype(int)
        assert np.max(np.abs(regimes.two_term_rnn(n, k, log=True) - energy.rnn_energy(n, k, "real", log=True))) < 0.04
    k = np.round(np.linspace(0.5, 5.0, 16) * 10).astype(int)
    assert np.max(np.abs(regimes.two_term_rnn(100, k) / energy.rnn_energy(100, k, "real") - 1.0)) < 0.12


def test_two_term_law_against_its_definition():
    for n in (1, 2, 39, 40, 41, 1000):
        for k in (0, 1, 5, 60):
            product = math.fsum(math.log1p(2.0 * j / n) for j in range(k + 1))
            want = (
                np.logaddexp(energy.rnn_energy(n, k, "complex", log=True), product - math.log(2 * k + 1)) if k else 0.0
            )
            assert regimes.two_term_rnn(n, k, log=True) == pytest.approx(want, rel=1e-11, abs=1e-12)


def relative(law_log, exact_log):
    return np.expm1(law_log - exact_log)


def test_first_corrections_at_small_depth():
    # The next term of the complex expansion is O(k^8/n^4): at n = 1e6 nothing of it is left in float64.
    n, k = 10**6, np.arange(30)
    for field in ("complex", "real", "quaternion"):
        slack = {"complex": 0.0, "real": 3e-12, "quaternion": 3e-12}[field]  # 1/n^3 terms of the others
        for law, exact in ((regimes.subcritical_rnn, energy.rnn_energy), (regimes.subcritical_lru, energy.lru_energy)):
            np.testing.assert_allclose(
                law(n, k, field, log=True), exact(n, k, field, log=True), rtol=0, atol=slack + 1e-15
            )


def test_infinite_width_is_a_percent_off_where_stated():
    n = 10**8
    assert abs(relative(0.0, energy.rnn_energy(n, 7000, "complex", log=True))) < 0.0101
    assert abs(relative(0.0, energy.rnn_energy(n, 8000, "complex", log=True))) > 0.0101
    assert (
        abs(
            relative(regimes.infinite_width_lru(n, 10_000, log=True), energy.lru_energy(n, 10_000, "complex", log=True))
        )
        < 0.01
    )


@pytest.mark.parametrize("n", [10**4, 10**6, 10**8])
def test_uniform_law_and_its_stated_error(n):
    for power in (0.3, 0.5, 0.6, 2 / 3, 0.72):
        k = round(n**power)
        error = regimes.uniform_rnn(n, k, log=True) - energy.rnn_energy(n, k, "complex", log=True)
        assert abs(error) < 1.2 * k**4 / (12 * n**3) + 0.3 / n
    # Not uniform for k = o(n): at k = n^0.9 the next term of the exponent is huge.
    k = round(n**0.9)
    assert regimes.uniform_rnn(n, k, log=True) - energy.rnn_energy(n, k, "complex", log=True) < -0.5 * k**4 / (
        12 * n**3
    )


@pytest.mark.parametrize("n", [1, 5, 100, 10**4, 10**6])
def test_linear_laws_and_their_stated_errors(n):
    for k in (round(n**0.8), n // 10, n, 10 * n, 1000 * n):
        if k * k < 40 * n:
            continue
        c = k / n
        stated = 3 / k - 1 / (n + k) + (1 / n - 1 / (n + k)) / 12
        rounding = 1e-14 * energy.rnn_energy(n, k, "complex", log=True)
        error = float(relative(regimes.linear_rnn(n, k, log=True), energy.rnn_energy(n, k, "complex", log=True)))
        assert error == pytest.approx(stated, rel=0.1, abs=rounding), k
        stated -= n / k**2 * (3 + c) / (1 + c)
        error = float(relative(regimes.linear_lru(n, k, log=True), energy.lru_energy(n, k, "complex", log=True)))
        assert error == pytest.approx(stated, rel=0.15, abs=rounding + 0.1 / k), k


def test_the_literal_supercritical_law_is_off_by_what_its_docstring_says():
    for t, want in ((10**4, 0.11), (3 * 10**4, 4.36), (10**5, 158.6)):
        gap = regimes.supercritical_lru(10**6, t, log=True) - energy.lru_energy(10**6, t, "complex", log=True)
        assert gap == pytest.approx(want, abs=0.05)
    assert "e^{158.6}" in regimes.supercritical_lru.__doc__
    gap = regimes.linear_lru(10**6, 10**5, log=True) - energy.lru_energy(10**6, 10**5, "complex", log=True)
    assert abs(math.expm1(gap)) < 1e-3


@pytest.mark.parametrize("n", [1, 2, 10, 300, 10**6])
def test_superlinear_law_is_exact_from_the_width_on(n):
    k = np.array([n, n + 1, 2 * n + 3, 10 * n, 1000 * n])
    gap = regimes.superlinear_rnn(n, k, log=True) - energy.rnn_energy(n, k, "complex", log=True)
    assert np.abs(gap).max() <= 2e-12 * energy.rnn_energy(n, 1000 * n, "complex", log=True) + 1e-12
    t = 1000 * n
    error = relative(regimes.superlinear_lru(n, t, log=True), energy.lru_energy(n, t, "complex", log=True))
    assert float(error) == pytest.approx(-n / (n + t), rel=0.1, abs=1e-5)


def test_dominant_term_of_real_weights_and_its_stated_error():
    for n, k in [(1000, 158), (1000, 253), (1000, 1000), (1000, 3000), (10_000, 800), (10**6, 8000)]:
        error = float(relative(regimes.dominant_rnn(n, k, log=True), energy.rnn_energy(n, k, "real", log=True)))
        assert error == pytest.approx(-n / (2 * k**2), rel=0.12)
    for n, t in [(1000, 158), (1000, 253), (2500, 400)]:
        error = regimes.dominant_lru(n, t, log=True) - energy.lru_energy(n, t, "real", log=True)
        assert error == pytest.approx(-3 * n / (2 * t**2), rel=0.12)


def test_two_term_sum_within_its_stated_error():
    for n in (1000, 10_000):
        for c in (2, 3, 4, 6, 8):
            t = round(c * math.sqrt(n))
            assert abs(regimes.two_term_lru(n, t, log=True) - energy.lru_energy(n, t, "real", log=True)) < 0.045
    together = regimes.two_term_lru([[1000], [500]], [10, 90, 40], log=True)
    for i, n in enumerate((1000, 500)):
        for j, t in enumerate((10, 90, 40)):
            assert together[i, j] == pytest.approx(regimes.two_term_lru(n, t, log=True), rel=1e-14)


@pytest.mark.parametrize("n", [1, 2, 7, 10, 100, 1000, 10**6, 10**12])
def test_second_threshold_is_the_first_depth_past_the_crossing(n):
    k = regimes.second_threshold(n)
    for depth, past in ((k, True), (k + 1, True), (k - 1, False)):
        if depth >= 1:
            gap = regimes.dominant_rnn(n, depth, log=True) - energy.rnn_energy(n, depth, "complex", log=True)
            assert (gap >= 0.0) == past
            if n < 10**4:
                assert regimes.classify(n, depth, "real").past_second_threshold == past
    if n >= 10**6:
        c2 = k * k / n
        assert c2 == pytest.approx(math.log(n) + 2.0 * math.log(2.0 / math.sqrt(c2)), rel=0.03)


def test_excess_of_real_over_complex_weights_against_exact_energies():
    # sqrt(n)(Q^R/Q^C - 1) at k = c sqrt(n) approaches E(c) like 1/sqrt(n): extrapolate from two widths.
    for c in (0.25, 0.5, 1.0, 1.5, 2.0):
        values = []
        for root in (2000, 4000):
            n, k = root * root, round(c * root)
            ratio = energy.rnn_energy(n, k, "real", log=True) - energy.rnn_energy(n, k, "complex", log=True)
            values.append(root * math.expm1(ratio))
        assert 2 * values[1] - values[0] == pytest.approx(float(regimes.real_excess(c)), rel=1e-5)


def test_excess_at_small_c_and_its_shape():
    assert regimes.real_excess(0.0) == 0.0
    assert regimes.real_excess([[0.5, 1.0]]).shape == (1, 2)
    for c in (1e-5, 0.9999e-4, 1.0001e-4, 1e-3):
        assert regimes.real_excess(c) == pytest.approx(c**3 / 4 * (1 + 17 / 60 * c * c), rel=1e-9)
    with pytest.raises(ValueError, match="c must be at most 25 here, got 30"):
        regimes.real_excess(30.0)


# The two formulas meet at 0.6; the short list has both, their meeting point and the ends.
@pytest.mark.parametrize(
    "ratios",
    [(0.01, 0.599, 0.6, 25.0), pytest.param((0.2, 0.45, 0.601, 0.8, 1.0, 3.0, 8.0), marks=pytest.mark.slow)],
)
def test_excess_in_float64_against_quadrature_at_sixty_digits(ratios):
    from signalprop.regimes import real

    for c in ratios:
        assert float(regimes.real_excess(c)) == pytest.approx(real._excess_at_high_precision(c), rel=1e-9)


def test_classify_does_not_judge_by_rounding():
    for n in (10**12, 10**15):
        found = regimes.classify(n, n, "complex")
        assert found.within_tolerance
        assert found.relative_error == 0.0
    assert regimes.classify(1000, 40, "real").law == "corrected critical"


def test_corrected_critical_law_within_its_stated_error():
    for n, largest in ((1000, 1.5), (10_000, 2.0)):
        k = np.round(np.linspace(0.2, largest, 5) * math.sqrt(n)).astype(int)
        error = relative(regimes.corrected_critical_rnn(n, k, log=True), energy.rnn_energy(n, k, "real", log=True))
        assert np.abs(error).max() < 0.01


@pytest.mark.parametrize(
    ("arguments", "regime", "law"),
    [
        ((10**6, 100, "complex"), "subcritical", "infinite width"),
        ((10**6, 3000, "complex"), "critical", "critical limit"),
        ((10**6, 10_000, "complex"), "supercritical", "uniform"),
        ((10**6, 10**6, "complex"), "linear", "linear"),
        ((100, 10**4, "complex"), "superlinear", "linear"),
        ((2, 10, "complex"), "linear", "superlinear"),
        ((10**6, 500, "real"), "subcritical", "infinite width"),
        ((10**6, 15_000, "real"), "supercritical", "dominant term"),
        ((10**6, 700, "quaternion"), "subcritical", "infinite width"),
    ],
)
def test_classify_names_regime_and_law(arguments, regime, law):
    found = regimes.classify(*arguments)
    assert (found.regime, found.law) == (regime, law)
    assert found.within_tolerance
    assert found.log_exact == float(energy.rnn_energy(*arguments, log=True))
    assert found.relative_error == pytest.approx(math.expm1(found.log_value - found.log_exact))


def test_classify_for_the_driven_recurrence_and_without_a_good_law():
    assert regimes.classify(10**6, 10**5, "complex", quantity="lru").law == "linear"
    assert regimes.classify(10**6, 5 * 10**3, "complex", quantity="lru").law == "critical limit"
    hopeless = regimes.classify(3, 3, "real", tolerance=1e-9)
    assert not hopeless.within_tolerance
    assert abs(hopeless.relative_error) > 1e-9
    real = regimes.classify(10**4, 500, "real")
    assert real.past_second_threshold
    assert not regimes.classify(10**4, 100, "real").past_second_threshold
    assert regimes.classify(10**4, 100, "complex").past_second_threshold is None
    assert regimes.classify(5, 0, "complex", quantity="lru").regime == "subcritical"


@pytest.mark.parametrize("model", Model)
@pytest.mark.parametrize("field", Field)
def test_classify_takes_a_law_inside_its_own_domain(field, model):
    laws = {law.name: law for law in regimes.LAWS[field, model]}
    longest = {Field.COMPLEX: 10**7}.get(field, 300)
    for n in (1, 2, 3, 7, 30, 64, 1000, 10**6, 10**12):
        scales = {round(c * n**power) for c in (0.5, 1, 2, 3.1, 5, 9) for power in (0.5, 0.75, 1)}
        for k in sorted(k for k in scales | {0, 1, 2, 17} if k <= longest):
            found = regimes.classify(n, k, field, quantity=model)
            assert laws[found.law].holds(n, k), (n, k, found.law, laws[found.law].domain.words)


# What the domains say in words, read once more: (n, k) at the edge is in, and k + step is out (0: nothing is).
EDGES = {
    "k <= sqrt(n)": (100, 10, 1), "k = c sqrt(n), c <= 5": (100, 50, 1), "k <= sqrt(n log n)": (100, 21, 1),
    "k >= sqrt(n log n)": (100, 22, -1), "k >= sqrt(n)/2": (100, 5, -1), "t >= 2 sqrt(n)": (100, 20, -1),
    "k <= n^(3/4)": (10**4, 1000, 1), "k >= sqrt(n)": (100, 10, -1), "k + 1 >= n": (100, 99, -1),
    "sqrt(n) <= t <= n^(2/3)": (10**6, 10**4, 1), "every k": (5, 10**6, 0),
}  # fmt: skip


def test_domains_mean_what_they_say():
    domains = {law.domain.words: law.domain for laws in regimes.LAWS.values() for law in laws}
    assert sorted(domains) == sorted(EDGES)
    for words, (n, k, step) in EDGES.items():
        assert domains[words].contains(n, k), words
        assert domains[words].contains(n, k + step) == (step == 0), words


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: regimes.classify(10, 3, "complex", quantity="gru"),
            "quantity must be one of 'rnn' or 'driven', got 'gru'",
        ),
        (lambda: regimes.classify(10, 3, "complex", tolerance=0), "tolerance must be a positive finite number"),
        (lambda: regimes.classify(0, 3, "complex"), "n must be at least 1"),
        (lambda: regimes.classify(10, 30_000, "real"), "k must be at most 20000"),
        (lambda: regimes.linear_rnn(10, 0), "k must be at least 1, got 0"),
        (lambda: regimes.supercritical_lru(10, [3, 0]), "t must be at least 1, got 0"),
        (lambda: regimes.uniform_rnn([1, 2], [1, 2, 3]), r"n and k must broadcast, got shapes \(2,\) and \(3,\)"),
        (lambda: regimes.two_term_rnn(10, 2.5), "k must be a whole number"),
        (lambda: regimes.two_term_lru(10, 10**8), "t must be at most 10000000"),
        (lambda: regimes.second_threshold(0), "n must be at least 1"),
        (lambda: regimes.critical_rnn("abc", "complex"), "c must hold numbers, got 'abc'"),
        (lambda: regimes.critical_rnn(1j, "complex"), "c must be real, got complex numbers"),
        (lambda: regimes.critical_rnn(None, "complex"), "c must be a real number, got None"),
        (lambda: regimes.critical_rnn(1e200, "complex"), "must be finite"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_values_at_zero_and_shapes():
    assert regimes.critical_rnn(0.0, "complex") == 1.0
    assert regimes.critical_lru(0.0, "complex") == 0.0
    assert regimes.critical_rnn([[0.0, 1.0]], "complex").shape == (1, 2)
    assert regimes.critical_lru(np.zeros((3, 0)), "complex").shape == (3, 0)


@pytest.mark.parametrize("law", [regimes.critical_rnn, regimes.critical_lru])
@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf, [1.0, -2.0]])
def test_bad_ratio(law, bad):
    with pytest.raises(ValueError, match=r"c = k/sqrt\(n\) must be finite, at least 0 and at most 1e6, got "):
        law(bad)


@pytest.mark.parametrize("law", [regimes.critical_rnn, regimes.critical_lru])
def test_ratio_beyond_float64(law):
    with pytest.raises(OverflowError, match=r"the limit e\^1\d{3}.* is outside the range of float64; use log=True"):
        law(60.0)


def test_two_term_overflow():
    with pytest.raises(OverflowError, match="use log=True"):
        regimes.two_term_rnn(1, 300)
