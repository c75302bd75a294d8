"""The table of `_cell_table`: drawn point by point by ``python -m signalprop.initialization.make_cells``.

A point is one cell, start, width, size of the inputs and horizon; what is kept are quantiles over draws of the log-energy of a
gradient that is carried back over the horizon. Points are written to a working directory as they are finished (``--directory``),
so a stopped run goes on where it stopped; when all are there they are packed into ``cells.npz`` beside this file, with
``cells.json`` saying where they come from.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._files import replace, replacing
from signalprop._provenance import git_revision, provenance
from signalprop.initialization._cell_table import DATA, HORIZONS, INPUT_STDS, LEVELS, TABLED, WIDTHS, TabledStart, drawn
from signalprop.montecarlo.quantiles import quantile_levels

SEED = 20_261_201
DRAWS = {32: 400, 128: 200, 512: 60}
FEW = 24


def points() -> Iterator[tuple[str, TabledStart, int, float, int]]:
    """All points, cheapest first."""
    every = [
        (cell, start, n, float(s), int(t))
        for n in WIDTHS
        for cell, starts in TABLED.items()
        for start in starts.values()
        for s in INPUT_STDS
        for t in HORIZONS
    ]
    return iter(sorted(every, key=lambda point: _gates(point[0]) * point[2] ** 2 * point[4] * draws(*_size(point))))


def draws(cell: str, n: int, horizon: int) -> int:
    """How many draws a point has: fewer where they cost most and, as gates decide, hardly differ."""
    return FEW if _gates(cell) > 1 and (n, horizon) == (WIDTHS[-1], HORIZONS[-1]) else DRAWS[n]


def _gates(cell: str) -> int:
    return {"lstm": 4, "gru": 3}.get(cell, 1)


def _size(point: tuple[str, TabledStart, int, float, int]) -> tuple[str, int, int]:
    return point[0], point[2], point[4]


def fill(directory: Path, minutes: float) -> Iterator[str]:
    """Draw the missing points into the directory, until the time is up; one line of text per point."""
    directory.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60.0 * minutes
    for cell, start, n, s, t in points():
        path = _file(directory, cell, start.name, n, s, t)
        if path.exists():
            continue
        if time.monotonic() > end:
            yield "the time is up"
            return
        began, count = time.monotonic(), draws(cell, n, t)
        found = np.sort(drawn(cell, start, n, s, t, draws=count, seed=SEED))
        with replacing(path) as file:
            np.savez(file, allow_pickle=False, log_energies=found, revision=np.array(str(git_revision())))
        yield f"{path.stem}: {count} draws in {time.monotonic() - began:.1f} s"


def _file(directory: Path, cell: str, start: str, n: int, s: float, t: int) -> Path:
    return directory / f"{cell}-{start.replace(' ', '_')}-{n}-{s:g}-{t}.npz"


def pack(directory: Path, target: Path) -> None:
    """Put the quantiles of all points into one file, and say beside it where they come from.

    Raises
    ------
    ValueError
        A point is missing.
    """
    made_by = provenance()  # before the file changes, which would make the checkout dirty
    arrays: dict[str, NDArray[Any]] = {}
    revisions = set()
    for cell, starts in TABLED.items():
        for name in starts:
            shape = (len(WIDTHS), len(INPUT_STDS), len(HORIZONS))
            levels = np.empty((*shape, len(LEVELS)))
            errors = np.empty(shape)
            for place in np.ndindex(*shape):
                n, s, t = WIDTHS[place[0]], float(INPUT_STDS[place[1]]), int(HORIZONS[place[2]])
                path = _file(directory, cell, name, n, s, t)
                if not path.exists():
                    raise ValueError(f"{directory} holds no {path.name}; run the command without --pack-only.")
                with np.load(path, allow_pickle=False) as drawn_there:
                    logs = drawn_there["log_energies"]
                    revisions.add(str(drawn_there["revision"]))
                levels[place] = [one.level for one in quantile_levels(logs, LEVELS)]
                half = 0.5 * np.sqrt(logs.size)
                below, above = (
                    int(np.clip(round(0.5 * logs.size + sign * half), 0, logs.size - 1)) for sign in (-1, 1)
                )
                alive = bool(np.isfinite(logs[below]))
                errors[place] = 0.5 * (logs[above] - logs[below]) if alive else np.inf
            arrays[f"{cell} {name}"] = levels.astype(np.float32)
            arrays[f"{cell} {name} error"] = errors.astype(np.float32)
    with replacing(target) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)
    facts = {
        "command": "python -m signalprop.initialization.make_cells",
        "seed": SEED,
        "draws": {
            **{str(n): count for n, count in DRAWS.items()},
            "gru and lstm at the largest width and horizon": FEW,
        },
        "drawn_at": sorted(revisions),
    }
    replace(target.with_suffix(".json"), (json.dumps({**facts, **made_by}, indent=2) + "\n").encode())


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("build/cells"), help="where finished points are kept")
    parser.add_argument("--minutes", type=float, default=180.0, help="start no new point after this time")
    parser.add_argument("--pack-only", action="store_true", help="draw nothing, pack the points that are there")
    options = parser.parse_args()
    if not options.pack_only:
        for line in fill(options.directory, options.minutes):
            print(line, flush=True)
    pack(options.directory, DATA)
    print(f"wrote {DATA}")


if __name__ == "__main__":
    main()
