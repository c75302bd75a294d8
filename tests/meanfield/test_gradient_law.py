import numpy as np
import pytest

from signalprop.meanfield import as_activation, critical_scale, edge_of_chaos, gradient_law, horizon


def log_energies(n, steps, g, s, draws, rng, phi, tied=False, burn=20):
    """A tangent carried through random layers, a fresh W and a fresh input at every step, states settled first."""
    if tied:
        fixed = rng.standard_normal((draws, n, n), dtype=np.float32) * np.float32(g / n**0.5)
    h, d = rng.standard_normal((draws, n)), rng.standard_normal((draws, n))
    log = np.zeros(draws)
    d /= np.linalg.norm(d, axis=1)[:, None]
    for step in range(burn + steps):
        w = fixed if tied else rng.standard_normal((draws, n, n), dtype=np.float32) * np.float32(g / n**0.5)
        both = np.matmul(w, np.stack([h, d], axis=-1).astype(np.float32)).astype(np.float64)
        u = both[..., 0] + s * rng.standard_normal((draws, n))
        h, d = phi.value(u), phi.slope(u) * both[..., 1]
        size = np.linalg.norm(d, axis=1)
        d /= size[:, None]
        log += 2.0 * np.log(size) * (step >= burn)
    return log


@pytest.mark.parametrize(("activation", "s"), [("relu", 0.5), ("tanh", 0.1), ("tanh", 0.3)])
def test_fresh_weights(activation, s):
    """Mean and standard deviation of 500 draws; slopes alone would give 1.57 and 1.83 in place of 1.90 and 2.06 for tanh."""
    n, steps, draws, phi = 64, 64, 500, as_activation(activation)
    g = float(critical_scale(activation, s))
    rng = np.random.default_rng(3)
    found = np.concatenate([log_energies(n, steps, g, s, 100, rng, phi) for _ in range(draws // 100)])
    law = gradient_law(n, steps, g, activation, s, tied=False)
    assert found.std() / float(law.std) == pytest.approx(1.0, abs=3.5 / np.sqrt(2 * draws))
    assert abs(found.mean() - float(law.median)) < 3.5 * float(law.std) / np.sqrt(draws)


@pytest.mark.slow
@pytest.mark.parametrize("s", [1.0, 0.3])
def test_one_driven_recurrence_is_within_the_stated_error(s):
    n, steps, draws = 128, 128, 300
    g = float(critical_scale("tanh", s))
    rng = np.random.default_rng(4)
    phi = as_activation("tanh")
    found = np.concatenate([log_energies(n, steps, g, s, 50, rng, phi, tied=True) for _ in range(draws // 50)])
    law = gradient_law(n, steps, g, "tanh", s)
    low, high = np.quantile(found, [0.16, 0.84])
    assert 0.5 * (high - low) / float(law.std) == pytest.approx(1.1, abs=0.2)
    assert np.median(found) == pytest.approx(float(law.median), abs=0.6)


def test_the_one_step_variance_of_slopes_and_weights():
    """T = 1, independent slopes: the law of a mean over units of phi'^2 |z|^2, drawn directly."""
    n, draws = 400, 4000
    rng = np.random.default_rng(8)
    edge = edge_of_chaos("tanh", 1.0)
    slopes = 1.0 / np.cosh(np.sqrt(float(edge.variance)) * rng.standard_normal((draws, n))) ** 2
    for field, parts in (("real", 1), ("complex", 2), ("quaternion", 4)):
        squares = np.mean(rng.standard_normal((draws, n, parts)) ** 2, axis=-1)
        logs = np.log(float(edge.scale) ** 2 * np.mean(slopes**2 * squares, axis=1))
        law = gradient_law(n, 1, edge.scale, "tanh", 1.0, field)
        assert np.std(logs) / float(law.std) == pytest.approx(1.0, abs=0.05)
        if field != "real":  # whose median has the angle between tangent and state in it
            assert np.mean(logs) == pytest.approx(float(law.median), abs=4.0 * float(law.std) / draws**0.5)


def test_rectifiers_have_the_law_of_independent_increments():
    law = gradient_law([100, 200], [[10], [30]], 2**0.5, "relu", 1.0, tied=False)
    n, steps = np.array([100, 200]), np.array([[10], [30]])
    assert law.median == pytest.approx(-steps * 5 / (2 * n))
    assert law.std == pytest.approx(np.sqrt(steps * 5 / n))
    linear = gradient_law(100, 7, 1.0, "linear", field="complex", tied=False)
    assert float(linear.std) == pytest.approx((7 / 100) ** 0.5)  # as for fresh linear layers: Var log Z = 2 b/beta
    assert linear.status == "P"
    assert gradient_law(100, 7, 1.0, "relu", field="complex", tied=False).status == "H"
    assert gradient_law(100, 7, 1.0, "tanh", 1.0).status == "H"


def test_off_the_edge_the_median_goes_like_chi():
    from signalprop.meanfield import chi

    law = gradient_law(10**9, [0, 50], 1.0, "tanh", 1.0)
    assert law.median == pytest.approx([0.0, 50 * np.log(float(chi(1.0, "tanh", 1.0)))], rel=1e-6)
    assert law.std[0] == 0.0


def test_the_variance_of_long_products_is_the_stated_formula():
    """By finite differences of the means in q, in place of the scores in the code."""
    from signalprop.meanfield import gaussian_mean

    s = 0.3
    edge = edge_of_chaos("tanh", s)
    q, g, r = (float(one) for one in (edge.variance, edge.scale, edge.kurtosis))

    def slope2(q):
        return float(gaussian_mean(lambda x: np.cosh(x) ** -4.0, q))

    def value2(q):
        return float(gaussian_mean(lambda x: np.tanh(x) ** 2, q))

    h = 1e-4 * q
    k = (np.log(slope2(q + h)) - np.log(slope2(q - h))) / (2 * h)
    kk = (np.log(slope2(q + h)) - 2 * np.log(slope2(q)) + np.log(slope2(q - h))) / h**2
    memory = g**2 * (value2(q + h) - value2(q - h)) / (2 * h)
    bend = g**2 * (value2(q + h) - 2 * value2(q) + value2(q - h)) / h**2
    product = float(gaussian_mean(lambda x: np.tanh(x) ** 2 * np.cosh(x) ** -4.0, q))
    spread = float(gaussian_mean(lambda x: np.tanh(x) ** 4, q)) - value2(q) ** 2
    per_step = 3 * r - 1 + 2 * k * g**2 * (product - slope2(q) * value2(q)) / ((1 - memory) * slope2(q))
    per_step += k**2 * g**4 * spread / (1 - memory) ** 2
    n, steps = 10**6, 10**5
    law = gradient_law(n, steps, g, "tanh", s)
    assert float(law.std) ** 2 == pytest.approx(steps * per_step / n, rel=1e-4)
    assert float(horizon(n, "tanh", s)) == pytest.approx(n / per_step, rel=1e-6)
    noise = g**4 * spread / (1 - memory**2)
    moved = k * bend * noise / (2 * (1 - memory)) + kk * noise / 2 + 2 * q * k * g**4 * product / q / (1 - memory**2)
    assert float(law.median) == pytest.approx(steps / n * (moved - (3 * r - 1) / 2), rel=1e-4)


def test_quantiles_are_those_of_a_normal_law():
    from scipy import stats

    law = gradient_law(100, [10, 20], 1.2, "tanh", 0.5)
    p = np.array([[0.05], [0.5], [0.95]])
    assert law.quantile(p) == pytest.approx(stats.norm.ppf(p, law.median, law.std))


def test_horizons():
    assert horizon([1000, 5000], "hardtanh", 1.0)[1] == pytest.approx(5.0 * horizon(1000, "hardtanh", 1.0))
    assert float(horizon(1000, "tanh", 1e-3)) == pytest.approx(
        254.0, abs=1.0
    )  # the states count however weak the inputs are
    assert horizon(1000, "tanh", [0.3, 1.0, 3.0]) == pytest.approx([235.3, 146.2, 69.1], rel=1e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gradient_law(100, 10, 1.0, "tanh"), "one W at every step needs fresh inputs"),
        (lambda: gradient_law(0, 10, 1.0, "tanh", 1.0), "n must be at least 1"),
        (lambda: gradient_law(100, -1, 1.0, "tanh", 1.0), "horizon must be at least 0"),
        (lambda: gradient_law(100, 10, 2.0, "gelu", 1.0, tied=False), "grows without bound"),
        *(
            (lambda name=name: gradient_law(100, 10, 1.0, name, 1.0), "must be odd and saturate")
            for name in ("linear", "relu", "gelu")
        ),
        (lambda: horizon(100, "relu", 1.0), "must be odd and saturate"),
        (lambda: horizon(100, "tanh", 0.0), "needs fresh inputs"),
        (lambda: gradient_law(100, 10, 1.0, "tanh", 1.0, "octonion"), "field must be one of"),
        (lambda: gradient_law(100, 10, 1.0, "tanh", 1.0, tied=1), "tied must be True or False"),
        (
            lambda: gradient_law([1, 2], [1, 2, 3], 1.0, "tanh", 1.0),
            "n, horizon, scale and input_std must broadcast, got shapes \\(2,\\), \\(3,\\), \\(\\) and \\(\\)",
        ),
        (lambda: gradient_law(100, 10, 1.0, "tanh", 1.0).quantile(1.0), "p must lie strictly between 0 and 1"),
        (lambda: edge_of_chaos("gelu", 0.1), "no scale of this activation"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()
