"""The activations that the sampler's steps may end with, and what to cite for them."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from signalprop._topics import Cites, Topic


class SampledActivation(StrEnum):
    """Activations that `signalprop.sample` applies after the weights: some of those of `signalprop.meanfield.ACTIVATIONS`.

    Examples
    --------
    >>> SampledActivation("leaky_relu").cites
    'relu'
    """

    LINEAR = "linear"
    RELU = "relu"
    LEAKY_RELU = "leaky_relu"

    @property
    def cites(self) -> Cites:
        """What to cite for it: a topic, or the name of the activation that has one."""
        match self:
            case SampledActivation.LINEAR:
                return Topic("no activation")
            case SampledActivation.RELU:
                return Topic("rectifiers with the gain that keeps the mean energy", ("he2015",))
            case SampledActivation.LEAKY_RELU:
                return SampledActivation.RELU.value
            case _:
                assert_never(self)
