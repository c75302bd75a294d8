r"""RG-LRU of Griffin and RecurrentGemma: h_t = a_t h_{t-1} + sqrt(1 - a_t^2) i_t u_t, a_t = exp(-8 r_t softplus(p)).

p is one number per unit (``recurrent_param``, ``a_param``), r_t = sigmoid(W u_t + b) the recurrence gate. Where inputs add
nothing to the gate, a = exp(-8 sigmoid(b) softplus(p)).

Code read: recurrentgemma/torch/layers.py (google-deepmind/recurrentgemma 2efa84da) and transformers 5.24,
models/recurrent_gemma/modeling_recurrent_gemma.py: both start with exp(-2 softplus(p)) uniform from 0.9^2 to 0.999^2, so that
a at an open gate lies between 0.9^8 = 0.43 and 0.992; arXiv:2402.19427, section 2.4, has a at an open gate uniform from 0.9
to 0.999. The decay is computed in the type of the model, the state in float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from signalprop.inspection.adapters._selective import one_law, softplus
from signalprop.inspection.decays import Step, coarsest, decays_of
from signalprop.inspection.laws import Law, uniform
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site, sites_of
from signalprop.inspection.tensors import Tensors

Floats = NDArray[np.float64]
C = 8.0
LAWS = (
    uniform(0.9**2, 0.999**2, "recurrentgemma, and RecurrentGemma of transformers"),
    Law(
        "its fourth power uniform from 0.9 to 0.999",
        "arXiv:2402.19427, section 2.4",
        lambda x: np.asarray(np.clip((np.clip(x, 0.0, 1.0) ** (C / 2.0) - 0.9) / 0.099, 0.0, 1.0)),
    ),
)
"""Of exp(-2 softplus(p)): the square of what the published code calls its radius; a at an open gate is its fourth power."""


def log_decay(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    """-8 sigmoid(b) softplus(p)."""
    bias = rounded(values["bias"].ravel() + shift) if "bias" in values else np.array(shift)
    gate = rounded(1.0 / (1.0 + np.exp(-bias)))
    return rounded(rounded(-C * gate) * rounded(softplus(values["param"].ravel())))


def _find(tensors: Tensors, forced: bool) -> Iterator[Site]:
    others = {"bias": ("recurrent_gate_bias", "a_gate.b", "a_gate.bias", "gate_a.b")}

    def accept(site: Site) -> bool:
        p, bias = site.parameters["param"], site.parameters.get("bias")
        fits = p.floating and (bias is None or int(np.prod(bias.shape)) == int(np.prod(p.shape)))
        return fits and (forced or bias is not None)

    return sites_of(tensors, ("param", ("recurrent_param", "a_param")), others, accept)


def _look(site: Site, settings: Settings) -> list[LayerReport]:
    p = site.parameters["param"]
    decays = decays_of(log_decay, dict(site.parameters), ("unit",), input_std=settings.input_std or 0.0)
    gate = (
        f"Inputs add s = {settings.input_std:.3g} to the recurrence gate, anew at each step."
        if settings.input_std
        else "The recurrence gate stands where its bias sets it: inputs add nothing to it."
    )
    return [
        LayerReport(
            name=site.name,
            adapter="rg-lru",
            about=f"RG-LRU of {decays.rate.size} units",
            parameters=tuple(one.name for one in site.parameters.values()),
            storage=coarsest(one.real_type for one in site.parameters.values()).name,
            forward=decays.path("forward", settings.reach),
            gradient=decays.path("gradient", settings.reach),
            units=decays,
            laws=(one_law("exp(-2 softplus(p))", p, lambda x: np.exp(-2.0 * softplus(x)), LAWS),),
            assumes=(gate,),
        )
    ]


RG_LRU = Adapter(
    about="RG-LRU of Griffin, Hawk and RecurrentGemma",
    find=_find,
    look=_look,
    cites="gated_recurrence",
)
