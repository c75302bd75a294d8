"""Regression guard: ratios to what was measured beside them, compared with the committed ones. No seconds.

The fastest rounds are compared, which a busy machine disturbs least. Against a floor the ratio is time over floor; without
one, time over the fastest alternative. What is slower than the baseline by more than a fifth is named.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import groups
from benchmarks.suite import FLOOR, OTHER, OURS, Row

TOLERANCE = 1.2


def ratios(rows: Sequence[Row]) -> dict[str, float]:
    """``"task / case / size"`` -> fastest round of signalprop over that of the floor, or of the best alternative."""
    found = {}
    for group in groups(rows):
        ours = [row.fastest for row in group if row.role == OURS]
        floors = [row.fastest for row in group if row.role == FLOOR]
        others = [row.fastest for row in group if row.role == OTHER]
        if ours and (floors or others):
            one = group[0]
            name = f"{one.task} / {one.case} / {one.size_name} = {one.size:g}"
            found[name] = ours[0] / (max(floors) if floors else min(others))
    return found


def past(now: dict[str, float], baseline: dict[str, float]) -> list[str]:
    """A sentence for each ratio that is more than a fifth above its baseline."""
    return [
        f"{name}: ratio {now[name]:.3g}, baseline {baseline[name]:.3g} ({now[name] / baseline[name]:.2f}x)"
        for name in now
        if name in baseline and now[name] > TOLERANCE * baseline[name]
    ]


def load(path: Path) -> dict[str, float]:
    """The committed ratios; none where there is no file."""
    return dict(json.loads(path.read_text())["ratios"]) if path.exists() else {}


def save(path: Path, found: dict[str, float], facts: dict[str, Any]) -> None:
    """Make these the baseline, beside those of tasks that were not run."""
    merged = {**load(path), **found}
    path.write_text(
        json.dumps({**facts, "ratios": {name: float(f"{merged[name]:.4g}") for name in sorted(merged)}}, indent=1)
        + "\n"
    )
