"""Every block that a reader can paste from README, guides and FAQ runs as pasted, in the environment that was made before it."""

import contextlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import typer
from typer.testing import CliRunner

from signalprop.cli import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md"]
for place in ("docs/*.md", "docs/guides/*.md", "docs/theory/*.md", "notebooks/*.md", "notebooks/*.ipynb"):
    PAGES += sorted(ROOT.glob(place))
BLOCK = re.compile(r"^(?P<indent> *)```(?P<kind>\w+)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S)
NEEDS_TORCH = 'pip install ".[torch]"'
LONG = ("verify", "reproduce", "train")  # only read here, and run by their own tests


def text_of(path):
    """A page, or what a notebook says between its cells."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".ipynb":
        return source
    cells = json.loads(source)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def blocks(path, *kinds):
    """(place, text) of the fenced blocks of these kinds; prompts and their output are taken off."""
    for found in BLOCK.finditer(text_of(path)):
        if found["kind"] in kinds:
            text = found["text"]
            if ">>>" in text:
                text = "\n".join(line[4:] for line in text.splitlines() if line.startswith((">>> ", "... ")))
            yield found.start(), text


def commands(path):
    """Every `signalprop ..` line of the shell blocks, and those in sentences and tables that have options."""
    for _, text in blocks(path, "bash", "console"):
        for line in text.splitlines():
            if line.removeprefix("$ ").startswith("signalprop "):
                yield line.removeprefix("$ ").partition("  #")[0].strip()
    for found in re.findall(r"`(signalprop [a-z]+ [^`]*)`", text_of(path)):
        if not re.search(r"[A-Z]{3,}|\.\.", found):  # names to be filled in
            yield found


# README is read from top to bottom; every other block stands alone, but for those that read what a training has written.
PYTHON = [(path, text) for path in PAGES[1:] for _, text in blocks(path, "python") if "runs/" not in text]


def test_the_pages_have_blocks():
    assert len(PYTHON) > 4
    assert sum(len(list(commands(path))) for path in PAGES) > 20


@pytest.mark.parametrize(("path", "text"), PYTHON, ids=[f"{path.stem}-{i}" for i, (path, _) in enumerate(PYTHON)])
def test_python_blocks_run_alone(path, text):
    exec(compile(text, str(path), "exec"), {})


def test_readme_runs_from_top_to_bottom_without_what_it_has_not_installed():
    """Up to the line that installs PyTorch no block needs it, nor JAX; after it the rest runs in the same session."""
    readme = ROOT / "README.md"
    installed = readme.read_text(encoding="utf-8").index(NEEDS_TORCH)
    first = [text for place, text in blocks(readme, "python") if place < installed]
    rest = [text for place, text in blocks(readme, "python") if place > installed]
    assert first
    assert rest
    torch_free = "import sys\nsys.modules.update(torch=None, jax=None, distributed=None, sklearn=None)\n"
    # README's own words for the first part of it: also the sections further down that need no PyTorch.
    bare = [text for text in (*first, *rest) if "torch" not in text]
    assert len(bare) >= 2
    done = subprocess.run(
        [sys.executable, "-c", torch_free + "\n".join(bare)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    exec(compile("\n".join([*first, *rest]), "README.md", "exec"), {})


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_shell_lines_have_nothing_to_fill_in(path):
    for _, text in blocks(path, "bash"):
        assert not re.search(r"<[a-z ]+>|\bPATH\b|\.\.\.", text), text


def test_readme_starts_with_the_reader_who_trains():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shell = next(BLOCK.finditer(readme))
    assert shell["kind"] == "bash"
    install, ask = shell["text"].splitlines()
    assert install == "pip install ."
    assert ask.startswith("signalprop scale --cell lstm")
    assert readme.index("signalprop scale") < readme.index("make reproduce")
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", readme):
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_commands_run_as_pasted(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    group = typer.main.get_command(app)
    for line in commands(path):
        words = shlex.split(line)[1:]
        if words[0] not in group.commands or words[0] in LONG or words[0] == "run":
            if words[0] in group.commands:
                with contextlib.suppress(typer.Exit):
                    group.commands[words[0]].make_context(words[0], words[1:])
            else:
                assert words[0].startswith("--"), line
            continue
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (line, result.output)


def test_gates_of_the_guide_keep_what_they_promise():
    """Memories of 2 to `horizon` steps: the gate that keeps the state forgets 1/(1 + e^b) per step."""
    guide = ROOT / "docs" / "guides" / "cells.md"
    for kind in ("lstm", "gru"):
        text = next(text for _, text in blocks(guide, "python") if f"{kind} = torch.nn" in text)
        names = {}
        exec(compile(text, str(guide), "exec"), names)
        layer = names[kind]
        with torch.no_grad():
            bias = (layer.bias_ih_l0 + layer.bias_hh_l0).chunk(4 if kind == "lstm" else 3)[1]
            memory = 1.0 + bias.exp()
        assert 2.0 <= float(memory.min()) < float(memory.max()) <= names["horizon"] + 1e-3
        assert float(memory.mean()) == pytest.approx(
            (2 + names["horizon"]) / 2, abs=5 * names["horizon"] / (12 * 512) ** 0.5
        )
