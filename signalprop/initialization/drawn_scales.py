"""The largest scale of each of many fresh draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import shown
from signalprop._streams import child_seeds
from signalprop.fields import Field
from signalprop.initialization.criteria.record import Progress
from signalprop.models import Model

DEFAULT_SAMPLES = 2000
_MOST_NUMBERS = 1 << 27  # in the paths of one sample


def drawn_log_scales(
    purpose: str,
    n: int,
    horizon: int,
    field: Field,
    model: Model,
    log_bound: float,
    samples: int | None,
    seed: int,
    progress: Progress | None,
) -> NDArray[np.float64]:
    """Largest log g of each of `samples` fresh draws."""
    from signalprop.montecarlo.one_draw import largest_log_scales
    from signalprop.montecarlo.sampling import sample

    count = DEFAULT_SAMPLES if samples is None else samples
    if count * (horizon + 1) > _MOST_NUMBERS:
        raise ValueError(
            f"samples * (horizon + 1) must be at most {_MOST_NUMBERS} (1 GiB), got {shown(count)} * {horizon + 1}; "
            "draw fewer samples, or leave quantile and bound at their defaults, which are tabulated."
        )
    # A root of its own: sample(n, horizon, seed=seed), or a share drawn for it, checks a scale by draws that did not choose it.
    (root,) = child_seeds(seed, purpose, count=1)
    drawn = sample(n, horizon, field, samples=count, seed=root, progress=progress)
    return largest_log_scales(2.0 * drawn.log_norms, [horizon], log_bound, model)[:, 0]
