r"""The law of the log-energy of a gradient after T steps of a nonlinear recurrence, at large but finite width.

With L = log ||dh_T||^2/||dh_0||^2 for h_t = phi(W h_{t-1} + x_t), entries of W of variance g^2/n, and fresh inputs that add s^2
to a preactivation. To the order 1/n, at the fixed point q of the variance V(q):

.. math::
   \mathrm{median}\,L = T\log\chi-\frac{T\mu}n,\qquad
   \mathrm{Var}\,L = \frac{T\,(r(1+2/\beta)-1)}n+\text{(states)}

Slopes and weights alone, as if the slopes of a step were independent of everything else, give mu = (r(1+2/beta)-1)/2: with
z_i independent, ||D W dh||^2/||dh||^2 is a mean over units of g^2 phi'^2 \|z_i\|^2, and E\|z\|^4 = 1 + 2/beta.

States (real weights). The variance q_t of the preactivations of a draw is not q: q_{t+1} - q = V'(q_t - q) + eta_t, with eta_t
the excess of the mean over units of g^2 phi^2, of variance g^4 Var(phi^2)/n. It moves log chi by k(q_t - q), k = chi'/chi, and
eta_t goes along with the slopes of its own step, with covariance g^2 Cov(phi'^2, phi^2)/(n E phi'^2). Over T steps, to T:

.. math::
   \frac{\mathrm{Var}\,L}{T/n} = 3r-1+\frac{2k\,g^2\mathrm{Cov}(\phi'^2,\phi^2)}{(1-V')\,\mathrm E\phi'^2}
   +\frac{k^2g^4\,\mathrm{Var}\,\phi^2}{(1-V')^2}.

The median moves by k V'' Var(q_t)/(2(1-V')) + (log chi)'' Var(q_t)/2 for the spread of q_t, Var(q_t) = g^4
Var(phi^2)/(n(1-V'^2)), and by 2 q k E rho^2 for the angle rho between dh and h, which makes W dh and the slopes dependent: E
rho^2 = g^4 E(phi phi')^2/(n q chi (1-V'^2/chi)). All of it vanishes where k = 0, as for positively homogeneous activations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from signalprop._checks import broadcast, flag, probabilities, whole_numbers
from signalprop._status import Status
from signalprop.fields import Field, as_field, by_field
from signalprop.meanfield.activations import Activation, as_activation
from signalprop.meanfield.fixed_points import (
    checked_input,
    checked_scale,
    edge_of_chaos,
    kurtosis_of,
    settled,
    slope_moment,
)
from signalprop.meanfield.quadrature import mean_with_scores

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GradientLaw:
    """A normal law of the log-energy of a gradient; arrays of one shape.

    Attributes
    ----------
    median, std
        Of log ||dh_T||^2/||dh_0||^2, natural logarithm.
    status
        The mark: P or H.
    how_sure
        The same in words.
    """

    median: Floats
    std: Floats
    status: Status
    how_sure: str

    def quantile(self, p: ArrayLike) -> Floats:
        """The value that the log-energy stays below with probability `p`; `p` broadcasts with the law.

        Parameters
        ----------
        p
            Probabilities, strictly between 0 and 1 by more than 1e-12.

        Raises
        ------
        ValueError
            A probability outside of this range.
        """
        from scipy.special import ndtri

        median, std, share = broadcast({"median": self.median, "std": self.std, "p": probabilities(p, "p")})
        return np.asarray(median + std * ndtri(share), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Rates:
    """Times n: what a step adds to the variance and takes off the median, and what the states of the draw do."""

    log_chi: Floats
    slopes: Floats
    drift: Floats
    state_variance: Floats  # of k (q_t - q)
    state_covariance: Floats  # of it with the slopes of the step before
    memory: Floats  # V'

    def variance(self, steps: Floats) -> Floats:
        """Variance of the sum over steps, states stationary at its start: those that remember V' of themselves."""
        a, t = self.memory, steps
        with np.errstate(divide="ignore", invalid="ignore"):
            once = np.where(a == 1.0, 0.5 * t * (t - 1.0), (t - (1.0 - a**t) / (1.0 - a)) / (1.0 - a))
        return np.asarray(
            t * self.slopes + self.state_variance * (t + 2.0 * a * once) + 2.0 * self.state_covariance * once
        )


def gradient_law(
    n: ArrayLike,
    horizon: ArrayLike,
    scale: ArrayLike,
    activation: Any,
    input_std: ArrayLike = 0.0,
    field: str = "real",
    *,
    tied: bool = True,
) -> GradientLaw:
    r"""Law over draws of W of the log-energy of a gradient that is carried through `horizon` steps.

    Formulas in the text above this function: median T log chi - T mu/n, variance about T(3r-1)/n for real weights,
    T(2r-1)/n for complex ones.

    Parameters
    ----------
    n
        Width, 1 to 1e18.
    horizon
        T, 0 to 1e15 steps.
    scale, activation
        As in `variance_map`.
    input_std
        s, of the fresh inputs of each step; biases that stay do not count.
    field
        Number system of the weights. As there is no one way to apply an activation to complex or quaternion numbers, the law
        for these is that of slopes and weights alone, with slopes drawn as for real weights.
    tied
        One W at every step (a recurrence), or a fresh one. Arrays broadcast.

    Returns
    -------
    GradientLaw

    Raises
    ------
    ValueError
        ``tied`` without inputs, or with an activation that is not odd and saturating: what drives the layer then does not
        change from step to step as the law needs (`signalprop.safe_scale` for linear ones); states that grow without bound,
        other than those of positively homogeneous activations; slopes that vanish; arguments outside of their ranges.

    Notes
    -----
    Status P for fresh W and positively homogeneous activations, to the leading order in 1/n: the increments of L are
    independent with one law. Status H for fresh W and others: an expansion to order 1/n, which states no bound on its
    remainder. Measured with tanh at chi = 1, n = T = 64, 1200 draws: mean and standard deviation -3.46, 2.77 +- .06 at s = 1
    (law -3.29, 2.61); -1.85, 2.06 +- .04 at s = .3 (-1.85, 2.06); -1.29, 1.90 +- .04 at s = .1 (-1.36, 1.90).

    Status H for one W driven by fresh inputs and an odd activation that saturates: the same law. Others are refused: with ReLU
    the spread was 2 to 4 times that of the law (n = 64, 256, T = 64, s = 1), with GELU 5 times (n = 64), for a mean of the
    states that is not 0 drives the layer the same way at every step; the gradient of a linear layer does not see its inputs.
    Measured with tanh at chi = 1, n = 128, T = 16, 64, 128, 256: at s = 1 medians -0.47, -1.75, -3.65, -6.59 (law -0.41, -1.65,
    -3.29, -6.58), half the distance from 16 to 84 % 0.97, 1.85, 2.71, 3.84 (law 0.92, 1.85, 2.61, 3.70); at s = .3 medians
    -0.31, -1.39, -2.05, -3.48 (-0.23, -0.93, -1.85, -3.71), spread 0.86, 1.62, 2.37, 3.75 (0.72, 1.45, 2.06, 2.91). With weak
    inputs the spread is larger, by what `spread_ratio` gives.

    dh is a tangent carried forward from a start that is independent of the weights; a gradient carried back has the same mean
    energy and the same rates per step. The states are those after many steps. Cost: a quadrature for each entry of `scale`
    and `input_std`.

    Examples
    --------
    >>> law = gradient_law(128, 64, 2**0.5, "relu", tied=False)
    >>> round(float(law.median), 6), round(float(law.std) ** 2, 6)  # r = 2
    (-1.25, 2.5)
    """
    kind, phi = as_field(field), as_activation(activation)
    widths, steps = whole_numbers(n, "n", 1), whole_numbers(horizon, "horizon", 0, 10**15)
    g, s = checked_scale(scale), checked_input(input_std)
    if flag(tied, "tied"):
        _check_driven(phi, s, ", or tied=False for fresh weights at every step")
    named = {"n": widths.astype(np.float64), "horizon": steps.astype(np.float64), "scale": g, "input_std": s}
    width, steps_, g, s = broadcast(named)
    rates = _rates(phi, g, s, kind)
    median = steps_ * (rates.log_chi - rates.drift / width)
    return GradientLaw(median, np.sqrt(rates.variance(steps_) / width), *_status(phi, kind, tied))


def horizon(n: ArrayLike, activation: Any, input_std: ArrayLike) -> Floats:
    r"""Steps over which a driven layer at chi = 1 carries gradients: those after which their log-energy has variance 1.

    .. math:: T\approx\frac n{3r-1}

    with the part of the states added to 3r-1 (`gradient_law`, real weights). Of the order of n, not of sqrt(n) as for a linear
    recurrence.

    Parameters
    ----------
    n
        Width, 1 to 1e18.
    activation
        Odd and saturating, such as ``"tanh"``: others have no such law (`gradient_law`).
    input_std
        Of the fresh inputs of each step, above 0; biases do not count. The arrays broadcast.

    Returns
    -------
    float64 array
        Steps, not rounded.

    Raises
    ------
    ValueError
        Another activation; no inputs; arguments outside of their ranges.

    Notes
    -----
    Status H, with the errors of `gradient_law`: for s = 1 some 10 % too long, for s = .3 up to 1.7 times, for s <= .1 two to
    nine times; `crossover_horizon` is for those.

    Examples
    --------
    >>> horizon(1000, "tanh", [0.3, 1.0]).round()
    array([235., 146.])
    """
    phi = as_activation(activation)
    widths, s = broadcast({"n": whole_numbers(n, "n", 1).astype(np.float64), "input_std": checked_input(input_std)})
    _check_driven(phi, s, "")
    rates = _rates(phi, edge_of_chaos(phi, s).scale, s, Field.REAL)
    a = rates.memory
    with np.errstate(divide="ignore", invalid="ignore"):
        per_step = (
            rates.slopes + rates.state_variance * (1.0 + a) / (1.0 - a) + 2.0 * rates.state_covariance / (1.0 - a)
        )
    return np.asarray(widths / np.where(rates.state_variance > 0.0, per_step, rates.slopes))


def _check_driven(phi: Activation, s: Floats, otherwise: str) -> None:
    """Refuse what the law of one driven W was not measured for."""
    if not phi.saturates:
        raise ValueError(
            "activation must be odd and saturate, such as tanh, erf or hardtanh, for one W driven by inputs: others have no law "
            f"here, for their draws spread 2 to 10 times further; simulate them{otherwise}."
        )
    if (s == 0.0).any():
        raise ValueError(
            "one W at every step needs fresh inputs, and input_std is 0: a recurrence that nothing drives has another law; give "
            f"input_std{otherwise}."
        )


def _status(phi: Activation, kind: Field, tied: bool) -> tuple[Status, str]:
    if tied:
        return (
            Status.H,
            "the law of fresh weights, for one W driven by fresh inputs; gradient_law has measured errors",
        )
    if phi.homogeneous and (phi.constant_slope or by_field(kind, real=True, complex=False, quaternion=False)):
        return Status.P, "to the leading order in 1/n: increments are independent with one law"
    return Status.H, "an expansion to the order 1/n, without a bound on its remainder"


def _rates(phi: Activation, g: Floats, s: Floats, kind: Field) -> _Rates:
    # Few different scales meet many widths and horizons.
    pairs, back = np.unique(np.stack([g.ravel(), s.ravel()], axis=-1), axis=0, return_inverse=True)
    found = _distinct_rates(phi, pairs[:, 0], pairs[:, 1], kind)
    return _Rates(*(one[back.reshape(-1)].reshape(g.shape) for one in found))


def _distinct_rates(phi: Activation, g: Floats, s: Floats, kind: Field) -> tuple[Floats, ...]:
    q = settled(phi, g, s)
    r, chi = kurtosis_of(phi, q), g**2 * slope_moment(phi, q, 2)
    slopes = r * (1.0 + 2.0 / kind.beta) - 1.0
    drift = 0.5 * slopes
    nothing = np.zeros_like(q)
    if phi.homogeneous or by_field(kind, real=False, complex=True, quaternion=True):
        return np.log(chi), slopes, drift, nothing, nothing, nothing
    moved, variance, covariance, memory = _states(phi, np.maximum(q, 1e-12), g, chi)
    alive = q > 0.0  # states that die out have slopes of one size
    kept = [np.where(alive, one, 0.0) for one in (moved, variance, covariance, memory)]
    return np.log(chi), slopes, drift - kept[0], kept[1], kept[2], kept[3]


def _states(phi: Activation, q: Floats, g: Floats, chi: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """What the states move the mean by, Var(k q_t), Cov(k q_{t+1}, slopes of t), V'; the first three times n."""

    def functions(x: Floats) -> Floats:
        f, d = phi.value(x), phi.slope(x)
        return np.stack([d * d, f * f, (f * d) ** 2, f**4, f * d * x])

    def mean(score: Any = None) -> Floats:
        return mean_with_scores(functions, q, phi.kinks, score)

    # E f(sqrt(q) z) has derivative E f (z^2 - 1)/(2q) and second derivative E f (z^4 - 6 z^2 + 3)/(4 q^2).
    slope2, value2, product, value4, carried = mean()
    first, second = mean(lambda z: z * z - 1.0), mean(lambda z: z**4 - 6.0 * z**2 + 3.0)
    k = first[0] / (2.0 * q * slope2)
    curve = second[0] / (4.0 * q**2 * slope2) - k**2  # of log chi
    memory = g**2 * carried / q
    bend = g**2 * (first[4] / 2.0 - carried) / q**2  # V''
    noise = g**4 * (value4 - value2**2)
    if not ((np.abs(memory) < 1.0).all() and (memory**2 < chi).all()):
        # q settles, so V' < 1; V'^2 < chi by Cauchy and Schwarz but where all units do the same.
        memory = np.clip(memory, -1.0 + 1e-12, 1.0 - 1e-12)
    spread = noise / (1.0 - memory**2)
    angle = g**4 * product / (q * chi) / np.maximum(1.0 - memory**2 / chi, 1e-12)
    moved = 0.5 * k * bend * spread / (1.0 - memory) + 0.5 * curve * spread + 2.0 * q * k * angle
    covariance = k * g**2 * (product - slope2 * value2) / slope2
    return moved, k**2 * spread, covariance, memory
