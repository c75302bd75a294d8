"""Kernels run where nothing can be cached, and with a cache that is damaged, foreign or full."""

import ast
import errno
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import signalprop
from signalprop import _numba

PACKAGE = Path(signalprop.__file__).parent
SOURCE = """
from signalprop._numba import kernel

@kernel(fastmath={"contract"})
def twice(x):
    return 2 * x

@kernel
def twice_and_one(x):
    return twice(x) + 1
"""


@pytest.fixture
def fresh(tmp_path):
    """A module with kernels as a new process would see it: read, decorated and, unless it is cached, compiled."""
    path = tmp_path / "doubling.py"
    path.write_text(SOURCE)

    def load():
        spec = importlib.util.spec_from_file_location("doubling", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def hits(module):
    return sum(module.twice_and_one.stats.cache_hits.values())


def files(directory, ending):
    return sorted((directory / "__pycache__").glob(f"*.{ending}"))


def test_a_second_start_reads_what_the_first_has_compiled(fresh):
    assert fresh().twice_and_one(3) == 7
    again = fresh()
    assert again.twice_and_one(3) == 7
    assert hits(again) == 1


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["empty", "half", "text", "bit", "foreign"])
def test_a_damaged_cache_is_compiled_over(fresh, tmp_path, ending, damage):
    assert fresh().twice_and_one(3) == 7
    found = files(tmp_path, ending)
    contents = [path.read_bytes() for path in found]
    for path, content, other in zip(found, contents, reversed(contents), strict=True):
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 4
        damaged = {"empty": b"", "half": content[: len(content) // 2], "text": b"not a pickle", "bit": bytes(flipped)}
        path.write_bytes({**damaged, "foreign": other}[damage])
    module = fresh()
    assert (module.twice_and_one(3), module.twice(5)) == (7, 10)
    if ending == "nbc":
        assert hits(module) == 0
    mended = fresh()
    assert mended.twice_and_one(3) == 7
    assert hits(mended) == 1


def test_a_file_of_another_signature_is_not_run(fresh, tmp_path):
    # Two first starts at once may both write the first data file: one index, the code of the other signature.
    fresh().twice_and_one(3)
    integers = {path: path.read_bytes() for path in files(tmp_path, "nbi")}
    shutil.rmtree(tmp_path / "__pycache__")
    fresh().twice_and_one(1.5)
    for path, content in integers.items():
        path.write_bytes(content)
    module = fresh()
    assert module.twice_and_one(3) == 7
    assert hits(module) == 0


@pytest.mark.slow
def test_first_starts_at_once(fresh, tmp_path):
    fresh  # noqa: B018 (writes the module)
    numbers = ["3", "1.5", "3", "2.5"]
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", f"import doubling; print(doubling.twice_and_one({number}))"], cwd=tmp_path,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=surroundings,
        )
        for number in numbers
    ]  # fmt: skip
    for number, process in zip(numbers, started, strict=True):
        out, err = process.communicate(timeout=300)
        assert (float(out), err) == (2 * float(number) + 1, "")
    assert (fresh().twice_and_one(3), fresh().twice_and_one(1.5)) == (7, 4.0)


def test_nowhere_to_write(fresh, tmp_path, monkeypatch):
    (tmp_path / "__pycache__").write_text("a file where the directory would be")
    for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, "/proc/nowhere")
    assert fresh().twice_and_one(3) == 7


def test_a_full_disk_while_writing(fresh, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_numba._File, "_open_for_write", full)
    assert fresh().twice_and_one(3) == 7
    assert not files(tmp_path, "nbc")


def test_every_kernel_is_made_by_the_one_decorator():
    found = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            keywords = [word.arg for word in node.keywords] if isinstance(node, ast.Call) else []
            if {"njit", "jit", "vectorize", "guvectorize"} & set(names) or "cache" in keywords:
                found.append(path.relative_to(PACKAGE).as_posix())
    assert found == ["_numba.py"]


def read_only_copy(directory):
    """The package where no byte can be written beside it, also by root: a file stands in the place of each cache."""
    copy = directory / "signalprop"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    return directory


def run_read_only(directory, *command):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_CACHE", "XDG_"))}
    return subprocess.run(
        [sys.executable, *command], env={**kept, "HOME": "/proc/nowhere", "PYTHONPATH": str(read_only_copy(directory))},
        cwd=directory, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


def test_read_only_installation_without_a_home(tmp_path):
    code = (
        "import numpy as np, signalprop; from signalprop.montecarlo.one_draw import largest_log_scales;"
        "print(signalprop.__file__); print(largest_log_scales(np.zeros((1, 3)), [1, 2], 1.0, 'driven').shape)"
    )
    done = run_read_only(tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == [str(tmp_path / "signalprop" / "__init__.py"), "(1, 2)"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("-m", "signalprop", "sample", "-n", "20", "-k", "5", "--field", "real", "--samples", "50"),
        ("-m", "signalprop", "sample", "-n", "20", "-k", "5", "--samples", "128", "--method", "tempered"),
        ("-m", "signalprop", "verify"),
        ("-c", "import torch; from signalprop.nn import LRU; LRU(8, 8)(torch.randn(1, 5, 8))"),
    ],
)
def test_every_command_in_a_read_only_installation(tmp_path, command):
    done = run_read_only(tmp_path, *command)
    assert done.returncode == 0, done.stderr
