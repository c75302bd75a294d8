"""Which law holds at (n, k): the regime by its scales, and the simplest law within a tolerance of the exact value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from signalprop import energy
from signalprop._checks import INT64_LIMIT, positive_float, whole_number
from signalprop._status import Status
from signalprop.fields import Field, as_field, by_field
from signalprop.models import Model, as_model, by_model, energy_of
from signalprop.regimes import critical, exponential, polynomial, real
from signalprop.regimes.names import SUBCRITICAL_WITHIN, regime_by_scale

Floats = NDArray[np.float64]
_ROUNDING = 3e-13


@dataclass(frozen=True)
class Domain:
    """Where a law is meant to hold: in words, and as a test of one point (n, k)."""

    words: str
    contains: Callable[[float, float], bool]

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Law:
    """A law for one quantity: its name, where it holds, how sure it is, and its natural log as a function of arrays (n, k)."""

    name: str
    domain: Domain
    status: Status
    log_value: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]
    smallest_k: int = 0

    def holds(self, n: int, k: int) -> bool:
        """Whether (n, k) is in the law's domain."""
        width, depth = whole_number(n, "n", 1, INT64_LIMIT), whole_number(k, "k", 0, INT64_LIMIT)
        return depth >= self.smallest_k and self.domain.contains(float(width), float(depth))


_UP_TO_ROOT = Domain("k <= sqrt(n)", lambda n, k: k <= math.sqrt(n))
_FIXED_RATIO = Domain("k = c sqrt(n), c <= 5", lambda n, k: k <= 5.0 * math.sqrt(n))
_BELOW_SECOND_THRESHOLD = Domain("k <= sqrt(n log n)", lambda n, k: k <= math.sqrt(n * math.log(n)))
_PAST_SECOND_THRESHOLD = Domain("k >= sqrt(n log n)", lambda n, k: k >= math.sqrt(n * math.log(n)))
_FROM_HALF_ROOT = Domain("k >= sqrt(n)/2", lambda n, k: k >= 0.5 * math.sqrt(n))
_FROM_TWO_ROOTS = Domain("t >= 2 sqrt(n)", lambda n, t: t >= 2.0 * math.sqrt(n))
_UNIFORM = Domain("k <= n^(3/4)", lambda n, k: k <= n**0.75)
_PAST_ROOT = Domain("k >= sqrt(n)", lambda n, k: k >= math.sqrt(n))
_PAST_WIDTH = Domain("k + 1 >= n", lambda n, k: k + 1.0 >= n)
_BETWEEN = Domain("sqrt(n) <= t <= n^(2/3)", lambda n, t: math.sqrt(n) <= t <= n ** (2.0 / 3.0) * (1.0 + 1e-12))
_EVERYWHERE = Domain("every k", lambda n, k: True)


@dataclass(frozen=True)
class Regime:
    r"""Where a point (n, k) lies, and what to use there.

    Attributes
    ----------
    regime
        ``"subcritical"``, ``"critical"``, ``"supercritical"``, ``"linear"`` or ``"superlinear"``, by scale.
    law
        Name of the simplest law within the tolerance among those whose domain contains the point, else of the closest of them.
        Quaternion weights past 5 sqrt(n) steps have no limit law here: ``"exact energy"``.
    log_value, log_exact
        Natural logs of that law and of the exact energy.
    relative_error
        law/exact - 1 (inf where the ratio exceeds float64). A gap of the logs below 3e-13 of their size is rounding and
        counts as 0: a verdict at 1 % needs \|log_exact\| below 3e10.
    within_tolerance
        Whether `law` is within the tolerance.
    past_second_threshold
        Real weights: whether the second term of the two-term law is at least as large as Q of complex weights (None for
        other fields).
    """

    n: int
    k: int
    field: Field
    quantity: Model
    regime: str
    law: str
    log_value: float
    log_exact: float
    relative_error: float
    within_tolerance: bool
    past_second_threshold: bool | None

    @property
    def applied(self) -> Law:
        """The law of that name, with its domain and its status."""
        return next(law for law in LAWS[self.field, self.quantity] if law.name == self.law)


_LogLaw = Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]


def _critical(model: Model, field: Field) -> _LogLaw:
    law = by_model(model, rnn=critical.critical_rnn, driven=critical.critical_lru)

    def log_value(n: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
        root = np.sqrt(n.astype(np.float64))
        c = k / root
        # Past c = 1e6 the law is out of its domain anyway.
        value: Floats = law(np.minimum(c, critical.LARGEST_C), field, log=True)
        value = by_model(model, rnn=value, driven=value + np.log(root))
        return np.where(c <= critical.LARGEST_C, value, np.inf)

    return log_value


def _corrected(n: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
    inside = k <= real.LARGEST_EXCESS_C * np.sqrt(n.astype(np.float64))
    value: Floats = real.corrected_critical_rnn(n, np.where(inside, k, 0), log=True)
    return np.where(inside, value, np.inf)


def _laws(field: Field, model: Model) -> tuple[Law, ...]:
    """In order of preference: simplest first."""
    infinite = by_model(model, rnn=polynomial.infinite_width_rnn, driven=polynomial.infinite_width_lru)
    second_order = by_model(model, rnn=polynomial.subcritical_rnn, driven=polynomial.subcritical_lru)
    status = by_field(field, real=Status.V, complex=Status.P, quaternion=Status.V)
    common = (
        Law("infinite width", _UP_TO_ROOT, status, lambda n, k: infinite(n, k, log=True)),
        Law("critical limit", _FIXED_RATIO, status, _critical(model, field)),
        Law("second order", _UP_TO_ROOT, status, lambda n, k: second_order(n, k, field, log=True)),
    )
    match field:
        case Field.REAL:
            return common + by_model(model, rnn=_REAL_RNN, driven=_REAL_DRIVEN)
        case Field.COMPLEX:
            return common + by_model(model, rnn=_COMPLEX_RNN, driven=_COMPLEX_DRIVEN)
        case Field.QUATERNION:
            exact = energy_of(model)
            return (*common, Law("exact energy", _EVERYWHERE, Status.V, lambda n, k: exact(n, k, field, log=True)))
        case _:
            assert_never(field)


_REAL_RNN = (
    Law("corrected critical", _BELOW_SECOND_THRESHOLD, Status.V, _corrected),
    Law("dominant term", _PAST_SECOND_THRESHOLD, Status.H, lambda n, k: real.dominant_rnn(n, k, log=True), 1),
    Law("two-term law", _FROM_HALF_ROOT, Status.H, lambda n, k: real.two_term_rnn(n, k, log=True)),
)
_REAL_DRIVEN = (
    Law("dominant term", _PAST_SECOND_THRESHOLD, Status.H, lambda n, t: real.dominant_lru(n, t, log=True), 1),
    Law("two-term law", _FROM_TWO_ROOTS, Status.H, lambda n, t: real.two_term_lru(n, t, log=True)),
)
_COMPLEX_RNN = (
    Law("uniform", _UNIFORM, Status.P, lambda n, k: exponential.uniform_rnn(n, k, log=True)),
    Law("linear", _PAST_ROOT, Status.P, lambda n, k: exponential.linear_rnn(n, k, log=True), 1),
    Law("superlinear", _PAST_WIDTH, Status.P, lambda n, k: exponential.superlinear_rnn(n, k, log=True)),
)
_COMPLEX_DRIVEN = (
    Law("supercritical, literal", _BETWEEN, Status.P, lambda n, t: exponential.supercritical_lru(n, t, log=True), 1),
    Law("superlinear", _PAST_WIDTH, Status.P, lambda n, t: exponential.superlinear_lru(n, t, log=True)),
    Law("linear", _PAST_ROOT, Status.P, lambda n, t: exponential.linear_lru(n, t, log=True), 1),
)
LAWS = {(field, model): _laws(field, model) for field in Field for model in Model}


def classify(n: int, k: int, field: str = "real", *, quantity: str = "rnn", tolerance: float = 0.01) -> Regime:
    r"""Name the regime of (n, k) and the law to use there, with its relative error against the exact value.

    The scale decides the regime: subcritical while infinite width is within 1 %, critical up to k = 5 sqrt(n), supercritical up
    to n/10, linear up to 10 n, superlinear beyond. Domain and accuracy decide the law: of those in ``LAWS[field, quantity]``
    whose domain contains the point, the simplest one within `tolerance` of the exact energy, or else the closest one.

    Parameters
    ----------
    n, k
        Width and depth (time, for ``quantity="driven"``), in the ranges of `signalprop.energy`.
    field
        Number system of the weights.
    quantity
        ``"rnn"`` for Q_{n,k}, ``"driven"`` (also ``"lru"``) for S_{n,k}.
    tolerance
        Relative error that is good enough.

    Raises
    ------
    ValueError
        Numbers out of range, a tolerance that is not positive, an unknown field or quantity.

    Examples
    --------
    >>> found = classify(10**6, 3000, "complex")
    >>> found.regime, found.law, abs(found.relative_error) < 0.01
    ('critical', 'critical limit', True)
    >>> classify(10**6, 10**5, "complex", quantity="driven").law
    'linear'
    """
    kind, model = as_field(field), as_model(quantity, "quantity")
    width, depth = whole_number(n, "n", 1, 10**18), whole_number(k, "k", 0)
    allowed = positive_float(tolerance, "tolerance")
    log_exact = float(energy_of(model)(width, depth, kind, log=True))
    simplest, *_ = LAWS[kind, model]
    laws = [law for law in LAWS[kind, model] if law.holds(width, depth)]
    values = [float(law.log_value(np.array(width), np.array(depth))) for law in laws]
    errors = [_relative_error(value, log_exact) for value in values]
    good = next((i for i, error in enumerate(errors) if abs(error) <= allowed), None)
    best = good if good is not None else min(range(len(laws)), key=lambda i: abs(values[i] - log_exact))
    infinite = float(simplest.log_value(np.array(width), np.array(depth)))
    subcritical = abs(_relative_error(infinite, log_exact)) <= SUBCRITICAL_WITHIN
    return Regime(
        width,
        depth,
        kind,
        model,
        "subcritical" if subcritical else regime_by_scale(width, depth),
        laws[best].name,
        values[best],
        log_exact,
        errors[best],
        good is not None,
        by_field(kind, real=depth >= 1 and _second_term_leads(width, depth), complex=None, quaternion=None),
    )


def _second_term_leads(n: int, k: int) -> bool:
    return bool(real.dominant_rnn(n, k, log=True) >= energy.rnn_energy(n, k, "complex", log=True))


def _relative_error(log_value: float, log_exact: float) -> float:
    gap = log_value - log_exact
    if abs(gap) <= _ROUNDING * abs(log_exact):
        return 0.0
    return math.inf if gap > 700.0 else math.expm1(gap)
