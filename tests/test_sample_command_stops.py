"""Ctrl-C on ``signalprop sample``: out at once, with what was drawn."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest


def interrupted(arguments, seconds):
    process = subprocess.Popen(
        [sys.executable, "-m", "signalprop", "sample", *arguments.split()],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"},
    )  # fmt: skip
    time.sleep(seconds)
    assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert time.monotonic() - began < 20.0  # two seconds, on a machine with nothing else to do
    assert process.returncode == 130
    assert "Traceback" not in err
    return out, err


def test_what_was_drawn_is_summed_up():
    # Hours of work; the chunks take milliseconds each.
    out, err = interrupted("-n 2000 -k 300 --field complex --samples 200000 --json", 15.0)
    count = json.loads(out)["samples"]
    assert 2 <= count < 200000
    assert err == f"\nstopped after {count} of 200000\n"


@pytest.mark.parametrize(
    "arguments",
    [
        "-n 4000 -k 20000 --samples 100 --method dense",
        pytest.param("-n 1000000 -k 8000 --samples 4 --field quaternion", marks=pytest.mark.slow),
        pytest.param("-n 3000 -k 500 --samples 4000 --method tempered", marks=pytest.mark.slow),
    ],
)
def test_long_draws_are_cut(arguments):
    assert interrupted(arguments, 8.0) == ("", "\nstopped\n")
