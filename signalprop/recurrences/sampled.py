"""Energies of drawn paths beside the exact ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SampledEnergies:
    """``||x_t||^2`` of drawn paths.

    Attributes
    ----------
    by_head
        (samples, T + 1, heads).
    exact_by_head
        (T + 1, heads) exact means.
    """

    by_head: Floats
    exact_by_head: Floats
    _variance: Callable[[], Floats]

    @property
    def energies(self) -> Floats:
        """Total energy of each path, (samples, T + 1)."""
        return np.asarray(self.by_head.sum(axis=2))

    @property
    def exact(self) -> Floats:
        """Exact mean of the total, (T + 1,)."""
        return np.asarray(self.exact_by_head.sum(axis=1))

    @cached_property
    def mean(self) -> Floats:
        """Sample mean of the total at each step."""
        return np.asarray(self.energies.mean(axis=0))

    @cached_property
    def stderr(self) -> Floats:
        """Exact standard deviation of `mean` (Gaussian inputs)."""
        return np.sqrt(self._variance() / len(self.by_head))

    @property
    def z(self) -> Floats:
        """(mean - exact)/stderr at each step; 0 at steps where the energy does not vary."""
        sure = self.stderr <= 1e-12 * np.maximum(self.exact, 1e-300)
        return np.where(sure, 0.0, (self.mean - self.exact) / np.where(sure, 1.0, self.stderr))
