"""``python maintenance/install.py LOCK``: install what a lock names, every file by its hash, into the environment that runs this.

uv takes a tenth of pip's processor time. It does not read pip's settings, so where these name another index, and where uv is
not there or fails, pip does the same. Nothing is compiled ahead: Python does that at the first import, for what is imported.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

HASHED = ["--require-hashes", "--no-deps", "--requirement"]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
UV = Path(sys.executable).with_name("uv")
INDEX = re.compile(r"^[\w:-]+\.(index-url|no-index)=", re.MULTILINE)  # extra-index-url only adds to PyPI


def main(lock, uv=UV):
    """The exit code: 0 when everything that `lock` names is there."""
    if usable(uv):
        if not subprocess.run(with_uv(uv, lock), check=False).returncode:
            return 0
        print(f"uv could not install {lock} (what it said is above): pip does, from the same hashes", flush=True)
    return subprocess.run(with_pip(lock), check=False).returncode


def usable(uv):
    """Whether uv is there and asks the index that pip would ask."""
    if not os.access(uv, os.X_OK):
        return False
    if any(name in os.environ for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL")):
        return True
    settings = subprocess.run([*PIP, "config", "list"], capture_output=True, text=True, check=False).stdout
    return INDEX.search(settings) is None


def with_uv(uv, lock):
    """The command line of uv."""
    return [str(uv), "pip", "install", "--quiet", "--python", sys.executable, *HASHED, str(lock)]


def with_pip(lock):
    """The command line of pip."""
    return [*PIP, "install", "--no-compile", *HASHED, str(lock)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
