import functools

import jax
import numpy as np
import pytest
from gaussian import (
    assert_complex_gaussian,
    assert_real_gaussian,
    z_of_power,
    z_of_product,
    z_of_share_within,
)
from jax import numpy as jnp

from signalprop import safe_scale
from signalprop.initialization.jax import ginibre


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("gates", [1, 3, 4])
def test_real_entries(dtype, gates):
    n, g = 150, 0.8
    w = ginibre(scale=g)(jax.random.key(20 + gates), (gates * n, n), dtype)
    assert w.dtype == dtype
    blocks = np.asarray(w).reshape(gates, n, n)
    for block in blocks:
        assert_real_gaussian(block, g**2 / n)
    for a in range(gates):
        for b in range(a):
            assert abs(z_of_product(blocks[a], blocks[b], g**2 / n)) < 4


def test_gates_side_by_side():
    n, g = 150, 0.8
    w = ginibre(scale=g)(jax.random.key(11), (n, 3 * n))
    for block in np.split(np.asarray(w), 3, axis=1):
        assert_real_gaussian(block, g**2 / n)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("dtype", [jnp.complex64, jnp.complex128])
def test_complex_entries(dtype):
    n, g = 200, 1.1
    w = ginibre(scale=g)(jax.random.key(5), (n, n), dtype)
    assert w.dtype == dtype
    assert_complex_gaussian(w, g**2 / n)


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_storage_in_16_bits_keeps_the_scale(dtype):
    n, g = 1000, 0.93
    init = ginibre(scale=g)
    w = init(jax.random.key(1), (n, n), dtype)
    assert w.dtype == dtype
    np.testing.assert_array_equal(w, init(jax.random.key(1), (n, n)).astype(dtype))
    # Rounding moves the sum of squares by about eps^2, far below its sampling error of 1e-3.
    assert abs(z_of_power(np.asarray(w, dtype=np.float64), g**2 / n)) < 4


FEW = [("bfloat16", False), ("complex64", True), ("float64", False), (None, True)]
DTYPES = ("bfloat16", "float16", "float32", "float64", "complex64", "complex128", float, complex, None)


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [
        (dtype, wide) if (dtype, wide) in FEW else pytest.param(dtype, wide, marks=pytest.mark.slow)
        for wide in (False, True)
        for dtype in DTYPES
    ],
)
def test_strict_promotion(dtype, wide):
    init = ginibre(scale=0.8)
    with jax.enable_x64(wide):
        if not wide and dtype in ("float64", "complex128"):
            with pytest.warns(UserWarning, match="is not available"):
                want = init(jax.random.key(0), (40, 40), dtype)
            with jax.numpy_dtype_promotion("strict"), pytest.warns(UserWarning, match="is not available"):
                got = init(jax.random.key(0), (40, 40), dtype)
        else:
            want = init(jax.random.key(0), (40, 40), dtype)
            with jax.numpy_dtype_promotion("strict"):
                got = init(jax.random.key(0), (40, 40), dtype)
                jitted = jax.jit(init, static_argnums=(1, 2))(jax.random.key(0), (40, 40), dtype)
            assert jitted.dtype == want.dtype
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_type_that_is_left_out_is_the_default_of_jax():
    init = ginibre(scale=1.0)
    for dtype in ((), (None,), (float,), ("float32",)):
        assert init(jax.random.key(0), (4, 4), *dtype).dtype == jnp.float32
    assert init(jax.random.key(0), (4, 4), complex).dtype == jnp.complex64
    with pytest.warns(UserWarning, match="dtype float64 is not available"):
        init(jax.random.key(0), (4, 4), jnp.float64)
    with jax.enable_x64(True):
        assert init(jax.random.key(0), (4, 4)).dtype == jnp.float64


@pytest.mark.parametrize(
    ("dtype", "field"), [(jnp.float32, "real"), (jnp.bfloat16, "real"), (jnp.complex64, "complex")]
)
@pytest.mark.parametrize(
    "options", [{}, {"quantile": 0.9, "bound": 4.0}, {"criterion": "bounded", "tolerance": 0.3, "model": "lru"}]
)
def test_the_scale_is_that_of_safe_scale(dtype, field, options):
    n, horizon, key = 24, 30, jax.random.key(2)
    g = safe_scale(n, horizon, field, **options).scale
    w = ginibre(horizon, **options)(key, (n, n), dtype)
    np.testing.assert_array_equal(w, ginibre(scale=g)(key, (n, n), dtype))


def test_the_promise_holds_for_what_was_drawn():
    n, horizon, count = 32, 40, 3000
    init = ginibre(horizon)
    draw = jax.vmap(lambda key: init(key, (n, n), jnp.complex64))
    h = jnp.zeros((count, n, 1), jnp.complex64).at[:, 0].set(1.0)
    w = draw(jax.random.split(jax.random.key(3), count))
    log_energies = []
    for _ in range(horizon):
        h = w @ h
        log_energies.append(2.0 * jnp.log(jnp.linalg.norm(h, axis=(1, 2))))
    assert abs(z_of_share_within(np.stack(log_energies, axis=1), 10.0, 0.95)) < 3.5


def test_numbers_come_from_the_key():
    init = ginibre(scale=1.0)
    first = init(jax.random.key(7), (20, 20))
    np.testing.assert_array_equal(init(jax.random.key(7), (20, 20)), first)
    np.testing.assert_array_equal(init(jax.random.PRNGKey(7), (20, 20)), first)
    assert not np.isclose(init(jax.random.key(8), (20, 20)), first).any(axis=1).all()


def test_jit_and_vmap():
    init = ginibre(25, criterion="bounded")
    keys = jax.random.split(jax.random.key(0), 5)
    each = np.stack([init(key, (12, 12)) for key in keys])
    np.testing.assert_allclose(jax.vmap(lambda key: init(key, (12, 12)))(keys), each, rtol=1e-6)
    jitted = jax.jit(init, static_argnums=(1, 2))
    np.testing.assert_allclose(jitted(keys[3], (12, 12), jnp.float32), each[3], rtol=1e-6)
    nested = jax.jit(jax.vmap(functools.partial(init, shape=(12, 12), dtype=jnp.float32)))
    np.testing.assert_allclose(nested(keys), each, rtol=1e-6)


def test_an_array_can_be_placed():
    mesh = jax.make_mesh((1,), ("rows",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(mesh):
        spec = jax.sharding.PartitionSpec("rows", None)
        w = ginibre(scale=1.0)(jax.random.key(0), (8, 8), jnp.bfloat16, spec)
        assert w.sharding.spec == spec


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda key: ginibre(10)(key, (3, 5)),
            r"or \(n, gates \* n\) where square gates are stacked, got shape \(3, 5\)",
        ),
        (lambda key: ginibre(10)(key, (9,)), r"got shape \(9,\)"),
        (lambda key: ginibre(10)(key, (2, 3, 3)), r"got shape \(2, 3, 3\)"),
        (lambda key: ginibre(10)(key, (0, 0)), r"got shape \(0, 0\)"),
        (lambda key: ginibre(10)(key, (0, 4)), r"got shape \(0, 4\)"),
        (
            lambda key: ginibre(10)(key, (256, 16)),
            r"shape \(256, 16\) would be 16 square gates, and a cell has at most 4",
        ),
        (
            lambda key: ginibre(10)(key, (16, 256)),
            r"shape \(16, 256\) would be 16 square gates, and a cell has at most 4",
        ),
        (lambda key: ginibre(10)(key, (3, 3), jnp.int32), "must have the dtype 'float16', .* got int32"),
        (lambda key: ginibre(10)(key, (3, 3), jnp.float8_e5m2), "got float8_e5m2"),
        (lambda key: ginibre(), "give either horizon"),
        (lambda key: ginibre(10, scale=1.0), "give either horizon"),
        (lambda key: ginibre(10, seed=1), "an option of the scale must be one of .* got 'seed'"),
        (lambda key: ginibre(scale=-2), "scale must be a positive finite number, got -2"),
        (lambda key: ginibre(0)(key, (3, 3)), "horizon must be at least 1, got 0"),
        (lambda key: ginibre(10, criterion="safe")(key, (3, 3)), "criterion must be one of"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call(jax.random.key(0))
