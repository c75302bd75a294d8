r"""How large preactivations are at infinite width, what a step does to a gradient there, and the scale at which it keeps it.

For h_t = phi(W h_{t-1} + U u_t + b) with independent entries of variance g^2/n in W, and s^2 the variance that inputs and bias
add to a preactivation. Poole et al. (arXiv:1606.05340), Schoenholz et al. (arXiv:1611.01232), Chen, Pennington and Schoenholz
(arXiv:1806.05394).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import array_between, broadcast
from signalprop.meanfield.activations import Activation, as_activation
from signalprop.meanfield.quadrature import mean_with_scores

Floats = NDArray[np.float64]
LARGEST_Q, SMALLEST_Q = 1e12, 1e-12
_RANGE = (1e-6, 1e6)  # of scales and of input_std
_ROUNDING = 1e-14  # without inputs, at g = 1/|phi'(0)|, V(q) falls short of q by less than this near zero


@dataclass(frozen=True, slots=True)
class Edge:
    """Where a step keeps the energy of a gradient, chi = 1; arrays of the shape of ``input_std``.

    Attributes
    ----------
    scale
        g.
    variance
        q of the preactivations there. Infinite for a positively homogeneous activation with inputs: there g keeps what is
        in the state, and every input adds to it.
    kurtosis
        r = E phi'^4/(E phi'^2)^2 there.
    """

    scale: Floats
    variance: Floats
    kurtosis: Floats


def variance_map(variance: ArrayLike, scale: ArrayLike, activation: Any, input_std: ArrayLike = 0.0) -> Floats:
    r"""One step of the variance of preactivations.

    .. math:: V(q) = g^2\,\mathrm E\,\phi(\sqrt q\,z)^2 + s^2

    Parameters
    ----------
    variance
        q, 0 to 1e12.
    scale
        g, 1e-6 to 1e6: the entries of W have variance g^2/n.
    activation
        A name, an `Activation`, or what `as_activation` makes of a function.
    input_std
        s, zero or 1e-6 to 1e6: standard deviation that inputs and biases add to a preactivation. The three arrays broadcast.

    Returns
    -------
    float64 array

    Raises
    ------
    ValueError
        Arguments outside of these ranges; an activation that is not known.

    Notes
    -----
    Status P, at infinite width and for Gaussian inputs and biases. One quadrature for each entry.

    Examples
    --------
    >>> float(variance_map(2.0, 1.0, "relu", 1.0))
    2.0
    """
    phi = as_activation(activation)
    q = array_between(variance, "variance", 0.0, LARGEST_Q)
    q, g, s = broadcast({"variance": q, "scale": checked_scale(scale), "input_std": checked_input(input_std)})
    return np.asarray(g**2 * _square(phi)(q) + s**2)


def fixed_point(scale: ArrayLike, activation: Any, input_std: ArrayLike = 0.0) -> Floats:
    r"""Variance of preactivations after many steps: the limit of q <- V(q) from q = 1.

    Parameters
    ----------
    scale, activation, input_std
        As in `variance_map`; the arrays broadcast.

    Returns
    -------
    float64 array
        q, at most 1e12. 0 where the state dies out, or falls below 1e-12.

    Raises
    ------
    ValueError
        The variance grows without bound, or beyond 1e12; it never settles; arguments outside of the ranges of `variance_map`.

    Notes
    -----
    Status P, at infinite width, for an E phi^2 that grows with q, as it does for every named activation. Some 50 quadratures for
    each entry, a few milliseconds.

    Examples
    --------
    >>> float(fixed_point(1.0, "relu", 1.0))  # s^2/(1 - g^2/2)
    2.0
    >>> round(float(fixed_point(1.5, "tanh", 0.5)), 6)
    1.218208
    """
    phi = as_activation(activation)
    return each(lambda g, s: _limit(phi, g, s), {"scale": checked_scale(scale), "input_std": checked_input(input_std)})


def chi(scale: ArrayLike, activation: Any, input_std: ArrayLike = 0.0) -> Floats:
    r"""Factor of one step on the mean energy of a gradient, at the variance where preactivations settle.

    .. math:: \chi = g^2\,\mathrm E\,\phi'(\sqrt q\,z)^2

    Below 1 gradients vanish, above 1 they explode, like chi^T. Positively homogeneous activations need no q, and have their chi
    where q grows without bound as well.

    Parameters
    ----------
    scale, activation, input_std
        As in `variance_map`; the arrays broadcast.

    Returns
    -------
    float64 array

    Raises
    ------
    ValueError
        As for `fixed_point`.

    Notes
    -----
    Status P for fresh W at every step, at infinite width; Status H for one W with fresh inputs, where states and gradients
    are taken as independent (arXiv:1806.05394).

    Examples
    --------
    >>> float(chi(1.0, "relu", 1.0)), round(float(chi(1.0, "tanh", 1.0)), 6)
    (0.5, 0.398879)
    """
    phi = as_activation(activation)
    named = broadcast({"scale": checked_scale(scale), "input_std": checked_input(input_std)})
    q = settled(phi, *named)
    return np.asarray(named[0] ** 2 * slope_moment(phi, q, 2))


def slope_kurtosis(variance: ArrayLike, activation: Any) -> Floats:
    r"""How unequal the slopes are among units.

    .. math:: r = \frac{\mathrm E\,\phi'(\sqrt q\,z)^4}{(\mathrm E\,\phi'(\sqrt q\,z)^2)^2}\ge1

    The slopes of a step at width n add (3r-1)/n to the variance of the log-energy of a gradient, and its states more:
    `gradient_law`.

    Parameters
    ----------
    variance
        q, 0 to 1e12; 0 means the limit from above.
    activation
        As in `variance_map`.

    Raises
    ------
    ValueError
        A variance outside of this range; an activation whose slopes vanish there.

    Examples
    --------
    >>> float(slope_kurtosis(7.0, "relu")), float(slope_kurtosis(0.0, "tanh"))
    (2.0, 1.0)
    """
    phi = as_activation(activation)
    return kurtosis_of(phi, array_between(variance, "variance", 0.0, LARGEST_Q))


def edge_of_chaos(activation: Any, input_std: ArrayLike = 0.0) -> Edge:
    r"""The scale at which a step keeps the energy of a gradient, and what holds there.

    .. math:: (q-s^2)\,\mathrm E\,\phi'^2=\mathrm E\,\phi^2,\qquad g^2=\frac{q-s^2}{\mathrm E\,\phi^2}

    which is chi = 1 and V(q) = q. Of several solutions the smallest that the iteration from q = 1 leads to.

    Parameters
    ----------
    activation, input_std
        As in `variance_map`.

    Returns
    -------
    Edge

    Raises
    ------
    ValueError
        There is none, as for SiLU without inputs; arguments outside of their ranges.

    Notes
    -----
    Status P, at infinite width. Positively homogeneous activations have g^2 = 1/E phi'^2 whatever the inputs are, and q infinite
    there once there are any.
    About 200 quadratures for each entry.

    Examples
    --------
    >>> edge = edge_of_chaos("tanh", 1.0)
    >>> [round(float(one), 4) for one in (edge.scale, edge.variance, edge.kurtosis)]
    [1.8556, 3.0364, 2.4258]
    """
    phi = as_activation(activation)
    s = checked_input(input_std)
    if phi.homogeneous:
        one = np.ones_like(s)
        return Edge(slope_moment(phi, one, 2) ** -0.5, np.where(s > 0.0, np.inf, 1.0), kurtosis_of(phi, one))
    pairs = [_edge(phi, float(one)) for one in s.ravel()]
    g, q = (np.array([pair[place] for pair in pairs]).reshape(s.shape) for place in (0, 1))
    return Edge(g, q, kurtosis_of(phi, q))


def critical_scale(activation: Any, input_std: ArrayLike = 0.0) -> Floats:
    """The scale g at which chi = 1: `edge_of_chaos` by its scale alone, arguments and errors as there.

    Linear 1, ReLU sqrt(2), whatever the inputs are; but with inputs their states grow without bound there.

    Examples
    --------
    >>> [round(float(critical_scale("tanh", s)), 4) for s in (0.01, 0.1, 0.3, 1.0, 2.0)]
    [1.0421, 1.1934, 1.3956, 1.8556, 2.325]
    """
    return edge_of_chaos(activation, input_std).scale


# What the other files of this room take: checked arguments.


def checked_scale(scale: ArrayLike) -> Floats:
    """A scale as an array of numbers between 1e-6 and 1e6."""
    return array_between(scale, "scale", *_RANGE)


def checked_input(input_std: ArrayLike) -> Floats:
    """Standard deviations of inputs as an array, each 0 or between 1e-6 and 1e6."""
    return np.abs(array_between(input_std, "input_std", *_RANGE, or_zero=True))  # without a sign of zero


def each(function: Callable[..., float], named: dict[str, Floats]) -> Floats:
    """A function of numbers, entry by entry of arrays that broadcast."""
    arrays = broadcast(named)
    rows = zip(*(array.ravel() for array in arrays), strict=True)
    return np.array([function(*map(float, row)) for row in rows], dtype=np.float64).reshape(arrays[0].shape)


def settled(phi: Activation, scale: Floats, input_std: Floats) -> Floats:
    """`fixed_point`, or 1 for a homogeneous activation, whose slopes have the same law at every variance."""
    if phi.homogeneous:
        return np.ones(np.broadcast_shapes(scale.shape, input_std.shape))
    return each(lambda g, s: _limit(phi, g, s), {"scale": scale, "input_std": input_std})


def slope_moment(phi: Activation, q: Floats, power: int) -> Floats:
    """E phi'^power."""
    return mean_with_scores(lambda x: phi.slope(x) ** power, q, phi.kinks)


def kurtosis_of(phi: Activation, q: Floats) -> Floats:
    """The ratio r at a checked variance."""
    square = slope_moment(phi, q, 2)
    if not (square > 1e-150).all():
        raise ValueError(f"activation has no slope at variance = {q[~(square > 1e-150)].flat[0]:g}: E phi'^2 is 0.")
    return np.asarray(slope_moment(phi, q, 4) / square**2)


def _square(phi: Activation) -> Callable[[ArrayLike], Floats]:
    return lambda q: mean_with_scores(lambda x: phi.value(x) ** 2, np.asarray(q, dtype=np.float64), phi.kinks)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=1e-300, rtol=4.0 * np.finfo(float).eps, maxiter=300))


def _limit(phi: Activation, g: float, s: float) -> float:
    square = _square(phi)
    grows = (
        f"the variance of the states grows without bound, or beyond {LARGEST_Q:g}, at scale={g:g} and input_std={s:g}, which is"
        " above what the activation holds; take a smaller scale."
    )
    if phi.homogeneous:
        factor = g * g * float(square(1.0))
        if abs(factor - 1.0) < 1e-14:  # the scale is 1/sqrt(E phi^2) in floating point
            factor = 1.0
        if factor > 1.0 or (factor == 1.0 and s > 0.0):
            raise ValueError(grows)
        return s * s / (1.0 - factor) if factor < 1.0 else 1.0

    def gain(q: float) -> float:
        return (g * g * float(square(q)) + s * s) / q - 1.0

    inner = outer = 1.0
    first = gain(1.0)
    if first == 0.0 and s > 0.0:
        return 1.0
    if first > (_ROUNDING if s == 0.0 else 0.0):
        while gain(outer := 2.0 * inner) > 0.0:
            inner = outer
            if inner > LARGEST_Q:
                raise ValueError(grows)
        low, high = inner, outer
    else:
        while gain(outer := 0.5 * inner) < (_ROUNDING if s == 0.0 else 0.0):
            inner = outer
            if inner < SMALLEST_Q:
                return s * s  # nothing is left but the inputs, of 1e-12 at least if there are any
        low, high = outer, inner
    q = _root(gain, low, high)
    if g * g * _relative_slope(phi, q) < -1.0:
        raise ValueError(
            f"the variance of the states swings to and fro and settles nowhere at scale={g:g} and input_std={s:g}."
        )
    return q


def _relative_slope(phi: Activation, q: float) -> float:
    """d/dq E phi^2 = E phi phi' u / q, u = sqrt(q) z."""
    return float(mean_with_scores(lambda x: phi.value(x) * phi.slope(x) * x, np.asarray(q), phi.kinks)) / q


def _edge(phi: Activation, s: float) -> tuple[float, float]:
    if s == 0.0:
        start, slope = float(phi.value(np.zeros(1))[0]), float(slope_moment(phi, np.zeros(()), 2))
        if start == 0.0 and slope > 0.0:
            g = slope**-0.5
            small = 2.0 ** np.arange(-40.0, 1.0)
            if _RANGE[0] <= g <= _RANGE[1] and (g * g * _square(phi)(small) / small - 1.0 < _ROUNDING).all():
                return g, 0.0

    def excess(added: ArrayLike) -> Floats:  # in q - s^2, which may be far smaller than q
        step = np.asarray(added, dtype=np.float64)
        q = step + s * s
        return np.asarray(step * slope_moment(phi, q, 2) / np.maximum(_square(phi)(q), 1e-300) - 1.0)

    grid = 2.0 ** np.arange(-40.0, 40.0, 0.5)
    grid = grid[grid + s * s < LARGEST_Q]
    signs = np.sign(excess(grid))
    for place in np.flatnonzero(signs[:-1] != signs[1:]):
        added = _root(lambda step: float(excess(step)), grid[place], grid[place + 1])
        q = added + s * s
        g = math.sqrt(added / float(_square(phi)(q)))
        if _RANGE[0] <= g <= _RANGE[1] and _leads_to(phi, g, s, q):
            return g, q
    raise ValueError(
        f"there is no scale of this activation at which chi = 1 for input_std={s:g}: no variance where it holds is one where"
        " the states settle from variance 1."
    )


def _leads_to(phi: Activation, g: float, s: float, q: float) -> bool:
    try:
        found = _limit(phi, g, s)
    except ValueError:
        return False
    return math.isclose(found, q, rel_tol=1e-4, abs_tol=1e-7)
