import re
import subprocess
import sys
import tarfile
import zipfile
from importlib import resources
from pathlib import Path

import pytest

import signalprop


def test_import_stays_light():
    code = (
        "import sys, signalprop\n"
        "heavy = {'numpy', 'numba', 'torch', 'jax', 'matplotlib', 'sympy', 'pandas', 'scipy', 'flint', 'typer'}\n"
        "loaded = heavy & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_every_public_name_is_there():
    for name in signalprop.__all__:
        assert getattr(signalprop, name) is not None
    assert set(signalprop.__all__) <= set(dir(signalprop))


def test_unknown_name():
    with pytest.raises(AttributeError, match="module 'signalprop' has no attribute 'rnn_enrgy'"):
        signalprop.rnn_enrgy  # noqa: B018


DATA = (
    "py.typed",
    "figures/style.mplstyle",
    "references.bib",
    "initialization/one_draw.npz",
    "figures/data/training.csv",
    "figures/data/training.json",
    "figures/data/stability.csv",
    "figures/data/stability.json",
    "training/configs/listops-lru.toml",
    "training/configs/listops-rotrnn.toml",
)


def test_data_come_with_the_package():
    folder = resources.files("signalprop")
    for name in DATA:
        assert (folder / name).is_file(), name


def test_wheel_and_sdist_hold_every_file_of_the_package(tmp_path):
    """Of the files that git would commit; a pattern that excludes a folder at any depth once took figures/ out of the sdist."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    root = Path(signalprop.__file__).parent
    wanted = {
        path.relative_to(root.parent).as_posix()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {f"signalprop/{name}" for name in DATA} <= wanted
    (wheel,) = WheelBuilder(str(root.parent)).build(directory=str(tmp_path), versions=["standard"])
    assert wanted <= set(zipfile.ZipFile(wheel).namelist())
    (sdist,) = SdistBuilder(str(root.parent)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(sdist) as archive:
        assert wanted <= {name.partition("/")[2] for name in archive.getnames()}


OUTSIDE = re.compile(
    r"parents\[|\.parent\.parent|[\"']\.\.[\"'/]|[\"']benchmarks\b|[\"']configs/|[\"']docs/|os\.pardir"
)


def test_no_file_of_the_package_looks_outside_of_it():
    """An installed package has no checkout around it. Only the revision is asked of git, where there is one."""
    root = Path(signalprop.__file__).parent
    found = {
        path.relative_to(root).as_posix(): line.strip()
        for path in root.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if OUTSIDE.search(line)
    }
    assert list(found) == ["_provenance.py"], found
    for line in (
        'Path(__file__).parents[2] / "x"',
        "here.parent.parent",
        'root / "benchmarks" / "a.csv"',
        'open("../a")',
    ):
        assert OUTSIDE.search(line), line


def test_pictures_of_the_readme_are_there():
    root = Path(__file__).parent.parent
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", (root / "README.md").read_text())
    assert pictures
    for picture in pictures:
        assert (root / picture).is_file(), picture


def test_files_whose_change_changes_no_number_are_there():
    """A run goes on after a change of these; a name that moved away would refuse it for a word in a help text."""
    from signalprop._provenance import _NO_NUMBERS

    package = Path(signalprop.__file__).parent
    for name in _NO_NUMBERS:
        assert (package / name).exists(), name
