r"""Lyapunov exponents of any step function by QR, beside those of independent Gaussian matrices.

A frame of orthonormal directions is carried by the derivatives of the steps, J_t Q_{t-1} = Q_t R_t, and

.. math:: \lambda_i=\frac1T\sum_{t\le T}\log|R_{t,ii}|

(Benettin et al.; Vogt et al., arXiv:2006.14123, for recurrent networks). Frames keep length 1 and logarithms are added:
nothing leaves the floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import function_or_none, positive_float, probability, seed_of, shown, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop._streams import stream
from signalprop.cells._linearised import linearised
from signalprop.meanfield import ginibre_exponents

Floats = NDArray[np.float64]
MAX_STEPS = 10**8
_QR_SECONDS = 1e-9  # per number and direction


@dataclass(frozen=True, eq=False)
class LyapunovExponents:
    """Lyapunov exponents, natural logarithm of lengths per step; of energies they are twice that.

    Attributes
    ----------
    exponents
        Shape (count,), in the order of QR: descending up to their errors. -inf for directions that a step sends to zero.
    stderr
        Standard errors by batch means: the spread of the means over `batches` consecutive parts of the path, over the square root
        of their number. Right where parts are longer than the memory of the path; NaN beside -inf.
    steps
        T, steps counted.
    size
        Numbers in the state.
    batches
        Number of parts.
    """

    exponents: Floats
    stderr: Floats
    steps: int
    size: int
    batches: int

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Ends of Student's interval from the batch means, `batches` - 1 degrees of freedom.

        Parameters
        ----------
        confidence
            Strictly between 0 and 1.

        Raises
        ------
        ValueError
            Another confidence.
        """
        from scipy.special import stdtrit

        half = self.stderr * stdtrit(self.batches - 1, 0.5 + 0.5 * probability(confidence, "confidence"))
        return np.asarray(self.exponents - half), np.asarray(self.exponents + half)

    def null(self, scale: float = 1.0) -> Floats:
        """Exponents of products of independent real Gaussian matrices of this size, entries of variance scale^2/n.

        Parameters
        ----------
        scale
            g, positive.

        Raises
        ------
        ValueError
            No positive number.
        """
        return np.asarray(
            ginibre_exponents(self.size)[: self.exponents.size] + math.log(positive_float(scale, "scale"))
        )

    def z(self, scale: float = 1.0) -> Floats:
        r"""Distances from `null` in its own standard errors.

        For independent Gaussian matrices the R_ii are independent chi variables, so log R_ii has variance psi'((n-i+1)/2)/4, and
        z is normal for many steps. Status P. Large where steps differ from those matrices, or depend on each other.

        Parameters
        ----------
        scale
            g, positive.

        Raises
        ------
        ValueError
            No positive number.
        """
        from scipy.special import polygamma

        left = self.size - np.arange(self.exponents.size, dtype=np.float64)
        return np.asarray((self.exponents - self.null(scale)) / np.sqrt(polygamma(1, 0.5 * left) / (4.0 * self.steps)))


def lyapunov(
    step: Callable[..., Any],
    state: Any,
    inputs: Any,
    *,
    jacobian: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    count: int | None = None,
    burn_in: int = 0,
    batches: int = 20,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> LyapunovExponents:
    """Lyapunov exponents of a step in NumPy, PyTorch or JAX.

    Parameters
    ----------
    step
        ``step(h, x)``, or ``step(h)`` without inputs: the next state, an array like `state`.
    state
        Where it starts. A NumPy array, a PyTorch tensor or a JAX array: this picks the library. Put a state of several arrays,
        such as (h, c) of an LSTM, into one.
    inputs
        One entry per step, along the first axis; or the number of steps, for ``step(h)``. Those of the burn-in come first.
    jacobian, jvp
        One of them for NumPy: ``jacobian(h, x)``, the matrix of derivatives, or ``jvp(h, x, V)``, that matrix times V. PyTorch
        and JAX differentiate the step: forward mode, and PyTorch's reverse mode where a step has no forward one.
    count
        Number of exponents, from the largest on; default all.
    burn_in
        Steps before the first that counts, for the state to settle and the directions to turn.
    batches
        Parts of the path for the errors, at least 2; steps beyond a multiple of it count for the exponents alone.
    seed
        Of the directions at the start.
    progress
        Called as ``progress(done, steps)`` after each step.

    Returns
    -------
    LyapunovExponents

    Raises
    ------
    ValueError
        A step that does not keep the shape of the state, states or derivatives that leave the floats, a step in NumPy without
        derivatives; fewer steps than burn_in + batches; work that is estimated to take too long (`signalprop.allow`).
    ImportError
        The library of the state is not installed.

    Notes
    -----
    Cost per step: a derivative along each of `count` directions, and a QR of n * count^2 operations.

    Examples
    --------
    >>> found = lyapunov(lambda h: h / [1.0, 2.0], [1.0, 1.0], 200, jacobian=lambda h: np.diag([1.0, 0.5]), burn_in=100)
    >>> found.exponents.round(6) + 0.0
    array([ 0.      , -0.693147])
    """
    one = linearised(step, state, jacobian, jvp)
    steps, rows = _path(inputs)
    function_or_none(progress, "progress")
    kept = one.size if count is None else whole_number(count, "count", 1, one.size)
    before = whole_number(burn_in, "burn_in", 0, MAX_STEPS)
    parts = whole_number(batches, "batches", 2, MAX_STEPS)
    if steps - before < parts:
        raise ValueError(
            f"inputs must have at least burn_in + batches = {before} + {parts} steps, got {steps}; give more of them."
        )
    refuse_beyond_bounds(
        f"{steps} steps of {kept} directions of {one.size} numbers",
        seconds=steps * (_QR_SECONDS * one.size * kept * kept + 1e-5),
        memory=8.0 * kept * (6.0 * one.size + steps),
        instead="A smaller count is cheaper.",
    )
    frame = np.linalg.qr(stream(seed_of(seed), "frame", one.size).standard_normal((one.size, kept)))[0]
    logs = np.empty((steps - before, kept))
    for t in range(steps):
        frame, increments = _turned(one.advance(() if rows is None else (rows[t],), frame), frame, t)
        if not np.isfinite(one.state()).all():
            raise ValueError(f"step must keep the state finite, and after {t + 1} steps it is not.")
        if t >= before:
            logs[t - before] = increments
        if progress is not None:
            progress(t + 1, steps)
    return _summary(logs, one.size, parts)


def _path(inputs: Any) -> tuple[int, Any]:
    """Number of steps, and the inputs, None where there are none."""
    if getattr(inputs, "ndim", 0) == 0 and not isinstance(inputs, (list, tuple)):
        return whole_number(inputs, "inputs", 1, MAX_STEPS), None
    rows = inputs if hasattr(inputs, "shape") and not isinstance(inputs, np.ma.MaskedArray) else None
    if type(inputs).__module__.partition(".")[0] not in ("torch", "jax", "jaxlib"):
        from signalprop._checks import real_array

        rows = real_array(inputs, "inputs", None)
    if rows is None or len(rows) == 0:
        raise ValueError(f"inputs must have one entry per step, or be the number of steps, got {shown(inputs)}.")
    return len(rows), rows


def _turned(moved: Floats, frame: Floats, step: int) -> tuple[Floats, Floats]:
    """The next frame, and log|R_ii|; columns that are gone keep a direction of the old frame."""
    if not np.isfinite(moved).all():
        raise ValueError(f"step must have finite derivatives, and at step {step} they are not.")
    turned, r = np.linalg.qr(moved)
    sizes = np.abs(np.diagonal(r))
    with np.errstate(divide="ignore"):
        return turned, np.log(sizes)


def _summary(logs: Floats, size: int, batches: int) -> LyapunovExponents:
    length = len(logs) // batches
    means = logs[: batches * length].reshape(batches, length, -1).mean(axis=1)
    dead = ~np.isfinite(logs).all(axis=0)
    means[:, dead] = 0.0
    stderr = means.std(axis=0, ddof=1) / math.sqrt(batches)
    return LyapunovExponents(logs.mean(axis=0), np.where(dead, np.nan, stderr), len(logs), size, batches)
