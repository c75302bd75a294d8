"""`transfer_check`: linear recurrences collapse by T/sqrt(n), driven tanh at chi = 1 by T/n."""

import numpy as np
import pytest
import torch

from signalprop.inspection import transfer_check
from signalprop.inspection.collapse import collapse
from signalprop.meanfield import critical_scale


def linear(n):
    W = torch.randn(n, n, dtype=torch.float64) / n**0.5
    return lambda state, inputs: state @ W.T


CRITICAL = float(critical_scale("tanh", 1.0))


def driven(n):
    W = CRITICAL * torch.randn(n, n, dtype=torch.float64) / n**0.5
    return lambda state, inputs: torch.tanh(state @ W.T + inputs)


WIDTHS, HORIZONS = [16, 64, 256], [4, 8, 16, 32, 64, 128]


@pytest.mark.parametrize(("make", "name", "other"), [(linear, "T/sqrt(n)", "T/n"), (driven, "T/n", "T/sqrt(n)")])
def test_the_two_collapses(make, name, other):
    found = transfer_check(make, WIDTHS, HORIZONS, draws=24, batch=4)
    residuals = found.collapses["before"].residuals
    assert found.verdict == name, str(found)
    assert residuals[name] < 0.3
    assert residuals[other] > 2.0 * residuals[name]
    assert f"{residuals[name]:.2g} by {name}" in str(found)
    assert len(found.table) == len(WIDTHS) * len(HORIZONS)


def test_exact_curves():
    horizons = np.array([4.0, 16.0, 64.0, 256.0])
    for power, name in ((0.5, "T/sqrt(n)"), (1.0, "T/n")):
        values = {n: np.log1p(horizons / n**power)[:, None] * [3.0, -1.0] for n in (16, 64, 256)}
        curves = {n: (horizons, value, 0.0 * value) for n, value in values.items()}
        found = collapse(curves)
        assert found.better == name
        assert found.residuals[name] < 0.15
    apart = collapse({n: (np.array([2.0, 3.0]), np.eye(2) * n, np.eye(2)) for n in (2, 2000)})
    assert apart.residuals == {"T/sqrt(n)": None, "T/n": None}
    assert apart.better == "neither"
    assert collapse({n: (horizons, np.zeros((4, 2)), np.zeros((4, 2))) for n in (16, 64)}).better == "flat"


def test_energies_are_those_of_autograd_by_hand():
    found = transfer_check(lambda n: lambda state, inputs: 0.5 * state, [2, 4], [2, 5], draws=3)
    for row in found.rows:
        assert row["log_energy"] == pytest.approx(-2.0 * row["T"] * np.log(2.0))
        assert row["spread"] == pytest.approx(0.0, abs=1e-9)
        assert (row["state"], row["gradient"], row["lost"], row["draws"]) == (0.0, None, 0, 6)


def test_what_dies_is_left_out_and_counted():
    found = transfer_check(lambda n: lambda state, inputs: 0.0 * state, [2, 4], [2, 5], draws=3)
    assert all(row["lost"] == 6 and row["log_energy"] is None for row in found.rows)
    assert found.verdict == "neither"
    found.plot()


@pytest.mark.parametrize("first", [True, False])
def test_modules_before_and_after_a_few_steps(first):
    made = []

    def make(n):
        made.append(torch.nn.RNN(3, n, batch_first=first))
        return made[-1]

    before = torch.random.get_rng_state()
    found = transfer_check(make, [4, 8], [3, 6], steps=2, draws=2, optimizer=lambda p: torch.optim.SGD(p, lr=0.5))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert len(made) == 8
    assert list(found.collapses) == ["before", "after"]
    one, other = (found.table[found.table["when"] == when].reset_index() for when in ("before", "after"))
    assert (one["gradient"] > 0.0).all()
    assert not np.allclose(one["log_energy"], other["log_energy"])
    assert "After 2 optimizer steps" in str(found)
    assert len(found.plot().axes) == 4
    assert (
        found.rows
        == transfer_check(make, [8, 4], [3, 6], steps=2, draws=2, optimizer=lambda p: torch.optim.SGD(p, lr=0.5)).rows
    )


def test_batches_and_losses_of_ones_own():
    asked = []

    def batch_of(n, horizon):
        asked.append((n, horizon))
        return torch.ones(3, horizon, 2), torch.zeros(3, horizon, n)

    def loss(outputs, targets):
        return (outputs - targets).abs().mean()

    found = transfer_check(
        lambda n: torch.nn.GRU(2, n, batch_first=True), [4, 8], [3, 6], draws=2, batch_of=batch_of, loss=loss
    )
    assert set(asked) == {(4, 3), (4, 6), (8, 3), (8, 6)}
    assert all(row["draws"] == 6 for row in found.rows)


def test_bad_input():
    for options, words in (
        ({"widths": []}, "widths must have at least two different numbers, got"),
        ({"widths": [4, 4]}, "widths must have at least two"),
        ({"widths": [0, 4]}, "widths must be at least 2, got 0"),
        ({"horizons": [8]}, "horizons must have at least two"),
        ({"horizons": [8, 10**7]}, "horizons must be at most 100000"),
        ({"make_model": 3}, "make_model must be a function of a width, got 3"),
        (
            {"make_model": lambda n: n},
            "make_model must give a torch.nn.Module or a function of state and inputs, got 2",
        ),
        ({"make_model": lambda n: lambda state, inputs: state[:, :1]}, "must give a step to a state of shape"),
        ({"make_model": lambda n: torch.nn.Sequential(torch.nn.Flatten())}, "module with an output per step"),
        ({"steps": 3}, "steps=3 needs a make_model that gives a torch.nn.Module"),
        ({"draws": 1}, "draws must be at least 2"),
        ({"batch_of": lambda n, horizon: torch.ones(2, 3)}, "batch_of must give real inputs"),
        ({"loss": 3}, "loss must be a function or None"),
        ({"seed": -1}, "seed must be at least 0"),
    ):
        with pytest.raises(ValueError, match=words) as info:
            transfer_check(**{"make_model": linear, "widths": [2, 4], "horizons": [2, 3], "draws": 2, **options})
        assert "\n" not in str(info.value)
