import numpy as np
import pytest

from signalprop.meanfield import (
    chi,
    correlation_fixed_point,
    correlation_map,
    correlation_time,
    critical_scale,
    fixed_point,
)


def kernels(activation, q, c):
    """E phi(u) phi(v) in closed form (Williams; Cho and Saul)."""
    if activation == "erf":
        return 2 / np.pi * np.arcsin(2 * q * c / (1 + 2 * q))
    angle = np.arccos(c)
    return q * (np.sin(angle) + (np.pi - angle) * c) / (2 * np.pi)


def test_the_map_of_relu_is_an_arc_cosine_kernel():
    c, g, s, inside = np.array([-1.0, 0.0, 0.7]), 1.2, 0.6, 0.25
    q = float(fixed_point(g, "relu", s))
    want = (g**2 * kernels("relu", q, c) + s**2 * inside) / q
    assert correlation_map(c, g, "relu", s, inside) == pytest.approx(want, rel=1e-10)


@pytest.mark.parametrize(
    "layer", [(3.0, "erf", 0.5, 1.0), (1.2, "erf", 1.0, 0.5), (2.0, "erf", 0.3, 0.0), (0.9, "relu", 1.0, 0.3)]
)
def test_the_limit_of_the_iteration(layer):
    g, activation, s, inside = layer
    c, q = 0.0, float(fixed_point(g, activation, s))
    for _ in range(400):
        c = (g**2 * kernels(activation, q, c) + s**2 * inside) / q
    assert float(correlation_fixed_point(*layer)) == pytest.approx(c, abs=1e-10)


def test_same_inputs_are_forgotten_up_to_the_edge():
    edge = float(critical_scale("tanh", 0.5))
    assert correlation_fixed_point([0.5, edge, 1.05 * edge], "tanh", 0.5)[:2].tolist() == [1.0, 1.0]
    limit = float(correlation_fixed_point(1.05 * edge, "tanh", 0.5))
    assert 0.5 < limit < 0.999
    assert float(correlation_map(limit, 1.05 * edge, "tanh", 0.5)) == pytest.approx(limit, abs=1e-12)
    assert float(correlation_fixed_point(2.0, "tanh", 0.0)) == 0.0  # nothing shared, and an odd activation


def test_the_time_is_that_of_the_iteration():
    layer = (2.0, "erf", 1.0)
    limit, time = float(correlation_fixed_point(*layer)), float(correlation_time(*layer))
    around = correlation_map([limit - 1e-4, limit + 1e-4], *layer)
    assert (around[1] - around[0]) / 2e-4 == pytest.approx(np.exp(-1.0 / time), rel=1e-6)
    assert float(correlation_time(0.7, "tanh", 1.0)) == pytest.approx(-1.0 / np.log(chi(0.7, "tanh", 1.0)), rel=1e-10)
    assert correlation_time([0.7, 0.9], "tanh", 1.0).shape == (2,)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: correlation_map(1.5, 1.0, "tanh", 1.0), "correlation must lie between -1 and 1, got 1.5"),
        (
            lambda: correlation_fixed_point(1.0, "tanh", 1.0, -0.5),
            "input_correlation must lie between 0 and 1, got -0.5",
        ),
        (lambda: correlation_fixed_point(0.5, "tanh"), "no correlation where they die out"),
        (lambda: correlation_time(critical_scale("tanh", 1.0), "tanh", 1.0), "no correlation time at scale=1.85559"),
        (lambda: correlation_map(0.5, 2**0.5, "relu", 1.0), "grows without bound"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()
