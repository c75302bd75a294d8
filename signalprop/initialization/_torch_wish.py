"""The arguments of `init_recurrent_`, checked: each by itself, and those that have no meaning beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from signalprop._checks import flag, positive_float, real_number, shown
from signalprop.fields import choices, one_of
from signalprop.initialization._asked import steps_of
from signalprop.initialization._entries import EntryScale, ScaleOptions
from signalprop.initialization.starts import BIAS_LAWS, KERNEL_KINDS

LARGEST_STD = 100.0
SMALLEST_STD = 1e-6


@dataclass(frozen=True)
class Wish:
    """Checked arguments of `init_recurrent_`."""

    horizon: int | None
    scale: float | None
    critical: bool
    linear: EntryScale | None
    """The scale of h <- W h for Gaussian kernels, where it was asked for."""
    kind: str | None
    leak: float | None
    law: str | None
    input_std: float | Mapping[str, float] | None
    input_kernel: bool
    generator: torch.Generator | None


def checked_wish(
    horizon: Any,
    scale: Any,
    options: ScaleOptions,
    *,
    kind: Any,
    leak: Any,
    biases: Any,
    input_std: Any,
    input_kernel: Any,
    generator: torch.Generator | None,
    gated: bool,
) -> Wish:
    """The arguments, where they make sense together; `gated` says whether the module has gates."""
    critical = isinstance(scale, str)
    if critical:
        if scale != "critical":
            raise ValueError(f"scale must be a number or 'critical', got {shown(scale)}.")
        if kind == "identity" or options:
            others = choices(options) if options else "kind='identity'"
            raise ValueError(
                f"scale='critical' is for Gaussian and orthogonal kernels, got {others} too; leave one out."
            )
        scale, horizon = None, 1 if horizon is None else horizon
    both = horizon is not None and scale is not None and not options and gated and biases is not None
    scales = EntryScale(None if both else horizon, scale, options)
    steps = None if horizon is None else steps_of(horizon)
    if kind is not None:
        one_of(kind, KERNEL_KINDS, "kind")
    if options and kind not in (None, "gaussian"):
        raise ValueError(
            f"{choices(options)} picks a scale for Gaussian kernels, got kind={kind!r}; leave one of them out, or give scale."
        )
    if leak is not None:
        if kind != "identity":
            raise ValueError(f"leak is the a of (1 - a) I + a W and needs kind='identity', got kind={shown(kind)}.")
        if not positive_float(leak, "leak") <= 1.0:
            raise ValueError(f"leak must be above 0 and at most 1, got {shown(leak)}.")
        leak = float(leak)
    if biases is not None:
        one_of(biases, ("auto", *BIAS_LAWS), "biases")
    law = (None if options or steps is None else "chrono") if biases == "auto" else biases
    if law is not None and steps is None:
        raise ValueError(f"biases={law!r} needs horizon, the number of steps that the gates should remember.")
    by_linear_theory = bool(options) or (steps is None and kind is None)
    return Wish(
        steps,
        scales.given,
        critical,
        scales if by_linear_theory else None,
        kind,
        leak,
        law,
        _checked_std(input_std),
        flag(input_kernel, "input_kernel"),
        generator,
    )


def _checked_std(value: Any, name: str = "input_std") -> float | dict[str, float] | None:
    if value is None and name == "input_std":
        return None
    if isinstance(value, Mapping):
        if not value:
            raise ValueError(f"{name} must be a number, or have one for each weight_ih, got {{}}.")
        return {str(key): float(_checked_std(one, f"input_std[{key!r}]")) for key, one in value.items()}  # type: ignore[arg-type]
    number = real_number(value, name)
    if number != 0.0 and not SMALLEST_STD <= number <= LARGEST_STD:
        raise ValueError(f"{name} must be 0 or lie between {SMALLEST_STD:g} and {LARGEST_STD:g}, got {shown(value)}.")
    return number
