"""One Markdown table a task, and one of growth exponents, from measured rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.suite import FLOOR, OURS, Growth, Row


def nice(value: float) -> str:
    """Seconds in a readable unit, three digits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * factor >= 0.9995:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def times(ratio: float) -> str:
    """A ratio, readable at any size."""
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.0f}x" if ratio < 9999.5 else f"{ratio:.1e}x"


def markdown(about: str, task: str, rows: Sequence[Row]) -> str:
    """The table of one task: one line a contender, grouped by case and size."""
    lines = [
        f"## {task}",
        "",
        about,
        "",
        "| case | size | | median | fastest .. slowest | against signalprop | against the floor |",
        "|---|---|---|---|---|---|---|",
    ]
    for group in groups(rows):
        ours = next((row.median for row in group if row.role == OURS), None)
        floor = max((row.median for row in group if row.role == FLOOR), default=None)
        for i, row in enumerate(group):
            case = f"{row.case} | {row.size_name} = {row.size:g}" if i == 0 else " | "
            name = f"**{row.contender}**" if row.role == OURS else row.contender
            name += " (floor)" if row.role == FLOOR else ""
            against = "" if ours is None or row.role == OURS else times(row.median / ours)
            above = "" if floor is None or row.role == FLOOR else times(row.median / floor)
            lines.append(
                f"| {case} | {name} | {nice(row.median)} {row.unit} | {nice(row.fastest)} .. {nice(row.slowest)} "
                f"| {against} | {above} |"
            )
    return "\n".join(lines)


def groups(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of one comparison each, in the order in which they were measured."""
    found: dict[tuple[str, str, float], list[Row]] = {}
    for row in rows:
        found.setdefault((row.task, row.case, row.size), []).append(row)
    return list(found.values())


def growth_table(fits: Sequence[Growth]) -> str:
    """Fitted against expected exponents."""
    lines = ["## Growth", "", "| task | case | | sizes | fitted exponent | expected |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {fit.task} | {fit.case} | {fit.contender} | {fit.size_name} = {min(fit.sizes):g} .. {max(fit.sizes):g} "
        f"| {fit.exponent:.2f} | {fit.expected:.2f} |"
        for fit in fits
    ]
    return "\n".join(lines)


def heading(facts: dict[str, Any]) -> str:
    """Where the numbers come from."""
    libraries = ", ".join(f"{name} {version}" for name, version in facts["libraries"].items() if version)
    return (
        "# Benchmarks\n\n"
        f"signalprop at {facts['git_revision']}, Python {facts['python']}, {facts['machine']}; "
        f"{libraries}.\n\nMedians of interleaved rounds. A floor is work that cannot be left out; the last column is against the "
        "largest of them."
    )
