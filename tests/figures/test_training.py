import json
import math

import numpy as np
import pandas as pd
import pytest

from benchmarks.initialization.summary import summary
from signalprop.figures import training
from signalprop.figures.reproduce import reproduce

HORIZONS = (100, 400)


@pytest.fixture
def frame():
    """Invented trainings: width 16 at both horizons, width 64 at one; glorot overflows, half underflows, at the last."""
    rng, rows = np.random.default_rng(0), []
    for n, horizons in ((16, HORIZONS), (64, HORIZONS[:1])):
        for task in training.CLASSES:
            for horizon in horizons:
                for start in training.STYLES:
                    for seed in range(3):
                        last = horizon == HORIZONS[-1]
                        gradient = np.inf if last and start == "glorot" else 0.0 if last and start == "half" else 0.1
                        rows.append(
                            {
                                "n": n, "task": task, "horizon": horizon, "start": start, "role": "report",
                                "learning_rate": 1e-4, "seed": seed, "steps": 20, "scale": 1.0, "gradient_norm": gradient,
                                "recurrent_gradient_norm": gradient, "initial_loss": 2.0, "train_loss": 1.0, "loss": 1.0,
                                "accuracy": rng.uniform(), "steps_to_half": 10 if seed else np.nan, "stopped_at": np.nan,
                            }
                        )  # fmt: skip
    return summary(pd.DataFrame(rows))


def test_it_comes_with_its_numbers_and_the_origin_of_the_trainings(tmp_path):
    (path,) = reproduce(tmp_path, "quick", only="training")
    assert path.read_bytes().startswith(b"\x89PNG")
    pd.testing.assert_frame_equal(pd.read_csv(path.with_suffix(".csv")), training.data())
    trainings = json.loads(path.with_suffix(".json").read_text())["trainings"]
    assert trainings["settings"]["batch"] == 64
    assert trainings["git_revision"]


def test_panels_show_the_width_with_all_horizons_and_keep_the_infinite_on_the_axis(frame):
    import matplotlib.pyplot as plt

    figure = training.draw(frame)
    try:
        assert len(figure.axes) == 4
        assert "n = 16" in figure.get_suptitle()
        accuracy, gradient = figure.axes[0], figure.axes[2]
        guess = [line for line in accuracy.lines if set(line.get_ydata()) == {0.1}]
        assert len(guess) == 1
        low, high = gradient.get_ylim()
        drawn = np.concatenate([line.get_ydata() for line in gradient.lines if len(line.get_ydata()) == len(HORIZONS)])
        assert len(drawn) == len(HORIZONS) * len(training.STYLES)
        assert drawn.min() == training.FLOOR > low
        assert drawn.max() == training.CEILING < high
        assert np.sum(np.isclose(drawn, math.log10(0.1))) == len(drawn) - 2
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert len([label for label in labels if ":" in label]) >= len(training.STYLES)
        for axes in figure.axes[2:]:
            assert axes.get_xlabel()
    finally:
        plt.close(figure)
