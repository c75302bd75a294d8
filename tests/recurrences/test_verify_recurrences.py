"""The checks of `signalprop verify` on recurrences pass, and each formula broken in turn makes one fail."""

import numpy as np
import pytest

from signalprop import recurrences, verify
from signalprop.recurrences import (
    LRU,
    LinearRecurrence,
    RotRNN,
    ScaledUnitary,
    lti,
    paths,
    rotrnn_draws,
    spectral_radius,
    state_space,
)
from signalprop.verify import recurrences as checked


def times(factor):
    return lambda f: lambda *a, **b: f(*a, **b) * factor


def without_first(f):
    return lambda A, B, first, *rest: f(A, B, None, *rest)


def other_lru(f):
    def wrong(self):
        layer = f(self)
        return LRU(
            layer.diagonal.log_modulus, -layer.diagonal.phase, layer.B, layer.C, normalizer=np.ones(len(layer.B))
        )

    return wrong


def other_rotrnn(f):
    def wrong(self, heads=None):
        layer = f(self, heads)
        layer.C = -layer.C
        return layer

    return wrong


BREAKS = {
    "geometric sum": (paths, "geometric_sum", times(1 + 1e-8), "1 - gamma^2t"),
    "geometric sum of the LRU": (paths, "geometric_sum", times(1 + 1e-8), "LRU: energy by modes"),
    "geometric sum of S4D": (paths, "geometric_sum", times(1 + 1e-8), "S4D"),
    "geometric sum of S5": (paths, "geometric_sum", times(1 + 1e-8), "S5"),
    "increments under AR(1)": (paths, "energy_increments", times(1 + 1e-8), "RotRNN: energy by modes"),
    "a kind": (LinearRecurrence, "energy", lambda f: lambda self, *a, **b: f(self, *a, **b) * (1 + 1e-8), "every kind"),
    "first step": (lti, "energy_path", without_first, "first-step rule"),
    "angles": (rotrnn_draws, "orthogonal_from_skew", times(1.01), "RotRNN"),
    "to an LRU": (RotRNN, "to_lru", other_lru, "RotRNN as an LRU"),
    "to a RotRNN": (LRU, "to_rotrnn", other_rotrnn, "RotRNN as an LRU"),
    "LegS": (state_space, "_legs", lambda f: lambda n: (f(n)[0], f(n)[1] * (1 + 1e-8)), "S4: bilinear"),
    "radius of a triangle": (
        spectral_radius,
        "of_moduli",
        lambda f: lambda values: spectral_radius.exact(float(np.log(np.abs(values).max())) + 1e-9),
        "S4: spectral radius",
    ),
    "hold of S4D": (state_space, "_hold", times(1 + 1e-8), "S4D"),
    "modes of S5": (
        state_space,
        "_normal_modes",
        lambda f: lambda n: (f(n)[0] * (1 + 1e-7), f(n)[1]),
        "S5",
    ),
    "doubling": (lti, "stationary_by_head", times(1 + 1e-6), "stationary energy"),
    "limit of modes": (lti, "poisson_kernel", times(1 + 1e-6), "stationary energy"),
    "radius of orthogonal W": (
        ScaledUnitary,
        "radius",
        lambda f: lambda self, **_: spectral_radius.exact(self.log_gamma - 1e-15),
        "no draw has a limit",
    ),
    "Poisson kernel": (recurrences, "poisson_kernel", times(1 + 1e-6), "Poisson kernel"),
    "mean over angles": (recurrences, "poisson_mean", times(1 + 1e-8), "mean over angles"),
    "mean over the ring": (
        recurrences,
        "lru_average",
        lambda f: lambda t, **given: recurrences.Average(f(t, **given).energy * (1 + 1e-8), None),
        "mean over the ring",
    ),
    "variance and mean of draws": (
        LinearRecurrence,
        "energy_by_head",
        lambda f: lambda self, *a, **b: f(self, *a, **b) * 1.2,
        "drawn inputs",
    ),
    "scale of Gaussian W": (
        recurrences,
        "gaussian",
        lambda f: lambda n, field, scale, seed: f(n, field, scale=1.1 * scale, seed=seed),
        "Gaussian W",
    ),
}


def outcomes(pattern):
    return list(verify.run(check for check in checked.checks(False) if pattern in check.name))


@pytest.mark.parametrize("name", BREAKS)
def test_breaking_one_formula_fails_its_check(name, monkeypatch):
    target, attribute, breaker, pattern = BREAKS[name]
    monkeypatch.setattr(target, attribute, breaker(target.__dict__[attribute]))
    found = outcomes(pattern)
    assert found
    assert any(not one.passed for one in found)


def test_all_pass_and_each_is_broken_above():
    found = outcomes("")
    assert [one.name for one in found if not one.passed] == []
    for one in found:
        assert any(pattern in one.name for *_, pattern in BREAKS.values()), one.name


def test_they_are_part_of_the_command():
    names = {check.name for check in verify.all_checks()}
    assert {check.name for check in checked.checks(False)} <= names
    assert {check.name for check in checked.checks(True)} <= {check.name for check in verify.all_checks(True)}


@pytest.mark.slow
def test_longer_ones_pass():
    assert [one.name for one in verify.run(checked.checks(True)) if not one.passed] == []
