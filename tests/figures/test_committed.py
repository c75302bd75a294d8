"""What is committed under ``figures/``: small files, and the tables that the package and the benchmarks agree on."""

import io
import json
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.initialization import summary as initialization
from benchmarks.stability import table as stability
from benchmarks.trainings import SHIPPED, as_shipped
from signalprop.figures import FIGURES, gallery
from signalprop.figures.drawn import TABLES, same, table_of

ROOT = Path(__file__).parents[2]
HERE = ROOT / "figures"
BOUNDS = {".csv": 100_000, ".gz": 100_000, ".png": 300_000, ".svg": 260_000, ".json": 10_000, ".md": 20_000}


def test_files_are_small():
    sizes = {path.name: path.stat().st_size for path in HERE.iterdir()}
    assert {name: size for name, size in sizes.items() if size > BOUNDS[Path(name).suffix]} == {}
    assert {path.name: path.stat().st_size for path in SHIPPED.iterdir() if path.stat().st_size > 100_000} == {}


def test_every_figure_is_there_and_nothing_else():
    names = {path.name for path in HERE.iterdir()}
    for name in FIGURES:
        assert {f"{name}.{ending}" for ending in ("png", "svg", "json")} <= names
        assert sum(f"{name}.{ending}" in names for ending in TABLES) == 1
    assert {name.split(".")[0] for name in names} == {*FIGURES, "README"}


def test_they_are_those_of_the_default_quality_and_the_page_is_theirs():
    for name, figure in FIGURES.items():
        about = json.loads((HERE / f"{name}.json").read_text())
        assert about["parameters"]["quality"] == "default"
        assert about["columns"] == dict(figure.columns)
        assert about["title"] == figure.title
    assert (HERE / "README.md").read_text() == gallery.index(HERE)


@pytest.mark.parametrize(
    ("figure", "benchmark", "summary"),
    [("training", "initialization", initialization.summary), ("stability", "stability", stability.summary)],
)
def test_what_the_package_ships_is_the_summary_of_the_trainings(figure, benchmark, summary):
    results = ROOT / "benchmarks" / benchmark / "results.csv"
    assert (SHIPPED / f"{figure}.csv").read_text() == as_shipped(summary(pd.read_csv(results)))
    assert (SHIPPED / f"{figure}.json").read_text() == results.with_suffix(".json").read_text()


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if figure.trainings is not None])
def test_what_is_drawn_are_the_trainings_that_the_package_ships(name):
    drawn = pd.read_csv(table_of(HERE, name))
    assert same(drawn, pd.read_csv(io.StringIO(FIGURES[name].data(seed=0).to_csv(index=False))))
