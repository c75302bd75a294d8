"""What a training would cost, estimated before its first step."""

from __future__ import annotations

from signalprop._cost import refuse_beyond_bounds
from signalprop.tasks import Task
from signalprop.training.model import parameter_count
from signalprop.training.settings import Settings

LONGEST_SECONDS = 30 * 86400.0
# Measured forward and backward on one core: seconds per token, and per token and parameter.
_TOKEN_SECONDS, _PARAMETER_SECONDS = 2e-5, 6e-10
_FORWARD_SHARE = 0.35
_NUMBERS_PER_PARAMETER = 4  # weight, gradient, two moments of AdamW


def refuse_impossible(settings: Settings, task: Task, steps: int) -> None:
    """Refuse a training that would take more than thirty days, or more memory than there is; right within a factor of three.

    Raises
    ------
    ValueError
        With the estimate, the bound, and how to lift it.
    """
    parameters = parameter_count(settings, task)
    length = task.train.inputs.shape[1]
    token = _TOKEN_SECONDS * settings.depth + _PARAMETER_SECONDS * parameters
    held_out = len(task.validation) if task.validation is not None else 0
    judged = len(task.test) + (steps // settings.log_every + 1) * min(settings.held_out, held_out or settings.held_out)
    kept = settings.depth * (2 if settings.bidirectional else 1) * (12 * settings.d_model + 8 * settings.d_state)
    refuse_beyond_bounds(
        f"This training of {steps} steps",
        seconds=length * token * (steps * settings.batch + _FORWARD_SHARE * judged),
        memory=4.0 * (_NUMBERS_PER_PARAMETER * parameters + settings.batch * length * kept),
        instead="Fewer steps, a smaller batch or a smaller model cost less.",
        default_seconds=LONGEST_SECONDS,
    )
