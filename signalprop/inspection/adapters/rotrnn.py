r"""RotRNN of `signalprop.nn`: rotations in planes, and one factor gamma = exp(-exp(g)) per head (arXiv:2407.07239).

An input brings in the energy 1 - gamma^2 per head, a gradient that of its columns of C. Rotations keep both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from signalprop.inspection.adapters._selective import one_law
from signalprop.inspection.decays import Step, decays_of
from signalprop.inspection.laws import uniform
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site, sites_of
from signalprop.inspection.tensors import Tensors

Floats = NDArray[np.float64]
_LAW = uniform(math.log(-math.log(0.999)), math.log(-math.log(0.9)), "RotRNN (gamma from 0.9 to 0.999)")


def log_gamma(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    """-exp(g)."""
    return -rounded(np.exp(values["g"]))


def _find(tensors: Tensors, forced: bool) -> Iterator[Site]:
    def accept(site: Site) -> bool:
        g, basis, readout = (site.parameters.get(role) for role in ("g", "M", "C"))
        if basis is None or readout is None:
            return False
        heads = (
            len(basis.shape) == 3 and basis.shape[1] == basis.shape[2] and g is not None and g.shape == basis.shape[:1]
        )
        return heads and len(readout.shape) == 2 and readout.shape[1] == basis.shape[0] * basis.shape[1]

    return sites_of(tensors, ("g", ("g",)), {"M": ("M",), "C": ("C",)}, accept)


def _look(site: Site, settings: Settings) -> list[LayerReport]:
    g = site.parameters["g"]
    heads = g.shape[0]
    plain = decays_of(log_gamma, {"g": g}, ("head",))
    columns = np.sum(site.parameters["C"].numbers() ** 2, axis=0).reshape(heads, -1).sum(axis=1)
    weights = {"forward": -np.expm1(-2.0 * plain.rate), "gradient": columns}
    decays = decays_of(
        log_gamma, {"g": g}, ("head",), weights={name: one for name, one in weights.items() if one.any()}
    )
    return [
        LayerReport(
            name=site.name,
            adapter="rotrnn",
            about=f"RotRNN, {heads} heads",
            parameters=(g.name, site.parameters["C"].name),
            storage=g.storage,
            forward=decays.path("forward", settings.reach),
            gradient=decays.path("gradient", settings.reach),
            units=decays,
            laws=(one_law("g = log(-log gamma)", g, lambda x: x, (_LAW,)),),
        )
    ]


ROTRNN = Adapter(about="RotRNN of signalprop.nn", find=_find, look=_look, cites="rotrnn")
