r"""Initial laws and accepted ranges of the layers: the one place that `recurrences`, `nn` and the command line read.

Diagonal LRU (Orvieto et al., arXiv:2303.06349; the code of its appendix and N. Zucchet's minimal-LRU agree):
\|lambda\|^2 uniform in [r_min^2, r_max^2], phase uniform in (0, max_phase), real and imaginary parts of B with variance
1/(2d) and of C with 1/N, so that E\|b\|^2 = 1/d and E\|c\|^2 = 2/N: the output keeps the real part only, and with it half of
the energy of C x. D standard normal. Their max_phase is 6.28, ours 2 pi.

RotRNN (Biegun et al., arXiv:2407.07239): M standard normal, B with variance 1/d (its scale cancels in xi), C with 1/N, D
standard normal, angles uniform in (0, max_phase). Published code has two laws of gamma and two scales of C: the modules that
were trained draw g = log(-log gamma) uniform, as here; the short listing draws gamma^2 uniform. C has 1/N in the listing
and in the simple module, as here, and 1/(d + N) in another module.

S4, S4D, S5: time steps log-uniform between the two ends of `DT_RANGE`.
"""

from __future__ import annotations

import math
from typing import Any

from signalprop._checks import INT64_LIMIT, pair_of, real_number, shown, whole_number

MODULI = (0.0, 1.0)  # r_min, r_max of the LRU
GAMMAS = (0.9, 0.999)  # of RotRNN
MAX_PHASE = 2.0 * math.pi
TIME_STEPS = (0.001, 0.1)  # of S4, S4D and S5
LARGEST_STEP = 1e6
_FULL_TURN = 2.0 * math.pi * (1.0 + 1e-5)  # 2 pi as float32, or written with five digits, is the full turn


def checked_moduli(r_min: Any, r_max: Any) -> tuple[float, float]:
    """Ends of the ring of an LRU as floats.

    Raises
    ------
    ValueError
        Not 0 <= r_min <= r_max <= 1, or r_max = 0, or r_min = 1.
    """
    low, high = real_number(r_min, "r_min"), real_number(r_max, "r_max")
    if not (0.0 <= low <= high <= 1.0 and high > 0.0):
        raise ValueError(
            f"the radii must satisfy 0 <= r_min <= r_max <= 1 and r_max > 0, got r_min={shown(r_min)} and "
            f"r_max={shown(r_max)}."
        )
    if low == 1.0:
        raise ValueError(
            f"r_min must be below 1, got {shown(r_min)}: at 1 every unit keeps its energy for ever and its normalizer is zero."
        )
    return low, high


def checked_gammas(gamma_min: Any, gamma_max: Any) -> tuple[float, float]:
    """Ends of gamma of a RotRNN as floats; equal ends fix gamma.

    Raises
    ------
    ValueError
        Not 0 < gamma_min <= gamma_max < 1.
    """
    low, high = real_number(gamma_min, "gamma_min"), real_number(gamma_max, "gamma_max")
    if not 0.0 < low <= high < 1.0:
        raise ValueError(
            f"gamma must satisfy 0 < gamma_min <= gamma_max < 1, got gamma_min={shown(gamma_min)} and "
            f"gamma_max={shown(gamma_max)}."
        )
    return low, high


def gamma_ends(gamma_min: Any, gamma_max: Any, gamma_range: Any = None) -> tuple[float, float]:
    """Ends of gamma, from two numbers or from the one pair that stood for them before.

    Raises
    ------
    ValueError
        As `checked_gammas`; both spellings at once.
    """
    ends = checked_gammas(gamma_min, gamma_max)
    if gamma_range is None:
        return ends
    pair = checked_gammas(*pair_of(gamma_range, "gamma_range"))
    if ends not in (GAMMAS, pair):
        raise ValueError(
            f"gamma_range must be left out where gamma_min and gamma_max are given, got {shown(gamma_range)} beside "
            f"{ends[0]:g} and {ends[1]:g}."
        )
    return pair


def checked_phase(max_phase: Any) -> float:
    """`max_phase` as a float in (0, 2 pi]; what rounds to 2 pi in five digits is 2 pi.

    Raises
    ------
    ValueError
        Outside, or NaN.
    """
    phase = real_number(max_phase, "max_phase")
    if not 0.0 < phase <= _FULL_TURN:
        raise ValueError(f"max_phase must lie in (0, 2 pi], got {shown(max_phase)}.")
    return min(phase, MAX_PHASE)


def checked_time_steps(dt_range: Any) -> tuple[float, float]:
    """Logarithms of the ends of a range of time steps.

    Raises
    ------
    ValueError
        Not two numbers 0 < low <= high <= 1e6.
    """
    low, high = (real_number(end, "dt_range") for end in pair_of(dt_range, "dt_range"))
    if not 0.0 < low <= high <= LARGEST_STEP:
        raise ValueError(f"dt_range must be two numbers 0 < low <= high <= {LARGEST_STEP:g}, got {shown(dt_range)}.")
    return math.log(low), math.log(high)


def checked_correlation(correlation: Any) -> float:
    """`correlation` of AR(1) inputs as a float strictly between -1 and 1.

    Raises
    ------
    ValueError
        Outside, or NaN.
    """
    rho = real_number(correlation, "correlation")
    if not -1.0 < rho < 1.0:
        raise ValueError(f"correlation must lie strictly between -1 and 1, got {shown(correlation)}.")
    return rho if abs(rho) > 1e-100 else 0.0  # below, no digit of an energy changes, and ratios would overflow


def ring_log_moduli(share: Any, r_min: float, r_max: float, xp: Any) -> Any:
    """``log|lambda|`` of units whose ``|lambda|^2`` lies `share` of the way from r_min^2 to r_max^2, below 0 even next to one.

    `share` is an array of NumPy or PyTorch with values in (0, 1) and `xp` that module.
    """
    inner = r_min / r_max
    of_outer = inner * inner + share * (1.0 - inner) * (1.0 + inner)  # |lambda|^2 over r_max^2
    lost = (1.0 - r_max) * (1.0 + r_max) + (1.0 - share) * (r_max - r_min) * (r_max + r_min)  # 1 - |lambda|^2
    near_one = lost < 0.5
    far = math.log(r_max) + 0.5 * xp.log(of_outer)
    return xp.where(near_one, 0.5 * xp.log1p(-xp.where(near_one, lost, 0.0)), far)


def gamma_rates(gamma_min: float, gamma_max: float) -> tuple[float, float]:
    """Ends of g = log(-log gamma), ascending."""
    low, high = checked_gammas(gamma_min, gamma_max)
    return math.log(-math.log(high)), math.log(-math.log(low))


def lru_input_std(inputs: int) -> float:
    """Standard deviation of each part of an entry of B of an LRU, sqrt(1/(2d))."""
    return math.sqrt(0.5 / whole_number(inputs, "inputs", 1, INT64_LIMIT))


def lru_readout_std(units: int) -> float:
    """Standard deviation of each part of an entry of C of an LRU, sqrt(1/N)."""
    return math.sqrt(1.0 / whole_number(units, "units", 1, INT64_LIMIT))


def rotrnn_input_std(inputs: int) -> float:
    """Standard deviation of an entry of B of a RotRNN, sqrt(1/d)."""
    return math.sqrt(1.0 / whole_number(inputs, "inputs", 1, INT64_LIMIT))


def rotrnn_readout_std(states: int) -> float:
    """Standard deviation of an entry of C of a RotRNN, sqrt(1/N)."""
    return math.sqrt(1.0 / whole_number(states, "states", 1, INT64_LIMIT))
