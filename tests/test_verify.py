"""`signalprop verify` must fail when any one formula is wrong: break each in turn."""

import functools
import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from typer.testing import CliRunner

from signalprop import energy, exact, moments, precise, regimes, symbolic, verify, wick
from signalprop.cli import app
from signalprop.energy import _fourth_moment, _plain
from signalprop.ginibre import dense, krylov
from signalprop.initialization import mean_path, one_draw_table
from signalprop.wick import matchings, permutations, reference, words

runner = CliRunner()


def bump(row):
    """One unit moved between two coefficients: the sum stays right."""
    row = list(row)
    row[1] += 1
    row[-1] -= 1
    return tuple(row)


def only_field(field, wrong):
    """Wrap f(n, k, kind, ...) so that it is wrong for one field only."""

    def breaker(right):
        return lambda a, b, kind, *rest: wrong(right(a, b, kind, *rest)) if kind == field else right(a, b, kind, *rest)

    return breaker


def shifted(law):
    """The law with its log off by 0.2; the name is kept, since the checks look laws up by name."""

    @functools.wraps(law)
    def wrong(n, k, *field, log=False):
        right = law(n, k, *field, log=True) + 0.2
        return right if log else np.exp(right)

    return wrong


BREAKS = {
    "permutation kernel": (
        permutations,
        "count_cycles",
        lambda f: lambda k: bump(f(k)) if k == 6 else f(k),
        "enumeration",
    ),
    "matching kernel": (matchings, "count_cycles", lambda f: lambda k: bump(f(k)) if k == 5 else f(k), "enumeration"),
    "permutation reference": (reference, "permutation_counts", lambda f: lambda k: bump(f(k)), "commutators"),
    "matching reference": (reference, "matching_counts", lambda f: lambda k: bump(f(k)), "index sets"),
    "complex polynomial": (moments, "_complex_polynomial", lambda f: lambda k: f(k) + (k == 9), "polynomial"),
    "real polynomial": (moments, "_real_polynomial", lambda f: lambda k: f(k) + (k == 16), "polynomial"),
    "quaternion denominator": (
        moments,
        "trace_denominator",
        lambda f: lambda k, field: f(k, field) + (field == "quaternion"),
        "polynomial",
    ),
    "complex fraction": (
        exact,
        "_energy",
        only_field("complex", lambda q: q + Fraction(1, 10**9)),
        "one Gaussian number",
    ),
    "real fraction": (exact, "_energy", only_field("real", lambda q: q + Fraction(1, 10**9)), "one Gaussian number"),
    "quaternion fraction": (
        exact,
        "_energy",
        only_field("quaternion", lambda q: q + Fraction(1, 10**9)),
        "one Gaussian number",
    ),
    "summed form of S": (
        exact,
        "lru_energy",
        lambda f: lambda n, t, field: f(n, t, field) + Fraction(n == 17, 10**6),
        "S = sum of Q",
    ),
    "complex float": (energy, "_log_rnn", only_field("complex", lambda q: q + 3e-13), "float64 Q"),
    "real float": (energy, "_log_rnn", only_field("real", lambda q: q + 3e-13), "float64 Q"),
    "quaternion float": (energy, "_log_rnn", only_field("quaternion", lambda q: q + 3e-13), "float64 Q"),
    "float sum": (energy, "lru_energy", lambda f: lambda n, t, field, log: f(n, t + 1, field, log=log), "float64 S"),
    "block sums": (
        _plain,
        "log_s_many_kernel",
        lambda f: lambda n, g, t, rules, out: (f(n, g, t, rules, out), out.__iadd__(1e-12))[0],
        "by blocks",
    ),
    "scale of floats": (energy, "positive_float", lambda f: lambda value, name: f(value, name) ** 0.5, "scale g"),
    "scale of fractions": (exact, "_factor", lambda f: lambda scale: 2 * f(scale), "scale g"),
    "loop equations": (words, "trace_moment", lambda f: lambda w, field, **o: bump(f(w, field, **o)), "second moments"),
    "sum over partitions": (
        _fourth_moment,
        "_coefficient",
        lambda f: lambda *a: (f(*a)[0] + (a[0] == 3), f(*a)[1]),
        "second moments",
    ),
    "loop equations, one word": (
        wick,
        "trace_moment",
        lambda f: lambda w, field: bump(f(w, field)),
        "loop equations =",
    ),
    "symbolic energy": (symbolic, "rnn_energy", lambda f: lambda n, k, field: f(n, k, field) + (k == 5), "symbolic"),
    "symbolic sum": (symbolic, "lru_energy", lambda f: lambda n, k, field: f(n, k, field) + (k == 5), "symbolic"),
    "Hultman row": (symbolic, "hultman_row", lambda f: lambda k: f(k) if k < 30 else bump(f(k)), "Hultman"),
    "expansion": (symbolic, "_expansion_coefficient", lambda f: lambda kind, m: f(kind, m) + (m == 3), "expansion"),
    "induction step": (symbolic, "lru_summed_form_residual", lambda f: lambda: f() + 1, "induction"),
    "complex ball": (precise, "_complex_energy", lambda f: lambda n, k: f(n, k) * (1 + arb(1e-12)), "ball"),
    "zonal ball": (precise, "_zonal_energy", lambda f: lambda n, k, kind: f(n, k, kind) * (1 + arb(1e-12)), "ball"),
    "ball of S": (precise, "_complex_sum", lambda f: lambda n, t: f(n, t) * (1 + arb(1e-11)), "blocks = ball"),
    **{
        f"second-order coefficient, {field}": (
            regimes.polynomial,
            "_second_order",
            lambda f, field=field: lambda k, kind: f(k, kind) * (0.7 if kind == field else 1.0),
            "correction itself",
        )
        for field in ("complex", "real", "quaternion")
    },
    "second order of S": (
        regimes,
        "subcritical_lru",
        lambda f: lambda n, t, field="complex", log=False: f(n, t, field, log=True) + 3e-7 * (field == "quaternion"),
        "correction itself",
    ),
    "critical law of Q": (
        regimes,
        "critical_rnn",
        lambda f: lambda c, field="complex": f(np.asarray(c) * 1.002, field),
        "limit",
    ),
    "critical law of S": (
        regimes,
        "critical_lru",
        lambda f: lambda c, field="complex": f(np.asarray(c) * 1.01, field),
        "limit",
    ),
    **{
        name: (regimes, name, shifted, pattern)
        for name, pattern in (
            ("infinite_width_rnn", "infinite width"),
            ("infinite_width_lru", "infinite width"),
            ("subcritical_rnn", "order 1/n^2"),
            ("subcritical_lru", "order 1/n^2"),
            ("uniform_rnn", "uniform law"),
            ("linear_rnn", "linear law"),
            ("linear_lru", "linear law"),
            ("supercritical_lru", "literal"),
            ("superlinear_rnn", "superlinear law"),
            ("superlinear_lru", "superlinear law"),
            ("two_term_rnn", "two-term law"),
            ("two_term_lru", "two-term law"),
            ("dominant_rnn", "dominant term"),
            ("dominant_lru", "dominant term"),
            ("corrected_critical_rnn", "first correction"),
        )
    },
    "excess of real weights": (regimes, "real_excess", lambda f: lambda c: 1.001 * f(c), "limit of sqrt(n)"),
    "second threshold": (regimes, "second_threshold", lambda f: lambda n: f(n) + 1, "second threshold"),
    "width-free sampler": (krylov, "draw_chunk", lambda f: lambda *a: f(*a) + 0.01, "width-free sampler"),
    "dense sampler": (dense, "_tied", lambda f: lambda *a: tuple(part + 0.05 for part in f(*a)), "dense sampler"),
    "shape of the dense law": (
        dense,
        "_tied",
        lambda f: lambda *a: tuple(part.mean(axis=0) + 1.2 * (part - part.mean(axis=0)) for part in f(*a)),
        "whole law",
    ),
    "untied layers": (dense, "_untied", lambda f: lambda *a: (f(*a)[0] + 0.05, None), "fresh layers"),
    "bounded scale": (
        mean_path.MeanPath,
        "bounded",
        lambda f: lambda self, limit: f(self, limit) + 1e-9 * (self.horizon == 20),
        "bounded scale",
    ),
    "minimax scale": (mean_path.MeanPath, "minimax", lambda f: lambda self: f(self) + 1e-7, "minimax scale"),
    "a bend in the energies": (
        energy,
        "rnn_energy",
        lambda f: lambda n, k, *a, **b: f(n, k, *a, **b) + 1e-9 * (np.asarray(k) == 57),
        "convex",
    ),
    "table of single draws": (
        one_draw_table,
        "log_scales",
        lambda f: lambda n, horizon, *a: (f(n, horizon, *a)[0] + 1.0 / horizon, 0.0),
        "tabulated scale",
    ),
    "gain of the activations": (dense.Layer, "gain", lambda _: property(lambda self: 1.0), "fresh layers"),
}


LONGEST = {"dense sampler", "width-free sampler"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LONGEST else name for name in BREAKS]
)
def test_breaking_one_formula_fails_the_command(name, monkeypatch):
    target, attribute, breaker, pattern = BREAKS[name]
    right = target.__dict__[attribute]
    monkeypatch.setattr(target, attribute, breaker(right))
    result = runner.invoke(app, ["verify", "--only", pattern, "--json"])
    assert result.exit_code == 1, result.output
    report = json.loads(result.stdout)
    assert not report["passed"]
    assert any(not check["passed"] for check in report["checks"])


def test_all_checks_pass():
    result = runner.invoke(app, ["verify"])
    assert result.exit_code == 0, result.output
    checks = verify.all_checks()
    assert f"{len(checks)} of {len(checks)} checks passed" in result.stdout


def test_every_pattern_above_names_some():
    checks = verify.all_checks()
    for *_, pattern in BREAKS.values():
        assert any(pattern in check.name for check in checks)


def test_powers_are_written_as_powers_of_ten():
    for check in verify.all_checks(True):
        assert not re.search(r"e\^|e\+|e-0", f"{check.name}: {check.grid}"), check


@pytest.mark.slow
def test_all_larger_checks_pass():
    result = runner.invoke(app, ["verify", "--all"])
    assert result.exit_code == 0, result.output


def test_an_exception_is_a_failure_with_its_text():
    def explode():
        raise RuntimeError("no such matrix")

    (outcome,) = verify.run([verify.Check("broken", "grid", "unit", 1.0, explode)])
    assert not outcome.passed
    assert outcome.worst == math.inf
    assert "RuntimeError: no such matrix" in outcome.name


def test_nan_is_a_failure():
    (outcome,) = verify.run([verify.Check("nan", "grid", "unit", 1.0, lambda: math.nan)])
    assert not outcome.passed


def test_pattern_that_names_nothing():
    result = runner.invoke(app, ["verify", "--only", "zeta function"])
    assert result.exit_code == 2
    assert "--only 'zeta function' names no check" in result.stderr
