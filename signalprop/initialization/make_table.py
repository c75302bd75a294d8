"""The table of `one_draw_table`: drawn row by row by ``python -m signalprop.initialization.make_table``.

A row is one field and width. Its horizons come from two independent sets of draws: many draws up to about eight sqrt(n)
steps ("near"), where scales and budgets are read, and fewer that go further ("far"), where the near ones do not reach.
Sets are written to a working directory as they are finished (``--directory``), so a stopped run goes on where it stopped;
when all are there they are packed into ``one_draw.npz`` beside this file, with ``one_draw.json`` saying where it comes from.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._files import replace, replacing
from signalprop._provenance import git_revision, provenance
from signalprop.fields import Field
from signalprop.initialization.one_draw_table import BOUND, DATA, DEFAULT, HORIZONS, LEVELS, MODELS, NAMES
from signalprop.montecarlo.one_draw import held_share, largest_log_scales
from signalprop.montecarlo.sampling import sample

SEED = 20_240_707  # of the far sets; the near ones have the next
FAR_REACH = 1024  # of the rows whose only use is the approach to infinite width
# Half steps of an octave while a draw is cheap; then to 12288, past the widths in use; then the approach to infinite width.
WIDTHS = (
    *(1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768),
    *(1024, 2048, 4096, 12_288, 2**15, 2**18, 2**21, 2**25),
)
WIDEST_IN_USE = 12_288
# Multiply-adds that a far set may cost: they decide its draws, then its reach. Real weights are what most people use.
BUDGETS = {Field.REAL: 7.3e11, Field.COMPLEX: 1.2e11, Field.QUATERNION: 7e10}
MOST_DRAWS = 4_000
FAR_DRAWS = 1_000
FEWEST_DRAWS = 500
NEAR_BUDGETS = {Field.REAL: 4e11, Field.COMPLEX: 1.2e11, Field.QUATERNION: 8e10}
NEAR_DRAWS = 16_000
NEAR_FEWEST = 2_000
NEAR_C = 8.0  # sqrt(n) steps of a near set
NEAR_LEAST = 64  # its steps where the width is small
NEAR_WIDEST = 12_288  # beyond, the far set reaches no fewer sqrt(n) steps than a near one would


@dataclass(frozen=True)
class DrawSet:
    """How many draws, over how many steps, from which root seed."""

    draws: int
    reach: int
    seed: int


def row_sets(n: int, field: Field) -> dict[str, DrawSet]:
    """The sets behind a row, by name."""
    far = {"far": far_set(n, field)}
    return far if n > NEAR_WIDEST else {"near": near_set(n, field), **far}


def far_set(n: int, field: Field) -> DrawSet:
    """As many draws as the budget pays for, then a shorter reach."""
    for reach in HORIZONS[::-1]:
        longest, most = int(reach), MOST_DRAWS
        if n > WIDEST_IN_USE:
            longest, most = min(longest, FAR_REACH), FAR_DRAWS
        draws = min(most, int(BUDGETS[field] / _work(n, longest, field)))
        if draws >= FEWEST_DRAWS:
            return DrawSet(draws, longest, SEED)
    raise ValueError(f"the budget of {BUDGETS[field]:g} does not pay for any row at n={n}.")


def near_set(n: int, field: Field) -> DrawSet:
    """`NEAR_C` sqrt(n) steps, with fewer draws where the budget does not pay for all, then a shorter reach."""
    furthest = max(NEAR_LEAST, NEAR_C * math.sqrt(n))
    for reach in HORIZONS[furthest >= HORIZONS][::-1]:
        draws = min(NEAR_DRAWS, int(NEAR_BUDGETS[field] / _work(n, int(reach), field)))
        if draws >= NEAR_FEWEST:
            return DrawSet(draws, int(reach), SEED + 1)
    raise ValueError(f"the budget of {NEAR_BUDGETS[field]:g} does not pay for any row at n={n}.")


def _work(n: int, k: int, field: Field) -> float:
    """Multiply-adds of one path, plus what its random numbers cost in the same unit."""
    columns = min(n, k)
    steps = columns**3 / 6.0 + (k - columns) * columns**2 / 2.0
    return field.beta**2 * steps + 60.0 * field.beta * columns**2 / 2.0 + 200.0 * k


def draw_set(n: int, field: Field, chosen: DrawSet) -> dict[str, NDArray[Any]]:
    """Quantiles over the paths of one set, NaN past its reach."""
    paths = 2.0 * sample(n, chosen.reach, field, samples=chosen.draws, seed=chosen.seed, driven=False).log_norms
    inside = chosen.reach >= HORIZONS
    wanted = HORIZONS[inside]
    levels = np.array(LEVELS)
    row = blank_row()
    p = 1.0 - DEFAULT
    spread = math.sqrt(chosen.draws * p * (1.0 - p))
    low, high = (min(max(round(chosen.draws * p + sign * spread), 0), chosen.draws - 1) for sign in (-1, 1))
    for i, model in enumerate(MODELS):
        scales = np.sort(largest_log_scales(paths, wanted, math.log(BOUND), model), axis=0)
        row["log_scale"][i, inside] = np.quantile(scales, levels, axis=0, method="median_unbiased").T
        row["log_scale_error"][i, inside] = 0.5 * (scales[high] - scales[low])
    row["log_energy"][inside] = np.quantile(paths[:, wanted], levels, axis=0, method="median_unbiased").T
    row["held_share"][inside], row["held_log_scale"][inside] = held_share(paths, wanted, math.log(BOUND))
    return row


def blank_row() -> dict[str, NDArray[Any]]:
    """The columns of a row, all NaN."""
    shapes = {
        "log_scale": (len(MODELS), HORIZONS.size, len(LEVELS)),
        "log_scale_error": (len(MODELS), HORIZONS.size),
        "log_energy": (HORIZONS.size, len(LEVELS)),
        "held_share": (HORIZONS.size,),
        "held_log_scale": (HORIZONS.size,),
    }
    return {name: np.full(shape, np.nan) for name, shape in shapes.items()}


def merged(far: Mapping[str, NDArray[Any]], near: Mapping[str, NDArray[Any]] | None) -> dict[str, NDArray[Any]]:
    """One row of two sets: each horizon from the near one where that reaches."""
    return {
        name: far[name] if near is None else np.where(np.isnan(near[name]), far[name], near[name]) for name in NAMES
    }


def fill(directory: Path, minutes: float, fields: tuple[Field, ...]) -> Iterator[str]:
    """Draw the missing sets into the directory, cheapest first, until the time is up; one line of text per set."""
    directory.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60.0 * minutes
    jobs = [(n, field, name, chosen) for field in fields for n in WIDTHS for name, chosen in row_sets(n, field).items()]
    for n, field, name, chosen in sorted(jobs, key=lambda job: job[3].draws * _work(job[0], job[3].reach, job[1])):
        path = _file(directory, field, n, name)
        if path.exists():
            continue
        if time.monotonic() > end:
            yield f"{field.value} n={n} {name}: left out, the time is up"
            continue
        start = time.monotonic()
        found = {**draw_set(n, field, chosen), "revision": np.array(str(git_revision()))}
        with replacing(path) as file:
            np.savez(file, allow_pickle=False, **found)
        seconds = time.monotonic() - start
        yield f"{field.value} n={n} {name}: {chosen.draws} draws to T={chosen.reach} in {seconds:.1f} s"


def _file(directory: Path, field: Field, n: int, name: str) -> Path:
    return directory / f"{field.value}-{n}-{name}.npz"


def rounded(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """float32 with 14 bits behind the leading one: 3e-5 of a value, far below the noise of the draws, and small when packed."""
    bits = values.astype(np.float32).view(np.uint32)
    with np.errstate(over="ignore"):
        nearest = ((bits + np.uint32(1 << 8)) & np.uint32(0xFFFF_FE00)).view(np.float32)
    return np.where(np.isnan(values), np.float32(np.nan), nearest)


def pack(directory: Path, target: Path) -> None:
    """Put all rows of the directory into one file, rounded, and say beside it where they come from.

    Raises
    ------
    ValueError
        A set is missing.
    """
    made_by = provenance()  # before the file changes, which would make the checkout dirty
    arrays: dict[str, NDArray[Any]] = {}
    revisions: dict[str, set[str]] = {"near": set(), "far": set()}
    for field in Field:
        rows = []
        sizes: dict[str, list[int]] = {name: [] for name in ("draws", "reach", "near_draws", "near_reach")}
        for n in WIDTHS:
            sets = row_sets(n, field)
            loaded: dict[str, Any] = {}
            for name in sets:
                path = _file(directory, field, n, name)
                if not path.exists():
                    raise ValueError(
                        f"{directory} holds no {name} draws of {field.value} weights at n={n}; "
                        "run the command without --pack-only."
                    )
                loaded[name] = np.load(path, allow_pickle=False)
                revisions[name].add(str(loaded[name]["revision"]))
            rows.append(merged(loaded["far"], loaded.get("near")))
            near, far = sets.get("near", sets["far"]), sets["far"]
            for name, size in zip(sizes, (far.draws, max(far.reach, near.reach), near.draws, near.reach), strict=True):
                sizes[name].append(size)
        arrays[f"{field.value}_n"] = np.array(WIDTHS, dtype=np.int64)
        arrays |= {f"{field.value}_{name}": np.array(size, dtype=np.int64) for name, size in sizes.items()}
        for name in NAMES:
            arrays[f"{field.value}_{name}"] = rounded(np.stack([row[name] for row in rows]))
    with replacing(target) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy")  # with a fixed date: the same rows, the same bytes
            archive.writestr(entry, buffer.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=9)
    facts = {
        "command": "python -m signalprop.initialization.make_table",
        "seed": SEED,
        "drawn_at": {name: sorted(found) for name, found in revisions.items()},  # git revisions
    }
    replace(target.with_suffix(".json"), (json.dumps({**facts, **made_by}, indent=2) + "\n").encode())


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("build/one_draw"), help="where finished sets are kept")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no new set after this time")
    parser.add_argument("--fields", nargs="+", type=Field, default=list(Field), help="which fields to draw")
    parser.add_argument("--pack-only", action="store_true", help="draw nothing, pack the sets that are there")
    options = parser.parse_args()
    if not options.pack_only:
        for line in fill(options.directory, options.minutes, tuple(options.fields)):
            print(line, flush=True)
    pack(options.directory, DATA)
    print(f"wrote {DATA}")


if __name__ == "__main__":
    main()
