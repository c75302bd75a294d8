import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.initialization import __main__ as command
from benchmarks.initialization import design as designs
from benchmarks.initialization import starts
from benchmarks.initialization.design import Design, best_rate, run
from benchmarks.initialization.recurrence import impulse_responses, last_states
from benchmarks.initialization.results import open_results
from benchmarks.initialization.summary import summary
from benchmarks.initialization.table import markdown
from benchmarks.initialization.tasks import TASKS, digits
from benchmarks.initialization.training import OUTCOMES, RATES, Cell, start_parameters, train
from signalprop import safe_scale

CELL = Cell(n=24, task="copy", horizon=40, start="orthogonal", role="report", learning_rate=1e-3, seed=0, steps=30)


def loop(W, B, inputs, horizon, last):
    """The definition: one step at a time."""
    state, states = torch.zeros(inputs.shape[0], W.shape[0], dtype=W.dtype), []
    for t in range(horizon):
        state = state @ W.T
        if t < inputs.shape[1]:
            state = state + inputs[:, t] @ B.T
        states.append(state)
    return torch.stack(states[-last:], dim=1)


@pytest.mark.parametrize(("inputs", "steps", "last"), [(1, 7, 1), (3, 4, 4), (2, 1, 3), (2, 5, 1)])
@pytest.mark.parametrize("spare", [0, 1, 30, 95, 400])
def test_states_and_gradients_are_those_of_the_loop_over_steps(inputs, steps, last, spare):
    draw = torch.Generator().manual_seed(1)
    horizon = steps + last + spare
    u = torch.randn(5, steps, inputs, generator=draw, dtype=torch.float64)
    toward = torch.randn(5, last, 9, generator=draw, dtype=torch.float64)
    W = torch.nn.init.orthogonal_(torch.empty(9, 9, dtype=torch.float64), generator=draw).requires_grad_()
    B = torch.randn(9, inputs, generator=draw, dtype=torch.float64).requires_grad_()
    found, wanted = (states(W, B, u, horizon, last) for states in (last_states, loop))
    torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-9)
    for one, other in zip(*(torch.autograd.grad((x * toward).sum(), (W, B)) for x in (found, wanted)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("first", [0, 1, 5, 64, 201])
@pytest.mark.parametrize("count", [1, 2, 19, 64])
def test_impulse_responses_are_matrix_powers(first, count):
    draw = torch.Generator().manual_seed(2)
    W = torch.randn(6, 6, generator=draw, dtype=torch.float64) / 3.0
    B = torch.randn(6, 2, generator=draw, dtype=torch.float64)
    wanted = torch.stack([torch.linalg.matrix_power(W, k) @ B for k in range(first, first + count)])
    torch.testing.assert_close(impulse_responses(W, B, first, count), wanted, rtol=1e-9, atol=0.0)


def test_a_horizon_too_short_for_the_task_is_refused():
    with pytest.raises(ValueError, match="10 steps of input and 10 of answers do not fit into horizon=19"):
        train(replace(CELL, horizon=19))


def test_digits_are_whole_images_with_their_labels():
    from sklearn.datasets import load_digits

    task = TASKS["digits"]
    (train_pixels, train_labels), (pixels, labels) = digits()
    assert train_pixels.shape == (1437, 64, 1)
    assert pixels.shape == (360, 64, 1)
    assert float(train_pixels.mean()) == pytest.approx(0.0, abs=1e-4)
    assert float(train_pixels.std()) == pytest.approx(1.0, abs=1e-3)
    assert sorted(set(labels.flatten().tolist())) == list(range(10))
    # Undo the scaling: each image is one of scikit-learn's, with that image's label, and none is both train and test.
    images, answers = load_digits(return_X_y=True)
    known = {tuple(image.astype(int)): answer for image, answer in zip(images, answers, strict=True)}
    scale = 16.0 / float(train_pixels.max() - train_pixels.min())
    seen = []
    for part, wanted in ((train_pixels, train_labels), (pixels, labels)):
        whole = torch.round((part[..., 0] - train_pixels.min()) * scale).int().tolist()
        assert all(known[tuple(image)] == answer for image, answer in zip(whole, wanted[:, 0].tolist(), strict=True))
        seen.append({tuple(image) for image in whole})
    assert not seen[0] & seen[1]
    some, named = task.batch(7, torch.Generator().manual_seed(0))
    assert some.shape == (7, 64, 1)
    assert named.shape == (7, 1)


def test_copy_asks_for_the_symbols_that_were_shown():
    inputs, answers = TASKS["copy"].batch(500, torch.Generator().manual_seed(3))
    assert inputs.shape == (500, 10, 8)
    assert torch.equal(inputs.argmax(-1), answers)
    assert torch.equal(inputs.sum(-1), torch.ones(500, 10))
    # 5000 symbols, eight equally likely: chi^2 with 7 degrees of freedom, 0.999-quantile 24.3.
    counts = torch.bincount(answers.flatten(), minlength=8).double()
    assert float(((counts - 625.0) ** 2 / 625.0).sum()) < 24.3
    assert TASKS["copy"].chance == 1 / 8
    assert torch.equal(TASKS["copy"].test()[0], TASKS["copy"].test()[0])


@pytest.mark.parametrize("start", starts.STARTS)
def test_a_start_has_its_scale(start):
    n, horizon = 64, 60
    W = starts.weights(start, n, horizon, torch.Generator().manual_seed(5)).double()
    g = starts.scale(start, n, horizon)
    if start == "orthogonal":
        torch.testing.assert_close(W @ W.T, torch.eye(n, dtype=torch.float64), atol=1e-5, rtol=0.0)
    # n^2 E w^2 = n g^2; the sum of n^2 Gaussian squares has relative standard deviation sqrt(2)/n.
    assert float(W.square().sum()) / n == pytest.approx(g**2, rel=4.0 * math.sqrt(2.0) / n)
    if start in ("quantile", "minimax", "bounded"):
        assert g == safe_scale(n, horizon, criterion=start).scale


def test_gaussian_starts_of_one_seed_are_multiples_of_one_draw_and_share_everything_else():
    one, other = (start_parameters(replace(CELL, start=start)) for start in ("glorot", "half"))
    torch.testing.assert_close(0.5 * one[0], other[0])
    assert all(torch.equal(a, b) for a, b in zip(one[1:], other[1:], strict=True))
    assert not torch.equal(one[1], start_parameters(replace(CELL, seed=1))[1])


def test_sampled_edge_bounds_the_radius_of_most_fresh_draws():
    rng, n = np.random.default_rng(77), 40
    g = starts.scale("edge", n, 100)
    radii = [np.abs(np.linalg.eigvals(rng.standard_normal((n, n)) / math.sqrt(n))).max() for _ in range(400)]
    # The share below is binomial around 0.95, and the edge itself is estimated from as many draws.
    assert abs(np.mean(g * np.array(radii) <= 1.0) - 0.95) < 3.5 * math.sqrt(2 * 0.95 * 0.05 / 400)


def test_edge_of_wide_weights_is_that_of_the_package():
    assert starts.scale("edge", 1000, 100) == safe_scale(1000, 100, criterion="edge").scale


def test_haar_orthogonal_has_uniform_signs():
    # QR without fixing the signs of R is not Haar: its trace would have a mean far from 0. Here E tr W = 0, E (tr W)^2 = 1.
    draw = torch.Generator().manual_seed(8)
    traces = torch.stack([starts.weights("orthogonal", 8, 9, draw).trace() for _ in range(400)])
    assert abs(float(traces.mean())) < 4.0 / math.sqrt(400)


def test_training_reduces_the_loss_and_is_reproducible():
    first, second = train(CELL), train(CELL)
    assert first == second
    assert set(first) == set(OUTCOMES)
    assert first["loss"] < 0.7 * first["initial_loss"]
    assert first["accuracy"] > 2 * TASKS["copy"].chance
    assert first["stopped_at"] is None


def test_first_gradient_and_overflow_are_recorded():
    vanishing = train(replace(CELL, start="half", horizon=90, steps=1))
    assert 0.0 < vanishing["recurrent_gradient_norm"] < 1e-9 < vanishing["gradient_norm"]
    overflow = train(replace(CELL, n=8, start="glorot", horizon=20_000, seed=exploding_seed()))
    assert overflow["stopped_at"] == 1
    assert overflow["loss"] == math.inf
    assert overflow["accuracy"] == TASKS["copy"].chance


def exploding_seed():
    """A seed whose Glorot start of width 8 has a spectral radius well above 1."""
    for seed in range(50):
        W = start_parameters(replace(CELL, n=8, start="glorot", seed=seed))[0]
        if torch.linalg.eigvals(W.detach()).abs().max() > 1.1:
            return seed
    raise AssertionError("none of 50 draws has a radius above 1.1")


SMALL = Design({8: (24,)}, seeds=2, tuning_seeds=1, steps=1)


def test_a_broken_run_goes_on_where_the_file_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(designs, "TASKS", {"copy": TASKS["copy"]})
    whole = open_results(tmp_path / "whole.csv")
    whole.write_origin("test")
    total = len(starts.STARTS) * (len(RATES) + 2)
    assert run(SMALL, whole) == total
    assert run(SMALL, whole) == 0

    lines = (tmp_path / "whole.csv").read_text().splitlines(keepends=True)
    cut = tmp_path / "cut.csv"
    cut.write_text("".join(lines[:6]) + lines[6][:20])  # five rows, and a sixth torn while it was written
    (tmp_path / "cut.json").write_text((tmp_path / "whole.json").read_text())
    assert run(SMALL, open_results(cut)) == total - 5
    assert cut.read_text() == (tmp_path / "whole.csv").read_text()


def test_results_of_other_settings_are_not_mixed(tmp_path):
    results = open_results(tmp_path / "a.csv")
    results.write_origin("test")
    about = json.loads((tmp_path / "a.json").read_text())
    assert {"git_revision", "signalprop", "libraries"} <= set(about)
    assert about["libraries"]["torch"] == torch.__version__
    about["settings"]["batch"] = 7
    (tmp_path / "a.json").write_text(json.dumps(about))
    with pytest.raises(ValueError, match="holds trainings with other settings"):
        open_results(tmp_path / "a.csv")
    (tmp_path / "a.json").unlink()
    with pytest.raises(ValueError, match=r"has no a\.json beside it"):
        open_results(tmp_path / "a.csv")


def test_best_rate():
    assert best_rate({1e-3: 2.0, 1e-4: 1.0, 1e-5: 1.5}) == 1e-4
    assert best_rate({1e-3: math.inf, 1e-4: 1.0, 1e-5: math.nan}) == 1e-4
    assert best_rate({1e-3: math.inf, 1e-4: math.nan, 1e-5: math.inf}) == 1e-5


def trainings(**columns):
    """Four reported trainings of one cell, and a tuning one that must not count."""
    base = {
        "n": 64, "task": "copy", "horizon": 200, "start": "glorot", "role": ["report"] * 4 + ["tune"],
        "learning_rate": 1e-4, "seed": range(5), "steps": 30, "scale": 1.0, "gradient_norm": [1.0, 2e6, np.inf, 3.0, np.inf],
        "recurrent_gradient_norm": [0.0, 10.0, np.nan, 1.0, 1.0], "initial_loss": 2.0, "train_loss": 1.0,
        "loss": [1.0, 21.0, np.inf, 0.5, np.inf], "accuracy": [0.5, 0.1, 0.125, 0.9, 0.0],
        "steps_to_half": [20.0, np.nan, np.nan, 10.0, np.nan], "stopped_at": [np.nan, np.nan, 1.0, np.nan, 1.0],
    }  # fmt: skip
    return pd.DataFrame(base | columns)


def test_summary_counts_and_intervals():
    (row,) = summary(trainings()).to_dict("records")
    assert (row["seeds"], row["exploded"], row["diverged"], row["reached"]) == (4, 0.5, 0.5, 0.5)
    # Wilson, 2 of 4: centre 1/2, half-width z sqrt(1/(4*4) + z^2/(4*16)) / (1 + z^2/4).
    z = 1.959963984540054
    half = z * math.sqrt(1 / 16 + z**2 / 64) / (1 + z**2 / 4)
    assert row["diverged_low"] == pytest.approx(0.5 - half)
    assert row["diverged_high"] == pytest.approx(0.5 + half)
    accuracies = [0.5, 0.1, 0.125, 0.9]
    t = 3.182446305284263  # 0.975-quantile of t with 3 degrees of freedom
    assert row["accuracy"] == pytest.approx(np.mean(accuracies))
    spread = t * np.std(accuracies, ddof=1) / 2
    assert row["accuracy_high"] - row["accuracy"] == pytest.approx(spread)
    assert row["log10_gradient"] == 0.0  # lower median of -inf, 0, 1, inf
    assert row["log10_gradient_low"] == -np.inf
    assert row["log10_gradient_high"] == np.inf
    assert row["steps_to_half"] == 20.0
    (censored,) = summary(trainings(steps_to_half=[20.0] + [np.nan] * 4)).to_dict("records")
    assert math.isnan(censored["steps_to_half"])
    assert "| > 30 |" in markdown(trainings(steps_to_half=[20.0] + [np.nan] * 4))


def test_command_runs_resumes_and_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(designs, "TASKS", {"copy": TASKS["copy"]})
    monkeypatch.setitem(command.DESIGNS, "quick", SMALL)
    threads = torch.get_num_threads()
    try:
        for made in (len(starts.STARTS) * (len(RATES) + 2), 0):
            monkeypatch.setattr("sys.argv", ["initialization", "--quick", "--output", str(tmp_path / "r.csv")])
            assert command.main() == 0
            out, err = capsys.readouterr()
            assert f"{made} trainings made" in err
            assert out.count("| copy | 8 | 24 |") == len(starts.STARTS)
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_flush_denormal(False)
        torch.set_num_threads(threads)
