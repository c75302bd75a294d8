"""What the tests of the explorer share: its builder, inputs spread over its range, and how near is near."""

import importlib.util
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs" / "explorer"
FIELDS = ("real", "complex", "quaternion")


def builder():
    """The module docs/explorer/make_data.py."""
    spec = importlib.util.spec_from_file_location("make_data", SOURCE / "make_data.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def spread(count, seed):
    """(field, n, horizon, g): widths and horizons spread evenly in their logs from 1 to 1e6."""
    rng = np.random.default_rng(seed)
    widths, horizons = (10 ** (6 * (rng.permutation(count) + rng.uniform(size=count)) / count) for _ in range(2))
    scales = rng.uniform(0.5, 1.5, count)
    return [
        (FIELDS[i % 3], round(n), round(horizon), round(float(g), 3))
        for i, (n, horizon, g) in enumerate(zip(widths, horizons, scales, strict=True))
    ]


def deviation(found, expected):
    """Relative, absolute below 1; None stands for a number that both sides do without."""
    if found is None or expected is None:
        return 0.0 if found is expected else float("inf")
    return abs(found - expected) / max(1.0, abs(expected))
