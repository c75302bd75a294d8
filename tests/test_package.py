import re
import subprocess
import sys
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


def test_package_is_typed_and_carries_its_style():
    files = resources.files("signalprop")
    assert (files / "py.typed").is_file()
    assert (files / "style.mplstyle").is_file()


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
