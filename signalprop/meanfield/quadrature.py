r"""Expectations over a centred Gaussian variable, and over a pair of correlated ones, by composite Gauss-Legendre rules.

A Gauss-Hermite rule fails where activations saturate within a small part of the Gaussian, and where they have kinks. Here the
line is cut at the kinks, at unit steps of the Gaussian, and at powers of two of the argument of the function, so that a
structure of size one is resolved at any variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import array_between, broadcast, shown
from signalprop.meanfield.activations import Function, checked_kinks

Floats = NDArray[np.float64]
CUTOFF = 13.0  # the Gaussian beyond has mass 1e-38
_UNIT_STEPS = np.arange(-CUTOFF, CUTOFF + 1.0)
_POWERS = np.concatenate([[0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0], 2.0 ** np.arange(5, 25)])
_ARGUMENTS = np.concatenate([-_POWERS[::-1], [0.0], _POWERS])
_WIDE_STEPS = np.concatenate(
    [[-CUTOFF], np.arange(-12.0, 13.0, 2.0), [CUTOFF]]
)  # in the plane, where panels are squared
_WIDE_ARGUMENTS = np.concatenate([-(2.0 ** np.arange(24, 0, -1)), [0.0], 2.0 ** np.arange(1, 25)])
NODES, PLANE_NODES = 20, 16
SMALLEST = 1e-300  # stands for the limit of variance zero: the square root is still a float
LARGEST = 1e13


def gaussian_mean(function: Function, variance: ArrayLike, *, kinks: Sequence[float] = ()) -> Floats:
    r"""Mean of a function of a centred Gaussian variable.

    .. math:: \mathrm E f(\sqrt q\,z),\qquad z\sim\mathcal N(0,1)

    Parameters
    ----------
    function
        f, from a float64 array to one of the same shape, or to one with further axes in front of it, for several functions at
        once. Smooth at the scale 1 between its kinks, and of at most polynomial growth.
    variance
        q, a number or an array between 0 and 1e13; 0 means the limit from above.
    kinks
        Points where f is not smooth.

    Returns
    -------
    float64 array
        Of the shape of `variance`, behind the further axes of f.

    Raises
    ------
    ValueError
        A variance outside of this range; a function of another shape, or one that leaves the floats.

    Notes
    -----
    Relative error below 1e-12 for powers of the activations of this package and of their slopes, q from 1e-12 to 1e12 (tests
    hold it against mpmath and closed forms). About 1500 values of f for each q.

    Examples
    --------
    >>> round(float(gaussian_mean(lambda x: np.maximum(x, 0) ** 2, 3.0, kinks=(0.0,))), 12)
    1.5
    """
    return mean_with_scores(function, array_between(variance, "variance", 0.0, LARGEST), checked_kinks(kinks))


def mean_with_scores(
    function: Function, q: Floats, kinks: Sequence[float] | Floats, score: Callable[[Floats], Floats] | None = None
) -> Floats:
    """E f(sqrt(q) z) score(z), for a checked variance: polynomials as scores give derivatives in q without those of f."""
    root = np.sqrt(np.maximum(q, SMALLEST))[..., None]
    edges = _edges(root, np.asarray(kinks, dtype=np.float64))
    nodes, weights = leggauss(NODES)
    half = 0.5 * np.diff(edges, axis=-1)[..., None]
    z = edges[..., :-1, None] + half * (1.0 + nodes)
    density = half * weights * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    if score is not None:
        density *= score(z)
    return np.asarray(np.sum(called(function, root[..., None] * z) * density, axis=(-2, -1)), dtype=np.float64)


def called(function: Function, x: Floats) -> Floats:
    """The values of f; a ValueError where they are no finite numbers of the shape of the argument."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            values = np.asarray(function(x))
    except Exception as error:
        raise ValueError(f"function must take a float64 array, and it raises {shown(error)}.") from error
    if values.dtype.kind not in "iuf" or values.shape[values.ndim - x.ndim :] != x.shape:
        raise ValueError(
            f"function must give real numbers of the shape of its argument, {x.shape}, got {values.dtype} of shape "
            f"{values.shape}."
        )
    if not np.isfinite(values).all():
        place = x[~np.isfinite(values.reshape(-1, *x.shape)).all(axis=0)].flat[0]
        raise ValueError(f"function must be finite, and at {place:g} it is not.")
    return values.astype(np.float64, copy=False)


def _edges(root: Floats, kinks: Floats) -> Floats:
    """Ends of panels in z, ascending, on a last axis in place of the one of `root`; some panels are empty."""
    with np.errstate(over="ignore"):
        scaled = np.concatenate([_ARGUMENTS, kinks]) / root
    scaled = np.clip(scaled, -CUTOFF, CUTOFF)
    fixed = np.broadcast_to(_UNIT_STEPS, (*root.shape[:-1], _UNIT_STEPS.size))
    return np.sort(np.concatenate([scaled, fixed], axis=-1), axis=-1)


def gaussian_pair_mean(
    function: Function, variance: ArrayLike, correlation: ArrayLike, *, kinks: Sequence[float] = ()
) -> Floats:
    r"""Mean of the product of one function at two correlated Gaussian variables.

    .. math:: \mathrm E f(u)f(v),\qquad u,v\sim\mathcal N(0,q),\quad \mathrm E uv=cq

    Parameters
    ----------
    function, kinks
        As in `gaussian_mean`; one function.
    variance, correlation
        q between 0 and 1e13 and c in [-1, 1]; they broadcast.

    Returns
    -------
    float64 array

    Raises
    ------
    ValueError
        Arguments outside of these ranges, or that do not broadcast; a function that leaves the floats.

    Notes
    -----
    A rule for v inside of one for u, cut where f has kinks, the outer one finer towards them as c nears 1. Relative error
    below 1e-10 for the activations of this package and their slopes, q from 1e-6 to 1e6. At q
    near 1, some 1e5 values of f for each pair, ten milliseconds.

    Examples
    --------
    >>> round(float(gaussian_pair_mean(np.sign, 1.0, 0.5, kinks=(0.0,))), 12)  # 2/pi arcsin(c)
    0.333333333333
    """
    cuts = checked_kinks(kinks)
    pairs = broadcast(
        {
            "variance": array_between(variance, "variance", 0.0, LARGEST),
            "correlation": array_between(correlation, "correlation", -1.0, 1.0),
        }
    )
    found = [
        mean_of_pair(function, float(one), float(two), cuts)
        for one, two in zip(*(p.ravel() for p in pairs), strict=True)
    ]
    return np.array(found).reshape(pairs[0].shape)


def mean_of_pair(function: Function, q: float, c: float, kinks: Floats) -> float:
    """E f(u) f(v), for checked numbers."""
    root = math.sqrt(max(q, SMALLEST))
    if abs(c) == 1.0:
        return float(
            mean_with_scores(lambda x: function(x) * function(c * x), np.asarray(q), np.concatenate([kinks, c * kinks]))
        )
    blur = math.sqrt((1.0 - c) * (1.0 + c))
    # As a function of u the inner mean has kinks blurred to the width `blur`, at the kinks and, through v, at kinks over c.
    centres = kinks[np.abs(kinks) < CUTOFF * root] / root
    through = kinks[np.abs(kinks) < CUTOFF * root * abs(c)] / root
    centres = np.concatenate([centres, through / c if c != 0.0 else through])
    rings = blur * 2.0 ** np.arange(-1, max(0, math.ceil(-math.log2(blur))) + 2)
    around = (centres[:, None] + np.concatenate([-rings, [0.0], rings])).ravel()
    outer = _compact(np.concatenate([_WIDE_STEPS, _WIDE_ARGUMENTS / root, around]))
    nodes, weights = leggauss(PLANE_NODES)
    half = 0.5 * np.diff(outer)[:, None]
    u = (outer[:-1, None] + half * (1.0 + nodes)).ravel()
    mass = (half * weights).ravel() * np.exp(-0.5 * u * u)
    total = 0.0
    lines = np.concatenate([_WIDE_ARGUMENTS, kinks])
    lines = lines[np.abs(lines) < 2.0 * CUTOFF * root] / root
    for some in np.array_split(np.arange(u.size), max(1, u.size // 128)):  # a block keeps the plane out of memory
        cuts = np.clip((lines - c * u[some, None]) / blur, -CUTOFF, CUTOFF)
        inner = np.sort(
            np.concatenate([cuts, np.broadcast_to(_WIDE_STEPS, (some.size, _WIDE_STEPS.size))], axis=1), axis=1
        )
        width = 0.5 * np.diff(inner, axis=1)[..., None]
        w = inner[:, :-1, None] + width * (1.0 + nodes)
        values = called(function, root * (c * u[some, None, None] + blur * w))
        line = np.sum(values * width * weights * np.exp(-0.5 * w * w), axis=(1, 2))
        total += float(np.sum(mass[some] * called(function, root * u[some]) * line))
    return total / (2.0 * math.pi)


def _compact(edges: Floats) -> Floats:
    """Distinct ends of panels inside of the cutoff."""
    return np.unique(np.clip(edges, -CUTOFF, CUTOFF))
