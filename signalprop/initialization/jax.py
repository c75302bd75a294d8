"""Initializers of recurrent kernels and biases of gates for JAX, like those of `jax.nn.initializers`; JAX is an extra, ``jax``.

Loaded when it is first used, as ``signalprop.initialization.jax``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np

from signalprop._checks import positive_float, shown, whole_tuple
from signalprop._cost import refuse_beyond_bounds
from signalprop._extras import required

with required("signalprop.initialization.jax", "jax"):
    import jax
    from jax import numpy as jnp

from signalprop.fields import Field, choices
from signalprop.initialization._asked import steps_of
from signalprop.initialization._entries import FIELD_OF_DTYPE, MOST_GATES, EntryScale, ScaleOptions, block_width
from signalprop.initialization.starts import longest_odds
from signalprop.meanfield import keeping_bias

__all__ = ["chrono", "ginibre", "orthogonal"]


def ginibre(
    horizon: int | None = None, *, scale: float | None = None, **options: Unpack[ScaleOptions]
) -> jax.nn.initializers.Initializer:
    r"""Initializer of recurrent kernels with independent Gaussian entries, E|w_ij|^2 = g^2/n, g from `safe_scale`.

    Parameters
    ----------
    horizon
        Number of steps T the signal should survive, 1 <= T <= 1e6.
    scale
        g itself, instead of `horizon`: ``scale=1.0`` is Glorot.
    **options
        ``criterion``, ``model``, ``tolerance``, ``quantile``, ``bound`` of `safe_scale`, with its defaults. For anything
        further call `safe_scale` and give its answer as `scale`.

    Returns
    -------
    callable
        ``init(key, shape, dtype=None, out_sharding=None) -> jax.Array``, which Flax takes as ``recurrent_kernel_init``.

        - `shape`: (n, n), or gates of square kernels side by side as (n, gates * n), as in the cells of Flax, or stacked as
          (gates * n, n), as in ``weight_hh`` of Equinox, at most four. The fan-in is n in each case. For a stack of layers or
          heads map over keys by `jax.vmap`.
        - `dtype`: float16, bfloat16, float32 or float64 (real weights), complex64 or complex128 (complex weights, real and
          imaginary part independent with variance g^2/(2n) each); JAX's default float where it is left out. Drawn in float32
          at least, then rounded to the type.
        - `out_sharding`: as in `jax.nn.initializers`, for a JAX that knows it.

        It can be jitted with `shape` and `dtype` static; g is worked out in Python when it is traced, once for each width.

    Raises
    ------
    ValueError
        Both or neither of `horizon` and `scale`, an option that the criterion does not read, or values out of range; from the
        initializer another shape or type, or a horizon that is out of reach for the weights of that type.

    Notes
    -----
    The scale is that of the linear recurrence h <- W h. It is exact there and right for tanh as long as signals are small; with
    inputs that are not small tanh keeps a gradient at ``scale=meanfield.critical_scale("tanh", input_std)``, which is not what
    trained best. The state of a GRU or an LSTM is
    kept by a gate, not by W: `chrono` starts its biases, and the scale comes second.

    Examples
    --------
    >>> import jax
    >>> w = ginibre(200, criterion="bounded")(jax.random.key(0), (512, 512))
    >>> round(float((w**2).sum(1).mean() ** 0.5), 2)      # g
    0.87
    """
    scales = EntryScale(horizon, scale, options)

    def init(key: jax.Array, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> jax.Array:
        wanted = _dtype(float if dtype is None else dtype)
        sizes = whole_tuple(shape, "shape", _MOST_AXES)
        std = scales.std(sizes, wanted.name, wide=True)
        if not isinstance(key, jax.core.Tracer):  # under a transform nothing is drawn yet
            numbers = float(math.prod(sizes)) / (1 if out_sharding is None else jax.device_count())
            refuse_beyond_bounds(f"a kernel of shape {sizes}", memory=2.0 * wanted.itemsize * numbers)
        drawn = jnp.dtype(jnp.float32) if wanted.itemsize < 4 else wanted  # float16, bfloat16
        placed = {} if out_sharding is None else {"out_sharding": out_sharding}
        # jax.random.normal: variance 1, for complex types split evenly between the two parts.
        values = jax.random.normal(key, sizes, drawn, **placed) * std
        return values if drawn == wanted else values.astype(wanted)

    return init


def orthogonal(scale: float = 1.0) -> jax.nn.initializers.Initializer:
    """Initializer of recurrent kernels that are g times an orthogonal matrix, each gate by itself.

    `jax.nn.initializers.orthogonal` takes gates side by side, (n, gates * n), for one matrix with orthonormal rows: each gate
    of an LSTM then is at half the scale, that of a GRU at 1/sqrt(3).

    Parameters
    ----------
    scale
        g.

    Returns
    -------
    callable
        ``init(key, shape, dtype=None, out_sharding=None) -> jax.Array``, as `ginibre` has it, for real weights; it takes no
        `out_sharding`.

    Raises
    ------
    ValueError
        A scale that is not positive and finite; from the initializer another shape or type.

    Examples
    --------
    >>> import jax
    >>> w = orthogonal()(jax.random.key(0), (64, 4 * 64))      # the kernel of an LSTM
    >>> forget = w[:, 64:128]
    >>> bool(abs(forget.T @ forget - jax.numpy.eye(64)).max() < 1e-5)
    True
    """
    g = positive_float(scale, "scale")

    def init(key: jax.Array, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> jax.Array:
        wanted = _real(dtype)
        sizes = whole_tuple(shape, "shape", _MOST_AXES)
        _refuse_sharding(out_sharding)
        n = block_width(sizes, wide=True)
        keys = jax.random.split(key, max(sizes) // n)
        drawn = jnp.dtype(jnp.float32) if wanted.itemsize < 4 else wanted
        draw = jax.nn.initializers.orthogonal(g)
        gates = [draw(one, (n, n), drawn) for one in keys]
        return jnp.concatenate(gates, axis=0 if sizes[0] >= sizes[1] else 1).astype(wanted)

    return init


def chrono(horizon: int, signs: Sequence[int] = (1,), input_std: float = 0.0) -> jax.nn.initializers.Initializer:
    r"""Initializer of biases of gates for memories of 2 to `horizon` steps, also where inputs shake the gates.

    b = log u, u uniform in [1, T - 1] for each unit; or with inputs the b' for which a gate keeps as much energy per step as one
    of bias b does without, E sigmoid(b' + s z)^2 = sigmoid(b)^2 with z standard normal: `meanfield.keeping_bias`.

    Parameters
    ----------
    horizon
        T, 1 to 1e6. For 1 and 2 each b is 0, gates half open.
    signs
        One for each gate in a vector of biases: 1 where the gate keeps the state near 1, -1 where it lets new things in, 0 for
        all other gates, whose biases are 0. All gates of a unit have the same u. An LSTM whose gates are stacked as input,
        forget, cell, output has (-1, 1, 0, 0); a GRU stacked as reset, update, new (0, 1, 0).
    input_std
        s, standard deviation of what inputs add to the preactivations of these gates, 0 to 10: 1 for input kernels of variance
        1/(input size) and inputs of unit variance. At s = 1 biases rise by up to 0.5, at s = 3 by up to 4.5.

    Returns
    -------
    callable
        ``init(key, shape, dtype=None, out_sharding=None) -> jax.Array`` for real vectors of shape (gates * n,); it takes no
        `out_sharding`.

    Raises
    ------
    ValueError
        A horizon or an `input_std` out of range; signs that are not 1, -1 or 0; from the initializer another shape or type.

    Notes
    -----
    Tallec and Ollivier (arXiv:1804.11188), for s = 0. A gate with bias b and little input keeps sigmoid(b) of the state per step,
    which is a memory of 1 + e^b steps.

    b' is read from a table that is made by NumPy when `chrono` is called, within a second, and interpolated under `jax.jit`:
    right to 1e-4, up to the rounding of the type.

    Examples
    --------
    >>> import jax
    >>> b = chrono(200, (-1, 1, 0, 0))(jax.random.key(0), (4 * 64,))
    >>> i, f, g, o = jax.numpy.split(b, 4)
    >>> bool((i == -f).all()), bool(f.min() >= 0), bool(f.max() <= jax.numpy.log(199.0))
    (True, True, True)
    >>> shaken = chrono(200, (-1, 1, 0, 0), input_std=3.0)(jax.random.key(0), (4 * 64,))
    >>> bool(3.0 < (shaken - b)[64:128].max() < 4.5)      # of the forget gates
    True
    """
    odds = longest_odds(steps_of(horizon))
    factors = whole_tuple(signs, "signs", MOST_GATES)
    if not factors or not set(factors) <= {-1, 0, 1}:
        raise ValueError(f"signs must be 1, -1 or 0 for each gate, got {shown(signs)}.")
    plain = np.linspace(0.0, math.log(odds), _TABLE)
    kept = keeping_bias(plain, input_std)

    def init(key: jax.Array, shape: Sequence[int], dtype: Any = None, out_sharding: Any = None) -> jax.Array:
        wanted = _real(dtype)
        sizes = whole_tuple(shape, "shape", _MOST_AXES)
        _refuse_sharding(out_sharding)
        if len(sizes) != 1 or sizes[0] < 1 or sizes[0] % len(factors):
            raise ValueError(
                f"shape must be (gates * n,) where signs={factors} has one for each of {len(factors)} gates, got {sizes}."
            )
        drawn = jnp.dtype(jnp.float32) if wanted.itemsize < 4 else wanted
        b = jnp.log(jax.random.uniform(key, (sizes[0] // len(factors),), drawn, 1.0, odds))
        if input_std > 0.0:
            b = jnp.full_like(b, kept[0]) if odds == 1.0 else jnp.interp(b, plain.astype(drawn), kept.astype(drawn))
        return jnp.concatenate([sign * b for sign in factors]).astype(wanted)

    return init


_TABLE = 1025  # entries: errors of b' of 3e-5 at input_std 10, 8e-6 at 3
_MOST_AXES = 64


def _dtype(dtype: Any) -> Any:
    """Python's own types mean JAX's default precision, NumPy's mean what they say."""
    try:
        return jnp.result_type(dtype) if dtype is float or dtype is complex else jnp.dtype(dtype)
    except (TypeError, ValueError):
        raise ValueError(f"dtype must be a type of numbers such as 'float32', got {shown(dtype)}.") from None


def _real(dtype: Any) -> Any:
    wanted = _dtype(float if dtype is None else dtype)
    if FIELD_OF_DTYPE.get(wanted.name) is not Field.REAL:
        real = [name for name, field in FIELD_OF_DTYPE.items() if field is Field.REAL]
        raise ValueError(f"dtype must be {choices(real)}, got {wanted.name}.")
    return wanted


def _refuse_sharding(out_sharding: Any) -> None:
    if out_sharding is not None:
        raise ValueError(f"out_sharding is not taken here, got {shown(out_sharding)}; shard what was drawn.")
