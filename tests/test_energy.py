import math

import numpy as np
import pytest
from flint import arb
from hypothesis import example, given, settings
from hypothesis import strategies as st

import signalprop
from signalprop import energy, exact
from signalprop.energy import _compiled, _plain
from signalprop.energy._complex import block_rules
from tests.balls import complex_log_energy, relative_error, zonal_log_energy

FIELDS = ["complex", "real", "quaternion"]
TOLERANCE = 1e-13


def test_oracle_table(energies):
    for row in energies:
        for field in FIELDS:
            want = arb(row[field]).log()
            assert relative_error(energy.rnn_energy(row["n"], row["k"], field, log=True), want) <= TOLERANCE, (
                row["n"],
                row["k"],
                field,
            )


def test_documented_values():
    assert energy.rnn_energy(2500, 250, "complex") == pytest.approx(8229.53, abs=5e-3)
    assert energy.rnn_energy(2500, 250, "real") == pytest.approx(3.5271e7, rel=2e-5)


@settings(max_examples=300, deadline=None)
@given(n=st.integers(1, 10**18), k=st.integers(0, 10**5))
@example(n=1, k=10**5)
@example(n=1, k=128)
@example(n=63, k=126)
@example(n=63, k=127)
@example(n=64, k=46)
@example(n=64, k=47)
@example(n=64, k=62)
@example(n=10**5, k=10**5 - 2)
@example(n=10**5, k=10**5 - 1)
@example(n=10**5, k=10**5 - 18)
@example(n=10**5, k=10**5 - 19)
@example(n=10**10, k=10**5)
@example(n=800_016, k=100_000)
@example(n=800_017, k=100_000)
@example(n=10**18, k=10**5)
@example(n=10**18, k=2)
def test_complex_accuracy_anywhere(n, k):
    assert relative_error(energy.rnn_energy(n, k, "complex", log=True), complex_log_energy(n, k)) <= TOLERANCE


@settings(max_examples=200, deadline=None)
@given(k=st.integers(2, 10**5), ratio=st.floats(-2.0, 2.0), power=st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]))
def test_complex_accuracy_near_every_regime_boundary(k, ratio, power):
    # n between k^p/100 and 100 k^p: subcritical to superlinear.
    n = min(10**18, max(1, int(10.0**ratio * float(k) ** power)))
    assert relative_error(energy.rnn_energy(n, k, "complex", log=True), complex_log_energy(n, k)) <= TOLERANCE


@pytest.mark.parametrize("n", [1, 2, 10, 63, 64, 65, 100, 1000])
def test_complex_accuracy_for_all_depths_around_the_width(n):
    for k in range(max(0, n - 40), n + 40):
        assert relative_error(energy.rnn_energy(n, k, "complex", log=True), complex_log_energy(n, k)) <= TOLERANCE, k


def test_complex_relative_accuracy_of_the_log_where_q_is_almost_one():
    # Q - 1 = binom(k+2, 4)/n^2 + ... lies far below the rounding unit, log Q still has its leading digits.
    for n, k in [(10**12, 10), (10**15, 1000), (10**18, 10**5)]:
        assert float(energy.rnn_energy(n, k, "complex", log=True)) == pytest.approx(
            float(complex_log_energy(n, k)), rel=1e-9, abs=0.0
        )


@pytest.mark.parametrize("field", ["real", "quaternion"])
@pytest.mark.parametrize("k", [2, 3, 17, 100])
@pytest.mark.parametrize("n", [1, 2, 3, 16, 100, 1000, 10**6, 10**12, 10**18])
def test_zonal_accuracy(field, k, n):
    assert relative_error(energy.rnn_energy(n, k, field, log=True), zonal_log_energy(n, k, field)) <= TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("field", ["real", "quaternion"])
@pytest.mark.parametrize("n", [1, 3, 300, 2000, 10**4, 10**7, 10**18])
def test_zonal_accuracy_at_the_largest_promised_depth(field, n):
    for k in (700, 2000):
        assert relative_error(energy.rnn_energy(n, k, field, log=True), zonal_log_energy(n, k, field)) <= TOLERANCE


@pytest.mark.parametrize("n", [1, 100, 10**6])
def test_plain_and_compiled_kernels_agree(n):
    # Same source, different summation order in the zonal sum.
    k = np.arange(0, 120, 7)
    for quaternion in (False, True):
        results = []
        for kernels in (_plain, _compiled):
            out = np.empty(k.size)
            kernels.zonal_log_q_many_kernel(kernels.prefix_logs_kernel(float(n), quaternion, 130), k, out)
            results.append(out)
        np.testing.assert_allclose(results[0], results[1], rtol=1e-14, atol=1e-15)
    results = []
    for kernels in (_plain, _compiled):
        many, sums, path = np.empty(k.size), np.empty(k.size), np.empty(k.size)
        kernels.log_q_many_kernel(np.full(k.size, float(n)), k, many)
        kernels.log_s_many_kernel(np.full(k.size, float(n)), -0.01, 1000 * k, block_rules(), sums)
        kernels.log_sum_path_kernel(np.sin(np.arange(120.0)), k, path)
        results.append(np.concatenate([many, sums, path]))
    np.testing.assert_allclose(results[0], results[1], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("field", FIELDS)
def test_a_large_request_takes_the_compiled_route_with_the_same_values(field):
    k = np.arange(400)
    many = energy.rnn_energy(50, np.tile(k, 10), field, log=True)
    one_by_one = [energy.rnn_energy(50, int(i), field, log=True) for i in k[::37]]
    np.testing.assert_allclose(many[:400][::37], one_by_one, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("field", FIELDS)
def test_lru_energy_against_fractions(field):
    for n in (1, 2, 3, 30, 1000):
        for t in (0, 1, 2, 9, 33):
            assert energy.lru_energy(n, t, field) == pytest.approx(float(exact.lru_energy(n, t, field)), rel=1e-13)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("scale", [0.3, 0.99, 1.5])
def test_scale_multiplies_each_step(field, scale):
    k = np.arange(12)
    q = energy.rnn_energy(20, k, field)
    np.testing.assert_allclose(energy.rnn_energy(20, k, field, scale=scale), scale ** (2.0 * k) * q, rtol=1e-12)
    np.testing.assert_allclose(
        energy.lru_energy(20, k, field, scale=scale), np.cumsum(scale ** (2.0 * k) * q), rtol=1e-12
    )


def _direct_log_sum(n, t, log_scale=0.0):
    k = np.arange(t + 1)
    terms = energy.rnn_energy(n, k, "complex", log=True) + 2.0 * k * log_scale
    top = terms.max()
    return top + math.log(math.fsum(np.exp(terms - top)))


@settings(max_examples=150, deadline=None)
@given(
    n=st.one_of(st.integers(1, 300), st.integers(1, 10**9)),
    t=st.integers(0, 60_000),
    log_scale=st.sampled_from([0.0, 0.0, -1e-5, -1e-3, -0.02, -0.7, 0.01]),
)
@example(n=63, t=40_000, log_scale=0.0)
@example(n=64, t=40_000, log_scale=-0.02)
@example(n=1, t=60_000, log_scale=-0.7)
@example(n=3000, t=50_000, log_scale=-1e-3)
def test_sums_by_blocks_equal_sums_term_by_term(n, t, log_scale):
    # One far t takes the quadrature; the reference adds every term.
    got = energy.lru_energy(n, t, "complex", scale=math.exp(log_scale), log=True)
    want = _direct_log_sum(n, t, log_scale)
    assert abs(got - want) <= 1e-13 * max(1.0, abs(want))


def test_sums_by_blocks_where_the_summand_bends_inside_its_blocks():
    # sqrt(n) < t < 20 sqrt(n), with scales that put the largest term at either end.
    rng = np.random.default_rng(0)
    for _ in range(150):
        n = int(np.exp(rng.uniform(4.0, 14.0)))
        t = int(max(200, math.sqrt(n) * np.exp(rng.uniform(0.0, 3.0))))
        log_scale = rng.choice([0.0, -1e-3, -0.02])
        want = _direct_log_sum(n, t, log_scale)
        got = energy.lru_energy(n, t, "complex", scale=math.exp(log_scale), log=True)
        assert abs(got - want) <= 1e-13 * max(1.0, abs(want)), (n, t, log_scale)


@pytest.mark.parametrize("scale", [0.5, 0.99, 1.0, 1.2])
def test_sums_by_blocks_do_not_slow_down_with_time(scale, monkeypatch):
    # The largest term can sit at either end; whichever it is, only blocks near it are opened.
    from signalprop.energy import _complex as _complex_energy

    calls = [0]
    right = _complex_energy.log_q_kernel

    def counting(n, k):
        calls[0] += 1
        return right(n, k)

    monkeypatch.setattr(_complex_energy, "log_q_kernel", counting)
    for t in (10**6, 10**12, 10**18 - 10**6):
        for n in (3, 10**6, 10**12, 10**18):
            calls[0] = 0
            assert math.isfinite(energy.lru_energy(n, t, "complex", scale=scale, log=True))
            assert calls[0] < 6000, (n, t)
    if scale < 1:
        assert energy.lru_energy(10**18, 10**12, "complex", scale=scale) == pytest.approx(
            1.0 / (1.0 - scale**2), rel=1e-13
        )


def test_depth_next_to_the_width_at_the_largest_widths():
    # n and k + 2 round to the same float there; the falling factorial is gone, the rising one rules.
    for n in (2**57 + 2**10, 10**17 + 3, 10**18):
        for k in (n - 65, n - 64, n - 17, n - 2, n - 1, n, min(n + 40, 10**18)):
            got = energy.rnn_energy(n, k, "complex", log=True)
            c = k / n
            want = n * ((1 + c) * math.log1p(c) - c)
            assert got == pytest.approx(want, rel=1e-13), (n, k)
            assert energy.rnn_energy(n, np.full(3000, k), "complex", log=True)[0] == pytest.approx(want, rel=1e-13)


def test_sums_by_blocks_at_times_no_loop_reaches():
    # n >> t^2: S = t + 1 + binom(t+3, 5)/n^2 + ...; t >> n: the last two terms are all there is.
    assert energy.lru_energy(10**18, 10**7, "complex") == pytest.approx(
        10**7 + 1 + math.comb(10**7 + 3, 5) / 1e36, rel=1e-14
    )
    log_q, before = energy.rnn_energy(10**6, [10**12, 10**12 - 1], "complex", log=True)
    assert energy.lru_energy(10**6, 10**12, "complex", log=True) == pytest.approx(
        log_q + math.log1p(math.exp(before - log_q)), rel=1e-14
    )
    # In between, the path through all t (another algorithm) passes through the same value.
    path = energy.lru_energy(10**8, np.arange(30_001), "complex", log=True)
    assert path[-1] == pytest.approx(energy.lru_energy(10**8, 30_000, "complex", log=True), abs=1e-13)


def test_log_energy_is_convex_in_depth():
    # What the block sums rely on when they skip a block whose ends are negligible.
    for n in (1, 2, 10, 63, 64, 200, 5000):
        path = energy.rnn_energy(n, np.arange(6 * n + 200), "complex", log=True)
        assert np.diff(path, 2).min() >= -1e-12 * path[-1]


def test_broadcasting_and_shapes():
    n = np.array([[10], [20], [10]])
    k = np.arange(5)
    for function in (energy.rnn_energy, energy.lru_energy):
        for field in FIELDS:
            table = function(n, k, field)
            assert table.shape == (3, 5)
            assert table.dtype == np.float64
            assert np.array_equal(table[0], table[2])
            assert function(20, 3, field) == pytest.approx(table[1, 3], rel=1e-15)
            assert function(20, 3, field).shape == ()
    assert energy.rnn_energy([], 3, "complex").shape == (0,)
    assert energy.lru_energy(np.empty((2, 0), int), 3, "real").shape == (2, 0)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 10**6), k=st.integers(0, 60))
def test_fields_are_ordered_and_energies_grow_with_depth(n, k):
    h, c, r = (energy.rnn_energy(n, [k, k + 1], field, log=True) for field in ("quaternion", "complex", "real"))
    slack = 1e-14 * (1 + abs(r[0]))
    assert h[0] <= c[0] + slack
    assert c[0] <= r[0] + slack
    for path in (h, c, r):
        assert path[0] <= path[1] + 1e-14 * (1 + abs(path[0]))
        assert path[0] >= -1e-15


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 10**5), k=st.integers(2, 60), field=st.sampled_from(FIELDS))
def test_energies_fall_with_width(n, k, field):
    a, b = energy.rnn_energy([n, n + 1], k, field, log=True)
    assert b <= a + 1e-14 * (1 + abs(a))


def test_whole_floats_and_numpy_integers_are_accepted():
    assert energy.rnn_energy(1e6, np.int32(40), "complex") == energy.rnn_energy(10**6, 40, "complex")
    assert np.array_equal(
        energy.rnn_energy(np.array([1e3, 1e4]), np.uint8(4), "complex"), energy.rnn_energy([1000, 10_000], 4, "complex")
    )


def test_public_names_are_those_of_energy():
    assert signalprop.rnn_energy is energy.rnn_energy
    assert signalprop.lru_energy is energy.lru_energy


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f(0, 1), "n must be at least 1, got 0"),
        (lambda f: f(1, -1), "(k|t) must be at least 0, got -1"),
        (lambda f: f(np.array([3.0, np.nan]), 1), "n must be a whole number, got nan in the array"),
        (lambda f: f(3, np.array([1.0, 2.5])), r"(k|t) must be a whole number, got 2\.5 in the array"),
        (lambda f: f(3, np.array([1, -7])), "(k|t) must be at least 0, got -7 in the array"),
        (lambda f: f(3, [True, False]), r"(k|t) must hold whole numbers, got \[True, False\], of type bool"),
        (lambda f: f(True, 1), "n must hold whole numbers, got True, of type bool"),
        (lambda f: f("10", 1), "n must hold whole numbers"),
        (
            lambda f: f(2 * 10**18, 1),
            r"n must be at most 1000000000000000000, got 2000000000000000000\. Use signalprop\.exact",
        ),
        (lambda f: f(10**30, 1), "n must be at most"),
        (lambda f: f(np.array([10**30], dtype=object), 1), "n must be at most"),
        (lambda f: f(np.array([np.inf]), 1), "n must be a whole number, got inf"),
        (lambda f: f([1, 2, 3], [1, 2]), r"n and (k|t) must broadcast, got shapes \(3,\) and \(2,\)"),
        (lambda f: f(10, 1, "octonion"), "field must be one of"),
        (lambda f: f(10, 1, scale=0.0), r"scale must be a positive finite number, got 0\.0"),
        (lambda f: f(10, 1, scale=-1), "scale must be a positive finite number, got -1"),
        (lambda f: f(10, 1, scale=np.nan), "scale must be a positive finite number, got nan"),
        (lambda f: f(10, 1, scale="2"), "scale must be a positive number, got '2'"),
        (lambda f: f(10, 1, scale=True), "scale must be a positive number, got True"),
        (lambda f: f(10, 1, scale=10**400), "scale must be a positive finite number, got 1e400 or so"),
        (lambda f: f(10**5000, 1), "n must be at most 1000000000000000000, got 1e5000 or so"),
        (lambda f: f(10, 10**6, "real"), r"(k|t) must be at most \d+, got 1000000\. .*two_term_rnn"),
        (lambda f: f(10, 10**19, "complex"), "(k|t) must be at most 1000000000000000000"),
    ],
)
@pytest.mark.parametrize("function", [energy.rnn_energy, energy.lru_energy])
def test_bad_input_is_one_sentence(function, call, message):
    with pytest.raises(ValueError, match=message):
        call(function)


@pytest.mark.parametrize("function", [energy.rnn_energy, energy.lru_energy])
def test_values_outside_float64_are_refused_not_inf(function):
    with pytest.raises(OverflowError, match=r"the energy e\^\d+\.?\d* is outside the range of float64; use log=True"):
        function(1, 300)
    assert np.isfinite(function(1, 300, log=True))


def test_underflow_is_refused_not_zero():
    with pytest.raises(OverflowError, match=r"e\^-\d+.* is outside the range of float64; use log=True"):
        energy.rnn_energy(10**6, 100, "complex", scale=1e-4)
