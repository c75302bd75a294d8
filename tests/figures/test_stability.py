import json

import numpy as np
import pandas as pd
import pytest

from signalprop.figures import reproduce as module
from signalprop.figures import stability
from signalprop.figures.reproduce import figures_of, reproduce
from signalprop.training.log import columns

DEPTHS, SEEDS, STEPS = (1, 3), 2, (0, 10, 20)


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Invented logs: the energy of layer k of an lru is k 2^(step/10), that of rotrnn k throughout."""
    rows = []
    for variant in stability.SHOWN:
        for depth in DEPTHS:
            for seed in range(SEEDS):
                for step in STEPS:
                    row = {
                        "variant": variant,
                        "depth": depth,
                        "seed": seed,
                        "steps": 20,
                        "step": step,
                        "train_loss": 2.0,
                    }
                    row |= {"loss": 2.0 - step / 20, "accuracy": 0.2, "test_loss": np.nan, "test_accuracy": np.nan}
                    for layer in range(1, depth + 1):
                        energy = layer * (1.0 if variant == "rotrnn" else 2.0 ** (step / 10))
                        row |= {f"energy_{layer}": energy, f"energy_last_{layer}": energy, f"energy_white_{layer}": 1.0}
                    rows.append(row)
    path = tmp_path / "results.csv"
    names = ["variant", "depth", "seed", "steps", *columns(["1", "2", "3"])]
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    path.with_suffix(".json").write_text(json.dumps({"guess": {"loss": 2.25, "accuracy": 0.17}}))
    monkeypatch.setattr(stability, "RESULTS", path)
    monkeypatch.setattr(module, "FULL_FIGURES", ("stability",))
    return path


def test_only_full_draws_it_and_only_where_there_are_results(results):
    assert figures_of("default") == module.FIGURES
    assert figures_of("full") == (*module.FIGURES, "stability")
    results.unlink()
    assert figures_of("full") == module.FIGURES
    with pytest.raises(FileNotFoundError, match=r"results\.csv is missing; run python -m benchmarks\.stability"):
        stability.data()


def test_ratios_are_those_of_the_course_of_a_training(results):
    table = stability.ratios(stability.data())
    assert len(table) == len(stability.SHOWN) * SEEDS * sum(DEPTHS)
    still = table["variant"] == "rotrnn"
    assert (table[still]["ratio"] == 1.0).all()
    assert (table[~still]["ratio"] == 4.0).all()
    assert (table[~still]["drift"] == 4.0).all()


def test_it_comes_with_its_numbers_and_the_origin_of_the_trainings(results, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FIGURES", ())
    (path,) = reproduce(tmp_path / "figures", "full")
    assert path.read_bytes().startswith(b"\x89PNG")
    frame = pd.read_csv(path.with_suffix(".csv"))
    assert list(frame.columns) == list(stability.COLUMNS)
    assert len(frame) == len(stability.SHOWN) * SEEDS * len(STEPS) * sum(DEPTHS)
    assert json.loads(path.with_suffix(".json").read_text())["trainings"]["guess"]["loss"] == 2.25


def test_each_depth_and_variant_has_a_panel_with_all_layers_and_seeds(results):
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
