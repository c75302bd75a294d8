r"""What the mean of positive draws is worth: whether its error can be believed, and whether it contradicts an exact value.

A sample that has missed the draws which carry its mean looks harmless: mean and standard error are both too small. So nothing
that depends on those draws, such as the standard error or the share of the largest draws, may be the judge. In this order:

1. **The second moment is known**, or a bound on it. With v = Var y/(E y)^2 the mean of N draws has the relative error sqrt(v/N),
   exactly; it is trusted up to 25 %, for any N. |mean/exact - 1| <= 1.96 sqrt(v/N) is promised by Chebyshev's inequality in 74 %
   of samples, and holds in far more, because the mean of a heavy tail is more often near than its variance says.
2. **What was drawn is known, its second moment is not**: the law decides (`signalprop.montecarlo.known`), never the draws.
3. **Nothing but the draws is known.** Then their bulk decides, the logs: their standard deviation s, their skewness, and N.
   Log-normal draws have means of skewness (e^{s^2} + 2) sqrt((e^{s^2} - 1)/N), which has to be small, and the logs must not lean
   to the right, because the tail is then heavier than that. No rule of this kind is safe: a sample that missed its tail has a
   smaller spread as well.
4. **Repetitions** of an unbiased estimate: their own spread, by Student's law.

Below 50 draws nothing but 1 and 4 is believed.

A contradiction is reported only where chance is ruled out, at 1e-5: draws are not negative, so that a mean *below* m obeys
Bernstein's inequality, log P(mean <= m(1-d)) <= -N d^2/(2(v + d/3)); *above* m the same holds for the mean of the draws cut at
u m, with min(v, u) in place of v and u d/3 in place of d/3. Above, this holds for every law; below, where v is not known, four
times the observed one replaces it (H), and only where the mean is trusted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from signalprop.montecarlo.estimate import Estimate

Floats = NDArray[np.float64]
FEWEST_DRAWS = 50
LIGHT = "light"
LARGEST_ERROR = 0.25  # of the mean, from a known second moment
LARGEST_SKEWNESS = 0.2  # of a mean of log-normal draws
LARGEST_LEAN = 0.4  # of the logs: skewness times standard deviation, two standard errors up
HEAVY_TAIL_SHARE = 0.5
UNEVEN_REPETITIONS = 0.5
LARGEST_Z = 4.0
RULED_OUT = math.log(1e-5)
_CAUTION = 4.0  # factor on a variance that was only seen
_CUT = 4.0  # draws above this multiple of the mean are cut where the second moment is not known


class Doubt(NamedTuple):
    """Why a mean is not trusted, and whether more draws of this kind would be of any help."""

    reason: str
    hopeless: bool


def doubt(estimate: Estimate) -> Doubt | None:
    """Why the mean and its error cannot be read as such; None if they can."""
    if estimate.repeated:
        spread = estimate.relative_stderr * math.sqrt(estimate.samples)
        return Doubt(f"one repetition varies by {100 * spread:.0f} %", True) if spread > UNEVEN_REPETITIONS else None
    predicted = estimate.predicted_relative_stderr
    if predicted is not None:
        if predicted <= LARGEST_ERROR:
            return None
        return Doubt(
            f"the known second moment means an error of {_percent(predicted)} % from {estimate.samples} draws", True
        )
    if estimate.samples < FEWEST_DRAWS:
        return Doubt(f"{estimate.samples} draws are too few to know their tail, which takes {FEWEST_DRAWS}", False)
    if estimate.tail_law == LIGHT:
        return None
    if estimate.tail_share > HEAVY_TAIL_SHARE:
        return Doubt(f"the top 1 % of the draws carry {100 * estimate.tail_share:.0f} % of the sum", True)
    index, error = estimate.tail_index, estimate.tail_index_stderr
    if index is not None and error is not None and index + 2.0 * error < 1.0:
        return Doubt(f"the tail index is {index:.2f} +- {error:.2f}, below 1", True)
    if estimate.tail_law is not None:
        return Doubt(estimate.tail_law, False)
    if index is not None and error is not None and index + 2.0 * error < 2.0:
        return Doubt(f"the tail index is {index:.2f} +- {error:.2f}, below 2", False)
    spread, lean = estimate.log_spread, estimate.log_skewness + 2.0 * math.sqrt(6.0 / estimate.samples)
    if spread * lean > LARGEST_LEAN:
        return Doubt(
            f"the log-energies lean to the right (skewness {estimate.log_skewness:.2f}, spread {spread:.2f})", False
        )
    needed = needed_draws(spread)
    if estimate.samples < needed:
        return Doubt(f"log-energies with a spread of {spread:.2f} take {needed:.3g} draws or more", False)
    return None


def needed_draws(spread: float) -> float:
    """Number of log-normal draws whose mean has the largest skewness that is allowed."""
    if spread > 15.0:
        return math.inf
    square = math.exp(spread**2)
    return math.ceil((square + 2.0) ** 2 * (square - 1.0) / LARGEST_SKEWNESS**2)


def log_chance(log_ratios: Floats, log_mean_ratio: float, relative_variance: float | None, seen: float) -> float:
    """Log of an upper bound on the chance of a mean that far from its exact value, from logs of draws over that value.

    `relative_variance` is the known one or an upper bound; without it the lower side rests on four times the one that was
    `seen`, a precaution and not a theorem.
    """
    count = log_ratios.size
    gap = -math.expm1(min(log_mean_ratio, 0.0))
    v = _CAUTION * seen if relative_variance is None else relative_variance
    below = -count * gap**2 / (2.0 * (v + gap / 3.0)) if gap > 0.0 and v < math.inf else 0.0
    cut = _CUT
    if relative_variance is not None and relative_variance < math.inf:
        cut = max(2.0, 3.0 * math.sqrt(relative_variance * count / (-2.0 * RULED_OUT)))
    excess = float(np.mean(np.exp(np.minimum(log_ratios, math.log(cut))))) - 1.0
    if excess <= 0.0:
        return min(0.0, below + math.log(2.0))
    v = cut if relative_variance is None else min(relative_variance, cut)
    return min(0.0, -count * excess**2 / (2.0 * (v + cut * excess / 3.0)) + math.log(2.0))


def verdict(estimate: Estimate) -> str:
    """One sentence on what the mean is worth."""
    why = doubt(estimate)
    if estimate.repeated:
        return _of_repetitions(estimate, why)
    instead = "read the median" if estimate.log_exact is None else "read the exact mean or the median"
    instead = f"use method='tempered', or {instead}" if estimate.tempered else instead
    z = estimate.z
    proved = why is None or estimate.predicted_relative_stderr is not None or (z is not None and z > 0.0)
    if z is not None and proved and estimate.log_chance < RULED_OUT:
        bound = estimate.log_chance / math.log(10.0)
        return f"mean DISAGREES with the exact value (z = {z:+.1f}; chance does that less than once in 1e{-math.ceil(bound)})"
    if why is not None and why.hopeless:
        return f"mean not reachable with plain sampling here ({why.reason}): {instead}"
    if why is not None:
        if z is not None and z < -LARGEST_Z:
            return f"mean too low, as it tends to be where draws are missing ({why.reason}): {instead}"
        return f"mean with an error not to be trusted, because {why.reason}: {instead}"
    if z is None:
        return "mean with a usable error, no exact value to compare"
    if abs(z) > LARGEST_Z:
        return f"mean far from the exact value (z = {z:+.1f}), which a heavy tail alone can do: {instead}"
    return f"mean agrees with the exact value (z = {z:+.1f})"


def _of_repetitions(estimate: Estimate, why: Doubt | None) -> str:
    if why is not None:
        return f"mean not reached: {why.reason}, so take more particles in each"
    if estimate.z is None:
        return "mean with a usable error, no exact value to compare"
    from scipy import special

    farther = 2.0 * float(special.stdtr(estimate.samples - 1, -abs(estimate.z)))
    agrees = "DISAGREES" if farther < math.erfc(LARGEST_Z / math.sqrt(2.0)) else "agrees"
    return f"mean {agrees} with the exact value (t = {estimate.z:+.1f} in {estimate.samples - 1} degrees of freedom)"


def _percent(share: float) -> str:
    return f"{100.0 * share:.3g}" if share < 1e6 else "more than 1e8"
