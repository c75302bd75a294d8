"""An `Inspection` as plain numbers for JSON."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from signalprop._numbers import finite
from signalprop.inspection.decays import Decays
from signalprop.inspection.findings import findings, predicted_verdict, verdict
from signalprop.inspection.measured.plain import measured_dict, run_dict
from signalprop.inspection.paths import EnergyPath
from signalprop.inspection.record import LayerReport, Settings

if TYPE_CHECKING:
    from signalprop.inspection.inspection import Inspection

_MOST_UNITS = 1024  # rates of more units than these are summed up


def as_dict(found: Inspection) -> dict[str, Any]:
    """Plain numbers, the page of text included."""
    from signalprop.inspection.page import page

    return {
        "source": found.source,
        "horizon": found.settings.horizon,
        "input_std": found.settings.input_std,
        "run": None if found.run is None else run_dict(found.run),
        "layers": [layer_dict(layer, found.settings) for layer in found.layers],
        "text": page(found, 80),
    }


def layer_dict(layer: LayerReport, settings: Settings) -> dict[str, Any]:
    """One layer."""
    code, words = verdict(layer, settings)
    return {
        "name": layer.name,
        "adapter": layer.adapter,
        "about": layer.about,
        "parameters": list(layer.parameters),
        "storage": layer.storage,
        "verdict": code,
        "verdict_text": words,
        "findings": [
            {"code": one.code, "text": one.text, "remedy": one.remedy, "units": [list(place) for place in one.units]}
            for one in findings(layer, settings)
        ],
        "verdict_by_parameters": predicted_verdict(layer, settings)[0],
        "measured": None if layer.measured is None else measured_dict(layer.measured),
        "forward": _path(layer.forward),
        "gradient": _path(layer.gradient),
        "units": None if layer.units is None else _units(layer.units),
        "kernels": [
            {
                "part": kernel.part,
                "width": kernel.width,
                "scale": kernel.scale,
                "spectral_radius": kernel.radius,
                "largest_singular_value": kernel.largest,
                "spread_of_squared_singular_values": kernel.spread,
                "effective_width": finite(kernel.effective_width),
                "departure_from_normality": kernel.departure,
            }
            for kernel in layer.kernels
        ],
        "laws": [
            {
                "quantity": law.quantity,
                "law": law.law,
                "source": law.source,
                "distance": law.distance,
                "fits": law.fits,
                "others": list(law.others),
            }
            for law in layer.laws
        ],
        "assumes": list(layer.assumes),
        "details": {name: finite(float(value)) for name, value in layer.details.items()},
    }


def _path(path: EnergyPath | None) -> dict[str, Any] | None:
    if path is None:
        return None
    return {
        "steps": path.steps.tolist(),
        "log_energy": [finite(float(value)) for value in path.log_energy],
        "steps_to_1_over_e": path.by_e,
        "steps_to_1_percent": path.by_hundred,
        "steps_to_100_times": path.grown,
        "reach": path.reach,
    }


def _units(units: Decays) -> dict[str, Any]:
    memory = units.memory
    content: dict[str, Any] = {
        "axes": list(units.axes),
        "shape": list(units.rate.shape),
        "memory_quantiles": {
            str(q): finite(float(np.quantile(memory, q, method="lower")))
            for q in (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
        },
        "never_forget": int(units.never(math.inf).sum()),
        "forget_at_once": int(units.at_once.sum()),
    }
    if units.rate.size <= _MOST_UNITS:
        content["rate_per_step"] = [finite(float(rate)) for rate in units.rate.ravel()]
    if (rounding := units.rounding) is not None:
        content["rounding"] = {
            "storage": rounding.storage,
            "computed_in": rounding.computed_in,
            "no_decay": int(rounding.lost.sum()),
            "no_decay_if_cast": {name: int(mask.sum()) for name, mask in rounding.lost_if_cast.items()},
            "memory_known_within": finite(rounding.known_within),
        }
    return content
