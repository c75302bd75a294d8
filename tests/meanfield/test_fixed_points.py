import mpmath
import numpy as np
import pytest

from signalprop.meanfield import (
    ACTIVATIONS,
    as_activation,
    chi,
    critical_scale,
    edge_of_chaos,
    fixed_point,
    slope_kurtosis,
    variance_map,
)


def iterated(scale, activation, input_std, steps):
    q = np.float64(1.0)
    for _ in range(steps):
        q = variance_map(q, scale, activation, input_std)
    return float(q)


@pytest.mark.parametrize(
    ("scale", "activation", "input_std"),
    [
        (0.8, "tanh", 0.0), (1.2, "tanh", 0.0), (3.0, "tanh", 0.1), (1.5, "erf", 2.0), (1.3, "relu", 0.5),
        (1.1, "hardtanh", 0.3), (1.2, "silu", 1.0), (1.3, "gelu", 0.2), (0.5, "linear", 1.0), (1e-3, "tanh", 1e-6),
        (500.0, "tanh", 0.0),
    ],
)  # fmt: skip
def test_the_limit_of_the_iteration(scale, activation, input_std):
    q = float(fixed_point(scale, activation, input_std))
    assert q == pytest.approx(iterated(scale, activation, input_std, 200), rel=1e-9, abs=1e-12)


def test_a_function_of_ones_own_that_starts_above_zero():
    phi = as_activation(lambda x: np.cos(x) + 1.0, lambda x: -np.sin(x))
    assert float(fixed_point(0.5, phi, 0.3)) == pytest.approx(iterated(0.5, phi, 0.3, 200), rel=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "hardtanh", "erf"])
def test_states_die_out_up_to_the_slope_at_zero(activation):
    g = 1.0 / float(ACTIVATIONS[activation].slope(np.zeros(1))[0])
    assert fixed_point([0.5 * g, g], activation).tolist() == [0.0, 0.0]
    q = float(fixed_point(1.001 * g, activation))
    assert q > 1e-4
    assert q == pytest.approx(float(variance_map(q, 1.001 * g, activation)), rel=1e-12)


@pytest.mark.parametrize(
    ("scale", "activation", "input_std"),
    [(1.5, "relu", 0.0), (2**0.5, "relu", 1.0), (1.0, "linear", 1e-3), (2.0, "silu", 0.1)],
)
def test_growth_without_bound_is_refused(scale, activation, input_std):
    with pytest.raises(ValueError, match=f"grows without bound.* scale={scale:g} and input_std={input_std:g}"):
        fixed_point(scale, activation, input_std)


# q, g and r at chi = 1 by mpmath with 30 digits, `by_mpmath` below: tanh.
TANH_EDGES = {
    0.01: (0.045709078695282465539, 1.0421258525243931459, 1.0114629237798713258),
    0.1: (0.27330091345823130455, 1.1934007250243296846, 1.1525398862130755237),
    0.3: (0.7634747669104638992, 1.3955839751549022022, 1.4553153529886602705),
    1.0: (3.0363963946237029688, 1.8555891011388918127, 2.425778045945381827),
    2.0: (7.9475067305287611763, 2.3250249389796634031, 3.7475587409795687653),
}


def by_mpmath(s, start):
    def mean(f, q):
        return 2 * mpmath.quad(lambda z: f(mpmath.sqrt(q) * z) * mpmath.npdf(z), [0, 0.5, 1, 2, 4, 9])

    def excess(q):
        return (q - s * s) * mean(lambda x: mpmath.sech(x) ** 4, q) - mean(lambda x: mpmath.tanh(x) ** 2, q)

    q = mpmath.findroot(excess, (start, 1.02 * start), tol=1e-14)
    g = mpmath.sqrt((q - s * s) / mean(lambda x: mpmath.tanh(x) ** 2, q))
    r = mean(lambda x: mpmath.sech(x) ** 8, q) / mean(lambda x: mpmath.sech(x) ** 4, q) ** 2
    return [float(q), float(g), float(r)]


def test_the_edge_of_tanh_against_many_digits():
    for s, want in TANH_EDGES.items():
        edge = edge_of_chaos("tanh", s)
        assert [float(edge.variance), float(edge.scale), float(edge.kurtosis)] == pytest.approx(want, rel=1e-12)
    assert by_mpmath(1.0, 3.0) == pytest.approx(TANH_EDGES[1.0], rel=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "erf", "hardtanh"])
def test_at_the_critical_scale_chi_is_one(activation):
    s = np.array([[0.0, 1e-3], [0.3, 3.0]])
    edge = edge_of_chaos(activation, s)
    assert edge.scale.shape == s.shape
    assert chi(edge.scale, activation, s) == pytest.approx(np.ones((2, 2)), abs=1e-7)
    assert fixed_point(edge.scale, activation, s) == pytest.approx(edge.variance, rel=1e-7, abs=1e-12)
    assert slope_kurtosis(edge.variance, activation) == pytest.approx(edge.kurtosis, rel=1e-12)
    assert (np.diff(edge.scale.ravel()) > 0).all()


def test_homogeneous_activations_have_one_critical_scale_and_infinite_states_there():
    for activation, scale, kurtosis in (("linear", 1.0, 1.0), ("relu", 2**0.5, 2.0)):
        edge = edge_of_chaos(activation, [0.0, 1e-3, 2.0])
        assert edge.scale == pytest.approx(np.full(3, scale), rel=1e-14)
        assert edge.variance.tolist() == [1.0, np.inf, np.inf]
        assert edge.kurtosis == pytest.approx(np.full(3, kurtosis), rel=1e-14)


def test_no_edge_is_said():
    with pytest.raises(ValueError, match="no scale of this activation at which chi = 1 for input_std=0"):
        critical_scale("silu")
    assert float(chi(critical_scale("silu", 1.0), "silu", 1.0)) == pytest.approx(1.0, abs=1e-9)


def test_chi_is_what_autograd_finds_over_wide_layers():
    """A unit tangent through one tanh layer with fresh W, by torch.autograd; the variance of its energy is (3r - 1) chi^2/n."""
    torch = pytest.importorskip("torch")
    n, draws, g, s = 256, 200, 1.4, 0.5
    q = float(fixed_point(g, "tanh", s))
    make = torch.Generator().manual_seed(5)
    options = {"generator": make, "dtype": torch.float64}
    signs = torch.sign(torch.randn(n, **options))
    # A state with the mean square that settled, and a tangent across it.
    h = signs * ((q - s * s) / g**2) ** 0.5
    tangent = torch.randn(n, **options)
    tangent -= h * (h @ tangent) / (h @ h)
    tangent /= tangent.norm()
    energies = []
    for _ in range(draws):
        w = torch.randn(n, n, **options) * g / n**0.5
        x = s * torch.randn(n, **options)
        _, out = torch.autograd.functional.jvp(lambda h, w=w, x=x: torch.tanh(w @ h + x), h, tangent)
        energies.append(float(out @ out))
    value, kurtosis = float(chi(g, "tanh", s)), float(slope_kurtosis(q, "tanh"))
    z = (np.mean(energies) / value - 1.0) / np.sqrt((3.0 * kurtosis - 1.0) / n / draws)
    assert abs(z) < 3.5
    assert np.var(energies) / value**2 * n / (3.0 * kurtosis - 1.0) == pytest.approx(1.0, abs=0.35)  # 3.5 sqrt(2/200)


def test_arrays_broadcast_and_agree_with_numbers():
    g, s = np.array([[0.9], [1.7]]), np.array([0.2, 0.5, 1.0])
    table = chi(g, "tanh", s)
    assert table.shape == (2, 3)
    assert table[1, 2] == chi(1.7, "tanh", 1.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fixed_point(0.0, "tanh"), "scale must lie between 1e-06 and 1e[+]06, got 0.0"),
        (lambda: fixed_point(1.0, "tanh", -1.0), "input_std must be 0 or lie between 1e-06"),
        (lambda: chi([1.0, 2.0], "tanh", [1.0, 2.0, 3.0]), "scale and input_std must broadcast"),
        (lambda: chi(1.0, "step"), "activation must be one of"),
        (lambda: slope_kurtosis(np.inf, "tanh"), "variance must be finite"),
        (lambda: variance_map(1e13, 1.0, "tanh"), "variance must lie between 0 and 1e[+]12, got 1"),
        (
            lambda: slope_kurtosis(1.0, as_activation(lambda x: 0.0 * x + 1.0, lambda x: 0.0 * x)),
            "no slope at variance",
        ),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()
