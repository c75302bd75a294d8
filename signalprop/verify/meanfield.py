"""Laws of nonlinear and gated cells: quadrature against closed forms and plain sums, and against drawn layers.

Second routes differentiate nothing by formula: slopes are differences, and settled variances come from iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop import meanfield
from signalprop._streams import stream
from signalprop.verify.check import FIELDS, Check

Floats = NDArray[np.float64]
LARGEST_Z = 5.0  # of some forty scores
_Q = np.logspace(-6.0, 6.0, 13)
_C = np.array([-1.0, -0.6, 0.0, 0.3, 0.99, 1.0])
_STDS = (0.1, 1.0)


def checks(thorough: bool) -> list[Check]:
    """Closed forms, one drawn layer, exact increments, Lyapunov exponents; the thorough ones with ten times the draws."""
    times = 10 if thorough else 1
    return [
        Check("means of ReLU and leaky ReLU (P) = closed forms", "q in 1e-6..1e6", "relative error", 1e-10, _rectifiers),
        Check("means of erf and hard tanh (P) = closed forms", "q in 1e-6..1e6, s = 0.1, 1", "relative error", 1e-9, _closed),
        Check("correlations of ReLU and erf (P) = arc-cosine, arcsine", "c in -1..1", "absolute error", 1e-8, _correlations),
        Check("edge of chaos (P): chi = 1 by sums and differences", "tanh, s = 0.1, 1; SiLU, s = 1", "|chi - 1|", 1e-7, _edges),
        Check(
            "chi and r (P) = mean and variance over drawn layers", "tanh, ReLU, GELU, n = 200", "largest |z|", LARGEST_Z,
            partial(_layers, 100 * times),
        ),
        Check(
            "fresh linear and ReLU steps: law (P) = exact increments", "n in 64..4096", "error over 1/n", 5.0,
            _increments,
        ),
        Check("keeping biases (P): energy kept = that without inputs", "b in -5..12, s in 0.1..8", "relative error", 1e-8, _kept),
        Check(
            "Lyapunov exponents (P) = QR of drawn matrices", f"{', '.join(FIELDS)}, n = 6", "largest |z|", LARGEST_Z,
            partial(_exponents, 4000 * times),
        ),
    ]  # fmt: skip


def _apart(got: Any, want: Any) -> float:
    return float(np.max(np.abs(np.asarray(got) / np.asarray(want) - 1.0)))


def _rectifiers() -> float:
    worst, g, s = 0.0, 0.9, 0.7
    for below in (0.0, 0.01, -0.5):
        phi, square = meanfield.leaky_relu(below), (1.0 + below**2) / 2.0
        worst = max(
            worst,
            _apart(meanfield.variance_map(_Q, g, phi, s), g * g * square * _Q + s * s),
            _apart(meanfield.slope_kurtosis(_Q, phi), (1.0 + below**4) / 2.0 / square**2),
            _apart(meanfield.chi(g, phi, s), g * g * square),
            _apart(meanfield.fixed_point(g, phi, s), s * s / (1.0 - g * g * square)),
            _apart(meanfield.critical_scale(phi, s), square**-0.5),
        )
    return worst


def _erf_value(q: Floats) -> Floats:
    """E erf^2 (Williams), by an arctangent that keeps its digits."""
    return np.asarray(2.0 / math.pi * np.arctan2(2.0 * q, np.sqrt(1.0 + 4.0 * q)))


def _erf_slope(q: Floats) -> Floats:
    return np.asarray(4.0 / math.pi / np.sqrt(1.0 + 4.0 * q))


def _clipped_value(q: Floats) -> Floats:
    from scipy.special import erf

    a = 1.0 / np.sqrt(q)
    inside = erf(a / math.sqrt(2.0))
    return np.asarray(q * (inside - 2.0 * a * np.exp(-0.5 * a * a) / math.sqrt(2.0 * math.pi)) + 1.0 - inside)


def _clipped_slope(q: Floats) -> Floats:
    from scipy.special import erf

    return np.asarray(erf(np.sqrt(0.5 / q)))


def _closed() -> float:
    from scipy.optimize import brentq

    worst = _apart(meanfield.slope_kurtosis(_Q, "erf"), (1.0 + 4.0 * _Q) / np.sqrt(1.0 + 8.0 * _Q))
    worst = max(worst, _apart(meanfield.slope_kurtosis(_Q, "hardtanh"), 1.0 / _clipped_slope(_Q)))
    for name, value, slope in (("erf", _erf_value, _erf_slope), ("hardtanh", _clipped_value, _clipped_slope)):
        # E clip^2 in closed form loses its digits where 1/sqrt(q) is small.
        q = _Q[_Q < 1e4]
        worst = max(worst, _apart(meanfield.variance_map(q, 1.3, name, 0.2), 1.69 * value(q) + 0.04))
        for s in _STDS:
            settled = _settled(1.3, s, value)
            worst = max(
                worst,
                _apart(meanfield.fixed_point(1.3, name, s), settled),
                _apart(meanfield.chi(1.3, name, s), 1.3**2 * slope(np.asarray(settled))),
            )
            q_edge = brentq(partial(_excess, s, value, slope), s * s + 1e-3, 1e3, xtol=1e-15)
            worst = max(worst, _apart(meanfield.critical_scale(name, s), slope(np.asarray(q_edge)) ** -0.5))
    return worst


def _settled(g: float, s: float, value: Callable[[Any], Any]) -> float:
    """The end of q <- g^2 E phi^2 + s^2 from 1 on."""
    return _iterated(lambda q: g * g * value(q) + s * s)


def _excess(s: float, value: Callable[[Any], Any], slope: Callable[[Any], Any], q: float) -> float:
    """Zero at the edge of chaos."""
    at = np.asarray(q)
    return float((at - s * s) * slope(at) - value(at))


def _iterated(step: Callable[[Any], Any], start: float = 1.0, most: int = 3000) -> float:
    value = start
    for _ in range(most):
        before, value = value, float(step(value))
        if value == before:
            break
    return value


def _arc_cosine(c: Floats) -> Floats:
    """E of the product of two rectified variables of variance 1 (Cho and Saul)."""
    angle = np.arccos(c)
    return np.asarray((np.sin(angle) + (math.pi - angle) * c) / (2.0 * math.pi))


def _correlations() -> float:
    g, s, below, inputs = 1.1, 0.6, -0.3, 0.8
    phi = meanfield.leaky_relu(below)
    q = s * s / (1.0 - g * g * (1.0 + below**2) / 2.0)
    pairs = (1.0 + below**2) * _arc_cosine(_C) - 2.0 * below * _arc_cosine(-_C)
    worst = float(
        np.abs(meanfield.correlation_map(_C, g, phi, s, inputs) - (g * g * q * pairs + s * s * inputs) / q).max()
    )
    for g in (1.2, 3.0):
        q = _settled(g, s, _erf_value)

        def step(c: Any, g: float = g, q: float = q) -> Any:
            return (g * g * 2.0 / math.pi * np.arcsin(2.0 * q * c / (1.0 + 2.0 * q)) + s * s * inputs) / q

        worst = max(worst, float(np.abs(meanfield.correlation_map(_C, g, "erf", s, inputs) - step(_C)).max()))
        limit = _iterated(step, 0.0)
        worst = max(worst, abs(float(meanfield.correlation_fixed_point(g, "erf", s, inputs)) - limit))
        slope = (step(limit + 1e-5) - step(limit - 1e-5)) / 2e-5
        worst = max(worst, abs(math.exp(-1.0 / float(meanfield.correlation_time(g, "erf", s, inputs))) - slope))
    return worst


def _edges() -> float:
    """At the critical scale: q by iteration from 1, means by the trapezoidal rule, slopes by differences."""
    z = np.linspace(-12.0, 12.0, 2401)
    weights = np.exp(-0.5 * z * z)
    weights /= weights.sum()
    worst = 0.0
    for name, stds in (("tanh", _STDS), ("silu", (1.0,))):
        phi = meanfield.ACTIVATIONS[name].value

        def square(q: Any, phi: Any = phi) -> Any:
            return phi(math.sqrt(q) * z) ** 2 @ weights

        for s in stds:
            g = float(meanfield.critical_scale(name, s))
            a = math.sqrt(_settled(g, s, square)) * z
            slopes = (phi(a + 1e-4) - phi(a - 1e-4)) / 2e-4
            worst = max(worst, abs(g * g * float(slopes**2 @ weights) - 1.0))
    return worst


def _layers(draws: int) -> float:
    """A tangent through one layer, by differences, across a state of the size that settles: then W h and W d are independent."""
    n, worst = 200, 0.0
    rng = stream(1, "verify one layer", n)
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    tangent = np.where(np.arange(n) % 4 < 2, 1.0, -1.0) / math.sqrt(n)
    tangent -= signs * (signs @ tangent) / n
    tangent /= np.linalg.norm(tangent)
    for name, g, s in (("tanh", 1.4, 0.5), ("relu", 1.2, 0.5), ("gelu", 1.1, 0.8)):
        q = float(meanfield.fixed_point(g, name, s))
        h, phi = signs * math.sqrt((q - s * s) / g**2), meanfield.ACTIVATIONS[name].value
        energies = np.empty(draws)
        for draw in range(draws):
            both = rng.standard_normal((n, n)) @ np.stack([h, tangent], axis=1) * (g / math.sqrt(n))
            a, moved = both[:, 0] + s * rng.standard_normal(n), 1e-6 * both[:, 1]
            energies[draw] = float(np.sum((phi(a + moved) - phi(a - moved)) ** 2)) / 4e-12
        mean = float(meanfield.chi(g, name, s))
        variance = mean**2 * (3.0 * float(meanfield.slope_kurtosis(q, name)) - 1.0) / n
        worst = max(
            worst,
            abs(float(energies.mean()) - mean) / math.sqrt(variance / draws),
            abs(float(energies.var(ddof=1)) / variance - 1.0) / math.sqrt(2.0 / draws),
        )
    return worst


def exact_increment(name: str, n: int, scale: float) -> tuple[float, float]:
    """Mean and variance of the log-energy that a fresh step adds: chi squared of n units, or of those that are open."""
    from scipy.special import digamma, polygamma
    from scipy.stats import binom

    units = np.arange(1, n + 1)
    share = {"linear": 1.0 * (units == n), "relu": binom.pmf(units, n, 0.5)}[name]
    logs = digamma(units / 2.0) + math.log(2.0 * scale**2 / n)
    mean = float(share @ logs)
    return mean, float(share @ (polygamma(1, units / 2.0) + (logs - mean) ** 2))


def _increments() -> float:
    """Relative errors of the variance, and of what the median loses per step, over 1/n."""
    worst, n, steps = 0.0, np.array([64, 256, 4096]), 50.0
    for name, g in (("linear", 0.8), ("relu", 2.0)):
        mean, variance = np.array([exact_increment(name, int(one), g) for one in n]).T
        law = meanfield.gradient_law(n, 50, g, name, 1.0, tied=False)
        without = math.log(float(meanfield.chi(g, name, 1.0)))
        lost = (law.median / steps - without) / (mean - without) - 1.0
        worst = max(worst, *(n * np.abs(lost)), *(n * np.abs(law.std**2 / (steps * variance) - 1.0)))
    return float(worst)


def _kept() -> float:
    """E sigmoid(b' + s z)^2 and 1 less it by the midpoint rule, against a gate that no input shakes."""
    worst = 0.0
    z = (np.arange(40_000) + 0.5) / 1000.0 - 20.0
    weights = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) / 1000.0
    for b in (-5.0, 0.0, 3.0, 12.0):
        for s in (0.1, 1.0, 3.0, 8.0):
            a = float(meanfield.keeping_bias(b, s)) + s * z
            kept, wanted = np.exp(-2.0 * np.logaddexp(0.0, -a)), np.exp(-2.0 * np.logaddexp(0.0, -b))
            lost = -np.expm1(-2.0 * np.logaddexp(0.0, -a)) @ weights, -np.expm1(-2.0 * np.logaddexp(0.0, -b))
            worst = max(worst, abs(float(lost[0] / lost[1]) - 1.0), abs(float(kept @ weights / wanted) - 1.0))
    return worst


def _exponents(draws: int) -> float:
    """Means of log R_ii, whose variance is that of the logarithm of a chi variable over two; QR does not see the frame before."""
    from scipy.special import polygamma

    n, worst = 6, 0.0
    for beta, field in ((1, "real"), (2, "complex"), (4, "quaternion")):
        rng = stream(2, "verify exponents", beta)
        parts = rng.standard_normal((4, draws, n, n)) / math.sqrt(beta * n)
        a, b = parts[0] + 1j * parts[1] * (beta > 1), parts[2] + 1j * parts[3]
        if beta == 4:
            w = np.empty((draws, 2 * n, 2 * n), np.complex128)  # a + b j, entry by entry a 2 x 2 matrix
            w[:, ::2, ::2], w[:, ::2, 1::2] = a, b
            w[:, 1::2, ::2], w[:, 1::2, 1::2] = -b.conj(), a.conj()
        else:
            w = a
        logs = np.log(np.abs(np.diagonal(np.linalg.qr(w, mode="r"), axis1=1, axis2=2)))
        logs = logs.reshape(draws, n, -1).mean(axis=2)
        stderr = np.sqrt(polygamma(1, 0.5 * beta * np.arange(n, 0, -1)) / 4.0 / draws)
        worst = max(worst, float(np.abs((logs.mean(axis=0) - meanfield.ginibre_exponents(n, field)) / stderr).max()))
    return worst
