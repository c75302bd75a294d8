"""``command``: a directive that runs a command line while the page is read and shows it with what it printed.

The build fails when the command does not exit with the code wanted (``:exit: 0`` unless told otherwise). ``:head:`` and
``:tail:`` keep that many lines of the output and mark the cut.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
TIMEOUT = 300


class Command(SphinxDirective):
    """Body: command lines, each run by itself in the root of the checkout."""

    has_content = True
    option_spec: ClassVar = {
        "exit": directives.nonnegative_int,
        "head": directives.nonnegative_int,
        "tail": directives.nonnegative_int,
    }

    def run(self) -> list[nodes.Node]:
        text = []
        for line in self.content:
            words = shlex.split(line)
            if words[0] in ("signalprop", "python"):
                words = [sys.executable, *(["-m", "signalprop"] if words[0] == "signalprop" else []), *words[1:]]
            done = subprocess.run(
                words, cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=TIMEOUT, check=False
            )
            if done.returncode != self.options.get("exit", 0):
                raise ExtensionError(
                    f"{self.get_location()}: {line!r} exited with {done.returncode}: {done.stdout}{done.stderr}"
                )
            text += [f"$ {line}", *self._kept((done.stdout + done.stderr).rstrip().splitlines()), ""]
        block = nodes.literal_block("\n".join(text).rstrip(), "\n".join(text).rstrip(), language="console")
        return [block]

    def _kept(self, lines: list[str]) -> list[str]:
        head, tail = self.options.get("head"), self.options.get("tail")
        if head is None and tail is None:
            return lines
        head, tail = head or 0, tail or 0
        return lines if head + tail >= len(lines) else [*lines[:head], "[...]", *(lines[-tail:] if tail else [])]


def setup(app):
    """Register the directive."""
    app.add_directive("command", Command)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
