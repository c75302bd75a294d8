r"""Mamba 2: x_t = exp(-A Delta_t) x_{t-1} + Delta_t B_t u_t with one A and one Delta per head.

A = exp(A_log) and Delta_t = softplus(dt_t + dt_bias), both of shape (heads,). At the step size that the bias sets a head
decays at the rate A softplus(dt_bias) per step.

Code read: mamba_ssm/modules/mamba2.py (state-spaces/mamba, arXiv:2405.21060): A uniform from 1 to 16; and transformers 5.24,
models/mamba2/modeling_mamba2.py: A = 1, 2, .., heads. Bamba, FalconH1, GraniteMoeHybrid, NemotronH and Zamba2 have the layer,
most of them with dt_bias = 1 at the start. All compute A and the decay in float32. A live module may limit the step size
(`time_step_limit`), which is then respected.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from signalprop._topics import Topic
from signalprop.inspection.adapters._selective import A_LAWS, DT_LAWS, one_law, softplus
from signalprop.inspection.adapters.mamba import gate_words
from signalprop.inspection.decays import Formula, Step, decays_of
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site, sites_of
from signalprop.inspection.tensors import Tensors

Floats = NDArray[np.float64]
DELTA_RULE = (
    "b_proj.weight",
    "in_proj_ba.weight",
    "in_proj_b.weight",
    "beta_proj.weight",
    "q_proj.weight",
    "in_proj_qkv.weight",
)
"""What stands beside the gate of a delta rule and never in Mamba 2."""


def log_decay_within(low: float = 0.0, high: float = math.inf) -> Formula:
    """-A Delta per head, the step size held between two limits."""

    def log_decay(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
        A = rounded(np.exp(values["A_log"]))
        step = rounded(softplus(rounded(values["dt_bias"] + shift)))
        return -rounded(A.reshape(-1) * np.clip(step, low, high))

    return log_decay


def _find(tensors: Tensors, forced: bool) -> Iterator[Site]:
    def accept(site: Site) -> bool:
        A, bias = site.parameters["A_log"], site.parameters.get("dt_bias")
        heads = bias is not None and A.shape == bias.shape and len(A.shape) == 1 and A.floating
        return heads and (forced or site.beside(*DELTA_RULE) is None)

    return sites_of(tensors, ("A_log", ("A_log",)), {"dt_bias": ("dt_bias",)}, accept)


def _look(site: Site, settings: Settings) -> list[LayerReport]:
    A, bias = site.parameters["A_log"], site.parameters["dt_bias"]
    low, high = (float(one) for one in site.attribute("time_step_limit", (0.0, math.inf)))
    decays = decays_of(
        log_decay_within(low, high),
        {"A_log": A, "dt_bias": bias},
        ("head",),
        infinite=("A_log",),
        computed_in="float32",
        input_std=settings.input_std or 0.0,
    )
    limited = f" They are held between {low:g} and {high:g}." if (low, high) != (0.0, math.inf) else ""
    return [
        LayerReport(
            name=site.name,
            adapter="mamba2",
            about=f"Mamba 2, {len(decays.rate)} heads",
            parameters=(A.name, bias.name),
            storage=A.storage,
            forward=decays.path("forward", settings.reach),
            gradient=decays.path("gradient", settings.reach),
            units=decays,
            laws=(
                one_law("A = exp(A_log)", A, np.exp, A_LAWS),
                one_law("step size softplus(dt_bias)", bias, softplus, DT_LAWS),
            ),
            assumes=(gate_words(settings.input_std) + limited,),
        )
    ]


MAMBA2 = Adapter(
    about="Mamba 2, Bamba, NemotronH, Zamba2 and other layers with A_log and dt_bias per head",
    find=_find,
    look=_look,
    cites=Topic("the state space model Mamba 2", ("dao2024",)),
)
