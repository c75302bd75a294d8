"""Standard streams that are closed, full or no longer read: the documented exit code, one sentence or silence."""

import errno
import os
import shlex
import subprocess
import sys

import pytest
import typer

from signalprop.cli._terminal import sentences

FULL = "signalprop: the output could not be written: No space left on device.\n"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("{} >/dev/full", 74, FULL),
        ("{} --json >/dev/full", 74, FULL),
        ("{} 2>/dev/full", 0, ""),
        ("{} >&-", 0, ""),
        ("{} 2>&-", 0, ""),
        ("{} <&- >&- 2>&-", 0, ""),
        ("{} >/dev/full 2>/dev/full", 74, ""),
        ("{} >/dev/full 2>&-", 74, ""),
        ("set -o pipefail; {} | true", 141, ""),
        ("set -o pipefail; {} --json | true", 141, ""),
        ("{} --scale -1 2>&-", 2, ""),
        ("{} --scale -1 2>/dev/full", 74, ""),
        ("{} --nonsense 2>&-", 2, ""),
        ("{} --nonsense 2>/dev/full", 74, ""),
        ("{} --help >/dev/full", 74, FULL),
    ],
)
def test_exit_codes(line, code, said):
    command = shlex.join([sys.executable, "-m", "signalprop", "energy", "-n", "10", "-k", "3"])
    done = subprocess.run(
        ["bash", "-c", line.format(command)], capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.parametrize("number", [errno.EPIPE, errno.ENOSPC, errno.EIO])
def test_an_output_that_fails_inside_a_command_is_no_refusal(number):
    """Else it would be bad usage, exit code 2; what a file says by name or in a sentence of its own still is."""
    with pytest.raises(OSError, match=os.strerror(number)), sentences():
        raise OSError(number, os.strerror(number))
    for error in (OSError(number, os.strerror(number), "log.csv"), OSError("no space for log.csv")):
        with pytest.raises(typer.Exit), sentences():
            raise error


def test_a_file_that_is_opened_does_not_take_the_place_of_a_closed_stream(tmp_path):
    """With standard error closed, the next file would become descriptor 2 and get every warning that is printed."""
    code = (
        "from signalprop.cli._standard_streams import open_closed; open_closed(); import os, sys\n"
        f"file = open({str(tmp_path / 'log')!r}, 'w'); assert file.fileno() > 2\n"
        "os.write(2, b'a warning'); print('said', file=sys.stderr, flush=True)"
    )
    line = f"{shlex.join([sys.executable, '-c', code])} 2>&-"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(["bash", "-c", line], check=False, env=environment, timeout=60)
    assert done.returncode == 0
    assert (tmp_path / "log").read_text() == ""
