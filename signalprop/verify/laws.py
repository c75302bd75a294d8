"""Limit laws against exact energies, each inside its stated error."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from signalprop import energy, regimes
from signalprop.fields import PROVED_FIRST
from signalprop.models import Model, as_model, by_model, energy_of
from signalprop.regimes import LAWS
from signalprop.verify.check import Check


def checks(thorough: bool) -> list[Check]:
    """Every law on a grid of its domain."""
    found = [
        _law("infinite width (P)", "complex Q, c = 0.65", 0.01, "rnn", "complex", _near(0.65), regimes.infinite_width_rnn),
        _law("infinite width (P)", "complex S, t = sqrt(n)", 0.01, "driven", "complex", _near(1.0), regimes.infinite_width_lru),
        _law("order 1/n^2 (P)", "complex Q, k <= sqrt(n)", 1e-3, "rnn", "complex", _near(0.3, 1.0), regimes.subcritical_rnn),
        _law("order 1/n^2 (P)", "complex S, t <= sqrt(n)", 2e-4, "driven", "complex", _near(0.3, 1.0), regimes.subcritical_lru),
        *(
            Check(
                f"order 1/n^2 ({LAWS[field, quantity][0].status}), error of the correction itself",
                f"{field} {quantity.symbol}, 3 <= k <= n^(1/3)", "relative error", 0.02,
                partial(_correction, field, quantity),
            )
            for field in PROVED_FIRST
            for quantity in Model
        ),
        _limit("critical limit (P)", "complex", "rnn", 10**12, (0.1, 0.5, 1, 2, 3, 4, 5, 6), 1e-4),
        _limit("critical limit (V)", "real", "rnn", 10**7, (0.1, 0.5, 1, 1.5, 2), 5e-3),
        _limit("critical limit (V)", "quaternion", "rnn", 10**7, (0.1, 0.5, 1, 2, 3, 4), 5e-3),
        _limit("critical limit (P)", "complex", "driven", 10**10, (0.5, 1, 2, 3, 4, 5, 6), 5e-4),
        _limit("critical limit (V)", "real", "driven", 250_000, (0.5, 1, 1.5, 2), 1e-2),
        _limit("critical limit (V)", "quaternion", "driven", 250_000, (0.5, 1, 2, 3), 5e-3),
        _law(
            "uniform law (P), error over k^4/(12 n^3) + 0.3/n", "complex Q, k <= n^0.72", 1.2, "rnn", "complex",
            lambda n: np.unique(np.round(n ** np.array([0.3, 0.5, 0.6, 2 / 3, 0.72]))), regimes.uniform_rnn,
            lambda n, k: k**4 / (12.0 * n**3) + 0.3 / n,
        ),
        Check(
            "linear law (P): its error = the stated one", "complex Q, n = 1e4, 1e6, n^0.7 <= k <= 10 n",
            "relative gap", 0.15, partial(_linear_error, "rnn"),
        ),
        Check(
            "linear law (P): its error = the stated one", "complex S, n = 1e4, 1e6, n^0.75 <= t <= 10 n",
            "relative gap", 0.15, partial(_linear_error, "driven"),
        ),
        Check(
            "critical limit (P): its error = the stated one", "complex Q, n = 1e6, 1e8, c in 0.5..5",
            "relative gap", 0.05, _critical_error,
        ),
        _law(
            "supercritical law, literal (P)", "complex S, t = n^(2/3), n = 1e6, 1e8", 0.2, "driven", "complex",
            lambda n: np.round([n ** (2 / 3)]), regimes.supercritical_lru, widths=(10**6, 10**8),
        ),
        Check("literal law off by 10^68.9, as stated", "complex S, n = 1e6, t = 1e5", "|gap of log|", 0.05, _literal_gap),
        _law(
            "superlinear law (P), exact for k + 1 >= n", "complex Q, n <= k <= 1000 n", 1e-9, "rnn", "complex",
            lambda n: n * np.array([1.0, 2.0, 10.0, 1000.0]), regimes.superlinear_rnn, widths=(1, 2, 30, 1000),
        ),
        _law(
            "superlinear law (P), error over n/(n + t)", "complex S, t >= 10 n", 1.1, "driven", "complex",
            lambda n: n * np.array([10.0, 100.0, 1000.0]), regimes.superlinear_lru, lambda n, t: n / (n + t), widths=(30, 1000),
        ),
        _law(
            "two-term law (H)", "real Q, n in 1e3..1e5, c in 0.5..8", 0.04, "rnn", "real",
            _near(0.5, 1, 2, 3, 4, 5, 6, 8), regimes.two_term_rnn, widths=(1000, 10_000, 100_000),
        ),
        _law(
            "two-term law (H)", "real S, n = 1e3, 1e4, c in 2..8", 0.045, "driven", "real",
            _near(2, 3, 4, 6, 8), regimes.two_term_lru, widths=(1000, 10_000),
        ),
        _law(
            "dominant term (H), error over n/(2 k^2)", "real Q, k >= 5 sqrt(n)", 1.15, "rnn", "real",
            lambda n: np.round(np.array([5 * math.sqrt(n), 8 * math.sqrt(n), n / 2])), regimes.dominant_rnn,
            lambda n, k: n / (2.0 * k**2), widths=(400, 2000),
        ),
        _law(
            "dominant term (H), error over 3 n/(2 t^2)", "real S, t >= 5 sqrt(n)", 1.15, "driven", "real",
            lambda n: np.round(np.array([5 * math.sqrt(n), 8 * math.sqrt(n)])), regimes.dominant_lru,
            lambda n, t: 1.5 * n / t**2, widths=(1000, 2500),
        ),
        _law(
            "critical law with its first correction", "real Q, c <= 1.5", 0.01, "rnn", "real",
            _near(0.5, 1, 1.5), regimes.corrected_critical_rnn, widths=(1000, 10_000),
        ),
        Check(
            "limit of sqrt(n)(Q real/Q complex - 1)", f"c in 0.5..2, extrapolated from n <= {'1.6e7' if thorough else '4e6'}",
            "relative error", 1e-4, lambda: _excess(4000 if thorough else 2000),
        ),
        Check("second threshold: the two terms cross", "real, n in 1..1e12", "wrong values", 0, _threshold),
    ]  # fmt: skip
    return found


def _near(*c: float) -> Callable[[int], Any]:
    return lambda n: np.round(np.array(c) * math.sqrt(n))


def _law(
    name: str,
    grid: str,
    allowed: float,
    quantity: str,
    field: str,
    steps: Callable[[int], Any],
    law: Callable[..., Any],
    over: Callable[[Any, Any], Any] | None = None,
    widths: Sequence[int] = (10**4, 10**6, 10**8),
) -> Check:
    """|law/exact - 1|, or that over a stated error, at the given steps of each width."""
    attribute = law.__name__
    # Some laws are of one number system only.
    options = {"field": field} if "field" in inspect.signature(law).parameters else {}

    def deviation() -> float:
        exact = energy_of(quantity)
        worst = 0.0
        for n in widths:
            k = np.asarray(steps(n), dtype=np.float64).astype(np.int64)
            # Looked up at the call, so that what is checked is what the package offers now.
            gap = getattr(regimes, attribute)(n, k, log=True, **options) - exact(n, k, field, log=True)
            error = np.abs(np.expm1(gap))
            if over is not None:
                error = error / over(float(n), k.astype(np.float64))
            worst = max(worst, float(np.max(error)))
        return worst

    return Check(name, grid, "relative error" if over is None else "ratio of errors", allowed, deviation)


def _limit(name: str, field: str, quantity: str, n: int, c: Sequence[float], allowed: float) -> Check:
    def deviation() -> float:
        root = math.sqrt(n)
        k = np.round(np.array(c) * root).astype(np.int64)
        last = regimes.critical_rnn(k / root, field)
        # The sum has one more term than the integral: half of the first and of the last.
        whole = root * regimes.critical_lru(k / root, field) + 0.5 * (1.0 + last)
        law = by_model(model, rnn=last, driven=whole)
        return float(np.max(np.abs(law / energy_of(model)(n, k, field) - 1.0)))

    model = as_model(quantity)
    return Check(
        name, f"{field} {model.symbol}, n = {_short(n)}, c in {c[0]}..{c[-1]}", "relative error", allowed, deviation
    )


def _short(n: int) -> str:
    """A large number as in the other grids: 1e12, 2.5e5."""
    return f"{n:.3g}".replace("e+0", "e").replace("e+", "e")


def _correction(field: str, quantity: str) -> float:
    """|law - exact| over the correction that the law adds to infinite width."""
    exact = energy_of(quantity)
    worst = 0.0
    for n in (300, 10**4, 10**6):
        k = np.unique(np.round(np.linspace(3, n ** (1 / 3), 8)).astype(np.int64))
        law = by_model(as_model(quantity), rnn=regimes.subcritical_rnn, driven=regimes.subcritical_lru)
        start = by_model(as_model(quantity), rnn=0.0, driven=np.log1p(k))
        right = exact(n, k, field, log=True) - start
        got = law(n, k, field, log=True) - start
        worst = max(worst, float(np.max(np.abs(got / right - 1.0))))
    return worst


def _linear_error(quantity: str) -> float:
    model, worst = as_model(quantity), 0.0
    for n in (10**4, 10**6):
        k = np.round(np.array([n**0.75, n**0.8, n / 10, n / 3, 10 * n])).astype(np.int64)
        c = k / n
        stated = 3.0 / k - 1.0 / (n + k) + (1.0 / n - 1.0 / (n + k)) / 12.0
        law = by_model(model, rnn=regimes.linear_rnn, driven=regimes.linear_lru)
        gap = law(n, k, log=True) - energy_of(model)(n, k, "complex", log=True)
        stated = by_model(model, rnn=stated, driven=stated - n / k**2.0 * (3.0 + c) / (1.0 + c))
        # Logs of size L carry rounding of 1e-15 L; the stated error vanishes somewhere for S.
        floor = 4e-15 * np.abs(energy.rnn_energy(n, k, "complex", log=True)) + 0.1 / k
        worst = max(worst, float(np.max(np.abs(np.expm1(gap) - stated) / (np.abs(stated) + floor))))
    return worst


def _critical_error() -> float:
    worst = 0.0
    for n in (10**6, 10**8):
        root = math.sqrt(n)
        k = np.round(np.array([0.5, 1.0, 3.0, 5.0]) * root).astype(np.int64)
        c = k / root
        half = c**2 / 2.0
        stated = (c**3 / 6.0 - 3.0 / c * (half / np.tanh(half) - 1.0)) / root
        error = regimes.critical_rnn(c, "complex") / energy.rnn_energy(n, k, "complex") - 1.0
        worst = max(worst, float(np.max(np.abs(error / stated - 1.0))))
    return worst


def _literal_gap() -> float:
    gap = regimes.supercritical_lru(10**6, 10**5, log=True) - energy.lru_energy(10**6, 10**5, "complex", log=True)
    return abs(float(gap) - 158.6)


def _excess(root: int) -> float:
    worst = 0.0
    for c in (0.5, 1.0, 2.0):
        values = []
        for side in (root // 2, root):
            n, k = side * side, round(c * side)
            gap = energy.rnn_energy(n, k, "real", log=True) - energy.rnn_energy(n, k, "complex", log=True)
            values.append(side * math.expm1(gap))
        worst = max(worst, abs((2.0 * values[1] - values[0]) / float(regimes.real_excess(c)) - 1.0))
    return worst


def _threshold() -> float:
    wrong = 0
    for n in (1, 2, 10, 10**4, 10**6, 10**9, 10**12):
        k = regimes.second_threshold(n)
        gaps = [
            regimes.dominant_rnn(n, j, log=True) - energy.rnn_energy(n, j, "complex", log=True)
            for j in (max(k - 1, 1), k)
        ]
        wrong += not (gaps[1] >= 0.0 and (gaps[0] < 0.0 or k == 1))
    return wrong
