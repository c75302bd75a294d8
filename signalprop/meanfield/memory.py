r"""Biases of gates for a memory of so many steps, also where inputs shake the gates.

A gate of bias b keeps sigmoid(b)^2 of the energy of the state per step. Inputs that add s to its preactivation make that
E sigmoid(b + s z)^2, z standard normal: much less, as a gate that is open at one step in a hundred forgets. The bias b' with

.. math:: \mathrm E\,\sigma(b'+sz)^2=\sigma(b)^2

makes up for it: b' is about b + s^2/2 for b above s^2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import array_between, between, positive_float, shown, whole_number
from signalprop.meanfield._gates import LARGEST_BIAS, MAX_UNITS

Floats = NDArray[np.float64]
LARGEST_INPUT = 10.0
_POINTS = 1 << 20  # of all quadratures at a time, which bounds the memory


def keeping_bias(bias: ArrayLike, input_std: float) -> Floats:
    r"""The bias b' of a gate that keeps as much energy per step while inputs shake it as one of bias b does without inputs.

    Parameters
    ----------
    bias
        b, between -100 and 100; any shape.
    input_std
        s, standard deviation of what inputs and states add to the preactivation, independent from step to step; 0 to 10.

    Returns
    -------
    float64 array of the shape of `bias`
        b' with E sigmoid(b' + s z)^2 = sigmoid(b)^2, to the last digits of b'.

    Raises
    ------
    ValueError
        Arguments outside of these ranges.

    Notes
    -----
    Status P for a gate whose preactivations are independent from step to step. Cost: some ten quadratures for each different
    entry.

    Examples
    --------
    >>> keeping_bias([0.0, 4.0], 1.0).round(3)
    array([-0.218,  4.458])
    """
    return _keeping(array_between(bias, "bias", -LARGEST_BIAS, LARGEST_BIAS), _checked_input(input_std))


def chrono_biases(units: int, memory: float, input_std: float = 0.0) -> Floats:
    r"""Biases of forget gates for memories up to `memory` steps: the middles of `units` equal parts of the law log U(1, T - 1).

    For the LSTM they go into the forget gates, and their negatives into the input gates; for PyTorch's GRU into the update
    gates, which keep h where they are near 1.

    Parameters
    ----------
    units
        How many, 1 to 10000.
    memory
        T, above 2 steps, at most 1e15.
    input_std
        s, what inputs add to the preactivations of these gates, 0 to 10: makes up for it by `keeping_bias`. At s = 3 and
        T = 1000 biases rise by 3.8, without which a gradient loses e^-24 of its energy.

    Returns
    -------
    float64 array of shape (units,)

    Raises
    ------
    ValueError
        Arguments outside of these ranges.

    Notes
    -----
    Tallec and Ollivier (arXiv:1804.11188) draw them, for s = 0; equal parts of the law stand for an infinite width.

    Status H. Median of 12 draws of the log-energy of a gradient carried back over T = 160 and 1000 steps at n = 192, Gaussian
    kernels with g = 1, for each of s = 0.3, 1, 1.5, 3: LSTM -4.2 to -4.4, GRU -3.0 to -3.3. Without making up for the inputs
    an LSTM has -4.3, -5.7, -8.2, -25.8 at T = 160.

    Examples
    --------
    >>> np.exp(chrono_biases(2, 102)).round(6)
    array([26., 76.])
    >>> chrono_biases(2, 102, input_std=1.0).round(3)
    array([3.676, 4.8  ])
    """
    count, longest = whole_number(units, "units", 1, MAX_UNITS), positive_float(memory, "memory")
    if not 2.0 < longest <= 1e15:
        raise ValueError(f"memory must be above 2 steps and at most 1e15, got {shown(memory)}.")
    plain = np.log1p((np.arange(count) + 0.5) / count * (longest - 2.0))
    return _keeping(np.asarray(plain, dtype=np.float64), _checked_input(input_std))


def _checked_input(input_std: Any) -> float:
    smaller = "Normalise inputs that are larger, or make the input kernel smaller."
    return between(input_std, "input_std", 0.0, LARGEST_INPUT, smaller)


def _keeping(b: Floats, s: float) -> Floats:
    if s == 0.0 or b.size == 0:
        return b
    distinct, back = np.unique(b, return_inverse=True)
    parts = -(-distinct.size * _rule(s)[0].size // _POINTS)
    found = np.concatenate([_solved(part, s) for part in np.array_split(distinct, parts)])
    return found[back.reshape(-1)].reshape(b.shape)


def _solved(b: Floats, s: float) -> Floats:
    """Newton's method for log E(1 - sigmoid^2) where b >= 0, else for log E sigmoid^2, in a bracket."""
    z, weights = _rule(s)
    open_ = b >= 0.0
    sign = np.where(open_, -1.0, 1.0)  # the first falls in b', the second rises

    def means(x: Floats) -> tuple[Floats, Floats]:
        lost, kept, slope = (part @ weights for part in _energies(x[:, None] + s * z))
        chosen = np.where(open_, lost, kept)
        return np.log(chosen), sign * slope / chosen

    lost, kept, _ = _energies(b)
    wanted = np.log(np.where(open_, lost, kept))
    # E sigmoid^2 <= E exp(2x) and E(1 - sigmoid^2) <= 2 E exp(-x) hold the solution between these.
    low, high = np.minimum(b, 0.0) - np.log(2.0) - s * s, np.maximum(b, 0.0) + 0.5 * s * s + np.log(4.0)
    x = np.clip(b, low, high)
    for _ in range(200):
        value, slope = means(x)
        away = sign * (value - wanted)
        low, high = np.where(away < 0.0, x, low), np.where(away > 0.0, x, high)
        new = x - sign * away / slope
        new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
        # The error is squared from here to there, and beyond that rounding moves x.
        last = (np.abs(new - x) <= 1e-9 * np.maximum(np.abs(x), 1.0)).all()
        x = new
        if last:
            break
    return x


def _rule(s: float) -> tuple[Floats, Floats]:
    """The trapezoidal rule for a Gaussian, as far out as exp(2 s z) can carry it, at most to 38 standard deviations."""
    step = min(0.4, 0.25 / max(s, 1e-6))
    half = int(np.ceil(min(9.0 + 2.0 * s, 38.0) / step))
    z = step * np.arange(-half, half + 1)
    weights = step * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return np.asarray(z, dtype=np.float64), np.asarray(weights, dtype=np.float64)


def _energies(a: Floats) -> tuple[Floats, Floats, Floats]:
    """1 - sigmoid^2, sigmoid^2, and the derivative of the latter, without a loss of digits."""
    from scipy.special import expit

    gate, rest = expit(a), expit(-a)
    return rest * (1.0 + gate), gate**2, 2.0 * gate**2 * rest
