"""Size on disk of an installation: signalprop with what it needs, and with each extra."""

from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

EXTRAS = ("", "torch", "jax", "dask", "tasks")


def sizes() -> list[dict[str, Any]]:
    """For each extra that is installed whole, its packages and their bytes, the base included."""
    found = []
    for extra in EXTRAS:
        try:
            names = _closure(f"signalprop[{extra}]" if extra else "signalprop")
        except PackageNotFoundError:
            continue
        found.append({"extra": extra, "packages": len(names), "bytes": sum(map(_bytes, names.values()))})
    return found


def _closure(requirement: str) -> dict[str, Distribution]:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: dict[str, Distribution] = {}
    todo, seen = [Requirement(requirement)], set()
    while todo:
        one = todo.pop()
        name = canonicalize_name(one.name)
        if (name, frozenset(one.extras)) in seen:
            continue
        seen.add((name, frozenset(one.extras)))
        found[name] = distribution(name)
        for text in found[name].requires or ():
            need = Requirement(text)
            if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in (one.extras or {""})):
                todo.append(need)
    return found


def _bytes(package: Distribution) -> int:
    total = 0
    for file in package.files or ():
        path = file.locate()
        total += path.stat().st_size if path.is_file() else 0  # type: ignore[attr-defined]
    return total


def markdown() -> str:
    """The sizes as a table."""
    lines = ["## Installation", "", "| | packages | on disk |", "|---|---|---|"]
    for one in sizes():
        name = f"signalprop[{one['extra']}]" if one["extra"] else "signalprop"
        lines.append(f"| {name} | {one['packages']} | {one['bytes'] / 2**20:.0f} MiB |")
    return "\n".join(lines)
