"""What the samplers of one chunk accept; costs are left to their callers, who know what the user allows."""

from __future__ import annotations

from typing import Any

import numpy as np

from signalprop._checks import INT64_LIMIT, shown, whole_number
from signalprop.fields import Field, as_field

MAX_N = INT64_LIMIT


def sizes(n: Any, k: Any, field: Any) -> tuple[int, int, Field]:
    """Width, number of steps and field."""
    return (
        whole_number(n, "n", 1, MAX_N, "Use a width up to 1e18."),
        whole_number(k, "k", 0, INT64_LIMIT),
        as_field(field),
    )


def generator_of(rng: Any) -> None:
    """Refuse anything but a random generator."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng must be a numpy.random.Generator, got {shown(rng)}.")
