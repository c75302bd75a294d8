"""Where a number comes from: versions, machine, git revision."""

from __future__ import annotations

import hashlib
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from signalprop._threads import cores

# Commands, figures, checks, citations and what only they use: a change there changes no number of a run or a training.
_NO_NUMBERS = (
    "cli/", "figures/", "verify/", "citations.py", "__main__.py", "_house_style.py", "_numbers.py", "_progress.py", "_status.py",
    "_text.py", "_topics.py",
)  # fmt: skip
LIBRARIES = ("numpy", "scipy", "numba", "python-flint", "pandas", "matplotlib")


def provenance() -> dict[str, Any]:
    """Version of signalprop and its libraries, Python, machine and the git revision of the checkout (None elsewhere)."""
    return {
        "signalprop": installed_version("signalprop"),
        "git_revision": git_revision(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {cores()} cores",
        "libraries": {name: installed_version(name) for name in LIBRARIES},
    }


def installed_version(name: str) -> str | None:
    """Version of an installed distribution, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def git_revision() -> str | None:
    """Commit of the checkout this package runs from, with ``-dirty`` if tracked files differ; None outside one."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    try:
        answer = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            capture_output=True,
            text=True,
            check=True,
            timeout=10,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


@cache
def code_fingerprint() -> str:
    """SHA-256 of the files of this package that can change a number: all but commands, figures, checks and citations."""
    root = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix not in (".py", ".npz", ".json") or name.startswith(_NO_NUMBERS):
            continue
        content = path.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
