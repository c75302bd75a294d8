"""An initializer of recurrent weights for JAX, in the manner of `jax.nn.initializers`; JAX is an extra, ``jax``.

Loaded when it is first used, as ``signalprop.initialization.jax``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

from signalprop._checks import shown, whole_tuple
from signalprop._cost import refuse_beyond_bounds
from signalprop._extras import required

with required("signalprop.initialization.jax", "jax"):
    import jax
    from jax import numpy as jnp

from signalprop.initialization._entries import EntryScale, ScaleOptions

__all__ = ["ginibre"]


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
    The scale is that of the linear recurrence h <- W h. It is exact there and right for tanh as long as signals are small. For
    GRU and LSTM it promises nothing (H): their state is kept by a gate, and what counts for a memory of T steps is the
    bias of that gate, about log T, or log u with u uniform in [1, T - 1] for each unit (Tallec and Ollivier,
    arXiv:1804.11188).

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


_MOST_AXES = 64


def _dtype(dtype: Any) -> Any:
    """Python's own types mean JAX's default precision, NumPy's mean what they say."""
    try:
        return jnp.result_type(dtype) if dtype is float or dtype is complex else jnp.dtype(dtype)
    except (TypeError, ValueError):
        raise ValueError(f"dtype must be a type of numbers such as 'float32', got {shown(dtype)}.") from None
