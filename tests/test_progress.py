import io
import sys

import pytest

from signalprop import _progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "term", "meter"),
    [
        (io.StringIO, "xterm", _progress.no_meter),
        (Terminal, "xterm", _progress.rich_meter),
        (Terminal, "dumb", _progress.text_meter),
    ],
)
def test_the_stream_decides(stream, term, meter, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream())
    monkeypatch.setenv("TERM", term)
    assert _progress._of_the_stream() is meter
    assert _progress.shown() is (meter is not _progress.no_meter)


def test_text_meter_prints_a_line_now_and_then(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 11.0, 11.0, 12.0, 21.5, 21.5])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(clock))
    with _progress.using(_progress.text_meter), _progress.bar("sampling") as report:
        report(0.1)
        report(0.2)
        report(0.3)
        report(0.45, "drawing")
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "sampling: 20 %\ndrawing: 45 %\n")


def test_a_meter_of_my_own_until_the_context_ends():
    from contextlib import contextmanager

    seen = []

    @contextmanager
    def mine(title):
        yield lambda share, text=title: seen.append((share, text))

    with _progress.using(mine):
        with _progress.bar("verifying") as report:
            report(0.5)
        assert _progress.shown()
    with _progress.bar("verifying") as report:
        report(1.0)
    assert seen == [(0.5, "verifying")]


def test_no_library_module_imports_the_command_line():
    from pathlib import Path

    package = Path(_progress.__file__).parent
    for path in package.rglob("*.py"):
        if "cli" not in path.relative_to(package).parts and path.name != "__main__.py":
            assert "signalprop.cli" not in path.read_text(encoding="utf-8"), path
