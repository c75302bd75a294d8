"""`recurrences.report` in Python: the numbers and the words of ``signalprop recurrence``, and those of a recurrence of yours."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from signalprop import recurrences
from signalprop.cli import app


@pytest.mark.parametrize(
    ("kind", "parameters", "options"),
    [
        ("rotrnn", {"heads": 2, "gamma": 0.99, "input_size": 3}, ["--heads", "2", "--gamma", "0.99", "--inputs", "3"]),
        ("gaussian", {"field": "complex", "scale": 0.8}, ["--field", "complex", "--scale", "0.8"]),
        ("s4", {"dt": 0.1}, ["--dt", "0.1"]),
    ],
)
def test_python_says_what_the_command_says(kind, parameters, options):
    found = recurrences.report(kind, 8, 50, samples=20, seed=3, **parameters)
    arguments = ["recurrence", kind, "-n", "8", "-T", "50", "--samples", "20", "--seed", "3", *options]
    printed = CliRunner().invoke(app, arguments)
    assert printed.exit_code == 0
    assert str(found).split() == printed.stdout.replace("--correlation 0.9", "correlation=0.9").split()
    assert found.as_dict() == json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)


def test_a_recurrence_of_yours_has_the_same_page():
    mine = recurrences.lru(6, 4, r_max=0.9, seed=2)
    found = recurrences.report_on(mine, 40, about="mine", correlation=0.5)
    np.testing.assert_array_equal(found.energy, mine.energy(40, correlation=0.5)[found.steps])
    assert found.stationary == mine.stationary_energy(correlation=0.5)
    assert str(found).startswith("recurrence    mine\n")
    assert found.as_dict()["kind"] == ""
    assert found.average is found.from_first_step is None


def test_what_is_no_kind_no_parameter_and_no_recurrence_is_a_sentence():
    with pytest.raises(ValueError, match=r"kind must be one of 'rotrnn', 'lru', .* got 's6'\."):
        recurrences.report("s6")
    with pytest.raises(ValueError, match=r"r_min has no meaning for rotrnn; it belongs to lru\."):
        recurrences.report("rotrnn", r_min=0.5)
    with pytest.raises(ValueError, match=r"lag has no meaning for orthogonal; it has gamma\."):
        recurrences.report("orthogonal", lag=0.5)
    with pytest.raises(ValueError, match="recurrence must be a LinearRecurrence, got ndarray"):
        recurrences.report_on(np.eye(2))


def test_the_step_from_which_on_the_limit_is_held_not_the_first_that_touches_it():
    found = recurrences.report("rotrnn", 2, 1000, input_size=1, gamma=0.99, correlation=0.99)
    path = found.recurrence.energy(1000, correlation=0.99)
    assert (path[found.filled :] >= 0.95 * found.stationary).all()
    assert path[found.filled - 1] < 0.95 * found.stationary
    assert (path[3:10] > 0.95 * found.stationary).any()  # it was there before, and left


@pytest.mark.parametrize(
    ("kind", "parameters", "words"),
    [
        ("s5", {"dt": None}, "time steps drawn in 0.001 .. 0.1"),
        ("s5", {"dt": [0.01, 0.02]}, "time step 0.01 .. 0.02"),
        ("rotrnn", {"heads": 2, "gamma": [0.5, 0.9]}, "gamma 0.5 .. 0.9"),
    ],
)
def test_what_the_makers_take_the_report_says(kind, parameters, words):
    assert words in recurrences.report(kind, 4, 5, **parameters).about


def test_a_recurrence_that_hears_nothing():
    with pytest.raises(ValueError, match="B of zeros: no input reaches its state"):
        recurrences.report_on(recurrences.LinearRecurrence([[0.5]], [[0.0]]), 10)
