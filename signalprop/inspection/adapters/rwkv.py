r"""RWKV: decays exp(-exp(w)) per channel in versions 4 to 6, exp(-e^{-1/2} sigmoid(w)) in version 7.

w is ``time_decay``; version 6 adds a small network of the input to it, version 7 (``w0``, or the last bias of ``w_lora``)
too, and then holds -softplus(-w) - 1/2 in place of w. Where inputs add nothing the decay is that of the parameter. Version 7
also rewrites its state as a delta rule does, which is left out: its memories are too long.

Code read: RWKV-v4neo/src/model.py and transformers 5.24, models/rwkv/modeling_rwkv.py (version 4); RWKV-v5/rwkv_v6_demo.py
(commit 3200d27e) and RWKV-v7/train_temp/src/model.py (commit 118e451c) of BlinkDL/RWKV-LM. All start with fixed numbers that
depend on the place of the layer among all. The decay is computed in float32 from w as it is stored.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from signalprop._topics import Topic
from signalprop.inspection.adapters._selective import one_law
from signalprop.inspection.decays import Formula, Step, decays_of
from signalprop.inspection.laws import Law
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site, sites_of
from signalprop.inspection.tensors import Stored, Tensors

Floats = NDArray[np.float64]
_HEAD = 64  # channels of a head, as published


def exponential(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    """-exp(w)."""
    return -rounded(np.exp(rounded(values["w"] + shift)))


def clamped(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    """-exp(-softplus(-w) - 1/2)."""
    inside = rounded(-rounded(np.logaddexp(0.0, -rounded(values["w"] + shift))) - 0.5)
    return -rounded(np.exp(inside))


def _accept(site: Site) -> bool:
    w = site.parameters["w"]
    return w.floating and sum(size > 1 for size in w.shape) in (1, 2)


def _of_name(name: str, *beside: str) -> Callable[[Tensors, bool], Iterator[Site]]:
    def find(tensors: Tensors, forced: bool) -> Iterator[Site]:
        def accept(site: Site) -> bool:
            return _accept(site) and (forced or not beside or site.beside(*beside) is not None)

        return sites_of(tensors, ("w", tuple(name.split())), {}, accept)

    return find


def _look(adapter: str, words: str, formula: Formula) -> Callable[[Site, Settings], list[LayerReport]]:
    def look(site: Site, settings: Settings) -> list[LayerReport]:
        w = site.parameters["w"]
        flat = {"w": _flat(w)}
        axes = ("head", "channel") if len(flat["w"].shape) == 2 else ("channel",)
        decays = decays_of(formula, flat, axes, computed_in="float32", input_std=settings.input_std or 0.0)
        gate = (
            f"Inputs add s = {settings.input_std:.3g} to the exponent of the decay, anew at each step."
            if settings.input_std
            else "Decays are those of the parameters: inputs add nothing to them."
        )
        rewritten = (
            ("What the state is rewritten by is left out: memories are too long.",) if adapter == "rwkv7" else ()
        )
        return [
            LayerReport(
                name=site.name,
                adapter=adapter,
                about=f"{words}, {decays.rate.size} channels",
                parameters=(w.name,),
                storage=w.storage,
                forward=decays.path("forward", settings.reach),
                gradient=decays.path("gradient", settings.reach),
                units=decays,
                laws=(one_law(w.name.rpartition(".")[2], flat["w"], lambda x: x, tuple(_laws(site, adapter))),),
                assumes=(gate, *rewritten),
            )
        ]

    return look


def _flat(w: Stored) -> Stored:
    shape = tuple(size for size in w.shape if size > 1)
    return replace(w, shape=shape, load=lambda: w.load().reshape(shape))


def _laws(site: Site, adapter: str) -> Iterator[Law]:
    """The published numbers at this place among the layers, where the name says it."""
    place = _place(site) or 0.0
    if adapter == "rwkv7":
        yield Law(
            "-5.5 + 6 (i/(C-1))^p, and a zigzag within each head",
            "RWKV 7",
            fixed=lambda shape: _of_version_7(math.prod(shape), place).reshape(shape),
        )
        return
    for low, width, source in ((-5.0, 8.0, "RWKV 4"), (-6.0, 5.0, "RWKV 5 and 6")):
        yield Law(f"{low:g} + {width:g} (i/(C-1))^p", source, fixed=_rising(low, width, 0.7 + 1.3 * place))


def _rising(low: float, width: float, power: float) -> Callable[[tuple[int, ...]], Floats]:
    def fixed(shape: tuple[int, ...]) -> Floats:
        return np.asarray(low + width * np.linspace(0.0, 1.0, math.prod(shape)) ** power).reshape(shape)

    return fixed


def _of_version_7(channels: int, place: float) -> Floats:
    i = np.arange(channels)
    bend = (i % _HEAD - (_HEAD - 1) / 2) / ((_HEAD - 1) / 2)
    rise = -6.0 + 6.0 * (i / max(channels - 1, 1)) ** (1.0 + place**0.3)
    return np.asarray(rise + 0.5 + 2.5 * bend * np.abs(bend))


def _place(site: Site) -> float | None:
    """0 for the first layer, 1 for the last, by the number in its name."""
    match = re.match(r"(.*?(?:blocks|layers|h)\.)(\d+)\.", f"{site.name}.")
    if match is None:
        return None
    numbers = [
        int(found[1])
        for name in site.tensors
        if (found := re.match(re.escape(match[1]) + r"(\d+)\.", name)) is not None
    ]
    return int(match[2]) / max(1, *numbers)


_RWKV = Topic("RWKV", ("peng2023",))
RWKV = Adapter(
    about="RWKV 4 to 6",
    find=_of_name("time_decay"),
    look=_look("rwkv", "RWKV", exponential),
    cites=_RWKV,
)
RWKV7 = Adapter(
    about="RWKV 7",
    find=_of_name("w0 w_lora.lora.2.bias", "w1", "w_lora.lora.0.weight"),
    look=_look("rwkv7", "RWKV 7", clamped),
    cites=Topic("RWKV 7", ("peng2025",)),
)
