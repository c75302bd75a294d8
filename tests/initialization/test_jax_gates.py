"""Kernels that are orthogonal gate by gate and biases of gates, for the cells of JAX' libraries."""

import math

import jax
import numpy as np
import pytest
from jax import numpy as jnp
from scipy import stats

from signalprop.initialization.jax import chrono, orthogonal
from signalprop.meanfield import keeping_bias

KEY = jax.random.key(3)


@pytest.mark.parametrize("shape", [(40, 40), (40, 120), (160, 40)])
@pytest.mark.parametrize("g", [1.0, 1.7])
def test_each_gate_is_orthogonal(shape, g):
    w = np.asarray(orthogonal(g)(KEY, shape), np.float64)
    blocks = np.split(w, max(shape) // 40, axis=int(shape[1] > shape[0]))
    for block in blocks:
        np.testing.assert_allclose(block.T @ block, g * g * np.eye(40), atol=1e-5)
    assert not any(np.allclose(blocks[0], other) for other in blocks[1:])


def test_what_jax_makes_of_gates_side_by_side():
    """The sentence of the docstring: one matrix with orthonormal rows, so each gate has half the scale."""
    w = jax.nn.initializers.orthogonal()(KEY, (64, 256))
    for block in jnp.split(w, 4, axis=1):
        assert float((block**2).sum(1).mean() ** 0.5) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("horizon", [3, 200, 10**6])
def test_the_law(horizon):
    b = np.asarray(chrono(horizon)(KEY, (4000,)), np.float64)
    assert stats.kstest((np.exp(b) - 1.0) / (horizon - 2.0), "uniform").pvalue > 0.01
    assert b.min() >= 0.0
    assert b.max() <= math.log(horizon - 1) + 1e-6


@pytest.mark.parametrize("horizon", [1, 3, 200, 10**6])
@pytest.mark.parametrize("input_std", [0.3, 3.0, 10.0])
def test_what_makes_up_for_inputs(horizon, input_std):
    """b' of the same b as without inputs, by the table against the solution."""
    plain = np.asarray(chrono(horizon)(KEY, (500,)), np.float64)
    init = chrono(horizon, (-1, 1), input_std)
    found = np.asarray(jax.jit(init, static_argnums=1)(KEY, (1000,)), np.float64)
    np.testing.assert_allclose(found[500:], keeping_bias(plain, input_std), rtol=0, atol=1e-4)
    np.testing.assert_array_equal(found[:500], -found[500:])


@pytest.mark.parametrize("signs", [(-1, 1, 0, 0), (0, 1, 0), (1, 0, 0), (1,), (-1,)])
def test_signs_say_which_gate_gets_it(signs):
    b = np.asarray(chrono(100, signs)(KEY, (50 * len(signs),))).reshape(len(signs), 50)
    one = np.asarray(chrono(100)(KEY, (50,)))
    for sign, values in zip(signs, b, strict=True):
        np.testing.assert_array_equal(values, sign * one)


def test_short_horizons():
    assert not chrono(1)(KEY, (5,)).any()
    assert not chrono(2, (1, -1))(KEY, (6,)).any()


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16, jnp.float32])
def test_types_jit_and_vmap(dtype):
    for init, shape in ((chrono(50, (-1, 1)), (8,)), (orthogonal(), (4, 16))):
        drawn = init(KEY, shape, dtype)
        assert drawn.dtype == dtype
        np.testing.assert_allclose(jax.jit(init, static_argnums=(1, 2))(KEY, shape, dtype), drawn, rtol=1e-2, atol=1e-3)
        layers = jax.vmap(lambda key, init=init, shape=shape: init(key, shape, dtype))(jax.random.split(KEY, 3))
        assert layers.shape == (3, *shape)


def energies(cell, gates, input_std, kernel, bias, key, horizon=100, n=64):
    """Of a random gradient at the last state and when it has arrived at the first: a cell written out, with unit inputs."""
    inputs, last = jax.random.split(key)
    x = input_std * jax.random.normal(inputs, (horizon, gates * n))
    carry = (jnp.zeros(n), jnp.zeros(n))

    def run(start):
        return jax.lax.scan(lambda state, u: (cell(state, u, kernel, bias), None), start, x)[0]

    _, back = jax.vjp(run, carry)
    sent = tuple(jax.random.normal(k, (n,)) for k in jax.random.split(last))
    if gates == 3:
        sent = (sent[0], jnp.zeros(n))
    return sent, back(sent)[0]


def median_log_gradient(cell, gates, input_std, kernels, biases, keys):
    """Median over draws of the logarithm of their ratio."""
    both = jax.vmap(lambda *draw: energies(cell, gates, input_std, *draw))(kernels, biases, keys)
    # Doubles, as the squares of what is left are below the smallest float32.
    before, after = (sum((np.asarray(g, np.float64) ** 2).sum(1) for g in some) for some in both)
    return float(np.median(np.log(after / before)))


def lstm(state, u, kernel, bias):
    h, c = state
    i, f, g, o = jnp.split(u + h @ kernel + bias, 4)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def gru(state, u, kernel, bias):
    h, c = state
    ur, uz, un = jnp.split(u + bias, 3)
    wr, wz, wn = jnp.split(h @ kernel, 3)
    z = jax.nn.sigmoid(uz + wz)
    return (1 - z) * jnp.tanh(un + jax.nn.sigmoid(ur + wr) * wn) + z * h, c


@pytest.mark.parametrize(
    ("cell", "signs"), [pytest.param(lstm, (-1, 1, 0, 0), marks=pytest.mark.slow), (gru, (0, 1, 0))]
)
@pytest.mark.parametrize("s", [pytest.param(1.0, marks=pytest.mark.slow), 3.0])
def test_the_gradient_flows(cell, signs, s):
    n, gates = 64, len(signs)
    keys, kernels, biases = (jax.random.split(jax.random.key(seed), 8) for seed in range(3))
    w = jax.vmap(lambda key: orthogonal()(key, (n, gates * n)))(kernels)
    plain = jax.vmap(lambda key: jax.nn.initializers.orthogonal()(key, (n, gates * n)))(kernels)
    b = jax.vmap(lambda key: chrono(100, signs, s)(key, (gates * n,)))(biases)
    assert abs(median_log_gradient(cell, gates, s, w, b, keys)) < 6.0
    assert median_log_gradient(cell, gates, s, plain, 0.0 * b, keys) < -30.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chrono(0), "horizon must be at least 1, got 0"),
        (lambda: chrono(10, ()), r"signs must be 1, -1 or 0 for each gate, got \(\)"),
        (lambda: chrono(10, (2,)), r"signs must be 1, -1 or 0 for each gate, got \(2,\)"),
        (lambda: chrono(10, (1,), 11.0), "input_std must lie between 0 and 10, got 11.0. Normalise inputs"),
        (
            lambda: chrono(10, (0, 1, 0))(KEY, (10,)),
            r"shape must be \(gates \* n,\) where signs=.* has one for each of 3 gates, got \(10,\)",
        ),
        (lambda: chrono(10)(KEY, (2, 10)), r"shape must be \(gates \* n,\) where signs"),
        (lambda: chrono(10)(KEY, (10,), "complex64"), "dtype must be 'float16', .* got complex64"),
        (lambda: chrono(10)(KEY, (10,), "int32"), "dtype must be 'float16', .* got int32"),
        (lambda: chrono(10)(KEY, (10,), None, "data"), "out_sharding is not taken here"),
        (lambda: orthogonal(0.0), "scale must be a positive finite number"),
        (lambda: orthogonal()(KEY, (3, 5)), r"got shape \(3, 5\)"),
        (lambda: orthogonal()(KEY, (3, 3), "complex64"), "dtype must be 'float16'"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
