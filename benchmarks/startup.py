"""Start-up: whole commands as a user types them, kernels cached."""

import subprocess
import sys

from benchmarks._timing import nice, seconds


def rows():
    for arguments in (
        ["--help"],
        ["energy", "-n", "2500", "-k", "250", "--field", "real"],
        ["sample", "-n", "1000", "-k", "63"],
    ):
        command = [sys.executable, "-m", "signalprop", *arguments]
        took = seconds(lambda command=command: subprocess.run(command, check=True, capture_output=True), 5)
        yield "signalprop " + " ".join(arguments), nice(took), ""
    bare = seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 5)
    yield "python -c pass", nice(bare), ""
