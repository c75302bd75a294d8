"""Random streams: one Philox generator a chunk, keyed by (seed, cell, chunk), so workers and their order do not matter."""

from __future__ import annotations

import hashlib

import numpy as np


def cell_key(*facts: object) -> int:
    """A number for a cell made of what defines it, so that cells of one seed draw independent streams."""
    return int.from_bytes(hashlib.blake2b(repr(facts).encode(), digest_size=8).digest(), "big")


def generator(seed: int, cell: int, chunk: int) -> np.random.Generator:
    """The generator of chunk number `chunk` of the cell with key `cell` of a run with root seed `seed`."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(cell, chunk))))


def chunk_sizes(samples: int, per_chunk: int) -> list[int]:
    """Split `samples` into chunks of `per_chunk` and a rest; the first chunks do not depend on `samples`."""
    full, rest = divmod(samples, per_chunk)
    return [per_chunk] * full + ([rest] if rest else [])
