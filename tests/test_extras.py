"""Parts of the package that need more than its requirements: attributes like any other, and a remedy that works."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from signalprop._extras import _LIBRARIES, installed, missing, required

ROOT = Path(__file__).parent.parent
BROUGHT = {"tensorboard", "lightning", "transformers"}  # by those who use them
PARTS = {"nn": "torch", "training": "torch", "initialization.torch": "torch", "initialization.jax": "jax"}


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("part", PARTS)
def test_attributes_after_import_signalprop(part):
    if not installed(PARTS[part]):
        pytest.skip(f"needs {PARTS[part]}")
    holder, _, name = f"signalprop.{part}".rpartition(".")
    run = python(f"import signalprop; print(signalprop.{part}.__name__, {name!r} in dir({holder}))")
    assert run.stdout.split() == [f"signalprop.{part}", "True"], run.stderr


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("how", ["attribute", "import"])
def test_without_the_library(part, how):
    library = PARTS[part]
    use = f"import signalprop; signalprop.{part}" if how == "attribute" else f"import signalprop.{part}"
    run = python(f"import sys; sys.modules[{library!r}] = None; {use}")
    assert run.returncode == 1
    name, package = _LIBRARIES[library]
    wanted = f"ImportError: signalprop.{part} needs {name}, which is not installed; pip install {package}"
    assert run.stderr.splitlines()[-1] == wanted


def test_the_package_is_whole_without_them():
    code = """
import sys
from inspect import getmembers
sys.modules |= dict.fromkeys(("torch", "jax", "distributed", "sklearn"))
import signalprop, signalprop.initialization
from signalprop import *
for module in (signalprop, signalprop.initialization):
    names = [name for name, _ in getmembers(module)]
    assert not {"nn", "training", "torch", "jax"} & set(names), names
"""
    run = python(code)
    assert run.returncode == 0, run.stderr


def test_nothing_is_loaded_before_it_is_used():
    run = python(
        "import sys, signalprop, signalprop.initialization; dir(signalprop); print({'torch', 'jax'} & set(sys.modules))"
    )
    assert run.stdout.strip() == "set()", run.stderr


def test_what_is_missing_inside_a_library_is_not_blamed_on_it():
    with pytest.raises(ModuleNotFoundError, match="no_such_part"), required("nn", "torch"):
        import no_such_part  # noqa: F401


def test_each_remedy_installs_what_an_extra_lists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    listed = {re.split("[<>=]", each)[0] for extra in ("torch", "jax", "dask", "tasks") for each in extras[extra]}
    assert {entry.package for entry in _LIBRARIES.values()} == listed | BROUGHT
    assert missing("x", "sklearn") == "x needs scikit-learn, which is not installed; pip install scikit-learn"


def test_remedies_are_written_in_one_place():
    # From a checkout there is nothing called signalprop on any index, and without one there is no folder to install.
    for file in (ROOT / "signalprop").rglob("*.py"):
        texts = (each.value for each in ast.walk(ast.parse(file.read_text())) if isinstance(each, ast.Constant))
        for text in texts:
            assert "pip install" not in str(text) or file.name == "_extras.py", file
