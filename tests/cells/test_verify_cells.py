"""The checks of `signalprop verify` on simulated cells pass, and each formula broken in turn makes one fail."""

import dataclasses
import importlib

import pytest

from signalprop import meanfield, verify
from signalprop.cells import _paths
from signalprop.meanfield import gated
from signalprop.verify import cells as checked
from tests.broken_checks import assert_all_pass_and_are_broken, assert_found

exponents = importlib.import_module("signalprop.cells.lyapunov")


def argument(place, factor):
    """The same call with one argument times a factor."""
    return lambda f: lambda *a: f(*a[:place], a[place] * factor, *a[place + 1 :])


def changed(**moves):
    """A law with numbers added to some of its fields, or a field times a factor."""

    def breaker(f):
        def wrong(*a, **b):
            law = f(*a, **b)
            return dataclasses.replace(law, **{name: move(getattr(law, name)) for name, move in moves.items()})

        return wrong

    return breaker


BREAKS = {
    "inputs forward": (_paths, "forward_kernel", argument(6, 1 + 1e-6), "complex steps"),
    "slopes backward": (_paths, "backward_kernel", argument(2, 1 + 1e-6), "complex steps"),
    "states before a gradient": (_paths, "states_kernel", argument(4, 1 + 1e-6), "complex steps"),
    "leak": (_paths, "linear_kernel", argument(0, 0.9), "linear cells"),
    "weights": (_paths, "linear_kernel", argument(1, 1.05), "linear cells"),
    "fresh weights": (_paths, "forward_kernel", argument(5, 1.02), "simulated increments"),
    "law of fresh layers: spread": (meanfield, "gradient_law", changed(std=lambda x: 1.5 * x), "fresh tanh"),
    "law of fresh layers: median": (meanfield, "gradient_law", changed(median=lambda x: x + 1.0), "fresh tanh"),
    "spread of one driven W": (meanfield, "spread_ratio", lambda f: lambda *a: 1.5 * f(*a), "one driven W"),
    "recursion per unit": (gated, "carried", lambda f: lambda *a: f(*a) + 0.25, "= fresh weights"),
    "recursion per unit, one W": (gated, "carried", lambda f: lambda *a: f(*a) - 1.5, "(H) = one W"),
    "biases without what keeps": (meanfield, "keeping_bias", lambda f: lambda b, s: b, "keeping biases"),
    "exponents by QR": (
        exponents,
        "_turned",
        lambda f: lambda *a: (f(*a)[0], f(*a)[1] + 0.05),
        "Lyapunov exponents of a step",
    ),
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
