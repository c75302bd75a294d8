"""Files are replaced in one move, and files that are read may be damaged: a sentence, never a traceback."""

import ast
import errno
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import signalprop
from signalprop import citations, exact
from signalprop._files import our_own, read_json, replace, replacing
from signalprop.cli import app
from signalprop.figures import gallery
from signalprop.initialization import one_draw_table

PACKAGE = Path(signalprop.__file__).parent


def test_what_was_there_stays_until_the_new_file_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    replace(path, b"old")

    def half():
        with replacing(path) as file:
            file.write(b"half")
            assert path.read_bytes() == b"old"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left on device")))
        with pytest.raises(OSError, match="No space"):
            replace(path, b"new")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"a.csv": b"old"}
    replace(path, b"new")
    assert path.read_bytes() == b"new"
    with pytest.raises(FileNotFoundError) as caught:
        replace(tmp_path / "gone" / "b", b"")
    assert caught.value.filename == str(tmp_path / "gone" / "b")


@pytest.mark.slow
def test_killed_while_figures_are_drawn_every_file_is_whole(tmp_path):
    """SIGKILL while figures are drawn over and over: each file is that of before, or the next one."""
    line = (
        "import sys; from signalprop.figures.reproduce import reproduce; print('begun', flush=True)\n"
        "while True:\n"
        "    for seed in (0, 1): reproduce(sys.argv[1], 'quick', only='scale_512', seed=seed)"
    )
    for attempt in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", line, str(tmp_path)],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        process.stdout.readline()
        time.sleep(4.0 + 1.7 * attempt)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        for path in tmp_path.iterdir():
            content = path.read_bytes()
            match path.suffix:
                case ".png":
                    assert content.endswith(b"IEND\xaeB`\x82"), path
                case ".svg":
                    assert content.endswith(b"</svg>\n"), path
                case ".csv":
                    assert content.endswith(b"\n"), path
                case ".json":
                    assert json.loads(content)["figure"] == "scale_512"


@pytest.mark.parametrize("left", [b"", b"\xff\xfe", b"[1]", b"{}", b'{"parameters": 3}', b"[" * 100_000])
def test_a_figure_whose_origin_is_damaged_stays_in_the_index(tmp_path, caplog, left):
    for name in ("critical_rnn", "training"):
        shutil.copy(PACKAGE / "figures" / "style.mplstyle", tmp_path / f"{name}.png")
    (tmp_path / "critical_rnn.json").write_bytes(left)
    (tmp_path / "training.json").write_text('{"parameters": {"quality": "full"}}')
    with caplog.at_level(logging.WARNING, "signalprop"):
        page = gallery.index(tmp_path)
    assert "`signalprop reproduce --only critical_rnn`" in page
    assert "`signalprop reproduce --full --only training`" in page
    assert len(caplog.messages) == 1
    assert caplog.messages[0].endswith("draw it again: signalprop reproduce --only critical_rnn")


@pytest.mark.parametrize("left", [b"", b"\xff", b"[1]", b"{", b"[" * 100_000])
def test_json_that_is_none(tmp_path, left):
    (tmp_path / "a.json").write_bytes(left)
    with pytest.raises(ValueError, match=r"a\.json") as caught:
        read_json(tmp_path / "a.json")
    assert "\n" not in str(caught.value)


def test_a_damaged_file_of_the_package_says_so(tmp_path, monkeypatch):
    damaged = tmp_path / "one_draw.npz"
    damaged.write_bytes(one_draw_table.DATA.read_bytes()[:1000])
    damaged.with_suffix(".json").write_text("{")
    monkeypatch.setattr(one_draw_table, "DATA", damaged)
    one_draw_table.table.cache_clear()
    for call in (lambda: one_draw_table.table(signalprop.fields.Field.REAL), one_draw_table.provenance):
        with pytest.raises(
            ValueError, match=r"one_draw\.\w+, which comes with signalprop, cannot be read .*; install signalprop again"
        ):
            call()
    one_draw_table.table.cache_clear()
    for module, function, where in ((exact, exact._loop_table, "files"), (citations, citations.entries, None)):
        function.cache_clear()
        with monkeypatch.context() as patch:
            if where is None:
                patch.setattr("importlib.resources.files", lambda _: tmp_path)
            else:
                patch.setattr(module, where, lambda _: tmp_path)
            with pytest.raises(ValueError, match="which comes with signalprop, cannot be read"):
                function()
        function.cache_clear()
    with (
        pytest.raises(ValueError, match=r"here, which comes with signalprop, cannot be read \(KeyError"),
        our_own("here"),
    ):
        raise KeyError("x")


def test_a_picture_goes_where_a_link_leads_and_into_no_pipe(tmp_path):
    from typer.testing import CliRunner

    (tmp_path / "link.png").symlink_to(tmp_path / "picture.png")
    line = ["scale", "-n", "8", "-T", "3", "--plot"]
    assert CliRunner().invoke(app, [*line, str(tmp_path / "link.png")]).exit_code == 0
    assert (tmp_path / "link.png").is_symlink()
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    os.mkfifo(tmp_path / "pipe.png")
    done = CliRunner().invoke(app, [*line, str(tmp_path / "pipe.png")])
    assert done.exit_code == 2
    assert "is a pipe or a device, not a file" in done.stderr


# What reads or writes files itself, and why.
WRITERS = {
    "_files.py": "the one way to write",
    "_directory.py": "locks, and rows at the end of a log",
    "cli/_standard_streams.py": "streams",
    "inspection/memory_log.py": "rows at the end of a log",
}
READERS = {
    "_files.py": "the one way to read",
    "_directory.py": "no links are followed, sizes are known",
    "_numba.py": "whatever a file of the cache raises is caught",
    "_provenance.py": "the files of the package itself",
    "exact.py": "our_own",
    "citations.py": "our_own",
    "initialization/one_draw_table.py": "our_own",
    "initialization/_cell_evidence.py": "our_own",
    "initialization/make_table.py": "a tool: files that it wrote itself",
    "initialization/_cell_table.py": "our_own",
    "initialization/make_cells.py": "a tool: files that it wrote itself",
    "inspection/_safetensors.py": "the header first, then one tensor at a time",
    "inspection/checkpoints.py": "weights only, mapped; whatever a damaged one raises is caught",
    "tasks/arrays.py": "arrays, mapped; whatever a damaged one raises is caught",
    "tasks/_tsv.py": "row by row, for the number of a bad one",
    "training/checkpoint.py": "from memory, sealed",
    "montecarlo/store.py": "from memory, sealed",
    "figures/drawn.py": "whether a file is what is to be written",
    "figures/_shipped.py": "our_own",
    "figures/base.py": "the files of the package itself",
    "_configurations.py": "our_own",
}


def test_files_are_written_and_read_in_one_way():
    writers, readers = set(), set()
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            owner = getattr(getattr(node.func, "value", None), "id", "")
            mode = {
                each.value
                for each in (*node.args, *(word.value for word in node.keywords))
                if isinstance(each, ast.Constant)
            }
            if called in {"write_text", "write_bytes", "tofile"}:
                writers.add(name)
            elif called == "open" and owner != "stack":
                (writers if mode & {"w", "wb", "x", "xb", "a", "ab"} or owner == "os" else readers).add(name)
            elif (
                called in {"read_text", "read_bytes", "fromfile", "read_csv"}
                and not (called == "read_text" and owner == "")
            ) or (called == "load" and owner in {"np", "torch", "json", "pickle"}):
                readers.add(name)
            elif called == "savefig" and not any(word.arg == "format" for word in node.keywords):
                writers.add(name)
    assert writers == set(WRITERS)
    assert readers <= set(READERS), readers - set(READERS)
