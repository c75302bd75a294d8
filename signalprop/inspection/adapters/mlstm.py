r"""The mLSTM of xLSTM: C_t = sigmoid(f_t) C_{t-1} + exp(i_t) v_t k_t^T, one forget gate per head.

f = 15 tanh((W u + b)/15), b in ``fgate_preact.bias``. Where inputs add nothing a head keeps sigmoid(15 tanh(b/15)).

Code read: transformers 5.24, models/xlstm/modeling_xlstm.py (arXiv:2405.04517): b from 3 to 6 in equal steps at the start;
the gate is computed in the type of the model, its logarithm added up in float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from signalprop._topics import Topic
from signalprop.inspection.adapters._selective import one_law
from signalprop.inspection.decays import Step, decays_of
from signalprop.inspection.laws import Law
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site, sites_of
from signalprop.inspection.tensors import Tensors

Floats = NDArray[np.float64]
CAP = 15.0


def log_keep(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    """Log of the sigmoid of the capped bias."""
    capped = rounded(CAP * rounded(np.tanh(rounded(rounded(values["bias"] + shift) / CAP))))
    return -rounded(np.logaddexp(0.0, -capped))


def _find(tensors: Tensors, forced: bool) -> Iterator[Site]:
    return sites_of(tensors, ("bias", ("fgate_preact.bias",)), {}, lambda site: len(site.parameters["bias"].shape) == 1)


def _look(site: Site, settings: Settings) -> list[LayerReport]:
    bias = site.parameters["bias"]
    decays = decays_of(log_keep, {"bias": bias}, ("head",), computed_in="float32", input_std=settings.input_std or 0.0)
    gate = (
        f"Inputs add s = {settings.input_std:.3g} to the forget gate, anew at each step."
        if settings.input_std
        else "Forget gates stand where their biases set them: inputs add nothing to them."
    )
    start = Law(
        "from 3 to 6 in equal steps", "xLSTM of transformers", fixed=lambda shape: np.linspace(3.0, 6.0, shape[0])
    )
    return [
        LayerReport(
            name=site.name,
            adapter="mlstm",
            about=f"mLSTM, {decays.rate.size} heads",
            parameters=(bias.name,),
            storage=bias.storage,
            forward=decays.path("forward", settings.reach),
            gradient=decays.path("gradient", settings.reach),
            units=decays,
            laws=(one_law("biases of the forget gate", bias, lambda x: x, (start,)),),
            assumes=(gate,),
        )
    ]


MLSTM = Adapter(about="the mLSTM of xLSTM", find=_find, look=_look, cites=Topic("xLSTM", ("beck2024",)))
