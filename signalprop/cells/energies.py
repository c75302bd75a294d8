r"""Energies of gradients through recurrent cells with random weights, by simulation at finite width.

A draw is one W, one start of the tangent and one path of inputs. With d_t the tangent of the states after t steps,

.. math:: L_t=\log\frac{\|d_t\|^2}{\|d_0\|^2}

It is divided by its length at each step, so nothing leaves the floats, however long the horizon. What is carried, in PyTorch's
conventions, x_t being what inputs add to the preactivations of each gate:

- one gate: h' = (1 - a) h + a phi(W h + x), with the leak a; d = dh.
- GRU: r, z = sigmoid(W h + x), n = tanh(x_n + r (W_n h + b)), h' = (1 - z) n + z h; d = dh.
- LSTM: i, f, o = sigmoid(W h + x), g = tanh(W_g h + x_g), c' = f c + i g, h' = o tanh c'; d = (dc, dh), the energy is
  ||dc||^2 + ||dh||^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._blas import one_blas_thread_if
from signalprop._checks import function_or_none, probability, whole_number
from signalprop._threads import cores, thread_map
from signalprop.cells._setting import setting_of
from signalprop.montecarlo.quantiles import CONFIDENCE, quantile_levels

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class QuantilePath:
    """A quantile of one draw at several times; arrays of one shape.

    Attributes
    ----------
    level
        Median-unbiased estimate; NaN where it lies beyond the draws.
    low, high
        Ends of an interval that holds it with at least the confidence asked for; infinite where the draws do not reach that far.
    """

    level: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class GradientEnergies:
    """Log-energies of drawn gradients.

    Attributes
    ----------
    cell
        Name of the cell.
    n
        Width.
    times
        Steps t, shape (times,).
    log_energies
        L_t of each draw, natural logarithm, shape (draws, times); -inf where a gradient died, as behind rectifiers that are all
        shut.
    """

    cell: str
    n: int
    times: NDArray[np.int64]
    log_energies: Floats

    @property
    def draws(self) -> int:
        """Number of draws."""
        return len(self.log_energies)

    def quantile(self, q: float = 0.5, confidence: float = CONFIDENCE) -> QuantilePath:
        """Quantile of one draw at each time, with an interval from order statistics that holds for every law.

        A draw whose gradient died counts as the smallest of all, -inf.

        Parameters
        ----------
        q
            Its probability, strictly between 0 and 1.
        confidence
            Probability that the interval holds the quantile, strictly between 0 and 1.

        Returns
        -------
        QuantilePath

        Raises
        ------
        ValueError
            Probabilities outside of this range, or fewer than two draws.
        """
        share, sure = probability(q, "q"), probability(confidence, "confidence")
        if self.draws < 2:
            raise ValueError(f"draws must be at least 2 for a quantile, got {self.draws}.")
        ordered = np.sort(self.log_energies, axis=0)
        found = [quantile_levels(column, (share,), sure)[0] for column in ordered.T]
        return QuantilePath(*(np.array([getattr(one, name) for one in found]) for name in ("level", "low", "high")))


def gradient_energies(
    cell: str,
    n: int,
    horizon: int,
    *,
    draws: int,
    scale: float = 1.0,
    kind: str = "gaussian",
    input_std: float | None = None,
    inputs: str | ArrayLike = "fresh",
    biases: Any = None,
    memory: float | None = None,
    leak: float = 1.0,
    direction: str = "forward",
    tied: bool = True,
    burn_in: int = 0,
    field: str = "real",
    times: ArrayLike | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> GradientEnergies:
    r"""Log-energies of gradients through a recurrent cell, over draws of its weights and inputs.

    Parameters
    ----------
    cell
        A name of `CELLS`: ``"tanh"``, ``"gru"``, ``"lstm"``, ... An input weight is not drawn: what inputs add to a preactivation
        is.
    n
        Width, 1 to 10000.
    horizon
        T, 0 to 1e6 steps.
    draws
        Number of draws, each with a W of its own.
    scale
        g, up to 100.
    kind
        Law of each gate's block of W: ``"gaussian"``, entries of variance g^2/n; ``"orthogonal"``, g times a Haar-distributed
        orthogonal (unitary) matrix; ``"uniform"``, entries uniform within g/sqrt(n), at g = 1 the default of PyTorch's RNN, GRU
        and LSTM; ``"identity"``, g times the identity.
    input_std
        s, standard deviation of what inputs add to the preactivation of each gate and unit, 0 to 100; default 1.
    inputs
        ``"fresh"``: independent at each step. ``"constant"``: the same at each step of a draw. Or an array, the same in each
        draw, of shape (burn_in + horizon, gates, n), for one gate also (burn_in + horizon, n).
    biases
        A dict of numbers, or arrays of shape (n,), by name (`Cell.biases`; ``"state"`` for one gate), which are zero where left
        out. Or ``"chrono"``, for gated cells: `signalprop.meanfield.chrono_biases` of `memory` steps, which makes up for inputs
        that shake the gates, of standard deviation at most 10: `input_std` of fresh ones; of an array the deviation over the
        steps, root mean square over gates and units; constant ones shake nothing. For biases that make up for nothing give
        ``chrono_biases(n, memory)`` in a dict. PyTorch has two vectors per gate, of which the sum counts; for a GRU,
        ``"candidate"`` and ``"candidate_hidden"`` are those of n.
    memory
        For ``biases="chrono"``.
    leak
        a, above 0 and at most 1, for cells of one gate: h' = (1 - a) h + a phi(W h + x), so that a linear cell has the matrix
        (1 - a) I + a W.
    direction
        ``"forward"``: a tangent of the states, from a uniformly random direction (of (dc, dh) for an LSTM). ``"backward"``: the
        gradient of a random linear function of h_T, taken at h_{T-t} after t steps back (at (c_{T-t}, h_{T-t}) for an LSTM).
    tied
        False draws fresh Gaussian weights at each step, forward only: layers instead of a recurrence, at a cost of n instead of
        n^2 per step.
    burn_in
        Steps that the states take before the tangent starts. They start at zero, as PyTorch's do; 0 keeps them there.
    field
        ``"complex"`` weights for ``cell="linear"``, with E|w|^2 = g^2/n.
    times
        Steps t to keep, increasing, within 0 .. T; default all.
    seed
        Root seed. A draw depends on it, on its own number and on cell, n, kind, field; draws at other scales, biases or input_std
        rest on the same numbers, and so does, forward, a longer horizon.
    workers
        Threads (default: all cores).
    progress
        Called as ``progress(done, draws)`` after each draw.

    Returns
    -------
    GradientEnergies

    Raises
    ------
    ValueError
        Unknown names; arguments outside of their ranges, or that do not go together; states that grow beyond 1e300; work that is
        estimated to take more than ten minutes, or more than 80 % of the memory (`signalprop.allow` lifts both).

    Notes
    -----
    Cost per draw: about gates * n^2 * (10 ns + 0.17 ns * T) while W stays in the cache of a core, three times the second part
    beyond, and gates * n * T * 50 ns. Backward keeps (gates + 2) * n * T numbers.

    For real Gaussian W and ``cell="linear"``, `signalprop.sample` has the same law at a cost that does not depend on n.

    Examples
    --------
    >>> found = gradient_energies("lstm", 32, 50, draws=20, input_std=1.0, biases="chrono", memory=50)
    >>> found.log_energies.shape
    (20, 51)
    >>> bool(-8 < found.quantile(0.5).level[-1] < -2)
    True
    """
    from signalprop.cells._paths import draw_path

    setting = setting_of(
        cell, n, horizon, scale=scale, kind=kind, field=field, leak=leak, direction=direction, tied=tied, burn_in=burn_in,
        input_std=input_std, inputs=inputs, biases=biases, memory=memory, draws=draws, seed=seed, times=times,
    )  # fmt: skip
    function_or_none(progress, "progress")
    threads = cores() if workers is None else whole_number(workers, "workers", 1)
    setting.refuse_impossible(min(threads, setting.draws))

    logs = np.empty((setting.draws, setting.times.size))
    with one_blas_thread_if(setting.kind == "orthogonal"):
        paths = thread_map(
            lambda draw: draw_path(setting, draw)[setting.times], range(setting.draws), threads, inline=False
        )
        for draw, path in enumerate(paths):
            logs[draw] = path
            if progress is not None:
                progress(draw + 1, setting.draws)
    return GradientEnergies(setting.name, setting.n, setting.times, logs)
