r"""How alike two trajectories of one recurrence become: the map of their correlation, where it settles, and how fast.

Poole et al. (arXiv:1606.05340), Schoenholz et al. (arXiv:1611.01232); with inputs at every step Chen, Pennington and Schoenholz
(arXiv:1806.05394).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import array_between
from signalprop.meanfield.activations import Activation, Function, as_activation
from signalprop.meanfield.fixed_points import checked_input, checked_scale, each, settled
from signalprop.meanfield.quadrature import mean_of_pair

Floats = NDArray[np.float64]
_EDGE = 1e-12
_CRITICAL = 1e-7  # a slope this close to 1 is 1: the excess would drown in the rounding of the quadrature


def correlation_map(
    correlation: ArrayLike,
    scale: ArrayLike,
    activation: Any,
    input_std: ArrayLike = 0.0,
    input_correlation: ArrayLike = 1.0,
) -> Floats:
    r"""One step of the correlation of the preactivations of two trajectories under the same weights.

    .. math:: C(c)=\frac{g^2\,\mathrm E\,\phi(u)\phi(v)+s^2c_{\rm in}}q,\qquad u,v\sim\mathcal N(0,q),\ \mathrm E uv=cq

    at the variance q where both have settled.

    Parameters
    ----------
    correlation
        c, -1 to 1.
    scale, activation, input_std
        As in `variance_map`.
    input_correlation
        c_in, 0 to 1: correlation of what inputs and biases add to the two; 1 where both have the same. The four arrays broadcast.

    Returns
    -------
    float64 array

    Raises
    ------
    ValueError
        States that die out or grow without bound, and have no correlation; arguments outside of their ranges.

    Notes
    -----
    Status P, at infinite width. A quadrature over the plane for each entry, hundredths of a second.

    Examples
    --------
    >>> round(float(correlation_map(0.0, 1.0, "relu", 1.0)), 6)  # (2/(2 pi) + 1)/2
    0.659155
    """
    phi = as_activation(activation)
    c, g, s, inside = _checked(correlation, scale, input_std, input_correlation)
    q = _variance(phi, g, s)
    return each(
        lambda one, g, s, q, inside: _step(phi, one, g, s, q, inside),
        {"correlation": c, "scale": g, "input_std": s, "variance": q, "input_correlation": inside},
    )


def correlation_fixed_point(
    scale: ArrayLike, activation: Any, input_std: ArrayLike = 0.0, input_correlation: ArrayLike = 1.0
) -> Floats:
    r"""Correlation of two trajectories after many steps: the limit of c <- C(c) from c = 0.

    With the same inputs it is 1 if chi <= 1 (they forget where they began) and below 1 if chi > 1 (chaos).

    Parameters
    ----------
    scale, activation, input_std, input_correlation
        As in `correlation_map`; the arrays broadcast.

    Returns
    -------
    float64 array
        In [0, 1].

    Raises
    ------
    ValueError
        As for `correlation_map`.

    Notes
    -----
    Status P, at infinite width: in powers of c, C has coefficients of one sign (squares of Hermite coefficients), so it is
    convex and increasing on [0, 1] and the iteration ends in its smallest fixed point. About 15 quadratures over the plane
    for each entry.

    Examples
    --------
    >>> float(correlation_fixed_point(1.0, "tanh", 1.0)), round(float(correlation_fixed_point(3.0, "tanh", 0.5)), 4)
    (1.0, 0.169)
    """
    phi = as_activation(activation)
    g, s, inside = _checked(0.0, scale, input_std, input_correlation)[1:]
    q = _variance(phi, g, s)
    return each(
        lambda g, s, q, inside: _limit(phi, g, s, q, inside),
        {"scale": g, "input_std": s, "variance": q, "input_correlation": inside},
    )


def correlation_time(
    scale: ArrayLike, activation: Any, input_std: ArrayLike = 0.0, input_correlation: ArrayLike = 1.0
) -> Floats:
    r"""Steps in which the distance of the correlation from its limit falls by a factor e.

    .. math:: \xi=-1/\log C'(c^*),\qquad C'(c)=g^2\,\mathrm E\,\phi'(u)\phi'(v)

    Parameters
    ----------
    scale, activation, input_std, input_correlation
        As in `correlation_map`; the arrays broadcast.

    Returns
    -------
    float64 array

    Raises
    ------
    ValueError
        As for `correlation_map`; C' = 1 at the limit, as at chi = 1, where correlations approach it like a power of the number
        of steps.

    Notes
    -----
    Status P, at infinite width. One quadrature over the plane more than `correlation_fixed_point`.

    Examples
    --------
    >>> round(float(correlation_time(1.0, "tanh", 1.0)), 4)  # -1/log chi
    1.088
    """
    phi = as_activation(activation)
    g, s, inside = _checked(0.0, scale, input_std, input_correlation)[1:]
    q = _variance(phi, g, s)
    return each(
        lambda g, s, q, inside: _time(phi, g, s, q, inside),
        {"scale": g, "input_std": s, "variance": q, "input_correlation": inside},
    )


def _checked(correlation: ArrayLike, scale: ArrayLike, input_std: ArrayLike, inside: ArrayLike) -> list[Floats]:
    return [
        array_between(correlation, "correlation", -1.0, 1.0),
        checked_scale(scale),
        checked_input(input_std),
        array_between(inside, "input_correlation", 0.0, 1.0),
    ]


def _variance(phi: Activation, scale: Floats, input_std: Floats) -> Floats:
    from signalprop.meanfield.fixed_points import fixed_point

    q = fixed_point(scale, phi, input_std) if phi.homogeneous else settled(phi, scale, input_std)
    if not (q > 0.0).all():
        raise ValueError(
            "the states have no correlation where they die out: at this scale and input_std their variance falls to 0."
        )
    return q


def _pair(phi: Activation, function: Function, q: float, c: float) -> float:
    return mean_of_pair(function, q, c, np.asarray(phi.kinks))


def _step(phi: Activation, c: float, g: float, s: float, q: float, inside: float) -> float:
    return (g * g * _pair(phi, phi.value, q, c) + s * s * inside) / q


def _limit(phi: Activation, g: float, s: float, q: float, inside: float) -> float:
    unlike = s > 0.0 and inside < 1.0
    if not unlike and g * g * _pair(phi, phi.slope, q, 1.0) <= 1.0 + _CRITICAL:
        return 1.0
    if _step(phi, 0.0, g, s, q, inside) < _EDGE:
        return 0.0
    gap = 0.5
    while _step(phi, 1.0 - gap, g, s, q, inside) >= 1.0 - gap:
        gap *= 0.5
        if gap < _EDGE:
            return 1.0
    from scipy.optimize import brentq

    found = brentq(lambda left: _step(phi, 1.0 - left, g, s, q, inside) - 1.0 + left, gap, 1.0, xtol=1e-14, rtol=1e-12)
    return 1.0 - float(found)


def _time(phi: Activation, g: float, s: float, q: float, inside: float) -> float:
    slope = g * g * _pair(phi, phi.slope, q, _limit(phi, g, s, q, inside))
    if slope >= 1.0 - _CRITICAL:
        raise ValueError(
            f"there is no correlation time at scale={g:g} and input_std={s:g}: C' is 1, and the correlation nears its limit like "
            "a power of the number of steps."
        )
    return -1.0 / math.log(slope) if slope > 1e-300 else 0.0
