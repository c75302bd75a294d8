"""What is stored in the notebooks; that they run is seen when the documentation is built, which executes them."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 200_000  # bytes of one file
FIGURES = 3
# Places on a machine: a home, a temporary or a checkout directory, a drive.
PATHS = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|work|Users|var|opt|usr|mnt)/|\b[A-Z]:\\\\")


def text(source):
    return source if isinstance(source, str) else "".join(source)


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def path(request):
    return request.param


@pytest.fixture
def notebook(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def outputs(notebook):
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def test_there_are_five_and_the_readme_names_them():
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03", "04", "05"]
    linked = re.findall(r"\]\((\S+\.ipynb)\)", (ROOT / "notebooks" / "README.md").read_text())
    assert linked == [path.name for path in NOTEBOOKS]


def test_the_documentation_shows_them():
    index = (ROOT / "docs" / "index.md").read_text()
    assert [path.stem for path in NOTEBOOKS if f"notebooks/{path.stem}\n" not in index] == []


def test_begins_with_a_title_and_a_question(notebook):
    first = notebook["cells"][0]
    assert first["cell_type"] == "markdown"
    assert re.match(r"# .+\n", text(first["source"]))
    assert re.search(r"\*\*Question\.\*\*(.|\n)+\?", text(first["source"]))


def test_the_answer_is_computed_and_comes_next(notebook):
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    (answer,) = first["outputs"]
    assert text(answer["data"]["text/markdown"]).startswith("**Answer.**")


def test_was_run_from_top_to_bottom(notebook):
    counts = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))


def test_stores_no_error_and_nothing_on_standard_error(outputs):
    assert outputs
    assert [output["output_type"] for output in outputs if output["output_type"] == "error"] == []
    assert [output for output in outputs if output.get("name") == "stderr"] == []


def test_metadata_say_nothing_of_a_machine(notebook):
    assert notebook["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert {name for cell in notebook["cells"] for name in cell["metadata"]} <= {"tags", "mystnb"}


def test_holds_no_path_of_a_machine(path):
    content = re.sub(r'"image/png": "[^"]*"', "", path.read_text(encoding="utf-8"))
    assert PATHS.search(content) is None


def test_paths_of_a_machine_are_found():
    assert PATHS.search('File "/home/someone/signalprop/energy.py"')
    assert PATHS.search('"C:\\\\Users\\\\someone"')
    assert PATHS.search("https://arxiv.org/abs/2605.05113, and/or") is None


def test_is_small(path):
    assert path.stat().st_size < LARGEST


def test_every_figure_has_a_text_for_those_who_do_not_see_it(notebook):
    drawn = [
        cell for cell in notebook["cells"] if any("image/png" in out.get("data", {}) for out in cell.get("outputs", []))
    ]
    assert 1 <= len(drawn) <= FIGURES
    for cell in drawn:
        assert len(cell["metadata"]["mystnb"]["image"]["alt"]) > 60


def test_links_lead_somewhere(path, notebook):
    prose = "\n".join(text(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    for link in re.findall(r"\]\(([^)#]+)\)", prose):
        assert link.startswith("https://") or (path.parent / link).is_file(), link
