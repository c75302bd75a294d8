"""The weights themselves: n x n matrices applied step by step, tied or fresh at every layer, linear or rectified.

This is the definition, and the sampler for what the width-free law does not cover: activations, untied layers, and
the energy ||h(t)||^2/n of the driven recurrence with a fresh input at each step.

Quaternion weights act on C^{2n} through [[A, B], [-conj B, conj A]] (q = a + b j); a quaternion vector is one
complex column of length 2n with the same norm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import finite_number, flag, shown, whole_number
from signalprop._threads import go_on
from signalprop.activations import SampledActivation
from signalprop.fields import Field, member
from signalprop.ginibre._arguments import generator_of, sizes
from signalprop.ginibre._normals import fill_normal

MAX_N = 10_000
_CHUNK_NUMBERS = 1 << 21


@dataclass(frozen=True, slots=True)
class Layer:
    """How one step acts: ``h <- phi(gain W h)``, with the gain that keeps E||h||^2 at infinite width.

    gain = 1 (linear), sqrt(2) (ReLU), sqrt(2/(1 + slope^2)) (leaky ReLU), since for a centred Gaussian z
    E relu(z)^2 = E z^2 / 2 and E leaky(z)^2 = (1 + slope^2)/2 E z^2 (He et al., arXiv:1502.01852).
    """

    activation: SampledActivation = SampledActivation.LINEAR
    negative_slope: float = 0.0
    tied: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", member(SampledActivation, self.activation, "activation"))
        object.__setattr__(self, "negative_slope", finite_number(self.negative_slope, "negative_slope"))
        object.__setattr__(self, "tied", flag(self.tied, "tied"))

    @property
    def gain(self) -> float:
        """Factor on the weights that makes the activation preserve the mean energy."""
        match self.activation:
            case SampledActivation.LINEAR:
                return 1.0
            case SampledActivation.RELU | SampledActivation.LEAKY_RELU:
                return math.sqrt(2.0 / (1.0 + self.slope**2))
            case _:
                assert_never(self.activation)

    def apply(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """The activation, without the gain."""
        match self.activation:
            case SampledActivation.LINEAR:
                return values
            case SampledActivation.RELU | SampledActivation.LEAKY_RELU:
                return np.where(values > 0, values, self.slope * values)  # type: ignore[operator]
            case _:
                assert_never(self.activation)

    @property
    def slope(self) -> float:
        """Factor on what is below zero."""
        match self.activation:
            case SampledActivation.LINEAR:
                return 1.0
            case SampledActivation.RELU:
                return 0.0
            case SampledActivation.LEAKY_RELU:
                return self.negative_slope
            case _:
                assert_never(self.activation)


def samples_per_chunk(n: int, field: Field) -> int:
    """Samples of one chunk, a function of the cell alone.

    Raises
    ------
    ValueError
        If n is above 10000.
    """
    n, _, field = sizes(n, 0, field)
    if n > MAX_N:
        raise ValueError(
            f"n must be at most {MAX_N} for method='dense', got {n}; use method='krylov', whose cost does not depend on n."
        )
    return max(1, min(256, _CHUNK_NUMBERS // (field.beta * n * n)))


def room(n: int, k: int, field: Field, count: int, tied: bool) -> float:
    """Bytes that drawing a chunk of `count` samples takes."""
    numbers = field.beta * n * (n + 8.0 if tied else 8.0)
    if field is Field.QUATERNION:  # blocks of complex numbers beside their halves
        numbers *= 3.0
    return 8.0 * count * (numbers + 5.0 * (k + 1.0))


def draw_chunk(
    n: int, k: int, field: Field, layer: Layer, count: int, rng: np.random.Generator, driven: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Log-norms of `count` samples, shape (count, k+1): ``log ||h(k')||/||x||`` and, linear only, ``log ||h(t)||/sqrt(n)``.

    The second path is the driven recurrence h <- W h + x with a fresh standard Gaussian x at each step; without `driven` it may
    be left out, which does not change the first one. The caller holds BLAS to one thread, so that the digits do not depend on
    its thread count.
    """
    n, k, field = sizes(n, k, field)
    if not isinstance(layer, Layer):
        raise ValueError(f"layer must be a signalprop.ginibre.dense.Layer, got {shown(layer)}.")
    if layer.tied:
        samples_per_chunk(n, field)
    count = whole_number(count, "count", 1)
    generator_of(rng)
    flag(driven, "driven")
    if layer.tied:
        return _tied(n, k, field, layer, count, rng, driven)
    return _untied(n, k, field, layer, count, rng)


def weights(n: int, field: Field, count: int, rng: np.random.Generator) -> NDArray[np.float64] | NDArray[np.complex128]:
    """`count` matrices W with E|w_ij|^2 = 1/n; shape (count, n, n), complex (count, 2n, 2n) for quaternions."""
    n, _, field = sizes(n, 0, field)
    count = whole_number(count, "count", 1)
    generator_of(rng)
    part = 1.0 / math.sqrt(field.beta * n)
    match field:
        case Field.REAL:
            return fill_normal(rng, np.empty((count, n, n)), part)
        case Field.COMPLEX:
            return _proper(rng, (count, n, n), part)
        case Field.QUATERNION:
            a, b = _proper(rng, (count, n, n), part), _proper(rng, (count, n, n), part)
            blocks = np.empty((count, 2 * n, 2 * n), np.complex128)
            blocks[:, :n, :n], blocks[:, :n, n:] = a, b
            go_on()
            np.conjugate(a, out=blocks[:, n:, n:])
            np.negative(np.conjugate(b, out=blocks[:, n:, :n]), out=blocks[:, n:, :n])
            return blocks
        case _:
            assert_never(field)


def _proper(rng: np.random.Generator, shape: tuple[int, ...], part: float) -> NDArray[np.complex128]:
    """Complex Gaussians with independent parts of standard deviation `part`."""
    return fill_normal(rng, np.empty((*shape[:-1], 2 * shape[-1])), part).view(np.complex128)


def _inputs(n: int, field: Field, count: int, rng: np.random.Generator) -> NDArray[np.float64] | NDArray[np.complex128]:
    """Inputs with E x x* = I over the field, shape (count, n) or (count, 2n)."""
    match field:
        case Field.REAL:
            return fill_normal(rng, np.empty((count, n)))
        case Field.COMPLEX:
            return _proper(rng, (count, n), 1.0 / math.sqrt(2.0))
        case Field.QUATERNION:
            return _proper(rng, (count, 2 * n), 0.5)
        case _:
            assert_never(field)


def _log_norm(vectors: NDArray[np.generic]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):  # a rectified state can die: its log-norm is -inf
        logs: NDArray[np.float64] = np.log(np.linalg.norm(vectors, axis=1))
    return logs


def _matvec(w: NDArray[Any], h: NDArray[Any]) -> NDArray[Any]:
    """W h for each sample; one matrix-vector product at a time is what BLAS does best."""
    product: NDArray[Any] = np.matmul(w, h[:, :, None])[:, :, 0]
    return product


def _tied(
    n: int, k: int, field: Field, layer: Layer, count: int, rng: np.random.Generator, driven: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    w = weights(n, field, count, rng)
    x = _inputs(n, field, count, rng)
    rnn_logs = np.zeros((count, k + 1))
    lru_logs = np.zeros((count, k + 1)) if driven and layer.activation is SampledActivation.LINEAR else None
    # Unit vector and log of its norm for h <- W h; for the driven recurrence both h and the inputs are divided by
    # the running norm, so its scale cannot overflow either.
    h = x / np.linalg.norm(x, axis=1, keepdims=True)
    state, state_log = x, np.zeros(count)
    if lru_logs is not None:
        lru_logs[:, 0] = _log_norm(state) - 0.5 * math.log(n)
    for step in range(1, k + 1):
        go_on()
        h = layer.apply(layer.gain * _matvec(w, h))
        if lru_logs is not None:
            state = _matvec(w, state) + _inputs(n, field, count, rng) * np.exp(-state_log)[:, None]
            norm = np.linalg.norm(state, axis=1)
            state = state / norm[:, None]
            state_log = state_log + np.log(norm)
            lru_logs[:, step] = state_log - 0.5 * math.log(n)
        norms = _log_norm(h)
        rnn_logs[:, step] = rnn_logs[:, step - 1] + norms
        h = h / np.where(np.isfinite(norms), np.exp(norms), 1.0)[:, None]
    return rnn_logs, lru_logs


def _untied(
    n: int, k: int, field: Field, layer: Layer, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Fresh weights at every layer: given h, W h is Gaussian with covariance ||h||^2/n, so n numbers per layer suffice."""
    linear = layer.activation is SampledActivation.LINEAR
    rnn_logs = np.zeros((count, k + 1))
    lru_logs = np.zeros((count, k + 1)) if linear else None
    energy_log = 2.0 * (_log_norm(_inputs(n, field, count, rng)) - 0.5 * math.log(n))
    if lru_logs is not None:
        lru_logs[:, 0] = 0.5 * energy_log
    for step in range(1, k + 1):
        go_on()
        factor = _log_norm(layer.apply(layer.gain * _inputs(n, field, count, rng))) - 0.5 * math.log(n)
        rnn_logs[:, step] = rnn_logs[:, step - 1] + factor
        if lru_logs is not None:
            fresh = _log_norm(_inputs(n, field, count, rng)) - 0.5 * math.log(n)
            energy_log = np.logaddexp(energy_log, 0.0) + 2.0 * fresh
            lru_logs[:, step] = 0.5 * energy_log
    return rnn_logs, lru_logs
