"""Random streams: one Philox generator a chunk, keyed by (seed, cell, chunk), so workers and their order do not matter."""

from __future__ import annotations

import numpy as np


def generator(seed: int, chunk: int, cell: int = 0) -> np.random.Generator:
    """The generator of chunk number `chunk` of cell number `cell` of a run with root seed `seed`."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(cell, chunk))))


def chunk_sizes(samples: int, per_chunk: int) -> list[int]:
    """Split `samples` into chunks of `per_chunk` and a rest; the first chunks do not depend on `samples`."""
    full, rest = divmod(samples, per_chunk)
    return [per_chunk] * full + ([rest] if rest else [])
