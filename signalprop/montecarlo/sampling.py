"""`sample`: draws of the whole energy path for one width, and the estimates read off it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from signalprop import energy
from signalprop._checks import positive_float, whole_number
from signalprop._threads import thread_map
from signalprop.fields import Field, as_field, choices
from signalprop.ginibre import dense, krylov
from signalprop.ginibre._streams import cell_key, chunk_sizes, generator
from signalprop.ginibre.dense import Activation, Layer
from signalprop.montecarlo.estimate import Estimate

Name = TypeVar("Name", bound=StrEnum)
_LARGEST_ARRAY = 1 << 27
_LARGEST_SLOPE = 1e6


class Method(StrEnum):
    """How the draws are made."""

    KRYLOV = "krylov"
    DENSE = "dense"


@dataclass(frozen=True)
class Sample:
    """Draws of the path of one recurrence.

    Attributes
    ----------
    log_norms
        ``log(||h(k')||/||x||)`` for k' = 0..k, shape (samples, k+1), natural logs. The energy of a draw is
        ``exp(2 log_norms)``. A rectified state that died is -inf.
    lru_log_norms
        ``log(||h(t)||/sqrt(n))`` of the driven recurrence, same shape, or None for nonlinear layers. From
        ``method="dense"`` this is the state itself, with a fresh input at each step. From ``method="krylov"`` it is
        half the log of sum_{k<=t} ||W^k x||^2/||x||^2, whose mean is S_{n,t} too, but whose law is that of the
        energy conditional on one input direction reused at each step.
    """

    n: int
    k: int
    field: Field
    method: Method
    layer: Layer
    seed: int
    log_norms: NDArray[np.float64]
    lru_log_norms: NDArray[np.float64] | None

    @property
    def samples(self) -> int:
        """Number of draws."""
        return int(self.log_norms.shape[0])

    def rnn(self, k: int | None = None) -> Estimate:
        """Estimate of the mean energy Q after `k` steps (default: the last), with its exact value where known.

        Known: linear tied weights (Q_{n,k}), and 1 for fresh weights at every layer, activations included.
        """
        depth = self._step(k, "k")
        log_exact: float | None = None
        if not self.layer.tied:
            log_exact = 0.0
        elif self.layer.activation is Activation.LINEAR and (
            self.field is Field.COMPLEX or depth <= energy.MAX_ZONAL_K
        ):
            log_exact = float(energy.rnn_energy(self.n, depth, self.field, log=True))
        return Estimate.from_logs(2.0 * self.log_norms[:, depth], log_exact)

    def lru(self, t: int | None = None) -> Estimate:
        """Estimate of the mean energy S of the driven recurrence after `t` steps (default: the last).

        Raises
        ------
        ValueError
            For a nonlinear layer, whose driven recurrence is not sampled.
        """
        time = self._step(t, "t")
        if self.lru_log_norms is None:
            raise ValueError(f"lru() needs activation='linear', got {str(self.layer.activation)!r}.")
        log_exact: float | None = None
        if not self.layer.tied:
            log_exact = math.log(time + 1)
        elif self.field is Field.COMPLEX or time <= energy.MAX_ZONAL_T:
            log_exact = float(energy.lru_energy(self.n, time, self.field, log=True))
        return Estimate.from_logs(2.0 * self.lru_log_norms[:, time], log_exact)

    def _step(self, value: int | None, name: str) -> int:
        if value is None:
            return self.k
        return whole_number(
            value, name, 0, self.k, "That is where the sampled path ends; sample again with a larger k."
        )


def sample(
    n: int,
    k: int,
    field: str = "complex",
    *,
    samples: int,
    seed: int = 0,
    method: str = "krylov",
    activation: str = "linear",
    negative_slope: float = 0.01,
    tied: bool = True,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Sample:
    r"""Draw the whole path of log-norms ``log ||h(k')||/||x||``, k' = 0..k, of `samples` random recurrences.

    Parameters
    ----------
    n, k
        Width, and number of steps.
    field
        ``"complex"``, ``"real"`` or ``"quaternion"`` Gaussian weights, E|w_ij|^2 = 1/n.
    samples
        Number of independent draws of W (and x), at least 2.
    seed
        Root seed. The digits depend on it and on the cell (n, k, field, method, layer) alone, not on the number of threads;
        different cells of one seed are independent. The first draws of a longer run are the draws of a shorter one, up to the
        last whole chunk.
    method
        ``"krylov"``: the width-free Hessenberg law (status P), O(min(k, n)^2) random numbers a sample whatever n is,
        linear tied weights only. ``"dense"``: the n x n weights themselves, n <= 10000.
    activation
        ``"linear"``, or ``"relu"`` / ``"leaky_relu"`` (real weights, method="dense"): h <- phi(gain W h) with the gain
        sqrt(2/(1 + negative_slope^2)) that preserves the mean energy at infinite width.
    negative_slope
        Slope of the leaky ReLU for negative arguments (PyTorch's default 0.01).
    tied
        False draws fresh weights at every layer: the feed-forward comparison.
    workers
        Threads (default: all cores).
    progress
        Called as ``progress(samples_done, samples)`` after each chunk.

    Returns
    -------
    Sample

    Raises
    ------
    ValueError
        Unknown names, counts out of range, an activation that the field or the method does not have.

    Examples
    --------
    >>> draw = sample(10**12, 20, samples=2000, seed=1)
    >>> draw.log_norms.shape
    (2000, 21)
    >>> abs(draw.rnn().z) < 4
    True
    """
    kind = as_field(field)
    width = whole_number(n, "n", 1, 10**18, "Use a width up to 1e18.")
    depth = whole_number(k, "k", 0)
    count = whole_number(samples, "samples", 2)
    root = whole_number(seed, "seed", 0)
    how = _named(Method, method, "method")
    if not isinstance(tied, bool):
        raise ValueError(f"tied must be True or False, got {tied!r}.")
    threads = None if workers is None else whole_number(workers, "workers", 1)
    layer = Layer(_named(Activation, activation, "activation"), _slope(negative_slope), tied)
    if layer.activation is not Activation.LINEAR and kind is not Field.REAL:
        raise ValueError(
            f"activation={activation!r} needs field='real', because it compares with zero; got field={str(kind)!r}."
        )
    if how is Method.KRYLOV and (layer.activation is not Activation.LINEAR or not layer.tied):
        raise ValueError(
            "method='krylov' covers linear tied weights only; use method='dense' for activations or tied=False."
        )
    if how is Method.KRYLOV:
        per_chunk = krylov.samples_per_chunk(width, depth, kind)
    elif layer.tied:
        per_chunk = dense.samples_per_chunk(width, kind)
    else:  # n numbers a layer and sample
        limit = _LARGEST_ARRAY // kind.beta
        width = whole_number(n, "n", 1, limit, "That many numbers a layer do not fit; the mean is exactly 1.")
        per_chunk = max(1, min(256, (1 << 22) // (kind.beta * width)))
    if count * (depth + 1) > _LARGEST_ARRAY:
        raise ValueError(
            f"samples * (k + 1) must be at most {_LARGEST_ARRAY} (the paths fill 1 GiB), got {count} * {depth + 1}; "
            "draw fewer samples or a shorter path."
        )

    sizes = chunk_sizes(count, per_chunk)
    cell = cell_key(width, depth, kind.value, how.value, layer.activation.value, layer.negative_slope, tied)

    def draw(chunk: int) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        rng = generator(root, cell, chunk)
        if how is Method.KRYLOV:
            logs = krylov.draw_chunk(width, depth, kind, sizes[chunk], rng)
            return logs, 0.5 * np.logaddexp.accumulate(2.0 * logs, axis=1)
        return dense.draw_chunk(width, depth, kind, layer, sizes[chunk], rng)

    rnn_parts: list[NDArray[np.float64]] = []
    lru_parts: list[NDArray[np.float64]] = []
    done = 0
    # The threads are ours: BLAS keeps to one, for speed and so that the digits do not depend on how many it would take.
    with threadpool_limits(1, user_api="blas"):
        for rnn_logs, lru_logs in thread_map(draw, range(len(sizes)), threads):
            rnn_parts.append(rnn_logs)
            if lru_logs is not None:
                lru_parts.append(lru_logs)
            done += len(rnn_logs)
            if progress is not None:
                progress(done, count)
    return Sample(
        width,
        depth,
        kind,
        how,
        layer,
        root,
        np.concatenate(rnn_parts),
        np.concatenate(lru_parts) if lru_parts else None,
    )


def _named(options: type[Name], value: str, argument: str) -> Name:
    try:
        return options(value)
    except ValueError:
        raise ValueError(f"{argument} must be one of {choices(options)}, got {value!r}.") from None


def _slope(value: float) -> float:
    if value == 0:
        return 0.0
    slope = positive_float(value, "negative_slope")
    if slope > _LARGEST_SLOPE:
        raise ValueError(f"negative_slope must be at most {_LARGEST_SLOPE:g}, got {value!r}.")
    return slope
