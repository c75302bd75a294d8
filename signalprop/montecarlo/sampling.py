"""`sample`: draws of the whole energy path for one width, and the estimates read off it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signalprop._blas import one_blas_thread_if
from signalprop._checks import flag, function_or_none, log_array, shown, whole_number
from signalprop._threads import cores, thread_map
from signalprop.fields import Field
from signalprop.ginibre.dense import Layer
from signalprop.methods import Method
from signalprop.montecarlo.cell import Cell, as_cell
from signalprop.montecarlo.cost import DAY, refuse_impossible
from signalprop.montecarlo.estimate import Estimate

_LARGEST_ARRAY = 1 << 27


@dataclass(frozen=True)
class Sample:
    """Draws of the path of one recurrence.

    With ``method="tempered"`` a row is not a draw but one repetition of `particles` particles: its energies are unbiased
    estimates of Q_{n,k'} (and of S_{n,t}), good for `rnn` and `lru`, and say nothing about what one draw does.

    Attributes
    ----------
    log_norms
        ``log(||h(k')||/||x||)`` for k' = 0..k, shape (samples, k+1), natural logs. The energy of a draw is
        ``exp(2 log_norms)``. A rectified state that died is -inf.
    lru_log_norms
        ``log(||h(t)||/sqrt(n))`` of the driven recurrence, same shape, or None for nonlinear layers and ``driven=False``. From
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
    particles: int = 1

    @property
    def samples(self) -> int:
        """Number of draws; of repetitions for ``method="tempered"``."""
        return int(self.log_norms.shape[0])

    @property
    def cell(self) -> Cell:
        """What was drawn."""
        return Cell(self.n, self.k, self.field, self.method, self.layer, self.samples * self.particles, self.seed)

    def rnn(self, k: int | None = None) -> Estimate:
        """Estimate of the mean energy Q after `k` steps (default: the last), with its exact value where known.

        Known: linear tied weights (Q_{n,k}), and 1 for fresh weights at every layer, activations included. The second moment,
        which then gives the error, is known for fresh weights and for linear tied ones: complex at any k (past 400 by its
        limit, H), real and quaternion up to k = 12. Its sum takes up to a quarter of a second per k, and is kept.
        """
        depth = self._step(k, "k")
        return self.cell.estimate("rnn", 2.0 * self.log_norms[:, depth], depth)

    def lru(self, t: int | None = None) -> Estimate:
        """Estimate of the mean energy S of the driven recurrence after `t` steps (default: the last).

        From ``method="krylov"`` its error is bounded by the second moments of the terms, where these are known.

        Raises
        ------
        ValueError
            For a nonlinear layer, whose driven recurrence is not sampled, and for draws made without it.
        """
        time = self._step(t, "t")
        if not self.cell.linear:
            raise ValueError(f"lru() needs activation='linear', got {str(self.layer.activation)!r}.")
        if self.lru_log_norms is None:
            raise ValueError("lru() needs the driven recurrence, which was left out; sample with driven=True.")
        return self.cell.estimate("driven", 2.0 * self.lru_log_norms[:, time], time)

    def peak(self, k: int | None = None) -> Estimate:
        """Distribution of max_{1<=k'<=k} ||h(k')||^2/||x||^2: how high one draw goes along the way, not only at the end.

        Quantiles come with intervals; no exact mean is known. For k = 0 it is the energy at the start, 1.

        Raises
        ------
        ValueError
            For ``method="tempered"``, whose rows are not draws.

        Examples
        --------
        >>> draw = sample(100, 50, "real", samples=500, seed=1)
        >>> draw.peak().median > draw.rnn().median
        True
        """
        depth = self._step(k, "k")
        if self.method is Method.TEMPERED:
            raise ValueError(
                "peak() needs single draws, and method='tempered' has repetitions of means instead; use method='krylov'."
            )
        return Estimate.from_logs(peaks(2.0 * self.log_norms[:, : depth + 1]), tempered=self.cell.temperable)

    def _step(self, value: int | None, name: str) -> int:
        if value is None:
            return self.k
        return whole_number(
            value, name, 0, self.k, "That is where the sampled path ends; sample again with a larger k."
        )


def sample(
    n: int,
    k: int,
    field: str = "real",
    *,
    samples: int,
    seed: int = 0,
    method: str = "krylov",
    activation: str = "linear",
    negative_slope: float = 0.01,
    tied: bool = True,
    driven: bool = True,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    watch: Callable[[NDArray[np.float64], NDArray[np.float64] | None], None] | None = None,
) -> Sample:
    r"""Draw the whole path of log-norms ``log ||h(k')||/||x||``, k' = 0..k, of `samples` random recurrences.

    Parameters
    ----------
    n, k
        Width, and number of steps.
    field
        ``"complex"``, ``"real"`` or ``"quaternion"`` Gaussian weights, E|w_ij|^2 = 1/n.
    samples
        Number of independent draws of W (and x), at least 2. For ``method="tempered"`` the number of particles, spread over
        16 independent repetitions, at least 128.
    seed
        Root seed. The digits depend on it and on the cell (n, k, field, method, layer) alone, not on the number of threads;
        different cells of one seed are independent. The first draws of a longer run are the draws of a shorter one, up to the
        last whole chunk.
    method
        ``"krylov"``: the width-free Hessenberg law (P), O(min(k, n)^2) random numbers per sample whatever n is,
        linear tied weights only. ``"dense"``: the n x n weights themselves, n <= 10000. ``"tempered"``: the rare-event sampler
        (`ginibre.tempered`), for the mean where the energy has a heavy tail, linear tied weights only.
    activation
        ``"linear"``, or ``"relu"`` / ``"leaky_relu"`` (real weights, method="dense"): h <- phi(gain W h) with the gain
        sqrt(2/(1 + negative_slope^2)) that preserves the mean energy at infinite width.
    negative_slope
        Slope of the leaky ReLU for negative arguments (PyTorch's default 0.01).
    tied
        False draws fresh weights at every layer: the feed-forward comparison.
    driven
        False leaves the driven recurrence out where that saves work: half of it for tied ``method="dense"``. `Sample.lru` is
        then refused; the other digits are the same.
    workers
        Threads (default: all cores).
    progress
        Called as ``progress(done, all)`` after each chunk of draws, or repetition.
    watch
        Called with the rows of `Sample.log_norms` and `Sample.lru_log_norms` that each chunk adds, for running estimates.

    Returns
    -------
    Sample

    Raises
    ------
    ValueError
        Unknown names, counts out of range, an activation that the field or the method does not have; work that is estimated to
        take more than a day, or more than 80 % of the memory (`signalprop.allow` lifts both).

    Examples
    --------
    >>> draw = sample(10**12, 20, samples=2000, seed=1)
    >>> draw.log_norms.shape
    (2000, 21)
    >>> abs(draw.rnn().z) < 4
    True
    """
    cell = as_cell(
        n, k, field, samples=samples, seed=seed, method=method, activation=activation, negative_slope=negative_slope,
        tied=tied,
    )  # fmt: skip
    flag(driven, "driven")
    function_or_none(progress, "progress")
    function_or_none(watch, "watch")
    threads = None if workers is None else whole_number(workers, "workers", 1)
    if cell.rows * (cell.k + 1) > _LARGEST_ARRAY:
        raise ValueError(
            f"samples * (k + 1) must be at most {_LARGEST_ARRAY} (the paths fill 1 GiB), got {cell.rows} * {cell.k + 1}; "
            "draw fewer samples or a shorter path."
        )
    refuse_impossible(
        f"{cell.samples} samples of width {shown(cell.n)} and {cell.k} steps", [cell], min(threads or cores(), cell.chunks),
        40 * (cell.k + 1), DAY,
    )  # fmt: skip
    rnn_parts: list[NDArray[np.float64]] = []
    lru_parts: list[NDArray[np.float64]] = []
    done = 0
    # The threads are ours: BLAS keeps to one, for speed and so that the digits do not depend on its thread count.
    with one_blas_thread_if(cell.method is Method.DENSE):
        chunks = thread_map(lambda chunk: cell.draw(chunk, driven), range(cell.chunks), threads, inline=False)
        for rnn_logs, lru_logs in chunks:
            rnn_parts.append(rnn_logs)
            if lru_logs is not None:
                lru_parts.append(lru_logs)
            done += len(rnn_logs)
            if progress is not None:
                progress(done, cell.rows)
            if watch is not None:
                watch(rnn_logs, lru_logs)
    return gathered(cell, rnn_parts, lru_parts)


def gathered(cell: Cell, rnn_parts: Sequence[NDArray[np.float64]], lru_parts: Sequence[NDArray[np.float64]]) -> Sample:
    """The sample made of those chunks of a cell that have been drawn."""
    return Sample(
        cell.n,
        cell.k,
        cell.field,
        cell.method,
        cell.layer,
        cell.seed,
        np.concatenate(rnn_parts),
        np.concatenate(lru_parts) if lru_parts else None,
        cell.particles,
    )


def peaks(log_energies: NDArray[np.float64]) -> NDArray[np.float64]:
    """Highest log-energy of each path over 1 <= k' <= k, from paths of shape (draws, k+1); for k = 0 the start."""
    paths = log_array(log_energies, "log_energies", 2)
    highest: NDArray[np.float64] = paths[:, min(1, paths.shape[1] - 1) :].max(axis=1)
    return highest
