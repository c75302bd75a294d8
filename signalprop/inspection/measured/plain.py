"""What was measured as plain numbers for JSON."""

from __future__ import annotations

from typing import Any

from signalprop._numbers import finite
from signalprop.inspection.measured.record import Band, BatchRun, Broken, Measured


def run_dict(run: BatchRun) -> dict[str, Any]:
    """The run as a whole."""
    return {
        "batch": run.batch,
        "training": run.training,
        "not_finite": _broken(run.broken),
        "not_called": list(run.not_called),
    }


def measured_dict(found: Measured) -> dict[str, Any]:
    """One layer."""
    path, exponents = found.gradient, found.exponents
    content: dict[str, Any] = {
        "how": found.how,
        "computed_in": found.computed_in,
        "sequences": found.sequences,
        "shortest": found.shortest,
        "longest": found.longest,
        "gradient": _band(found.gradient_band),
        "states" if found.how == "states" else "outputs": _band(found.forward),
        "steps_to_1_over_e": None if path is None else path.by_e,
        "steps_to_1_percent": None if path is None else path.by_hundred,
        "steps_to_100_times": None if path is None else path.grown,
        "steps_to_zero": found.dies,
        "not_finite": _broken(found.broken),
        "notes": list(found.notes),
        "exponents": None,
    }
    if exponents is not None:
        low, high = exponents.interval()
        content["exponents"] = {
            "values": [finite(float(one)) for one in exponents.exponents],
            "low": [finite(float(one)) for one in low],
            "high": [finite(float(one)) for one in high],
            "confidence": 0.95,
            "steps": exponents.steps,
        }
    return content


def _band(band: Band | None) -> dict[str, Any] | None:
    if band is None:
        return None
    values = {"log_energy": band.median, "log_energy_10_percent": band.low, "log_energy_90_percent": band.high}
    return {"steps": band.steps.tolist()} | {name: [finite(float(one)) for one in row] for name, row in values.items()}


def _broken(broken: Broken | None) -> dict[str, Any] | None:
    if broken is None:
        return None
    return {
        "where": broken.where,
        "kind": broken.kind,
        "step": broken.step,
        "sequence": broken.sequence,
        "inputs": broken.inputs,
    }
