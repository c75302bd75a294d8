"""A field that is added has no answer of another field: the type checker names every place that has none for it."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import signalprop

PACKAGE = Path(signalprop.__file__).parent
ADDED = {
    '    QUATERNION = "quaternion"\n': '    QUATERNION = "quaternion"\n    OCTONION = "octonion"\n',
    "complex: T, quaternion: T)": "complex: T, quaternion: T, octonion: T)",
    "            return quaternion\n": (
        "            return quaternion\n        case Field.OCTONION:\n            return octonion\n"
    ),
}


def choices(tree):
    """Lines of the calls of `by_field`, and the first and last lines of the functions that match on a field."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "by_field":
            yield node.lineno, node.lineno
        if isinstance(node, ast.FunctionDef):
            matches = [each for each in ast.walk(node) if isinstance(each, ast.Match)]
            cases = [ast.unparse(case.pattern) for each in matches for case in each.cases]
            if any(case.startswith("Field.") for case in cases):
                yield node.lineno, node.end_lineno


@pytest.mark.slow
def test_mypy_names_every_place_without_an_answer(tmp_path):
    copy = tmp_path / "signalprop"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE.parent / "pyproject.toml", tmp_path)
    fields = copy / "fields.py"
    text = fields.read_text(encoding="utf-8")
    for before, after in ADDED.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    fields.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--no-color-output", "--no-error-summary", "signalprop"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=1200)
    named = re.findall(
        r"^signalprop/(\S+?):(\d+): error: (?:Missing named argument|Argument 1 to \"assert_never\")", done.stdout, re.M
    )
    lines = {}
    for name, line in named:
        lines.setdefault(name, set()).add(int(line))
    wanted, missed = 0, []
    for path in sorted(copy.rglob("*.py")):
        name = path.relative_to(copy).as_posix()
        for first, last in choices(ast.parse(path.read_text(encoding="utf-8"))):
            if not (name == "fields.py" and "def by_field" in text.splitlines()[first - 1]):
                wanted += 1
                if not any(first <= line <= last for line in lines.get(name, ())):
                    missed.append(f"{name}:{first}")
    assert wanted > 25
    assert not missed, done.stdout[-2000:]
