"""A figure from elsewhere is one like those of the package, once it is registered."""

import json
import subprocess
import sys

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from typer.testing import CliRunner

from signalprop.cli import app
from signalprop.cli._completion import figure_names
from signalprop.figures import FIGURES, QUALITIES, FigureRecord
from signalprop.figures.reproduce import reproduce

COLUMNS = {"n": "width", "energy": "2^n"}


def data(*, seed=0, progress=None, count=3):
    n = range(count)
    return pd.DataFrame({"n": n, "energy": [2.0**one for one in n]})


def draw(frame):
    figure, axes = plt.subplots()
    axes.plot(frame["n"], frame["energy"])
    return figure


SIZES = {"quick": {"count": 2}, "default": {"count": 5}, "full": {"count": 9}}
TOY = FigureRecord("A toy", "Powers of two. Nothing else.", COLUMNS, data, draw, sizes=SIZES)


@pytest.fixture
def toy():
    with FIGURES.with_record("toy", TOY):
        yield


@pytest.mark.parametrize(("quality", "count"), [("quick", 2), ("default", 5), ("full", 9)])
def test_it_is_drawn_in_every_quality_and_stands_on_the_index_page(toy, quality, count, tmp_path):
    (path,) = reproduce(tmp_path, quality, only="toy", seed=4)
    assert path == tmp_path / "toy.png"
    assert len(pd.read_csv(tmp_path / "toy.csv")) == count
    about = json.loads((tmp_path / "toy.json").read_text())
    assert about["columns"] == COLUMNS
    assert about["parameters"] == {"quality": quality, "seed": 4, "count": count}
    assert "trainings" not in about
    page = (tmp_path / "README.md").read_text()
    option = "" if quality == "default" else f" --{quality}"
    assert "## A toy" in page
    assert "![A toy: Powers of two](toy.png)" in page
    assert (
        f"`signalprop reproduce{option} --only toy` · [numbers](toy.csv) · [SVG](toy.svg) · [origin](toy.json)" in page
    )


def test_the_command_line_knows_it(toy, tmp_path):
    assert "toy" in figure_names("t")
    result = CliRunner().invoke(app, ["reproduce", "--only", "toy", "--directory", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"quality": "default", "figures": [str(tmp_path / "toy.png")]}


def test_it_is_gone_afterwards(tmp_path):
    assert "toy" not in figure_names("t")
    result = CliRunner().invoke(app, ["reproduce", "--only", "toy", "--directory", str(tmp_path)])
    assert result.exit_code == 2
    assert "'toy'" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_names_are_known_without_what_draws_them():
    code = (
        "import sys\n"
        "from signalprop.cli._completion import figure_names\n"
        "assert 'critical_rnn' in figure_names(''), figure_names('')\n"
        "heavy = {'matplotlib', 'pandas', 'numba', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("name", FIGURES)
def test_every_record_is_whole(name):
    figure = FIGURES[name]
    assert figure.title
    assert figure.caption.endswith(".")
    assert set(figure.sizes) == set(QUALITIES)
    assert set(figure.noise) <= set(figure.columns)
    assert all(figure.columns.values())


def test_what_is_no_record_is_refused():
    with pytest.raises(ValueError, match="the record of a figure must be a FigureRecord, got 'x'"):
        FIGURES.register("toy", "x")
    with pytest.raises(ValueError, match="the figure 'training' is already registered"):
        FIGURES.register("training", TOY)
