"""Random streams: one Philox generator per (seed, purpose, chunk), so no two purposes and no two workers share numbers.

This is the one place in the package that makes generators. A purpose is a word and whatever else tells two uses apart
(width, field, name of a part ..); a use with many draws is cut into chunks, so that workers and their order do not matter.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def cell_key(*facts: object) -> int:
    """A number for a purpose, computed from what defines it, so that the purposes of one seed draw independent streams."""
    return int.from_bytes(hashlib.blake2b(repr(facts).encode(), digest_size=8).digest(), "big")


def generator(seed: int, cell: int, chunk: int) -> np.random.Generator:
    """The generator for chunk number `chunk` of the purpose with key `cell`, under the root seed `seed`."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=(cell, chunk))))


def stream(seed: int, *purpose: object, chunk: int = 0) -> np.random.Generator:
    """The generator of a purpose in words, such as ``stream(seed, "inputs")``."""
    return generator(seed, cell_key(*purpose), chunk)


def child_seeds(seed: int, *purpose: object, count: int) -> list[int]:
    """Root seeds for `count` runs that are independent of each other and of other uses of `seed`."""
    state: NDArray[Any] = np.random.SeedSequence(seed, spawn_key=(cell_key(*purpose),)).generate_state(count, np.uint64)
    return [int(one) for one in state]


def split_order(count: int) -> NDArray[np.int64]:
    """The fixed random order in which a data set without a split of its own is divided; no user's seed changes it."""
    return np.random.default_rng(0).permutation(count)


def chunk_sizes(samples: int, per_chunk: int) -> list[int]:
    """Split `samples` into chunks of `per_chunk` and a remainder; the first chunks do not depend on `samples`."""
    full, rest = divmod(samples, per_chunk)
    return [per_chunk] * full + ([rest] if rest else [])
