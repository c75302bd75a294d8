"""How the house stands: imports go down, no two files import each other, files and functions stay short."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import signalprop

PACKAGE = Path(signalprop.__file__).parent
CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"
LONGEST_FILE, LONGEST_FUNCTION = 420, 60
LONG_FOR_A_REASON = {
    "verify/laws.py:checks": "one list of records",
    "ginibre/_hessenberg.py:_product": "emits one loop of LLVM",
}


def floors() -> list[set[str]]:
    block = re.search(r"## Floors.*?```text\n(.*?)```", CONTRIBUTING.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    return [set(re.split(r"\s{3,}", line)[0].split()) for line in block[1].splitlines()]


def room(module: str) -> str:
    """The folder or file below signalprop, ``_*`` for a private one and for the package itself."""
    name = module.partition(".")[2].partition(".")[0]
    return "_*" if not name or name.startswith("_") else name


def modules(package: Path = PACKAGE) -> dict[str, Path]:
    found = {}
    for path in package.rglob("*.py"):
        parts = (package.name, *path.relative_to(package).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(node: ast.AST, known: dict[str, Path]) -> Iterator[str]:
    """Modules of the package that are imported anywhere below a node, but for the sake of types only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (name.name for name in child.names if name.name in known)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "relative imports are not read here"
            for name in child.names:
                whole = f"{child.module}.{name.name}"
                if whole in known or child.module in known:
                    yield whole if whole in known else str(child.module)
        yield from imported(child, known)


def edges(known: dict[str, Path]) -> dict[str, set[str]]:
    return {
        name: set(imported(ast.parse(path.read_text(encoding="utf-8")), known)) - {name} for name, path in known.items()
    }


def upward(arrows: dict[str, set[str]], order: list[set[str]]) -> list[str]:
    level = {name: height for height, floor in enumerate(order) for name in floor}
    return [
        f"{name} imports {other}"
        for name, others in arrows.items()
        for other in sorted(others)
        if room(name) != room(other) and level[room(other)] > level[room(name)] and name != "signalprop.__main__"
    ]


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """Some modules that import each other in a circle; empty where there are none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return path[path.index(name) :]
        if name in done:
            return []
        for other in sorted(arrows.get(name, ())):
            if found := walk(other, [*path, name]):
                return found
        done.add(name)
        return []

    for name in arrows:
        if found := walk(name, []):
            return found
    return []


def test_every_room_is_on_one_floor():
    named = [name for floor in floors() for name in floor]
    assert len(named) == len(set(named))
    assert {room(name) for name in modules()} == set(named)


def test_imports_go_down_only():
    assert not upward(edges(modules()), floors())


def test_no_two_files_import_each_other():
    assert not circle(edges(modules()))


def test_these_tests_see_what_they_look_for():
    order = [{"_*"}, {"energy"}, {"models"}]
    assert upward({"signalprop.energy": {"signalprop.models"}}, order) == [
        "signalprop.energy imports signalprop.models"
    ]
    assert not upward({"signalprop.models": {"signalprop.energy._complex", "signalprop._checks"}}, order)
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    tree = ast.parse("def f():\n    from signalprop import energy\nif TYPE_CHECKING:\n    import signalprop.wick")
    assert list(imported(tree, modules())) == ["signalprop.energy"]


def lines_of_bodies(source: str) -> Iterator[tuple[str, int]]:
    """Every function that numba does not compile, with the lines of its body, docstring left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            compiled = any("kernel" in ast.unparse(decorator) for decorator in node.decorator_list)
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body and not compiled and not node.name.endswith("_kernel"):
                yield node.name, (body[-1].end_lineno or 0) - body[0].lineno + 1


def test_no_two_test_files_have_one_name():
    """pytest imports files without a package by their name alone."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(set(names)) == sorted(names)


def test_functions_are_short():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        for name, lines in lines_of_bodies(path.read_text(encoding="utf-8")):
            if lines > LONGEST_FUNCTION:
                found[f"{path.relative_to(PACKAGE).as_posix()}:{name}"] = lines
    assert set(found) == set(LONG_FOR_A_REASON), found


def test_files_say_one_idea():
    long = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert not {name: lines for name, lines in long.items() if lines > LONGEST_FILE}
