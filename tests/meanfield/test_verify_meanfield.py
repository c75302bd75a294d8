"""The checks of `signalprop verify` on laws of nonlinear cells pass, and each formula broken in turn makes one fail."""

import dataclasses

import pytest

from signalprop import meanfield, verify
from signalprop.meanfield import correlation, fixed_points, gradients, memory
from signalprop.verify import meanfield as checked
from tests.broken_checks import assert_all_pass_and_are_broken, assert_found


def times(factor):
    return lambda f: lambda *a, **b: f(*a, **b) * factor


def changed(**factors):
    """A law with some of its fields times a factor."""

    def breaker(f):
        def wrong(*a, **b):
            law = f(*a, **b)
            return dataclasses.replace(law, **{name: getattr(law, name) * by for name, by in factors.items()})

        return wrong

    return breaker


BREAKS = {
    "quadrature of rectifiers": (fixed_points, "mean_with_scores", times(1 + 1e-8), "means of ReLU"),
    "quadrature of erf": (fixed_points, "mean_with_scores", times(1 + 1e-8), "means of erf"),
    "fixed point": (meanfield, "fixed_point", times(1 + 1e-7), "means of erf"),
    "pairs": (correlation, "mean_of_pair", times(1 + 1e-6), "correlations"),
    "limit of correlations": (meanfield, "correlation_fixed_point", times(1 + 1e-6), "correlations"),
    "time of correlations": (meanfield, "correlation_time", times(1 + 1e-6), "correlations"),
    "edge of chaos": (meanfield, "critical_scale", times(1 + 1e-6), "edge of chaos"),
    "chi": (meanfield, "chi", times(1.1), "drawn layers"),
    "r": (meanfield, "slope_kurtosis", times(0.4), "drawn layers"),
    "spread of fresh layers": (meanfield, "gradient_law", changed(std=1.05), "exact increments"),
    "median of fresh layers": (meanfield, "gradient_law", changed(median=1.01), "exact increments"),
    "slopes of fresh layers": (gradients, "kurtosis_of", times(1.05), "exact increments"),
    "bias that keeps": (memory, "_solved", lambda f: lambda b, s: f(b, s) + 1e-6, "keeping biases"),
    "Lyapunov exponents": (meanfield, "ginibre_exponents", lambda f: lambda *a: f(*a) + 0.05, "Lyapunov"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_breaking_one_formula_fails_its_check(name, monkeypatch):
    assert_found(checked, *BREAKS[name], monkeypatch)


def test_all_pass_and_each_is_broken_above():
    assert_all_pass_and_are_broken(checked, [pattern for *_, pattern in BREAKS.values()])


def test_they_are_part_of_the_command():
    assert {check.name for check in checked.checks(False)} <= {check.name for check in verify.all_checks()}


@pytest.mark.slow
def test_longer_ones_pass():
    assert [one.name for one in verify.run(checked.checks(True)) if not one.passed] == []
