"""Draws for the crossover in the drive, in batches that are kept as they are made; an interrupted run goes on where it was.

    nice python -m benchmarks.crossover.draw build/crossover --rounds 4

A batch is one file of log-energies, (draws, times), at one width and one input_std; its seed is its number.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np

from signalprop.cells import gradient_energies
from signalprop.meanfield import edge_of_chaos, variance_map

STDS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0)
BATCH = {64: 250, 128: 250, 256: 100, 512: 32, 1024: 8}  # draws


def times(n):
    """Steps in ratios of sqrt(2) to 2n."""
    return np.unique(np.round(2.0 ** (np.arange(0.0, 2.0 * math.log2(2 * n) + 0.5) / 2.0)).astype(int))


def burn_in(scale, s):
    """Steps in which the variance of the states settles within 2 %."""
    q = float(edge_of_chaos("tanh", s).variance)
    slope = (float(variance_map(q * 1.001, scale, "tanh", s)) - float(variance_map(q * 0.999, scale, "tanh", s))) / (
        0.002 * q
    )
    return math.ceil(4.0 / (1.0 - slope))


def batch(directory, n, s, number):
    """Draw one batch, unless it is there."""
    path = directory / f"n{n}_s{s:g}_{number}.npy"
    if path.exists():
        return
    began = time.perf_counter()
    g = float(edge_of_chaos("tanh", s).scale)
    found = gradient_energies(
        "tanh",
        n,
        2 * n,
        draws=BATCH[n],
        scale=g,
        input_std=s,
        burn_in=burn_in(g, s),
        times=times(n),
        seed=number,
        workers=1,
    )
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.save(file, found.log_energies)
    part.replace(path)
    print(f"{path.name}: {time.perf_counter() - began:.1f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--widths", type=int, nargs="*", default=list(BATCH))
    given = parser.parse_args()
    given.directory.mkdir(parents=True, exist_ok=True)
    for number in range(given.rounds):
        for n in given.widths:
            for s in STDS:
                batch(given.directory, n, s, number)


if __name__ == "__main__":
    main()
