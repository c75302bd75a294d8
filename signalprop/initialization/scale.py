"""`safe_scale`: the factor g on Glorot-scaled Gaussian weights for a given width and horizon, by several criteria."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from signalprop._checks import positive_float, whole_number
from signalprop.fields import Field, as_field, one_of
from signalprop.initialization._paths import MeanPath, largest_log_scales, root_of_increasing
from signalprop.montecarlo.sampling import sample

CRITERIA = ("quantile", "bounded", "minimax", "edge", "glorot")
MODELS = ("rnn", "lru")
MAX_HORIZON = 5_000
CONFIDENCE = 0.95

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class SafeScale:
    """A scale and what it does to the mean energy.

    Attributes
    ----------
    scale
        g: multiply Glorot-scaled (fan-in) Gaussian weights by it.
    std
        Standard deviation of one entry, g/sqrt(n) (complex, quaternion: sqrt(E|w|^2)).
    interval
        For ``criterion="quantile"`` the 95 % confidence interval of g (order statistics, exact binomial); else both ends are g.
    log_path
        Natural log of the mean energy E(k; g) for k = 0..horizon.
    """

    n: int
    horizon: int
    field: Field
    model: str
    criterion: str
    scale: float
    interval: tuple[float, float]
    log_path: NDArray[np.float64]

    @property
    def std(self) -> float:
        """Standard deviation of one entry of W."""
        return self.scale / math.sqrt(self.n)

    @property
    def peak(self) -> tuple[int, float]:
        """Step and natural log of the largest mean energy."""
        step = int(np.argmax(self.log_path))
        return step, float(self.log_path[step])

    @property
    def dip(self) -> tuple[int, float]:
        """Step and natural log of the smallest mean energy."""
        step = int(np.argmin(self.log_path))
        return step, float(self.log_path[step])


def safe_scale(
    n: int,
    horizon: int,
    field: str = "real",
    *,
    model: str = "rnn",
    criterion: str = "quantile",
    tolerance: float = 0.1,
    quantile: float = 0.95,
    bound: float = 10.0,
    samples: int = 2000,
    seed: int = 0,
    progress: Progress | None = None,
) -> SafeScale:
    r"""The scale g for a width and a horizon: W has independent Gaussian entries with E|w_ij|^2 = g^2/n.

    Parameters
    ----------
    n, horizon
        Width, and number of steps T the signal should survive, 1 <= T <= 5000.
    field
        ``"real"``, ``"complex"`` or ``"quaternion"`` weights.
    model
        ``"rnn"``: h <- W h, energy E(k; g) = g^{2k} Q_{n,k}. ``"lru"``: h <- W h + x with a fresh input each step, energy
        per step E(k; g) = sum_{j<=k} g^{2j} Q_{n,j}/(k+1).
    criterion
        - ``"quantile"``: the largest g for which a share `quantile` of the draws of W keeps its energy at or below `bound` at
          every step. One draw is what gets trained, so this is the default. Estimated from `samples` draws of the width-free
          sampler, with a confidence interval; minutes where T and n are both in the thousands.
        - ``"bounded"``: the largest g with max_k E(k; g) <= 1 + tolerance: bounds the average over draws, which far past
          sqrt(n) steps is carried by draws nobody will see.
        - ``"minimax"``: the g that minimises max_k |log E(k; g)|.
        - ``"edge"``: one over the `quantile`-quantile of the spectral radius of W, by its Gumbel limit (n >= 200; Rider 2003,
          Rider-Sinclair 2014; the proposal of Bar et al., arXiv:2505.19827). Real and complex weights.
        - ``"glorot"``: 1.
    tolerance, quantile, bound
        Parameters of the criteria above.
    samples, seed, progress
        For ``criterion="quantile"``: number of draws, root seed, and a callback ``progress(done, total)``.

    Returns
    -------
    SafeScale

    Raises
    ------
    ValueError
        Unknown names or values outside their ranges; the message says which.

    Notes
    -----
    ``bounded`` and ``minimax`` are solved against the exact energies to the last bits of a double. For the linear recurrence
    each draw has a largest scale of its own, min_k (log bound - log ||W^k x||^2)/(2k) in logs, and the answer is a quantile of
    those. For ``model="lru"`` a draw is the energy given one input direction reused at every step (see `sample`).

    Examples
    --------
    >>> safe_scale(512, 2000, criterion="bounded").scale.__round__(3)
    0.484
    >>> safe_scale(4096, 64, criterion="glorot").peak[0]
    64
    """
    kind = as_field(field)
    width = whole_number(n, "n", 1, 10**18)
    steps = whole_number(
        horizon, "horizon", 1, MAX_HORIZON, "Beyond that the spectral radius decides; see criterion='edge'."
    )
    one_of(model, MODELS, "model")
    one_of(criterion, CRITERIA, "criterion")
    allowed = positive_float(tolerance, "tolerance")
    if not 0.0 < positive_float(quantile, "quantile") < 1.0:
        raise ValueError(f"quantile must lie strictly between 0 and 1, got {quantile!r}.")
    if positive_float(bound, "bound") <= 1.0:
        raise ValueError(f"bound must be above 1, the energy at the start, got {bound!r}.")
    path = MeanPath(width, steps, kind, model)
    interval: tuple[float, float] | None = None
    if criterion == "glorot":
        log_g = 0.0
    elif criterion == "bounded":
        log_g = _bounded(path, math.log1p(allowed))
    elif criterion == "minimax":
        log_g = root_of_increasing(lambda x: float(path.at(x).max() + path.at(x).min()))
    elif criterion == "edge":
        log_g = -_log_edge(width, kind, quantile)
    else:
        draw = sample(width, steps, kind, samples=samples, seed=seed, progress=progress)
        scales = np.sort(largest_log_scales(2.0 * draw.log_norms, math.log(bound), model))
        log_g, interval = _lower_quantile(scales, 1.0 - quantile)
    both = (math.exp(log_g), math.exp(log_g)) if interval is None else interval
    return SafeScale(width, steps, kind, model, criterion, math.exp(log_g), both, path.at(log_g))


def _bounded(path: MeanPath, log_limit: float) -> float:
    if path.model == "rnn":
        steps = path.steps[1:]
        return float(np.min((log_limit - path.log_q[1:]) / (2.0 * steps)))
    return root_of_increasing(lambda x: float(path.at(x)[1:].max()) - log_limit)


def _log_edge(n: int, field: Field, probability: float) -> float:
    """Log of the `probability`-quantile of the spectral radius: 1 + sqrt(gamma/(4n)) + X/sqrt(4 n gamma), X Gumbel.

    P(X <= x) = exp(-e^{-x}) (complex), exp(-e^{-x}/2) (real); gamma = log(n/2pi) - 2 log log n.
    """
    if field is Field.QUATERNION:
        raise ValueError(
            "criterion='edge' is known for real and complex weights, got field='quaternion'; use 'quantile'."
        )
    if n < 200:
        raise ValueError(
            f"criterion='edge' is an asymptotic law that needs n >= 200, got {n}; use criterion='quantile'."
        )
    gamma = math.log(n / (2.0 * math.pi)) - 2.0 * math.log(math.log(n))
    share = 0.5 if field is Field.REAL else 1.0
    x = -math.log(-math.log(probability) / share)
    return math.log1p(math.sqrt(gamma / (4.0 * n)) + x / math.sqrt(4.0 * n * gamma))


def _lower_quantile(ordered: NDArray[np.float64], p: float) -> tuple[float, tuple[float, float]]:
    """Largest log g that a share 1 - p of the sorted draws allows, and the interval of g from order statistics."""
    count = ordered.size
    tail = 0.5 * (1.0 - CONFIDENCE)
    below = int(stats.binom.ppf(tail, count, p)) - 1
    above = int(stats.binom.ppf(1.0 - tail, count, p))
    if below < 0 or above >= count:
        raise ValueError(
            f"{count} samples do not reach the quantile {1.0 - p:.6g} with an interval around it; "
            f"take at least {math.ceil(8.0 / min(p, 1.0 - p))} samples."
        )
    value = float(ordered[math.floor(p * count + 1e-9)])
    return value, (math.exp(float(ordered[below])), math.exp(float(ordered[above])))
