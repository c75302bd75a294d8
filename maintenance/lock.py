"""``make lock``: write locks/core.txt, all.txt and uv.txt, every package at its version of constraints.txt with its hashes.

``uv`` resolves for Linux and macOS on Apple silicon, Python 3.11 to 3.14, and lists the hashes of every file of a release, so
that one lock serves all of them. PyTorch and what only its CUDA builds need are left out: which build of it an index offers
differs, and so do its hashes. The Makefile installs it on its own, at its version of constraints.txt.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
# What is locked: files of requirements, and extras of the first.
LOCKS = {
    "core": (["pyproject.toml", "build.in"], []),
    "all": (["pyproject.toml", "build.in"], ["test", "docs", "browser", "bench"]),
    "uv": (["uv.in"], []),
}
BUILD = "hatchling\neditables"  # these build the package itself, in place, without a download of their own
NEWEST = "3.15"  # the first Python that PyTorch has no build for
OF_TORCH = re.compile(r"(torch|triton|setuptools|nvidia-[\w-]+|cuda-[\w-]+)==")
SETTINGS = """
[tool.uv]
environments = ["sys_platform == 'linux' and python_version < '{newest}'",
    "sys_platform == 'darwin' and platform_machine == 'arm64' and python_version < '{newest}'"]
"""


def main(uv):
    """Write both locks with the program `uv`."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder)
        for name in ("pyproject.toml", "constraints.txt"):
            (project / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
        with (project / "pyproject.toml").open("a", encoding="utf-8") as file:
            file.write(SETTINGS.format(newest=NEWEST))
        (project / "build.in").write_text(BUILD + "\n", encoding="utf-8")
        (project / "uv.in").write_text("uv\n", encoding="utf-8")
        for name, (files, extras) in LOCKS.items():
            line = [uv, "pip", "compile", *files, "--constraint", "constraints.txt", "--universal"]
            line += ["--python-version", "3.11.5", "--generate-hashes", "--no-annotate", "--no-header", "--quiet"]
            line += [part for extra in extras for part in ("--extra", extra)]
            found = subprocess.run(line, cwd=project, capture_output=True, text=True, check=False)
            if found.returncode:
                sys.exit(f"the locks could not be made: {found.stderr.strip()}")
            path = ROOT / "locks" / f"{name}.txt"
            path.write_text(locked(found.stdout), encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


def locked(text):
    """What uv prints without PyTorch, and without the marker that every package has."""
    packages = re.split(r"\n(?=\S)", text.strip())
    everywhere = max((marker(one) for one in packages), key=[marker(one) for one in packages].count)
    kept = [one.replace(f" ; {everywhere}", "") for one in packages if not OF_TORCH.match(one)]
    return (
        "# Written by make lock: for pip install --require-hashes --no-deps. PyTorch is not in it.\n"
        + "\n".join(kept)
        + "\n"
    )


def marker(package):
    """The marker in the first line of a package."""
    return package.split("\n")[0].partition(" ; ")[2].removesuffix("\\").strip()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
