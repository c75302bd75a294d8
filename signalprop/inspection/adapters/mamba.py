r"""Mamba, the selective state space model: x_t = exp(-A Delta_t) x_{t-1} + Delta_t B_t u_t per channel and state.

A = exp(A_log) of shape (channels, states), Delta_t = softplus(W_dt u + b) with b in ``dt_proj.bias``. At the step size that
the bias sets, a state decays at the rate A softplus(b) per step.

Code read: mamba_ssm/modules/mamba_simple.py (state-spaces/mamba, arXiv:2312.00752) and transformers 5.24,
models/mamba/modeling_mamba.py; Jamba, FalconMamba and Zamba (whose A_log is (heads, channels, states)) have the same layer.
All compute A in float32, and the decay too. Start: A = 1, 2, .., states; softplus(b) log-uniform from 0.001 to 0.1, at least
1e-4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from signalprop._topics import Topic
from signalprop.inspection.adapters._selective import A_LAWS, DT_LAWS, one_law, softplus
from signalprop.inspection.decays import Step, decays_of
from signalprop.inspection.laws import counting
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site, sites_of
from signalprop.inspection.tensors import Tensors

Floats = NDArray[np.float64]


def log_decay(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    """-A Delta for every channel and state."""
    A, bias = rounded(np.exp(values["A_log"])), values["dt_bias"]
    flat = A.reshape(-1, A.shape[-1])
    step = rounded(softplus(rounded(bias.reshape(-1) + shift)))
    return -rounded(flat * step[:, None])


def _find(tensors: Tensors, forced: bool) -> Iterator[Site]:
    others = {"dt_bias": ("dt_proj.bias", "dt_proj_bias", "dt_bias")}
    return sites_of(tensors, ("A_log", ("A_log",)), others, _is_mamba)


def _is_mamba(site: Site) -> bool:
    A, bias = site.parameters["A_log"], site.parameters.get("dt_bias")
    return (
        bias is not None
        and len(A.shape) in (2, 3)
        and A.floating
        and int(np.prod(bias.shape)) == int(np.prod(A.shape[:-1]))
        and A.shape[-1] > 1
    )


def _look(site: Site, settings: Settings) -> list[LayerReport]:
    A, bias = site.parameters["A_log"], site.parameters["dt_bias"]
    decays = decays_of(
        log_decay,
        {"A_log": A, "dt_bias": bias},
        ("channel", "state"),
        infinite=("A_log",),
        computed_in="float32",
        input_std=settings.input_std or 0.0,
    )
    channels, states = decays.rate.shape
    return [
        LayerReport(
            name=site.name,
            adapter="mamba",
            about=f"Mamba, {channels} channels of {states} states",
            parameters=(A.name, bias.name),
            storage=A.storage,
            forward=decays.path("forward", settings.reach),
            gradient=decays.path("gradient", settings.reach),
            units=decays,
            laws=(
                one_law("A = exp(A_log)", A, np.exp, (counting("Mamba"), *A_LAWS)),
                one_law("step size softplus(dt_bias)", bias, softplus, DT_LAWS),
            ),
            assumes=(gate_words(settings.input_std),),
        )
    ]


def gate_words(input_std: float | None) -> str:
    """What is taken for the inputs of a step size."""
    if input_std:
        return f"Inputs add s = {input_std:.3g} to the preactivation of the step size, anew at each step."
    return "Step sizes are those that their biases set: inputs add nothing to them."


MAMBA = Adapter(
    about="Mamba, Jamba, FalconMamba and other layers with A_log of (channels, states)",
    find=_find,
    look=_look,
    cites=Topic("the selective state space model Mamba", ("gu2023",)),
)
