"""What was measured of a recurrence, and of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from signalprop.inspection.paths import BY_E, BY_HUNDRED, EnergyPath, log_grid

if TYPE_CHECKING:
    from signalprop.cells.lyapunov import LyapunovExponents

Floats = NDArray[np.float64]
BAND = (0.1, 0.9)  # quantiles of the band around a median


@dataclass(frozen=True)
class Broken:
    """Where numbers stop being finite.

    Attributes
    ----------
    where
        Name of the module, or of the recurrence.
    kind
        ``"NaN"`` or ``"infinite"``.
    step
        The first step, counted from 1; None where an output has no axis of time.
    sequence
        Which sequence of the batch, counted from 0; None where an output has no axis of sequences.
    inputs
        Whether what it was given is not finite either.
    """

    where: str
    kind: str
    step: int | None
    sequence: int | None
    inputs: bool


@dataclass(frozen=True, eq=False)
class Band:
    """Log-energies over sequences and cotangents: medians, and the band from the 10 % to the 90 % quantile.

    Attributes
    ----------
    steps
        Steps along a sequence, or back from its end.
    median, low, high
        Natural logarithms of energies at these steps; -inf for an energy of exactly 0.
    """

    steps: NDArray[np.int64]
    median: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of one recurrence.

    Attributes
    ----------
    name
        As of its `LayerReport`.
    how
        ``"states"``: the recurrence was stepped, and gradients are those with respect to its states. ``"outputs"``: its states
        cannot be reached; gradients lead from its output at the last step to its inputs, and are relative to that of the step
        before the last, because the last input may also pass beside the state; with a convolution over w steps, w steps before.
    computed_in
        Type of its states, or outputs: ``"bfloat16"``.
    gradient
        Log of ||dL/dh_{T-k}||^2 over that at k = 0, the median over sequences and random L; None where nothing could be
        carried back.
    gradient_band
        The same at the steps of `gradient`, with its band.
    forward
        Log of ||h_t||^2 at t = 1, 2, .., on a logarithmic grid; of outputs where `how` says so. None where no step was finite.
    exponents
        Lyapunov exponents, the leading ones, along the longest sequence; None where states cannot be reached or sequences are
        shorter than 40 steps.
    dies
        First step back at which the median gradient is exactly 0; None where it is not.
    sequences
        Number of sequences measured.
    shortest, longest
        Their steps, without padding.
    broken
        Where it stops being finite; all else is measured up to there.
    notes
        What else there is to know, a sentence each.
    """

    name: str
    how: str
    computed_in: str
    gradient: EnergyPath | None
    gradient_band: Band | None
    forward: Band | None
    exponents: LyapunovExponents | None
    dies: int | None
    sequences: int
    shortest: int
    longest: int
    broken: Broken | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BatchRun:
    """What is known of the run as a whole.

    Attributes
    ----------
    batch
        The batch in words.
    training
        Whether the model was in training mode.
    broken
        The first module whose output is not finite, though what it was given is; None where all is finite.
    not_called
        Recurrences that this batch did not reach.
    """

    batch: str
    training: bool
    broken: Broken | None
    not_called: tuple[str, ...] = ()


def quantiles(samples: Floats, levels: tuple[float, ...]) -> Floats:
    """Quantiles along the first axis without NaN, shape (levels, ...): sample values, so that -inf is one; NaN where all are."""
    ordered = np.sort(samples, axis=0)  # NaN last
    count = (~np.isnan(samples)).sum(axis=0)
    found = []
    for level in levels:
        place = np.clip(np.ceil(level * count).astype(np.int64) - 1, 0, None)
        found.append(np.take_along_axis(ordered, place[None], axis=0)[0])
    return np.array(found)


def band_of(samples: Floats, steps: NDArray[np.int64], first: int) -> Band:
    """The band of samples (samples, times) at some steps; the first column is step `first`."""
    low, median, high = quantiles(samples[:, steps - first], (BAND[0], 0.5, BAND[1]))
    return Band(steps, median, low, high)


def gradient_path(samples: Floats) -> tuple[EnergyPath, Band, int | None]:
    """The path of the median of samples (samples, lags), its band, and where the median is exactly zero; the first lag is 0."""
    median = quantiles(samples, (0.5,))[0]
    known = ~np.isnan(median)
    reach = int(len(known) - 1 if known.all() else np.argmin(known) - 1)
    steps = log_grid(reach)

    def first(hits: NDArray[np.bool_]) -> int | None:
        return int(np.argmax(hits)) if hits.any() else None

    inside = median[: reach + 1]
    path = EnergyPath(
        steps,
        inside[steps],
        first(inside <= -BY_E),
        first(inside <= -BY_HUNDRED),
        first(inside >= BY_HUNDRED),
        reach,
    )
    return path, band_of(samples, steps, 0), first(inside == -np.inf)
