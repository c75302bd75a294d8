"""The locks hold every dependency at its pin with a hash, and the audit tells what is allowed from what is not."""

import importlib.util
import json
import re
import tomllib
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "maintenance" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pins(path):
    """Name -> version of each package of a lock or of the constraints."""
    found = re.findall(r"^([\w.-]+)==([^\s;\\]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


CONSTRAINTS = pins(ROOT / "constraints.txt")
LOCKS = {name: pins(ROOT / "locks" / f"{name}.txt") for name in ("core", "all", "uv")}
ELSEWHERE = {"appnope", "cffi", "pycparser"}  # macOS, PyPy


@pytest.mark.parametrize("name", ["core", "all"])
def test_a_lock_has_every_dependency_but_pytorch_at_its_pin(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    if name == "all":
        wanted += [one for extra in project["project"]["optional-dependencies"].values() for one in extra]
    for requirement in map(Requirement, wanted):
        if requirement.name in ("torch", "signalprop"):
            continue
        version = LOCKS[name][canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version, prereleases=True), requirement
    assert {one: version for one, version in LOCKS[name].items() if one not in ELSEWHERE} == {
        one: version for one, version in CONSTRAINTS.items() if one in LOCKS[name] and one not in ELSEWHERE
    }
    assert not [one for one in LOCKS[name] if one.startswith(("torch", "nvidia", "cuda", "triton"))]
    assert "torch" in CONSTRAINTS


def test_the_locks_agree():
    assert LOCKS["core"].items() <= LOCKS["all"].items()
    assert LOCKS["uv"] == {"uv": CONSTRAINTS["uv"]}


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_of_a_lock_has_hashes_and_no_address(name):
    text = (ROOT / "locks" / f"{name}.txt").read_text(encoding="utf-8")
    packages = re.split(r"\n(?=\S)", text.strip())[1:]
    assert len(packages) == len(LOCKS[name])
    for package in packages:
        first, *hashes = package.replace(" \\", "").split("\n")
        assert re.fullmatch(r"[\w.-]+==\S+( ; .*)?", first), first
        assert hashes
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}", one) for one in hashes), package
    assert "//" not in text


def test_a_lock_is_made_without_pytorch_and_without_the_common_marker():
    digest = "    --hash=sha256:" + 64 * "0"
    text = "\n".join(
        f"{one} ; {marker} \\\n{digest}"
        for one, marker in [
            ("a==1", "here"),
            ("b==2", "here"),
            ("torch==3", "here"),
            ("nvidia-x==4", "there"),
            ("c==5", "there"),
        ]
    )
    made = tool("lock").locked(text).split("\n")[1:]
    assert made == ["a==1 \\", digest, "b==2 \\", digest, "c==5 ; there \\", digest, ""]


PINNED = "signalprop-no-such-package==1 --hash=sha256:" + 64 * "0" + "\n"


def installed(tmp_path, monkeypatch, *, uv, settings=""):
    """The exit code of an installation, and which programs it started; pip and uv write down their names."""
    lock, log = tmp_path / "lock.txt", tmp_path / "log"
    lock.write_text(PINNED)
    install = tool("install")
    for name, code in (("uv", uv), ("pip", 0)):
        program = tmp_path / name
        said = f'[ "$1" = config ] && {{ echo "{settings}"; exit; }}; echo {name} "$@" >> "{log}"; exit {code}'
        program.write_text(f"#!/bin/sh\n{said}\n")
        program.chmod(0o755 if code is not None else 0o644)
    monkeypatch.setattr(install, "PIP", [str(tmp_path / "pip")])
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    code = install.main(lock, tmp_path / "uv")
    lines = log.read_text().splitlines()
    assert all("--require-hashes --no-deps --requirement" in line for line in lines)
    return code, [line.split()[0] for line in lines]


@pytest.mark.parametrize(
    ("uv", "settings", "started"),
    [
        (0, "", ["uv"]),
        (0, "global.extra-index-url='https://more.example'", ["uv"]),
        (0, "global.index-url='https://mirror.example'", ["pip"]),
        (0, ":env:.no-index='1'", ["pip"]),
        (2, "", ["uv", "pip"]),
        (None, "", ["pip"]),
    ],
    ids=["uv", "uv beside more indexes", "another index", "no index", "uv fails", "no uv"],
)
def test_uv_installs_and_pip_where_uv_cannot(uv, settings, started, tmp_path, monkeypatch):
    assert installed(tmp_path, monkeypatch, uv=uv, settings=settings) == (0, started)


def test_an_installation_that_fails_says_so(tmp_path):
    """With the pip of this environment, and no uv."""
    (tmp_path / "lock.txt").write_text("--no-index\n" + PINNED)
    assert tool("install").main(tmp_path / "lock.txt", tmp_path / "no uv") == 1


@pytest.mark.parametrize(
    ("fields", "licence", "allowed"),
    [
        ({"License-Expression": "MIT"}, "MIT", True),
        ({"License-Expression": "Apache-2.0 OR GPL-3.0-only"}, "Apache-2.0 OR GPL-3.0-only", True),
        ({"License-Expression": "MIT AND GPL-3.0-only"}, "MIT AND GPL-3.0-only", False),
        ({"License-Expression": "MIT AND (Apache-2.0 OR GPL-3.0-only)"}, "MIT AND (Apache-2.0 OR GPL-3.0-only)", False),
        ({"License-Expression": "Apache-2.0 WITH LLVM-exception"}, "Apache-2.0 WITH LLVM-exception", True),
        ({"Classifier": "License :: OSI Approved :: BSD License"}, "BSD-3-Clause", True),
        ({"Classifier": "License :: OSI Approved :: GNU Affero Licence"}, "GNU Affero Licence", False),
        ({"License": "MIT License"}, "MIT", True),
        ({"License": "Proprietary"}, "Proprietary", False),
        ({}, "unknown", False),
    ],
)  # fmt: skip
def test_licences(fields, licence, allowed):
    metadata = Message()
    for name, value in {"Name": "some", **fields}.items():
        metadata[name] = value
    tools = tool("licences")
    assert tools.licence(metadata) == licence
    assert tools.allowed(licence) == allowed


SOUND = {"name": "a", "version": "1", "vulns": []}
HURT = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
SKIPPED = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("dependencies", "code", "said"),
    [
        ([SOUND], 0, "known vulnerabilities: 0 in 1 packages"),
        ([SOUND, HURT], 1, "b 2: CVE-1, mended in 3\nknown vulnerabilities: 1 in 2 packages"),
        ([SOUND, SKIPPED], 0, "known vulnerabilities: 0 in 1 packages\nnot looked up: c"),
        ([SKIPPED], 0, "known vulnerabilities: nothing was looked up, no service answers from here"),
        (None, 0, "no service answers from here (pypi: no network; osv: no network)"),
    ],
)
def test_vulnerabilities(dependencies, code, said, tmp_path, capsys):
    program = tmp_path / "pip-audit"
    answer = "" if dependencies is None else json.dumps({"dependencies": dependencies})
    program.write_text(f"#!/bin/sh\necho 'no network' >&2\necho '{answer}'\nexit 1\n")
    program.chmod(0o755)
    assert tool("vulnerabilities").main(str(program)) == code
    assert said in capsys.readouterr().out


def test_a_program_that_is_not_there(capsys):
    assert tool("vulnerabilities").main("/nowhere/pip-audit") == 0
    assert "cannot be run (No such file or directory)" in capsys.readouterr().out
