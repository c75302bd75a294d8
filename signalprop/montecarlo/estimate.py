"""What a set of draws says about a mean, and whether it can be believed.

The energy of one draw is log-normal-like far beyond sqrt(n) steps: a few draws carry the mean, and when they are
missing the sample mean *and* its standard error are both too small. So an estimate carries the median and quantiles with
intervals, the share of the sum held by the top 1 % of the draws, the effective sample size, the tail index, the exact mean
and the exact second moment where they are known, and a verdict in words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop.montecarlo.one_draw import order_ranks
from signalprop.montecarlo.tail import tail_index

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
HEAVY_TAIL_SHARE = 0.5
SUSPECT_TAIL_SHARE = 0.2
DISAGREEMENT_Z = 4.0
CONFIDENCE = 0.95
HOPELESS_ERROR = 0.5
OPTIMISM = 2.0
UNEVEN_REPETITIONS = 0.5
_FLOAT_LOG = 708.0


@dataclass(frozen=True)
class Estimate:
    """Summary of positive samples y_i given by their logs.

    Attributes
    ----------
    samples
        Number of draws.
    log_mean, log_median
        Natural logs of the sample mean and of the sample median.
    log_quantiles
        Pairs (q, log of the q-quantile).
    relative_stderr
        Standard error of the mean divided by the mean, ``std(y)/(sqrt(samples) mean(y))``.
    tail_share
        Share of the sum carried by the largest 1 % of the draws (at least one draw). Above one half the mean is a
        statement about draws that were barely seen.
    ess
        Effective sample size (sum y)^2 / sum y^2 (Kish).
    log_exact
        Natural log of the exact mean, or None where none is known.
    log_intervals
        Triples (q, low, high): 95 % confidence interval of the q-quantile in logs, by order statistics; -inf or inf where
        there are too few draws for an end.
    tail_index, tail_index_stderr
        Hill's estimate of the Pareto index of the tail and its standard error (`signalprop.montecarlo.tail`), or None for
        fewer than 50 draws.
    log_second_moment
        Natural log of the exact E y^2, or None where it is not known.
    tempered
        Whether ``method="tempered"`` of `signalprop.sample` covers what was drawn; the verdict then names it.
    repeated
        Whether the samples are independent repetitions of an unbiased estimate rather than draws of the energy.
    """

    samples: int
    log_mean: float
    relative_stderr: float
    log_median: float
    log_quantiles: tuple[tuple[float, float], ...]
    tail_share: float
    ess: float
    log_exact: float | None = None
    log_intervals: tuple[tuple[float, float, float], ...] = ()
    tail_index: float | None = None
    tail_index_stderr: float | None = None
    log_second_moment: float | None = None
    tempered: bool = False
    repeated: bool = False

    @classmethod
    def from_repetitions(cls, logs: ArrayLike, log_exact: float | None = None) -> Estimate:
        """Summarise the logs of independent unbiased estimates of one mean, such as those of `ginibre.tempered`.

        Median, quantiles, share and effective size are then those of the repetitions, and there may be few of them.

        Examples
        --------
        >>> Estimate.from_repetitions(np.log([1.9, 2.0, 2.1]), log_exact=np.log(2.05)).verdict
        'mean agrees with the exact value (t = -0.9 in 2 degrees of freedom)'
        """
        return replace(cls.from_logs(logs, log_exact), repeated=True)

    @classmethod
    def from_logs(
        cls,
        logs: ArrayLike,
        log_exact: float | None = None,
        quantiles: Sequence[float] = QUANTILES,
        *,
        log_second_moment: float | None = None,
        tempered: bool = False,
    ) -> Estimate:
        """Summarise draws given by the natural logs of their values (-inf for a value of zero).

        The other arguments are those of the attributes.

        Raises
        ------
        ValueError
            Fewer than two draws, NaN or +inf among them, or a quantile outside (0, 1).

        Examples
        --------
        >>> Estimate.from_logs(np.log([1.0, 2.0, 3.0]), log_exact=np.log(2.0)).mean
        2.0
        """
        values: NDArray[np.float64] = np.asarray(logs, dtype=np.float64).ravel()
        if values.size < 2:
            raise ValueError(f"an estimate needs at least 2 samples to have an error, got {values.size}.")
        if np.isnan(values).any() or (values == np.inf).any():
            raise ValueError(
                f"log-energies must be finite or -inf, got {values[np.isnan(values) | (values == np.inf)][0]}."
            )
        for q in quantiles:
            if not 0.0 < q < 1.0:
                raise ValueError(f"quantiles must lie strictly between 0 and 1, got {q}.")
        values = np.sort(values)
        top = float(values[-1])
        known: dict[str, Any] = {"log_exact": log_exact, "log_second_moment": log_second_moment, "tempered": tempered}
        levels = quantile_levels(values, quantiles)
        known["log_quantiles"] = tuple((q, level) for q, level, _, _ in levels)
        known["log_intervals"] = tuple((q, low, high) for q, _, low, high in levels)
        if top == -math.inf:  # every draw died
            return cls(values.size, top, 0.0, top, tail_share=1.0, ess=float(values.size), **known)
        scaled = np.exp(values - top)
        total = math.fsum(scaled)
        mean = total / values.size
        deviations = scaled - mean
        upper = values.size // 2
        lower = (values.size - 1) // 2
        index = tail_index(values) or (None, None)
        return cls(
            samples=values.size,
            log_mean=top + math.log(mean),
            relative_stderr=math.sqrt(float(np.dot(deviations, deviations)) / (values.size - 1) / values.size) / mean,
            log_median=float(values[lower] if np.isneginf(values[0]) else 0.5 * (values[lower] + values[upper])),
            tail_share=math.fsum(scaled[-max(1, values.size // 100) :]) / total,
            ess=total**2 / math.fsum(scaled**2),
            tail_index=index[0],
            tail_index_stderr=index[1],
            **known,
        )

    @property
    def mean(self) -> float:
        """Sample mean."""
        return _exp(self.log_mean, "log_mean")

    @property
    def stderr(self) -> float:
        """Standard error of the mean; not to be read as one unless `trusted`."""
        return self.relative_stderr * self.mean

    @property
    def median(self) -> float:
        """Sample median: what one draw typically does."""
        return _exp(self.log_median, "log_median")

    @property
    def quantiles(self) -> dict[float, float]:
        """Quantiles of one draw."""
        return {q: _exp(level, "log_quantiles") for q, level in self.log_quantiles}

    @property
    def exact(self) -> float | None:
        """Exact mean, where known."""
        return None if self.log_exact is None else _exp(self.log_exact, "log_exact")

    @property
    def z(self) -> float | None:
        """(mean - exact)/stderr; None without an exact value. Not a verdict where `heavy_tailed`."""
        if self.log_exact is None:
            return None
        # Everything relative to the sample mean, whose logarithm may be out of range.
        difference = self.log_exact - self.log_mean
        gap = math.inf if difference > 700 else math.expm1(difference)
        if self.relative_stderr == 0.0:
            return 0.0 if abs(gap) < 1e-12 else math.copysign(math.inf, -gap)
        return -gap / self.relative_stderr

    @property
    def log_interval(self) -> tuple[float, float]:
        """Logs of the ends of the 95 % interval of the mean, by Student's law; not to be read as one unless `trusted`."""
        from scipy import special

        reach = float(special.stdtrit(self.samples - 1, 0.975)) * self.relative_stderr
        return self.log_mean + (math.log1p(-reach) if reach < 1.0 else -math.inf), self.log_mean + math.log1p(reach)

    @property
    def predicted_relative_stderr(self) -> float | None:
        """Standard error of a mean of that many draws over the exact mean, from the exact second moment; None if not known."""
        if self.log_exact is None or self.log_second_moment is None:
            return None
        excess = self.log_second_moment - 2.0 * self.log_exact
        return math.inf if excess > _FLOAT_LOG else math.sqrt(max(0.0, math.expm1(excess)) / self.samples)

    @property
    def heavy_tailed(self) -> bool:
        """Whether the mean is out of reach of these draws.

        So it is where the top 1 % of the draws carry more than half of the sum, where the tail index is below 1 by more than
        two standard errors, or where the exact second moment predicts a standard error above half of the mean.
        Of repetitions: where their standard deviation is more than half of their mean.
        """
        return self._unreachable is not None

    @property
    def trusted(self) -> bool:
        """Whether the mean and its standard error can be read as such; if not, `verdict` says why."""
        return self._unreachable is None and self._optimistic is None

    @property
    def verdict(self) -> str:
        """One sentence on what the mean is worth."""
        if self.repeated:
            return self._verdict_on_repetitions()
        instead = "read the median" if self.log_exact is None else "read the exact mean or the median"
        instead = f"use method='tempered', or {instead}" if self.tempered else instead
        if self._unreachable is not None:
            return f"mean not reachable with plain sampling here ({self._unreachable}): {instead}"
        doubt = self._optimistic
        caution = "" if doubt is None else f"; its error is optimistic, because {doubt}: {instead}"
        if self.z is None:
            return f"mean with {'a usable' if doubt is None else 'an'} error, no exact value to compare{caution}"
        if doubt is not None and self.z < -DISAGREEMENT_Z:
            return f"mean too low (z = {self.z:+.1f}), as it tends to be where draws are missing{caution}"
        if abs(self.z) > DISAGREEMENT_Z:
            return f"mean DISAGREES with the exact value (z = {self.z:+.1f}){caution}"
        return f"mean agrees with the exact value (z = {self.z:+.1f}){caution}"

    def _verdict_on_repetitions(self) -> str:
        if self._unreachable is not None:
            return f"mean not reached: {self._unreachable}, so take more particles in each"
        if self.z is None:
            return "mean with a usable error, no exact value to compare"
        from scipy import special

        farther = 2.0 * float(special.stdtr(self.samples - 1, -abs(self.z)))
        agrees = "DISAGREES" if farther < math.erfc(DISAGREEMENT_Z / math.sqrt(2.0)) else "agrees"
        return f"mean {agrees} with the exact value (t = {self.z:+.1f} in {self.samples - 1} degrees of freedom)"

    @property
    def _unreachable(self) -> str | None:
        """Why the mean is out of reach, or None."""
        if self.repeated:
            spread = self.relative_stderr * math.sqrt(self.samples)
            return f"one repetition varies by {100 * spread:.0f} %" if spread > UNEVEN_REPETITIONS else None
        if self.tail_share > HEAVY_TAIL_SHARE:
            return self._share
        index, error = self.tail_index, self.tail_index_stderr
        if index is not None and error is not None and index + 2.0 * error < 1.0:
            return f"the tail index is {index:.2f} +- {error:.2f}, below 1"
        predicted = self.predicted_relative_stderr
        if predicted is not None and predicted > HOPELESS_ERROR:
            return f"the exact second moment predicts an error of {100 * predicted:.3g} % from {self.samples} draws"
        return None

    @property
    def _optimistic(self) -> str | None:
        """Why the standard error is too small to be believed, or None."""
        if self.repeated:
            return None
        if self.tail_share > SUSPECT_TAIL_SHARE:
            return self._share
        if self.tail_index is not None and self.tail_index < 2.0:
            return f"the tail index is {self.tail_index:.2f} +- {self.tail_index_stderr:.2f}, below 2"
        predicted = self.predicted_relative_stderr
        if predicted is not None and predicted > OPTIMISM * self.relative_stderr + 1e-12:
            return f"the exact second moment predicts an error of {100 * predicted:.3g} %"
        return None

    @property
    def _share(self) -> str:
        return f"the top 1 % of the draws carry {100 * self.tail_share:.0f} % of the sum"

    def as_dict(self) -> dict[str, Any]:
        """Numbers for JSON: logs always, plain values where they fit into a float, the verdict in words."""

        def plain(log_value: float | None) -> float | None:
            if log_value is None or not (-_FLOAT_LOG < log_value < _FLOAT_LOG or log_value == -math.inf):
                return None
            return math.exp(log_value)

        def finite(value: float | None) -> float | None:
            return value if value is not None and math.isfinite(value) else None

        mean = plain(self.log_mean)
        return {
            "samples": self.samples,
            "mean": mean,
            "stderr": None if mean is None else mean * self.relative_stderr,
            "relative_stderr": self.relative_stderr,
            "median": plain(self.log_median),
            "quantiles": {str(q): plain(level) for q, level in self.log_quantiles},
            "log_mean": finite(self.log_mean),
            "log_median": finite(self.log_median),
            "log_quantiles": {str(q): finite(level) for q, level in self.log_quantiles},
            "tail_share": self.tail_share,
            "ess": self.ess,
            "tail_index": None if self.tail_index is None else finite(self.tail_index),
            "tail_index_stderr": None if self.tail_index_stderr is None else finite(self.tail_index_stderr),
            "log_quantile_intervals": {str(q): [finite(low), finite(high)] for q, low, high in self.log_intervals},
            "exact": plain(self.log_exact),
            "log_exact": self.log_exact,
            "z": finite(self.z),
            "predicted_relative_stderr": finite(self.predicted_relative_stderr),
            "log_interval": [finite(end) for end in self.log_interval],
            "repeated": self.repeated,
            "heavy_tailed": self.heavy_tailed,
            "trusted": self.trusted,
            "verdict": self.verdict,
        }


def quantile_levels(
    ordered: NDArray[np.float64], quantiles: Sequence[float], confidence: float = CONFIDENCE
) -> list[tuple[float, float, float, float]]:
    """(q, level, low, high) for each q from increasing draws; an end that the draws do not reach is -inf or inf.

    The level is a draw that happened, which is also right among draws at -inf.
    """
    levels = []
    for q in quantiles:
        below, above = order_ranks(ordered.size, float(q), confidence)
        low = float(ordered[below]) if below >= 0 else -math.inf
        high = float(ordered[above]) if above < ordered.size else math.inf
        levels.append((float(q), float(ordered[int(q * (ordered.size - 1))]), low, high))
    return levels


def _exp(log_value: float, name: str) -> float:
    if not -_FLOAT_LOG < log_value < _FLOAT_LOG and log_value != -math.inf:
        raise OverflowError(f"e^{log_value:.6g} is outside the range of float64; read {name}, its natural logarithm.")
    return math.exp(log_value)
