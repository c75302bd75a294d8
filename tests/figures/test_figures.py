import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from signalprop import energy
from signalprop._provenance import provenance
from signalprop.figures import FIGURES, recurrences
from signalprop.figures._marks import draw_means
from signalprop.figures.drawn import LARGEST, Drawn, same, table_of, two_decimals
from signalprop.figures.regime_map import on_a_stretch
from signalprop.figures.reproduce import reproduce
from tests.gaussian import z_bound

SMALL = {
    "scale_512",
    "training",
    "activations",
    "cell_trainings",
}  # which are drawn again in make test, all of them in make test-slow


def draws_these(monkeypatch, name, numbers):
    """The figure of this name draws these numbers."""
    monkeypatch.setitem(FIGURES._records, name, replace(FIGURES[name], data=lambda **_: numbers))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    directory = tmp_path_factory.mktemp("figures")
    steps = []
    paths = reproduce(directory, "quick", seed=3, progress=lambda name, share: steps.append((name, share)))
    return directory, paths, steps


def test_every_figure_comes_with_its_numbers_and_its_origin(written):
    directory, paths, _ = written
    assert sorted(path.stem for path in paths) == list(FIGURES)
    assert [path.stem for path in paths[:2]] == ["critical_rnn", "critical_lru"]
    for name in FIGURES:
        assert (directory / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (directory / f"{name}.svg").read_text()
        frame = pd.read_csv(table_of(directory, name))
        assert len(frame) > 50
        assert list(frame.columns) == list(FIGURES[name].columns)
        about = json.loads((directory / f"{name}.json").read_text())
        assert about["parameters"]["seed"] == 3
        assert about["parameters"]["quality"] == "quick"
        assert {"git_revision", "signalprop", "libraries", "columns"} <= set(about)


@pytest.mark.parametrize(
    "name", [name if name in SMALL else pytest.param(name, marks=pytest.mark.slow) for name in FIGURES]
)
def test_drawn_again_with_other_rounding_no_file_changes(name, written, tmp_path, monkeypatch):
    """Another processor, BLAS or number of threads moves last digits; another revision draws the same picture."""
    shutil.copytree(written[0], tmp_path, dirs_exist_ok=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    numbers = pd.read_csv(table_of(tmp_path, name))
    noise = np.random.default_rng(0)
    for column in numbers.columns:
        if numbers[column].dtype.kind == "f":
            numbers[column] *= 1.0 + 1e-13 * noise.standard_normal(len(numbers))
            numbers[column] += 1e-15 * noise.standard_normal(len(numbers))
    draws_these(monkeypatch, name, numbers)
    monkeypatch.setattr("signalprop.figures.reproduce.provenance", lambda: {"git_revision": "another", "python": "4"})
    facts = provenance() | {"git_revision": "another", "python": "4"}
    monkeypatch.setattr("signalprop.figures.reproduce.provenance", lambda: facts)
    reproduce(tmp_path, "quick", seed=3, only=name)
    assert {path.name for path in tmp_path.iterdir() if path.read_bytes() != before[path.name]} == set()


def test_drawn_again_with_other_numbers_all_files_change(written, tmp_path, monkeypatch):
    shutil.copytree(written[0], tmp_path, dirs_exist_ok=True)
    numbers = pd.read_csv(tmp_path / "scale_512.csv")
    column = next(name for name in numbers.columns if numbers[name].dtype.kind == "f")
    numbers[column] *= 1.01
    draws_these(monkeypatch, "scale_512", numbers)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    reproduce(tmp_path, "quick", seed=3, only="scale_512")
    changed = {path.name for path in tmp_path.iterdir() if path.read_bytes() != before[path.name]}
    assert {"scale_512.csv", "scale_512.png", "scale_512.svg"} <= changed
    assert all(name.startswith("scale_512") for name in changed)


@pytest.mark.parametrize("left", [b"", *(pytest.param(one, marks=pytest.mark.slow) for one in (b"\xff\xfe", b"[1"))])
def test_files_that_cannot_be_read_are_written_anew(left, written, tmp_path, monkeypatch):
    shutil.copytree(written[0], tmp_path, dirs_exist_ok=True)
    numbers = pd.read_csv(tmp_path / "scale_512.csv")
    draws_these(monkeypatch, "scale_512", numbers)
    before = (tmp_path / "scale_512.csv").read_bytes()
    for ending in ("csv", "json"):
        (tmp_path / f"scale_512.{ending}").write_bytes(left)
    reproduce(tmp_path, "quick", seed=3, only="scale_512")
    assert (tmp_path / "scale_512.csv").read_bytes() == before
    assert json.loads((tmp_path / "scale_512.json").read_text())["figure"] == "scale_512"


def test_tables_that_differ_are_told_apart():
    table = pd.DataFrame({"n": [1, 2], "value": [0.0, np.nan], "name": ["a", "b"]})
    assert same(table, table.assign(value=[1e-15, np.nan]))
    assert same(table, table.assign(value=[1e-10, np.nan]), {"value": 1e-9})
    large, small = 10**8 * np.array([1, 2]), np.array([1e-12, 1e-11])
    assert same(table.assign(value=small), table.assign(value=small * (1.0 + 1e-9)))
    assert not same(table.assign(value=small), table.assign(value=small * 1.01))
    assert not same(table.assign(n=large), table.assign(n=large + 1))
    for other in (
        table.assign(value=[1e-3, np.nan]),
        table.assign(value=[0.0, 1.0]),
        table.assign(name=["a", "c"]),
        table.assign(n=[1, 3]),
        table[["n", "value"]],
        table[:1],
    ):
        assert not same(table, other)


@pytest.mark.parametrize("rows", [10, 40_000])
def test_large_tables_are_compressed_and_leave_no_other_behind(rows, tmp_path):
    (tmp_path / "one.csv").write_bytes(b"n\n1\n")
    (tmp_path / "one.csv.gz").write_bytes(b"cut off")
    frame = pd.DataFrame({"n": np.arange(rows), "value": 1.0 / np.arange(1, rows + 1)})
    shown = Drawn(tmp_path, "one").numbers(frame)
    (path,) = tmp_path.iterdir()
    assert path.name == ("one.csv" if rows == 10 else "one.csv.gz")
    assert path.stat().st_size < max(LARGEST, 0.5 * len(frame.to_csv(index=False)))
    pd.testing.assert_frame_equal(shown, pd.read_csv(path))
    np.testing.assert_allclose(shown["value"], frame["value"], rtol=1e-5)
    before = path.read_bytes()
    Drawn(tmp_path, "one").numbers(frame * (1.0 + 1e-9))
    assert path.read_bytes() == before


def test_two_decimals_touch_coordinates_alone():
    assert two_decimals('<path d="M 10.126456 -0.999 L 3.000001 7.5z" transform="translate(1.2345,2.3456)"/>') == (
        '<path d="M 10.13 -1 L 3 7.5z" transform="translate(1.23,2.35)"/>'
    )
    for other in ('version="1.1"', "iVBORw0.1234abc", "matplotlib 3.11.2", 'd="M 1e-05 2"', "n = 0.12345;"):
        assert two_decimals(other) == other


def test_progress_runs_from_start_to_end_of_each_figure(written):
    _, _, steps = written
    for name in FIGURES:
        shares = [share for which, share in steps if which == name]
        assert shares[0] == 0.0
        assert shares[-1] == 1.0
        assert shares == sorted(shares)


def test_numbers_in_the_csv_are_the_exact_energies(written):
    directory, _, _ = written
    rnn = pd.read_csv(directory / "critical_rnn.csv")
    lru = pd.read_csv(directory / "critical_lru.csv")
    for field in ("complex", "real"):
        for n in (100, 2000):
            rows = rnn[(rnn["field"] == field) & (rnn["n"] == n)]
            np.testing.assert_allclose(
                rows["log_exact"], energy.rnn_energy(n, rows["k"].to_numpy(), field, log=True), rtol=1e-5, atol=1e-9
            )
            rows = lru[(lru["field"] == field) & (lru["n"] == n)]
            want = energy.lru_energy(n, rows["k"].to_numpy(), field, log=True) - 0.5 * np.log(n)
            np.testing.assert_allclose(rows["log_exact"], want, rtol=1e-5, atol=1e-9)


def test_monte_carlo_agrees_where_it_claims_to_and_not_beyond(written):
    directory, _, _ = written
    for name in ("critical_rnn", "critical_lru"):
        frame = pd.read_csv(directory / f"{name}.csv")
        light = frame[(frame["tail_share"] < 0.06) & (frame["k"] > 0)]
        assert len(light) > 100
        # Steps of one path are correlated: bound the worst of all of them, fixed seed.
        assert light["z"].abs().max() < 4.5
        far = frame[(frame["field"] == "real") & (frame["c"] > 4.5)]
        assert not far["trusted"].any()


def test_rare_event_means_reach_the_exact_ones(written):
    directory, _, _ = written
    for name in ("critical_rnn", "critical_lru"):
        far = pd.read_csv(directory / f"{name}.csv").dropna(subset="log_tempered")
        assert len(far) == 6  # c = 3, 4, 5, real and complex, n = 100
        assert set(far["k"]) == {30, 40, 50}
        assert (far["log_tempered_low"] < far["log_tempered"]).all()
        # Three steps of one set of repetitions: within twice the interval, which one run in a thousand misses.
        reach = far["log_tempered_high"] - far["log_tempered"]
        assert ((far["log_tempered"] - far["log_exact"]).abs() < 2.0 * reach).all()
        plain = far[(far["field"] == "real") & (far["k"] == 50)]
        assert (plain["log_mean"] < plain["log_tempered_low"]).all()


def test_hollow_markers_mark_what_the_tail_carries(written):
    directory, _, _ = written
    frame = pd.read_csv(directory / "critical_rnn.csv")
    one = frame[(frame["field"] == "real") & (frame["n"] == 2000)]
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    draw_means(axes, one, [1.0, 5.0], "C0")
    faces = {
        round(float(line.get_xdata()[0])): line.get_markerfacecolor() for line in axes.lines if line.get_marker() == "o"
    }
    assert faces == {1: "C0", 5: "white"}


@pytest.mark.parametrize(("name", "panels"), [("critical_rnn", 2), ("critical_lru", 2), ("activations", 3)])
def test_panels_are_labelled(name, panels, written):
    directory, _, _ = written
    figure = FIGURES[name].draw(pd.read_csv(directory / f"{name}.csv"))
    assert len(figure.axes) == panels
    assert figure.axes[0].get_ylabel()
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_title()
        assert axes.get_yscale() == "log"
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert any("not to be\ntrusted" in label for label in labels)
    import matplotlib.pyplot as plt

    plt.close(figure)


def test_other_recurrences_are_exact_and_agree_with_their_draws(written):
    directory, _, _ = written
    frame = pd.read_csv(directory / "recurrences.csv")
    drawn = frame.dropna(subset="z")
    assert drawn["z"].abs().max() < z_bound(len(drawn))
    for name, layer in recurrences.layers(64, seed=3).items():
        rows = frame[frame["recurrence"] == name.replace("\n", " ")]
        rho = recurrences.SLOW_CORRELATION if name == recurrences.SLOW else 0.0
        path = layer.covariance_path(int(rows["step"].max()), correlation=rho)
        want = path[rows["step"]] / np.sum(np.abs(layer.B) ** 2)
        np.testing.assert_allclose(rows["energy"], want, rtol=1e-5)
    figure = recurrences.draw(frame)
    assert len(figure.axes) == 2
    assert all(axes.get_xlabel() and axes.get_ylabel() and axes.get_title() for axes in figure.axes)
    import matplotlib.pyplot as plt

    plt.close(figure)


def test_a_law_that_only_crosses_is_on_no_stretch():
    t = np.array([1, 2, 3, 10, 11, 12, 13, 14, 100, 200])
    near = np.array([1, 0, 0, 1, 1, 1, 0, 1, 0, 1], dtype=bool)
    # 1 and 200 run off the map; 10 to 12 is less than a quarter, 14 is alone.
    assert t[on_a_stretch(near, t)].tolist() == [1, 200]
    near[6] = True  # 10 to 14
    assert t[on_a_stretch(near, t)].tolist() == [1, 10, 11, 12, 13, 14, 200]
    assert not on_a_stretch(np.zeros(10, dtype=bool), t).any()


def test_lines_of_laws_reach_the_edge_of_the_picture(written):
    directory, _, _ = written
    frame = pd.read_csv(table_of(directory, "law_errors"))
    assert {("complex", "rnn"), ("complex", "lru"), ("real", "rnn")} == set(
        zip(frame["field"], frame["quantity"], strict=True)
    )
    figure = FIGURES["law_errors"].draw(frame)
    try:
        tops = [np.nanmax(line.get_ydata()) for axes in figure.axes for line in axes.lines if len(line.get_xdata()) > 2]
        assert any(top > 4.0 for top in tops)
        assert not [top for top in tops if 2.8 < top < 4.0]
    finally:
        import matplotlib.pyplot as plt

        plt.close(figure)


def test_index_page_shows_every_figure(written):
    directory, _, _ = written
    page = (directory / "README.md").read_text()
    for name in FIGURES:
        assert f"]({name}.png)" in page
        assert f"reproduce --quick --only {name}`" in page
        assert f"[numbers]({table_of(directory, name).name})" in page
        assert FIGURES[name].caption in page
    places = [page.index(f"]({name}.png)") for name in ("critical_rnn", "critical_lru", "activations", "training")]
    assert places == sorted(places)


def test_one_figure_alone(tmp_path):
    assert [path.name for path in reproduce(tmp_path, "quick", only="scale_512")] == ["scale_512.png"]
    assert {path.name for path in tmp_path.iterdir()} == {
        "README.md",
        *(f"scale_512.{e}" for e in ("png", "svg", "csv", "json")),
    }
    with pytest.raises(ValueError, match=r"only must be one of 'activations', .*'critical_rnn'.* got 'best'"):
        reproduce(tmp_path, "quick", only="best")


def test_unknown_quality(tmp_path):
    with pytest.raises(ValueError, match="quality must be one of 'quick', 'default' or 'full', got 'best'"):
        reproduce(tmp_path, "best")
