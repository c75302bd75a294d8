"""What a set of draws says about a mean, and whether it can be believed.

The energy of one draw is log-normal-like far beyond sqrt(n) steps: a few draws carry the mean, and when they are
missing the sample mean *and* its standard error are both too small. So an estimate carries the median and quantiles,
the share of the sum held by the top 1 % of the draws, the effective sample size, and the exact value where it is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
HEAVY_TAIL_SHARE = 0.5
SUSPECT_TAIL_SHARE = 0.2
DISAGREEMENT_Z = 4.0
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
    """

    samples: int
    log_mean: float
    relative_stderr: float
    log_median: float
    log_quantiles: tuple[tuple[float, float], ...]
    tail_share: float
    ess: float
    log_exact: float | None = None

    @classmethod
    def from_logs(
        cls, logs: ArrayLike, log_exact: float | None = None, quantiles: Sequence[float] = QUANTILES
    ) -> Estimate:
        """Summarise draws given by the natural logs of their values (-inf for a value of zero).

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
        top = float(values.max())
        if top == -math.inf:  # every draw died
            return cls(
                values.size, top, 0.0, top, tuple((q, top) for q in quantiles), 1.0, float(values.size), log_exact
            )
        scaled = np.exp(values - top)
        total = math.fsum(scaled)
        mean = total / values.size
        largest = np.sort(scaled)[-max(1, values.size // 100) :]
        deviation = float(np.std(scaled, ddof=1))
        # 'lower' keeps the quantile a draw that happened, which is also right for draws at -inf.
        levels: NDArray[np.float64] = np.quantile(values, list(quantiles), method="lower")
        return cls(
            samples=values.size,
            log_mean=top + math.log(mean),
            relative_stderr=deviation / math.sqrt(values.size) / mean,
            log_median=float(np.quantile(values, 0.5, method="lower" if np.isneginf(values).any() else "linear")),
            log_quantiles=tuple((float(q), float(level)) for q, level in zip(quantiles, levels, strict=True)),
            tail_share=math.fsum(largest) / total,
            ess=total**2 / math.fsum(scaled**2),
            log_exact=log_exact,
        )

    @property
    def mean(self) -> float:
        """Sample mean."""
        return _exp(self.log_mean, "log_mean")

    @property
    def stderr(self) -> float:
        """Standard error of the mean; meaningless where `heavy_tailed`."""
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
    def heavy_tailed(self) -> bool:
        """Whether the top 1 % of the draws carry more than half of the sum."""
        return self.tail_share > HEAVY_TAIL_SHARE

    @property
    def verdict(self) -> str:
        """One sentence on what the mean is worth."""
        share = f"the top 1 % of the draws carry {100 * self.tail_share:.0f} % of the sum"
        if self.heavy_tailed:
            instead = "the median" if self.log_exact is None else "the exact mean or the median"
            return f"mean not reachable with plain sampling here ({share}): read {instead}"
        caution = f"; its error is optimistic, because {share}" if self.tail_share > SUSPECT_TAIL_SHARE else ""
        if self.z is None:
            return f"mean with a usable error, no exact value to compare{caution}"
        if abs(self.z) > DISAGREEMENT_Z:
            return f"mean DISAGREES with the exact value (z = {self.z:+.1f}){caution}"
        return f"mean agrees with the exact value (z = {self.z:+.1f}){caution}"

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
            "exact": plain(self.log_exact),
            "log_exact": self.log_exact,
            "z": finite(self.z),
            "heavy_tailed": self.heavy_tailed,
            "verdict": self.verdict,
        }


def _exp(log_value: float, name: str) -> float:
    if not -_FLOAT_LOG < log_value < _FLOAT_LOG and log_value != -math.inf:
        raise OverflowError(f"e^{log_value:.6g} is outside the range of float64; read {name}, its natural logarithm.")
    return math.exp(log_value)
