import json

import pandas as pd
import pytest

from signalprop.figures import _shipped, stability
from signalprop.figures.reproduce import reproduce

DEPTHS, SEEDS, STEPS = (1, 3), 2, (0, 10, 20)


@pytest.fixture
def logs(monkeypatch):
    """Invented logs: the energy of layer k of an lru is k 2^(step/10), that of rotrnn k throughout."""
    rows = []
    for variant in stability.SHOWN:
        for depth in DEPTHS:
            for seed in range(SEEDS):
                for step in STEPS:
                    row = {"variant": variant, "depth": depth, "seed": seed, "step": step}
                    row |= {"loss": 2.0 - step / 20, "accuracy": 0.2}
                    for layer in range(1, depth + 1):
                        energy = layer * (1.0 if variant == "rotrnn" else 2.0 ** (step / 10))
                        row |= {f"energy_{layer}": energy, f"energy_white_{layer}": 1.0}
                    rows.append(row)
    frame = pd.DataFrame(rows, columns=list(stability.COLUMNS))
    monkeypatch.setattr(_shipped, "table", lambda name: {"stability": frame}[name])
    monkeypatch.setattr(_shipped, "origin", lambda name: {"guess": {"loss": 2.25, "accuracy": 0.17}})


def test_ratios_are_those_of_the_course_of_a_training(logs):
    table = stability.ratios(stability.by_layer(stability.data()))
    assert len(table) == len(stability.SHOWN) * SEEDS * sum(DEPTHS)
    still = table["variant"] == "rotrnn"
    assert (table[still]["ratio"] == 1.0).all()
    assert (table[~still]["ratio"] == 4.0).all()
    assert (table[~still]["drift"] == 4.0).all()


def test_it_comes_with_its_numbers_and_the_origin_of_the_trainings(tmp_path):
    (path,) = reproduce(tmp_path, "quick", only="stability")
    assert path.read_bytes().startswith(b"\x89PNG")
    pd.testing.assert_frame_equal(pd.read_csv(path.with_suffix(".csv")), stability.data())
    trainings = json.loads(path.with_suffix(".json").read_text())["trainings"]
    assert trainings["settings"]["common"]["task"] == "listops"
    assert trainings["git_revision"]


def test_each_depth_and_variant_has_a_panel_with_all_layers_and_seeds(logs):
    import matplotlib.pyplot as plt

    figure = stability.draw(stability.data())
    try:
        panels = [
            axes
            for axes in figure.axes
            if "depth" in axes.get_ylabel() or axes.get_title() in stability.TITLES.values()
        ]
        assert len(figure.axes) == len(DEPTHS) * len(stability.SHOWN) + 3
        assert len(panels) >= len(DEPTHS)
        counts = [len(axes.lines) for axes in figure.axes[: len(DEPTHS) * len(stability.SHOWN)]]
        assert counts == [depth * (SEEDS + 1) + 1 for depth in DEPTHS for _ in stability.SHOWN]
        levels = [set(axes.lines[-1].get_ydata()) for axes in figure.axes[-3:-1]]
        assert levels == [{2.25}, {0.17}]
    finally:
        plt.close(figure)
