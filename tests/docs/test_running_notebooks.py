"""``notebooks/run.py`` on small notebooks of its own."""

import importlib.util
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("nbclient")

RUN = Path(__file__).parents[2] / "notebooks" / "run.py"


@pytest.fixture(scope="module")
def run():
    spec = importlib.util.spec_from_file_location("run_notebooks", RUN)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def written(tmp_path):
    def write(*sources):
        cells = [nbformat.v4.new_code_cell(source, id=f"cell-{i}") for i, source in enumerate(sources)]
        cells[0].metadata = {"tags": ["hide-input"], "collapsed": True}
        path = tmp_path / "small.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        return path

    return write


@pytest.mark.slow
def test_stores_outputs_once_and_then_changes_nothing(run, written):
    path = written("print('one')\nprint('two')", "6 * 7")
    assert run.execute(path)
    first, second = nbformat.read(path, as_version=4).cells
    assert [output.text for output in first.outputs] == ["one\ntwo\n"]
    assert second.outputs[0].data["text/plain"] == "42"
    assert first.metadata == {"tags": ["hide-input"]}
    assert (first.execution_count, second.execution_count) == (1, 2)
    assert not run.execute(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "said"), [("import sys; print('careful', file=sys.stderr)", "careful"), ("1 / 0", "ZeroDivisionError")]
)
def test_refuses_errors_and_leaves_the_file(run, written, source, said):
    path = written("1 + 1", source)
    before = path.read_bytes()
    with pytest.raises(Exception, match=said):
        run.execute(path)
    assert path.read_bytes() == before
