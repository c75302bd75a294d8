"""The table of `one_draw_table`: drawn row by row by ``python -m signalprop.initialization.make_table``.

A row is one field and width; its draws give every horizon at once. Rows are written to a working directory as they are
finished (``--directory``), so a stopped run goes on where it stopped; when all are there they are packed into
``one_draw.npz`` beside this file, with ``one_draw.json`` saying where it comes from.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._provenance import provenance
from signalprop.fields import Field
from signalprop.initialization.one_draw_table import BOUND, DATA, DEFAULT, HORIZONS, LEVELS, MODELS, NAMES
from signalprop.montecarlo.one_draw import held_share, largest_log_scales
from signalprop.montecarlo.sampling import sample

SEED = 20_240_707
FAR_REACH = 1024  # of the rows whose only use is the approach to infinite width
# Half steps of an octave while a draw is cheap; then to 12288, past the widths in use; then the approach to infinite width.
WIDTHS = (
    *(1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768),
    *(1024, 2048, 4096, 12_288, 2**15, 2**18, 2**21, 2**25),
)
WIDEST_IN_USE = 12_288
# Multiply-adds that a row may cost: they decide its draws, then its reach. Real weights are what most people use.
BUDGETS = {Field.REAL: 7.3e11, Field.COMPLEX: 1.2e11, Field.QUATERNION: 7e10}
MOST_DRAWS = 4_000
FAR_DRAWS = 1_000
FEWEST_DRAWS = 500


def row_size(n: int, field: Field) -> tuple[int, int]:
    """(draws, largest horizon) of a row: as many draws as its budget pays for, then a shorter reach."""
    for reach in HORIZONS[::-1]:
        longest, most = int(reach), MOST_DRAWS
        if n > WIDEST_IN_USE:
            longest, most = min(longest, FAR_REACH), FAR_DRAWS
        draws = min(most, int(BUDGETS[field] / _work(n, longest, field)))
        if draws >= FEWEST_DRAWS:
            return draws, longest
    raise ValueError(f"the budget of {BUDGETS[field]:g} does not pay for any row at n={n}.")


def _work(n: int, k: int, field: Field) -> float:
    """Multiply-adds of one path, plus what its random numbers cost in the same unit."""
    columns = min(n, k)
    steps = columns**3 / 6.0 + (k - columns) * columns**2 / 2.0
    return field.beta**2 * steps + 60.0 * field.beta * columns**2 / 2.0 + 200.0 * k


def draw_row(n: int, field: Field, draws: int, reach: int, seed: int = SEED) -> dict[str, NDArray[Any]]:
    """One row of the table: quantiles over `draws` paths, NaN past `reach`."""
    paths = 2.0 * sample(n, reach, field, samples=draws, seed=seed).log_norms
    inside = reach >= HORIZONS
    wanted = HORIZONS[inside]
    levels = np.array(LEVELS)
    row: dict[str, NDArray[Any]] = {
        "log_scale": np.full((len(MODELS), HORIZONS.size, levels.size), np.nan),
        "log_scale_error": np.full((len(MODELS), HORIZONS.size), np.nan),
        "log_energy": np.full((HORIZONS.size, levels.size), np.nan),
        "held_share": np.full(HORIZONS.size, np.nan),
        "held_log_scale": np.full(HORIZONS.size, np.nan),
    }
    p = 1.0 - DEFAULT
    spread = math.sqrt(draws * p * (1.0 - p))
    low, high = (min(max(round(draws * p + sign * spread), 0), draws - 1) for sign in (-1, 1))
    for i, model in enumerate(MODELS):
        scales = np.sort(largest_log_scales(paths, wanted, math.log(BOUND), model), axis=0)
        row["log_scale"][i, inside] = np.quantile(scales, levels, axis=0, method="median_unbiased").T
        row["log_scale_error"][i, inside] = 0.5 * (scales[high] - scales[low])
    row["log_energy"][inside] = np.quantile(paths[:, wanted], levels, axis=0, method="median_unbiased").T
    row["held_share"][inside], row["held_log_scale"][inside] = held_share(paths, wanted, math.log(BOUND))
    return row


def fill(directory: Path, minutes: float, fields: tuple[Field, ...]) -> Iterator[str]:
    """Draw the missing rows into the directory, cheapest first, until the time is up; one line of text a row."""
    directory.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60.0 * minutes
    jobs = [(n, field, *row_size(n, field)) for field in fields for n in WIDTHS]
    for n, field, draws, reach in sorted(jobs, key=lambda job: job[2] * _work(job[0], job[3], job[1])):
        path = directory / f"{field.value}-{n}.npz"
        if path.exists():
            continue
        if time.monotonic() > end:
            yield f"{field.value} n={n}: left out, the time is up"
            continue
        start = time.monotonic()
        row = {"draws": np.array(draws), "reach": np.array(reach), **draw_row(n, field, draws, reach)}
        temporary = path.with_suffix(".part")
        with temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **row)
        os.replace(temporary, path)
        yield f"{field.value} n={n}: {draws} draws to T={reach} in {time.monotonic() - start:.1f} s"


def rounded(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """float32 with 14 bits behind the leading one: 3e-5 of a value, far below the noise of the draws, and small when packed."""
    bits = values.astype(np.float32).view(np.uint32)
    with np.errstate(over="ignore"):
        nearest = ((bits + np.uint32(1 << 8)) & np.uint32(0xFFFF_FE00)).view(np.float32)
    return np.where(np.isnan(values), np.float32(np.nan), nearest)


def pack(directory: Path, target: Path) -> None:
    """Put all rows of the directory into one file, rounded, and say beside it where they come from."""
    arrays: dict[str, NDArray[Any]] = {}
    for field in Field:
        rows = {int(path.stem.split("-")[1]): path for path in directory.glob(f"{field.value}-*.npz")}
        if not rows:
            raise ValueError(
                f"{directory} holds no row for {field.value} weights; run the command without --pack-only."
            )
        loaded = [np.load(rows[n], allow_pickle=False) for n in sorted(rows)]
        arrays[f"{field.value}_n"] = np.array(sorted(rows), dtype=np.int64)
        for name in ("draws", "reach"):
            arrays[f"{field.value}_{name}"] = np.array([row[name] for row in loaded], dtype=np.int64)
        for name in NAMES:
            arrays[f"{field.value}_{name}"] = rounded(np.stack([row[name] for row in loaded]))
    with zipfile.ZipFile(target, "w") as archive:
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, array, allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy")  # with a fixed date: the same rows, the same bytes
            archive.writestr(entry, buffer.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=9)
    facts = {"command": "python -m signalprop.initialization.make_table", "seed": SEED}
    target.with_suffix(".json").write_text(json.dumps({**facts, **provenance()}, indent=2) + "\n")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("build/one_draw"), help="where finished rows are kept")
    parser.add_argument("--minutes", type=float, default=60.0, help="start no new row after this time")
    parser.add_argument("--fields", nargs="+", type=Field, default=list(Field), help="which fields to draw")
    parser.add_argument("--pack-only", action="store_true", help="draw nothing, pack the rows that are there")
    options = parser.parse_args()
    if not options.pack_only:
        for line in fill(options.directory, options.minutes, tuple(options.fields)):
            print(line, flush=True)
    pack(options.directory, DATA)
    print(f"wrote {DATA}")


if __name__ == "__main__":
    main()
