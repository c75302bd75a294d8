"""Figures of nonlinear and gated cells: draws beside laws, and the trainings that there are."""

import itertools
import json
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from benchmarks.cell_trainings.design import FIRST
from benchmarks.cell_trainings.starts import STARTS
from signalprop._house_style import house_style
from signalprop.cells import CELLS
from signalprop.figures import cell_gradients, cell_trainings, driven_horizon, edge_of_chaos
from signalprop.figures.reproduce import reproduce
from signalprop.initialization._cell_evidence import evidence


@pytest.fixture
def drawn():
    """Draws a table in the house style, and closes what was drawn."""
    figures = []

    def draw(module, frame):
        with house_style():
            figures.append(module.draw(frame))
            figures[-1].canvas.draw()
        return figures[-1]

    yield draw
    for figure in figures:
        plt.close(figure)


def labelled(axes):
    return axes.get_xlabel() and axes.get_ylabel() and axes.get_title()


def test_gradients_vanish_from_usual_starts_and_arrive_from_others(drawn):
    shares = []
    frame = cell_gradients.data(draws=10, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert (frame["log_q05"] <= frame["log_median"]).all()
    assert (frame["log_median"] <= frame["log_q95"]).all()
    last = frame[frame["step"] == cell_gradients.HORIZON].set_index(["cell", "start"])
    for cell in ("tanh", "relu", "gru", "lstm"):
        assert last.loc[(cell, "default"), "log_q95"] < -300.0
        assert last.loc[(cell, "glorot"), "log_q95"] < -200.0
        assert abs(last.loc[(cell, "orthogonal" if cell == "tanh" else "set"), "log_median"]) < 12.0
        assert ((cell, "critical") in last.index) is not CELLS[cell].gated
    relu, tanh = last.loc[("relu", "critical")], last.loc[("tanh", "critical")]
    assert relu["log_q95"] - relu["log_q05"] > 4.0 * (tanh["log_q95"] - tanh["log_q05"])
    for start in ("default", "glorot"):
        for cell in ("tanh", "relu"):
            one = last.loc[(cell, start)]
            assert one["log_law"] == pytest.approx(one["log_median"], rel=0.05)
    for cell in ("gru", "lstm"):
        assert last.loc[(cell, "set"), "log_law"] == pytest.approx(last.loc[(cell, "set"), "log_median"], rel=0.15)
    figure = drawn(cell_gradients, frame)
    assert [axes.get_title().split(";")[0] for axes in figure.axes] == ["tanh", "ReLU", "GRU", "LSTM"]


def test_driven_layers_last_of_order_n_and_linear_ones_of_its_root(drawn, monkeypatch):
    monkeypatch.setattr(driven_horizon, "LINEAR_WIDTHS", (64, 256))
    frame = driven_horizon.data(draws=200, widths=(32, 64))
    horizons = frame[frame["panel"] == "horizons"].set_index(["layer", "n"])
    drawn_ones = horizons.dropna(subset="step")
    assert len(drawn_ones) == 2 * 2 + 2
    for (layer, _), one in drawn_ones.iterrows():
        assert one["step"] == pytest.approx(one["law_step"], rel=0.1 if layer == "linear" else 0.3)
    ratio = {
        layer: horizons["law_step"][layer, 4096] / horizons["law_step"][layer, 1024] for layer in driven_horizon.STYLES
    }
    assert 3.9 < ratio["driven"] < 4.1
    assert 3.9 < ratio["weakly"] < 4.1
    assert 2.0 < ratio["linear"] < 2.3
    figure = drawn(driven_horizon, frame)
    assert all(labelled(axes) for axes in figure.axes)
    assert "n = 64" in figure.axes[0].get_title()


def test_the_horizon_of_draws_is_where_two_thirds_of_them_are_too_far_apart():
    width = np.array([0.0, 2.9, 3.1, 5.0])
    z = np.linspace(-1.0, 1.0, 101)  # 16 and 84 % at -0.68 and 0.68
    assert driven_horizon.horizon_of(z[:, None] * width / 0.68) == 2.0
    assert math.isnan(driven_horizon.horizon_of(z[:, None] * width[:2] / 0.68))


def test_critical_scales_are_those_known_from_elsewhere(drawn):
    frame = edge_of_chaos.data(points=5, draws=60, simulated=(64,))
    known = frame.dropna(subset="known").groupby("activation")
    assert set(known.groups) == {"tanh", "erf"}
    tanh, erf = known.get_group("tanh"), known.get_group("erf")
    assert (tanh["scale"] ** 2).round(2).tolist() == [1.76]  # published to so many digits
    np.testing.assert_allclose(erf["scale"], erf["known"], rtol=1e-9)
    horizons = frame[(frame["panel"] == "horizon") & frame["drawn"].notna()]
    assert len(horizons) == len(edge_of_chaos.SIMULATED_STDS)
    strong = horizons[horizons["input_std"] >= 0.1]
    assert (np.abs(np.log(strong["drawn"] / strong["one_matrix"])) < 0.5).all()
    figure = drawn(edge_of_chaos, frame)
    assert all(labelled(axes) for axes in figure.axes)
    assert any("g = 1.856" in text.get_text() for text in figure.axes[0].texts)


def test_trainings_come_with_their_numbers_and_their_origin(tmp_path):
    (path,) = reproduce(tmp_path, "quick", only="cell_trainings")
    frame = pd.read_csv(path.with_suffix(".csv"))
    assert len(frame) == sum(len(one.seed_losses) for group in evidence() for one in group.starts)
    for group in evidence():
        key = [group.cell, group.task, group.horizon, group.steps]
        rows = frame[(frame[cell_trainings.GROUP] == key).all(axis=1) & ~frame["frozen"]]
        means = rows.groupby("start")["loss"].mean()
        assert means.idxmin() == group.best
        assert means[group.best] == pytest.approx(group.losses[group.best].mean, rel=1e-4)
    trainings = json.loads(path.with_suffix(".json").read_text())["trainings"]
    assert trainings["settings"]["batch"] == 32
    assert trainings["git_revision"]


def invented(count):
    """Losses of the first planned groups; the first start of each diverged once."""
    rng, rows = np.random.default_rng(0), []
    for group in FIRST[:count]:
        starts = [(start, False) for start in STARTS[group.cell]]
        for place, (start, frozen) in enumerate([*starts, (starts[0][0], True)]):
            loss = np.exp(rng.normal(-1.0, 0.5, 6)).clip(max=1.0)
            loss[0] = 10.0 if place == 0 else loss[0]
            head = (group.cell, group.task, group.horizon, 64, group.steps, start, frozen, 1e-3, "worse", loss.mean())
            rows += [(*head, seed, one) for seed, one in enumerate(loss)]
    return pd.DataFrame(rows, columns=list(cell_trainings.COLUMNS))


@pytest.mark.parametrize("count", [1, 9, 14])
def test_as_many_groups_as_there_are_have_a_panel(count, drawn):
    figure = drawn(cell_trainings, invented(count))
    panels = [axes for axes in figure.axes if axes.get_visible()]
    assert len(panels) == count
    for axes, group in zip(panels, FIRST, strict=False):
        labels = [text.get_text() for text in axes.get_yticklabels()]
        assert len(labels) == len(STARTS[group.cell]) + 1
        assert sum(label.endswith(", frozen") for label in labels) == 1
        assert [line.get_marker() for line in axes.lines].count(">") == 1  # beyond the axis
        low, high = axes.get_xlim()
        shown = np.concatenate([line.get_xdata() for line in axes.lines if line.get_marker() in ("o", ">")])
        assert shown.min() > low
        assert shown.max() < high
        assert axes.get_window_extent().width > 100.0  # labels leave room for the dots
    boxes = [axes.get_tightbbox() for axes in panels]
    for one, other in itertools.pairwise(boxes):
        assert not (one.x0 + 1 < other.x1 and other.x0 + 1 < one.x1 and one.y0 + 1 < other.y1 and other.y0 + 1 < one.y1)
