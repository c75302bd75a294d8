"""Which law holds at (n, k): the regime by its scales, and the simplest law within a tolerance of the exact value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signalprop import energy
from signalprop._checks import positive_float, whole_number
from signalprop._regime_names import SUBCRITICAL_WITHIN, regime_by_scale
from signalprop.fields import Field, as_field, one_of
from signalprop.regimes import critical, exponential, polynomial, real

Floats = NDArray[np.float64]
_ROUNDING = 3e-13


@dataclass(frozen=True)
class Law:
    """A law for one quantity: its name, what it needs, how sure it is, and its natural log as a function of arrays (n, k)."""

    name: str
    domain: str
    status: str
    log_value: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]
    smallest_k: int = 0


@dataclass(frozen=True)
class Regime:
    r"""Where a point (n, k) lies, and what to use there.

    Attributes
    ----------
    regime
        ``"subcritical"``, ``"critical"``, ``"supercritical"``, ``"linear"`` or ``"superlinear"``, by scale.
    law
        Name of the simplest law within the tolerance, else of the best one.
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
    quantity: str
    regime: str
    law: str
    log_value: float
    log_exact: float
    relative_error: float
    within_tolerance: bool
    past_second_threshold: bool | None


def _critical(model: str, field: Field) -> Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]:
    law = critical.critical_rnn if model == "rnn" else critical.critical_lru

    def log_value(n: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
        root = np.sqrt(n.astype(np.float64))
        c = k / root
        # Past c = 1e6 the law is out of its domain anyway.
        value: Floats = law(np.minimum(c, critical.LARGEST_C), field, log=True)
        return np.where(c <= critical.LARGEST_C, value + (0.0 if model == "rnn" else np.log(root)), np.inf)

    return log_value


def _corrected(n: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
    inside = k <= real.LARGEST_EXCESS_C * np.sqrt(n.astype(np.float64))
    value: Floats = real.corrected_critical_rnn(n, np.where(inside, k, 0), log=True)
    return np.where(inside, value, np.inf)


def _second_order(model: str, field: Field) -> Law:
    law = polynomial.subcritical_rnn if model == "rnn" else polynomial.subcritical_lru
    status = "P" if field is Field.COMPLEX else "V"
    return Law("second order", "k <= sqrt(n)", status, lambda n, k: law(n, k, field, log=True))


def _infinite(model: str, field: Field) -> Law:
    law = polynomial.infinite_width_rnn if model == "rnn" else polynomial.infinite_width_lru
    return Law(
        "infinite width", "k << sqrt(n)", "P" if field is Field.COMPLEX else "V", lambda n, k: law(n, k, log=True)
    )


def _laws(field: Field, quantity: str) -> tuple[Law, ...]:
    """In the order of preference: simplest first."""
    limit = Law("critical limit", "k ~ c sqrt(n)", "P" if field is Field.COMPLEX else "V", _critical(quantity, field))
    common = (_infinite(quantity, field), limit, _second_order(quantity, field))
    if field is Field.QUATERNION:
        return common
    if field is Field.REAL:
        if quantity == "rnn":
            return (
                *common,
                Law("corrected critical", "k ~ c sqrt(n), c^2 < log n", "V", _corrected),
                Law("dominant term", "k >> sqrt(n log n)", "H", lambda n, k: real.dominant_rnn(n, k, log=True), 1),
                Law("two-term law", "k >= sqrt(n)/2", "H", lambda n, k: real.two_term_rnn(n, k, log=True)),
            )
        return (
            *common,
            Law("dominant term", "t >> sqrt(n log n)", "H", lambda n, t: real.dominant_lru(n, t, log=True), 1),
            Law("two-term law", "t >= 2 sqrt(n)", "H", lambda n, t: real.two_term_lru(n, t, log=True)),
        )
    if quantity == "rnn":
        rising = "k >> n (exact for k + 1 >= n)"
        return (
            *common,
            Law("uniform", "k << n^(3/4)", "P", lambda n, k: exponential.uniform_rnn(n, k, log=True)),
            Law("linear", "k >> sqrt(n)", "P", lambda n, k: exponential.linear_rnn(n, k, log=True), 1),
            Law("superlinear", rising, "P", lambda n, k: exponential.superlinear_rnn(n, k, log=True)),
        )
    between = "sqrt(n) << t << n^(2/3)"
    return (
        *common,
        Law("supercritical, literal", between, "P", lambda n, t: exponential.supercritical_lru(n, t, log=True), 1),
        Law("superlinear", "t >> n", "P", lambda n, t: exponential.superlinear_lru(n, t, log=True)),
        Law("linear", "t >> sqrt(n)", "P", lambda n, t: exponential.linear_lru(n, t, log=True), 1),
    )


LAWS = {(field, quantity): _laws(field, quantity) for field in Field for quantity in ("rnn", "lru")}


def classify(n: int, k: int, field: str = "complex", *, quantity: str = "rnn", tolerance: float = 0.01) -> Regime:
    r"""Name the regime of (n, k) and the law to use there, with its relative error against the exact value.

    The regime goes by scale: subcritical while infinite width is within 1 %, critical up to k = 5 sqrt(n), supercritical up
    to n/10, linear up to 10 n, superlinear beyond. The law goes by accuracy: the first of ``LAWS[field, quantity]`` (simplest
    first) within `tolerance` of the exact energy, else the closest one.

    Parameters
    ----------
    n, k
        Width and depth (time, for ``quantity="lru"``), in the ranges of `signalprop.energy`.
    field
        Number system of the weights.
    quantity
        ``"rnn"`` for Q_{n,k}, ``"lru"`` for S_{n,k}.
    tolerance
        Relative error that is good enough.

    Examples
    --------
    >>> found = classify(10**6, 3000)
    >>> found.regime, found.law, abs(found.relative_error) < 0.01
    ('critical', 'critical limit', True)
    >>> classify(10**6, 10**5, quantity="lru").law
    'linear'
    """
    kind = as_field(field)
    width, depth = whole_number(n, "n", 1, 10**18), whole_number(k, "k", 0)
    allowed = positive_float(tolerance, "tolerance")
    one_of(quantity, ("rnn", "lru"), "quantity")
    exact = energy.rnn_energy if quantity == "rnn" else energy.lru_energy
    log_exact = float(exact(width, depth, kind, log=True))
    laws = [law for law in LAWS[kind, quantity] if depth >= law.smallest_k]
    values = [float(law.log_value(np.array(width), np.array(depth))) for law in laws]
    errors = [_relative_error(value, log_exact) for value in values]
    good = next((i for i, error in enumerate(errors) if abs(error) <= allowed), None)
    best = good if good is not None else min(range(len(laws)), key=lambda i: abs(values[i] - log_exact))
    subcritical = abs(_relative_error(values[0], log_exact)) <= SUBCRITICAL_WITHIN
    past = None
    if kind is Field.REAL:
        past = depth >= 1 and bool(
            real.dominant_rnn(width, depth, log=True) >= energy.rnn_energy(width, depth, log=True)
        )
    return Regime(
        width,
        depth,
        kind,
        quantity,
        "subcritical" if subcritical else regime_by_scale(width, depth),
        laws[best].name,
        values[best],
        log_exact,
        errors[best],
        good is not None,
        past,
    )


def _relative_error(log_value: float, log_exact: float) -> float:
    gap = log_value - log_exact
    if abs(gap) <= _ROUNDING * abs(log_exact):
        return 0.0
    return math.inf if gap > 700.0 else math.expm1(gap)
