"""Activations of recurrences: what they are, their slopes, and where these jump.

A record says all that the laws of this room need. `ACTIVATIONS` has those that come with the package, by name; any other
function is wrapped by `as_activation` together with its derivative.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import finite_number, flag, real_array, shown
from signalprop._registry import Registry
from signalprop.fields import choices

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]
_PROBES = np.array([-40.0, -3.0, -0.7, -1e-3, 1e-3, 0.7, 3.0, 40.0])
MAX_KINKS = 64


@dataclass(frozen=True, slots=True)
class Activation:
    """An entry-wise function phi with its derivative.

    Parameters
    ----------
    value, slope
        phi and its derivative phi', from a float64 array to one of the same shape.
    kinks
        Finite points where phi or phi' is not smooth; quadrature breaks there. At most 64.
    homogeneous
        Whether phi(a x) = a phi(x) for every a > 0, as for rectifiers: then no law of the slopes depends on the variance.

    Raises
    ------
    ValueError
        No functions, functions that do not keep the shape of an array or leave the real numbers, or kinks that are not finite;
        `homogeneous` for a function that is not.
    """

    value: Function
    slope: Function
    kinks: tuple[float, ...] = ()
    homogeneous: bool = False

    @property
    def saturates(self) -> bool:
        """Whether it is odd and bounded, as tanh is; judged at a few points, up to 40."""
        values = _tried(self.value, "value")
        odd = np.allclose(values, -values[::-1], rtol=1e-10, atol=1e-300)
        return bool(odd and abs(values[-1]) < 2.0 * abs(values[-2]))

    @property
    def constant_slope(self) -> bool:
        """Whether it is linear; judged at a few points."""
        return bool(np.ptp(_tried(self.slope, "slope")) == 0.0)

    def __post_init__(self) -> None:
        for name, function in (("value", self.value), ("slope", self.slope)):
            if not callable(function):
                raise ValueError(f"{name} must be a function of an array, got {shown(function)}.")
        object.__setattr__(self, "kinks", tuple(sorted(set(map(float, checked_kinks(self.kinks))))))
        object.__setattr__(self, "homogeneous", flag(self.homogeneous, "homogeneous"))
        values = _tried(self.value, "value")
        _tried(self.slope, "slope")
        if self.homogeneous:
            doubled = _tried(lambda x: self.value(2.0 * x), "value")
            if not np.allclose(doubled, 2.0 * values, rtol=1e-10, atol=1e-300):
                raise ValueError("homogeneous is True, and value(2 x) is not 2 value(x); leave homogeneous out.")


def checked_kinks(kinks: Any) -> Floats:
    """At most 64 finite points."""
    found = real_array(kinks, "kinks", 1, empty=True)
    if found.size > MAX_KINKS:
        raise ValueError(f"kinks must be at most {MAX_KINKS} points, got {found.size}.")
    return found


def _tried(function: Function, name: str) -> Floats:
    try:
        found = np.asarray(function(_PROBES.copy()))
    except Exception as error:
        raise ValueError(f"{name} must take a float64 array; given {_PROBES.tolist()}, it raises {error!r}.") from error
    if found.shape != _PROBES.shape or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise ValueError(
            f"{name} must give finite real numbers of the shape of its argument; given {_PROBES.tolist()}, got "
            f"{shown(found)}."
        )
    return found.astype(np.float64)


def _sech2(x: Floats) -> Floats:
    decay = np.exp(-2.0 * np.abs(x))  # keeps its digits where 1 - tanh^2 has none left
    return 4.0 * decay / (1.0 + decay) ** 2


def _normal_density(x: Floats) -> Floats:
    # Clipped where it is below every float, for its square would overflow first.
    return np.exp(-0.5 * np.minimum(np.abs(x), 40.0) ** 2) / math.sqrt(2.0 * math.pi)


def _erf(x: Floats) -> Floats:
    from scipy.special import erf

    return np.asarray(erf(x), dtype=np.float64)


def _normal_share(x: Floats) -> Floats:
    from scipy.special import ndtr

    return np.asarray(ndtr(x), dtype=np.float64)


def _sigmoid(x: Floats) -> Floats:
    from scipy.special import expit

    return np.asarray(expit(x), dtype=np.float64)


def _silu_slope(x: Floats) -> Floats:
    share = _sigmoid(x)
    return share * (1.0 + x * _sigmoid(-x))


def leaky_relu(negative_slope: float = 0.01) -> Activation:
    """The rectifier with a slope below zero: x above, ``negative_slope`` times x below; 0.01 is the slope of PyTorch.

    Parameters
    ----------
    negative_slope
        Any finite number; 0 is the ReLU, 1 the identity.

    Raises
    ------
    ValueError
        No finite number.

    Examples
    --------
    >>> leaky_relu(0.5).value(np.array([-2.0, 2.0]))
    array([-1.,  2.])
    """
    below = finite_number(negative_slope, "negative_slope")
    return Activation(
        lambda x: np.where(x > 0.0, x, below * x), lambda x: np.where(x > 0.0, 1.0, below), (0.0,), homogeneous=True
    )


ACTIVATIONS: Registry[Activation] = Registry(
    "activation",
    Activation,
    {
        "linear": Activation(lambda x: 1.0 * x, np.ones_like, homogeneous=True),
        "tanh": Activation(np.tanh, _sech2),
        "erf": Activation(_erf, lambda x: math.sqrt(8.0) * _normal_density(math.sqrt(2.0) * x)),
        "relu": leaky_relu(0.0),
        "leaky_relu": leaky_relu(),
        "hardtanh": Activation(
            lambda x: np.clip(x, -1.0, 1.0), lambda x: np.where(np.abs(x) < 1.0, 1.0, 0.0), (-1.0, 1.0)
        ),
        "silu": Activation(lambda x: x * _sigmoid(x), _silu_slope),
        "gelu": Activation(lambda x: x * _normal_share(x), lambda x: _normal_share(x) + x * _normal_density(x)),
    },
)


def as_activation(
    activation: Any, derivative: Function | None = None, *, kinks: tuple[float, ...] = (), homogeneous: bool = False
) -> Activation:
    """The record of an activation.

    Parameters
    ----------
    activation
        A name of `ACTIVATIONS`, an `Activation`, or a function phi of a float64 array.
    derivative
        For a function: its derivative. Held against differences of phi at a few points away from the kinks.
    kinks, homogeneous
        For a function, as in `Activation`.

    Raises
    ------
    ValueError
        A name that is not known; a function without a derivative, or with another function's; a derivative for what has one.

    Examples
    --------
    >>> as_activation("relu").homogeneous
    True
    >>> softsign = as_activation(lambda x: x / (1 + abs(x)), derivative=lambda x: (1 + abs(x)) ** -2.0, kinks=(0.0,))
    >>> softsign.kinks
    (0.0,)
    """
    if not callable(activation) or isinstance(activation, Activation):
        if derivative is not None:
            raise ValueError(f"derivative belongs to a function; {shown(activation)} has its own.")
        if real_array(kinks, "kinks", 1, empty=True).size or flag(homogeneous, "homogeneous"):
            raise ValueError(f"kinks and homogeneous are those of a function; {shown(activation)} has its own.")
        return activation if isinstance(activation, Activation) else ACTIVATIONS.find(activation)
    if derivative is None:
        raise ValueError(
            f"activation is a function, {shown(activation)}, and needs derivative= beside it; "
            f"{choices(ACTIVATIONS)} go by their names."
        )
    record = Activation(activation, derivative, kinks, homogeneous)
    _same_derivative(record)
    return record


def _same_derivative(record: Activation) -> None:
    step = 1e-4
    points = np.array([-2.9, -1.7, -0.6, -0.13, 0.11, 0.7, 1.9, 3.1])
    far = np.array([min((abs(p - kink) for kink in record.kinks), default=1.0) > 2.0 * step for p in points])
    points = points[far]
    differences = (np.asarray(record.value(points + step)) - np.asarray(record.value(points - step))) / (2.0 * step)
    slopes = np.asarray(record.slope(points))
    wrong = np.abs(differences - slopes) > 1e-4 * (1.0 + np.abs(slopes))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise ValueError(
            f"derivative is not that of the activation: at {points[place]:g} it is {slopes[place]:.6g}, and differences give "
            f"{differences[place]:.6g}; a place where the slope jumps goes into kinks=."
        )
