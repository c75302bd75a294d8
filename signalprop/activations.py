"""The activations that a step may end with, and what to cite for them."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

from signalprop._topics import Cites, Topic


class Activation(StrEnum):
    """Entry-wise activation, applied after the weights.

    Examples
    --------
    >>> Activation("leaky_relu").cites
    'relu'
    """

    LINEAR = "linear"
    RELU = "relu"
    LEAKY_RELU = "leaky_relu"

    @property
    def cites(self) -> Cites:
        """What to cite for it: a topic, or the name of the activation that has one."""
        match self:
            case Activation.LINEAR:
                return Topic("no activation")
            case Activation.RELU:
                return Topic("rectifiers with the gain that keeps the mean energy", ("he2015",))
            case Activation.LEAKY_RELU:
                return Activation.RELU.value
            case _:
                assert_never(self)
