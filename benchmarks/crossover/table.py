"""Quantiles of the draws of `benchmarks.crossover.draw`, beside the law of `meanfield.spread_ratio`.

python -m benchmarks.crossover.table build/crossover    # writes quantiles.csv beside this file, prints errors and a new fit
python -m benchmarks.crossover.table                    # errors from the committed quantiles
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.crossover.draw import BATCH, STDS, times
from signalprop.meanfield import crossover, edge_of_chaos, gradient_law, spread_ratio

FILE = Path(__file__).parent / "quantiles.csv"
LEVELS = {"q05": 0.05, "q16": 0.16, "q50": 0.5, "q84": 0.84, "q95": 0.95}


def gathered(directory):
    """One row per width, input_std and horizon from 4 steps on."""
    rows = []
    for n in BATCH:
        for s in STDS:
            parts = [np.load(path) for path in sorted(directory.glob(f"n{n}_s{s:g}_*.npy"))]
            if not parts:
                continue
            logs, g = np.concatenate(parts), float(edge_of_chaos("tanh", s).scale)
            for t, column in zip(times(n), logs.T, strict=True):
                if t >= 4:
                    law = gradient_law(n, t, g, "tanh", s)
                    levels = dict(zip(LEVELS, np.quantile(column, list(LEVELS.values())), strict=True))
                    rows.append({
                        "n": n, "input_std": s, "horizon": t, "draws": column.size, **levels, "sd": column.std(ddof=1),
                        "law_median": float(law.median), "law_std": float(law.std),
                    })  # fmt: skip
    return pd.DataFrame(rows)


def errors(table):
    """Logarithm of the law's ratio over the measured one, per row."""
    measured = 0.5 * (table.q84 - table.q16) / table.law_std
    found = spread_ratio(table.n.to_numpy(), table.horizon.to_numpy(), "tanh", table.input_std.to_numpy())
    return np.log(found / measured)


def rms(values, draws):
    return float(np.sqrt(np.average(values**2, weights=draws)))


def fitted(table):
    """The constants a, b, x_0, p that the draws ask for."""
    from scipy.optimize import least_squares

    names = ("SHARE", "MEMORY", "LARGEST", "POWER")
    before = [getattr(crossover, name) for name in names]

    def misses(logs):
        for name, value in zip(names, np.exp(logs), strict=True):
            setattr(crossover, name, value)
        return np.sqrt(table.draws) * errors(table)

    try:
        return np.exp(least_squares(misses, np.log(before)).x)
    finally:
        for name, value in zip(names, before, strict=True):
            setattr(crossover, name, value)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?")
    given = parser.parse_args()
    if given.directory:
        gathered(given.directory).to_csv(FILE, index=False, float_format="%.5g")
    table = pd.read_csv(FILE)
    table["error"] = errors(table)
    print("rms error of the spread:", round(rms(table.error, table.draws), 4))
    print(table.groupby("input_std").apply(lambda one: pd.Series({
        "rms": rms(one.error, one.draws), "lowest": one.error.min(), "highest": one.error.max(),
        "median - law": (one.q50 - one.law_median).min()})).round(3))  # fmt: skip
    if given.directory:
        print("a, b, x_0, p fitted anew:", fitted(table).round(3))


if __name__ == "__main__":
    main()
