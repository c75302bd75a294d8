"""Published laws of parameters at the start, and how far the stored numbers are from each.

The distance is that of Kolmogorov and Smirnov, the largest difference between the share of numbers below x and the law's. A
stored number may have been rounded from anything up to its neighbours, and counts for whichever of these suits the law best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_BY_CHANCE = 1e-4  # a sample this unlikely under a law does not come from it


@dataclass(frozen=True)
class Law:
    """A law that a parameter, or what is made from it, has at the start.

    Attributes
    ----------
    words
        What it is: ``"uniform from 1 to 16"``.
    source
        Who starts so.
    below
        The share of numbers that are at most x; None for fixed numbers.
    fixed
        For fixed numbers: those of a tensor of a shape.
    generic
        Whether it is what initializers fill anything with, so that it says nothing about a recurrence.
    """

    words: str
    source: str
    below: Callable[[Floats], Floats] | None = None
    fixed: Callable[[tuple[int, ...]], Floats] | None = None
    generic: bool = False


@dataclass(frozen=True)
class LawFit:
    """The law that is nearest to stored numbers.

    Attributes
    ----------
    quantity
        What was compared: ``"A = exp(A_log)"``.
    law, source
        The words of the nearest law, and who starts so.
    distance
        Between 0 and 1.
    fits
        Whether the numbers may be a draw of it: a draw at least as far away has a probability above 1e-4.
    generic
        As of the law.
    others
        Words and sources of further laws that fit as well.
    """

    quantity: str
    law: str
    source: str
    distance: float
    fits: bool
    generic: bool
    others: tuple[str, ...] = ()


def uniform(low: float, high: float, source: str, words: str = "") -> Law:
    """Uniform between two numbers."""
    return Law(
        words or f"uniform from {low:g} to {high:g}", source, lambda x: np.clip((x - low) / (high - low), 0.0, 1.0)
    )


def log_uniform(low: float, high: float, source: str) -> Law:
    """Uniform in the logarithm."""
    width = math.log(high / low)

    def below(x: Floats) -> Floats:
        return np.asarray(np.clip(np.log(np.maximum(x, 1e-300) / low) / width, 0.0, 1.0))

    return Law(f"log-uniform from {low:g} to {high:g}", source, below)


def normal(std: float, source: str, *, generic: bool = False) -> Law:
    """Normal around 0."""

    def below(x: Floats) -> Floats:
        from scipy.special import ndtr

        return np.asarray(ndtr(x / std))

    return Law(f"normal with standard deviation {std:g}", source, below, generic=generic)


def constant(value: float, source: str, *, generic: bool = False) -> Law:
    """One number everywhere."""
    return Law(f"{value:g} everywhere", source, fixed=lambda shape: np.full(shape, value), generic=generic)


def counting(source: str) -> Law:
    """1, 2, 3, .. along the last axis."""
    return Law("1, 2, 3, ..", source, fixed=lambda shape: np.broadcast_to(np.arange(1.0, shape[-1] + 1.0), shape))


GENERIC = (
    normal(0.02, "initializers for all parameters", generic=True),
    constant(0.0, "initializers for all parameters", generic=True),
)
"""What a parameter of a recurrence looks like where a generic initializer has overwritten it."""


def nearest(quantity: str, low: Floats, high: Floats, laws: Iterable[Law]) -> LawFit:
    """The law nearest to numbers that are known to lie between `low` and `high`.

    Parameters
    ----------
    quantity
        What they are called.
    low, high
        Of one shape: each number lies between these, and is one number where they are equal.
    laws
        To choose from. Those that fit come first, of them the fixed ones, for numbers that agree all are no chance.
    """
    found = [(_distance(low, high, law), law) for law in laws]
    order = sorted(found, key=lambda one: (not one[0][1], one[1].fixed is None, one[0][0]))
    (distance, fits), law = order[0]
    # Fixed numbers that agree are no chance; a few random ones fit several laws.
    chance = fits and law.fixed is None
    others = tuple(f"{one.words} ({one.source})" for (_, also), one in order[1:] if also and chance and not one.generic)
    return LawFit(quantity, law.words, law.source, distance, fits, law.generic, others)


def _distance(low: Floats, high: Floats, law: Law) -> tuple[float, bool]:
    if law.fixed is not None:
        wanted = law.fixed(low.shape)
        slack = 1e-6 * (1.0 + np.abs(wanted))  # the arithmetic of whoever filled it
        agree = bool(((low - slack <= wanted) & (wanted <= high + slack)).all())
        return (0.0, True) if agree else (_two_samples(0.5 * (low + high), wanted), False)
    assert law.below is not None
    n = low.size
    rank = np.arange(1, n + 1) / n
    above = np.max(rank - law.below(np.sort(high.ravel())))
    under = np.max(law.below(np.sort(low.ravel())) - (rank - 1.0 / n))
    distance = float(max(above, under, 0.0))
    return distance, _chance(distance, n) > _BY_CHANCE


def _two_samples(numbers: Floats, wanted: Floats) -> float:
    left, right = np.sort(numbers, axis=None), np.sort(wanted, axis=None)
    at = np.concatenate([left, right])
    difference = np.searchsorted(left, at, "right") / left.size - np.searchsorted(right, at, "right") / right.size
    return float(np.abs(difference).max())


def _chance(distance: float, n: int) -> float:
    """Probability of a larger distance by chance, by the limit law with Stephens' correction for few numbers."""
    from scipy.special import kolmogorov

    root = math.sqrt(n)
    return float(kolmogorov(distance * (root + 0.12 + 0.11 / root)))
