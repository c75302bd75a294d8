"""An estimate in a few words."""

from __future__ import annotations

from signalprop._numbers import percent, show
from signalprop.montecarlo.estimate import Estimate


def running_text(estimate: Estimate) -> str:
    """A running estimate, to show beside a progress bar."""
    mean = "mean not to be trusted"
    if estimate.trusted:
        mean = f"mean {show(estimate.log_mean)} +- {percent(estimate.relative_error)}"
    if estimate.repeated:
        return f"{mean} ({estimate.samples} repetitions)"
    return f"median {show(estimate.log_median)}, {mean} ({estimate.samples} draws)"
