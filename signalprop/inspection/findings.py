"""What stands out in the report of a layer: a verdict for the whole, and notes on units, types and laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop._numbers import counted, percent, rounded
from signalprop.inspection.decays import Decays, Rounding
from signalprop.inspection.measured.verdicts import measured_remedy, measured_verdict
from signalprop.inspection.paths import BY_E, BY_HUNDRED
from signalprop.inspection.record import BEYOND, REACH, LayerReport, Settings
from signalprop.inspection.storage import STORAGES
from signalprop.inspection.words import NOTES, REMEDIES, VERDICTS, filled

_NAMED = 6  # units; more are counted
_SOON = 10  # steps until 1 % is left, where no more is said
_ROUGH = 0.05  # of a memory, where rounding is worth a word
_GATES = {"lstm": "forget gate", "gru": "update gate"}
_FOR_NOTHING = 1000  # steps of the horizon in lines to paste, where none was given


@dataclass(frozen=True)
class Finding:
    """One thing that stands out.

    Attributes
    ----------
    code
        ``"explodes"``, ``"never"``, ``"dead"``, ``"at_once"``, ``"grows"``, ``"zero"``, ``"lost"``, ``"if_cast"``,
        ``"known_within"``, ``"overwritten"``, ``"short"``.
    text
        In a few words; empty where the verdict says it already.
    remedy
        What to do, a sentence; empty where there is nothing to do.
    units
        Which units, as places in `LayerReport.units`.
    """

    code: str
    text: str
    remedy: str = ""
    units: tuple[tuple[int, ...], ...] = ()


def verdict(layer: LayerReport, settings: Settings) -> tuple[str, str]:
    """The name of a verdict, and its words: as measured, where it was."""
    if layer.measured is not None:
        return measured_verdict(layer.measured, settings.horizon)
    return predicted_verdict(layer, settings)


def predicted_verdict(layer: LayerReport, settings: Settings) -> tuple[str, str]:
    """The verdict by parameters alone, and its words."""
    path, horizon = layer.gradient, settings.horizon
    if path is None:
        return "unknown", VERDICTS["unknown"]
    if path.grown is not None:
        return "explodes", filled(VERDICTS, "explodes", steps=_steps(path.grown))
    if path.log_energy[0] == -math.inf:
        return "dead", VERDICTS["dead"]
    if path.by_e is None and path.log_energy[-1] > -BY_E:
        return "never", VERDICTS["never"]
    if path.by_hundred is not None and path.by_hundred <= _SOON:
        return "at_once", filled(VERDICTS, "at_once", steps=counted(path.by_hundred, "step"))
    held = path.by_e or path.reach
    if horizon is None:
        return "holds", filled(VERDICTS, "holds", steps=_steps(held))
    left = path.log_at(horizon)
    values = {"steps": rounded(held), "horizon": rounded(horizon)}
    if left > -BY_E:
        return "holds_asked", filled(VERDICTS, "holds_asked", **values)
    if left > -BY_HUNDRED:
        return "fades", filled(VERDICTS, "fades", steps=rounded(held), horizon=counted(horizon, "step"))
    lost = path.by_hundred or held
    return "forgets_before", filled(VERDICTS, "forgets_before", steps=rounded(lost), horizon=counted(horizon, "step"))


def findings(layer: LayerReport, settings: Settings) -> list[Finding]:
    """All that stands out, the verdict first."""
    code, _ = verdict(layer, settings)
    found = []
    horizon = settings.horizon or _FOR_NOTHING
    if layer.measured is not None and (remedy := measured_remedy(layer.measured, code)) is not None:
        found.append(Finding(code, "", remedy))
    elif code in ("explodes", "dead"):
        found.append(Finding(code, "", REMEDIES[code]))
    if code == "never":
        found.append(Finding(code, "", REMEDIES[code] if layer.units is not None else ""))
    if code in ("at_once", "fades", "forgets_before"):
        found.append(Finding("at_once" if code == "at_once" else "short", "", _how_to_keep(layer, horizon)))
    if layer.units is not None:
        found += _of_units(layer.units, layer, settings, whole=code)
    found += _of_laws(layer)
    return found


def _of_units(units: Decays, layer: LayerReport, settings: Settings, whole: str) -> list[Finding]:
    found = []
    beyond = REACH if settings.horizon is None else BEYOND * settings.horizon
    rounding = units.rounding
    never = units.never(beyond)
    lost = np.zeros_like(never) if rounding is None else rounding.lost
    for name, mask in (("never", never & ~lost), ("at_once", units.at_once), ("grows", units.growing)):
        if mask.any() and not (mask.all() and name == whole):
            text = filled(NOTES, name, units=named(mask, units.axes), **_verbs(mask))
            remedy = {"never": REMEDIES["never"], "grows": REMEDIES["explodes"]}.get(name, "")
            found.append(Finding(name, text, remedy, _places(mask)))
    return found if rounding is None else [*found, *_of_types(units, rounding)]


def _of_types(units: Decays, rounding: Rounding) -> list[Finding]:
    """What rounding does: once the sentence on what to do, for what is worst."""
    found = []
    zero, lost = rounding.zero, rounding.lost & ~rounding.zero
    kind = _coarser(rounding.storage, rounding.computed_in)
    for name, mask, where in (("zero", zero, rounding.storage), ("lost", lost, kind)):
        if mask.any():
            text = filled(NOTES, name, storage=where, units=named(mask, units.axes, always_count=True), **_verbs(mask))
            remedy = REMEDIES["zero"] if name == "zero" else filled(REMEDIES, "float32", storage=where, gap=_gap(where))
            found.append(Finding(name, text, remedy, _places(mask)))
    for cast in ("bfloat16",):
        new = rounding.lost_if_cast[cast] & ~rounding.lost
        if new.any():
            text = filled(NOTES, "if_cast", storage=cast, units=named(new, units.axes, always_count=True))
            found.append(
                Finding("if_cast", text, filled(REMEDIES, "float32", storage=cast, gap=_gap(cast)), _places(new))
            )
    if rounding.known_within > _ROUGH:
        share = f"within {percent(rounding.known_within)}" if math.isfinite(rounding.known_within) else "nothing"
        text = filled(NOTES, "known_within", storage=rounding.storage, share=share)
        remedy = filled(REMEDIES, "float32", storage=rounding.storage, gap=_gap(rounding.storage))
        found.append(Finding("known_within", text, remedy))
    return found


def _coarser(one: str, other: str) -> str:
    return min(one, other, key=lambda name: STORAGES[name].fraction)


def _of_laws(layer: LayerReport) -> list[Finding]:
    return [
        Finding(
            "overwritten",
            filled(NOTES, "overwritten", quantity=law.quantity.removeprefix(f"{layer.name}."), law=law.law),
            REMEDIES["overwritten"],
        )
        for law in layer.laws
        if law.generic and law.fits
    ]


def _how_to_keep(layer: LayerReport, horizon: int) -> str:
    if layer.adapter in _GATES:
        return filled(REMEDIES, "forgets_gate", gate=_GATES[layer.adapter], horizon=horizon)
    if layer.kernels:
        return filled(REMEDIES, "forgets_dense", n=layer.kernels[0].width, horizon=horizon)
    return REMEDIES["forgets_decay"]


def named(mask: NDArray[np.bool_], axes: tuple[str, ...], *, always_count: bool = False) -> str:
    """Units in words: all 8 heads, head 5, heads 5 and 17, 12 of 960 heads."""
    places, count = _places(mask), int(mask.sum())
    noun = axes[-1]
    if count == mask.size:
        return f"all {_grouped(count)} {noun}s" if count > 1 else f"the {noun}"
    total = f"{_grouped(count)} of {_grouped(mask.size)} {noun}s"
    if count > _NAMED:
        return total
    listed = [one[0] if len(one) == 1 else f"{one[1]} of {axes[0]} {one[0]}" for one in places]
    which = f"{noun}{'s' if count > 1 else ''} {_and(listed)}"
    return f"{total} ({which})" if always_count else which


def _grouped(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def _and(items: list[Any]) -> str:
    words = [str(item) for item in items]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _verbs(mask: NDArray[np.bool_]) -> dict[str, str]:
    one = int(mask.sum()) == 1
    return {verb: f"{verb}s" if one else verb for verb in ("forget", "grow", "round")} | {"do": "does" if one else "do"}


def _places(mask: NDArray[np.bool_]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(i) for i in place) for place in np.argwhere(mask))


def _gap(kind: str) -> str:
    """How far below 1 a number must be not to be rounded to it."""
    return f"{2.0 ** -(STORAGES[kind].fraction + 2):.2g}"


def _steps(steps: int) -> str:
    return f"{rounded(steps)} step{'' if steps == 1 else 's'}"
