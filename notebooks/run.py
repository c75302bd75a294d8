"""``python notebooks/run.py [NOTEBOOK ..]``: execute the notebooks in place; what is stored depends on their code alone.

Execution counts start at 1, there are no timings, no versions of the machine, no standard error; a cell that fails, or that
writes to standard error, stops the run and leaves the file as it was. Needs the extras ``docs`` and ``torch``.
"""

import argparse
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

HERE = Path(__file__).resolve().parent
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
KEPT = ("tags", "mystnb")  # of the metadata of a cell
TIMEOUT = 240


def execute(path: Path) -> bool:
    """Run one notebook and write it back; whether the file changed."""
    before = path.read_text(encoding="utf-8")
    notebook = nbformat.reads(before, as_version=4)
    NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(HERE)}},
    ).execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({name: cell.metadata[name] for name in KEPT if name in cell.metadata})
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise ValueError(f"{path.name} writes to standard error: {output.text}")
    after = nbformat.writes(notebook) + "\n"
    if after != before:
        path.write_text(after, encoding="utf-8")
    return after != before


def main() -> int:
    """Execute the notebooks named, or all."""
    parser = argparse.ArgumentParser(prog="python notebooks/run.py", description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, help="which; all if left out")
    named = parser.parse_args().notebooks
    # The kernel imports this checkout, and no result depends on the number of threads.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(HERE.parent), os.environ.get("PYTHONPATH"))))
    os.environ["OMP_NUM_THREADS"] = "1"
    for path in named or sorted(HERE.glob("*.ipynb")):
        try:
            changed = execute(path)
        except (CellExecutionError, ValueError, OSError) as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
        print(f"{path.name:<42} {'rewritten' if changed else 'unchanged'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
