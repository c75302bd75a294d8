"""A square kernel that is called like that of a recurrence: its numbers, and its powers as those of a linear recurrence.

Names known: ``recurrent_kernel`` (Keras), ``W_hh``, ``W_rec``, ``h2h``, ``hh``, ``recurrent``, ``reservoir`` and the like,
with ``.weight`` or ``.kernel`` behind; `signalprop.nn.DenseLinearRNN`, a square ``W`` beside ``B`` and ``C``. Chosen by name
(``adapter="dense"``) every square matrix is read. Where gates of a cell that is not known are stacked, there are numbers
alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from signalprop.inspection.adapters._dense import kernel_law
from signalprop.inspection.kernels import MOST_STEPS, kernel_numbers, power_energy
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site
from signalprop.inspection.tensors import Stored, Tensors

Floats = NDArray[np.float64]
_CALLED = re.compile(
    r"(?:.*[._])?(?:recurrent(?:_kernel|_weights?|_matrix)?|weight_recurrent|w_?(?:rec|res|hh)|h2h|hh|hidden_to_hidden|reservoir)"
    r"(?:\.(?:weight|kernel))?",
    re.IGNORECASE,
)
_MOST_GATES = 8


def _gates(tensor: Stored) -> int:
    """Square blocks of a matrix, 0 where it is none of them."""
    if len(tensor.shape) != 2 or not tensor.floating or min(tensor.shape) < 2:
        return 0
    long, short = max(tensor.shape), min(tensor.shape)
    return long // short if long % short == 0 and long // short <= _MOST_GATES else 0


def _find(tensors: Tensors, forced: bool) -> Iterator[Site]:
    for name, tensor in tensors.items():
        home, _, last = name.rpartition(".")
        site = Site(home, {"W": tensor}, tensors)
        linear = last == "W" and site.beside("B") is not None and site.beside("C") is not None
        called = _CALLED.fullmatch(name) is not None
        if (called and _gates(tensor) > 0) or (_gates(tensor) == 1 and (forced or linear)):
            yield site


def _look(site: Site, settings: Settings) -> list[LayerReport]:
    tensor, gates = site.parameters["W"], _gates(site.parameters["W"])
    W = np.asarray(tensor.numbers())
    stacked = W if W.shape[0] >= W.shape[1] else W.T
    blocks = np.split(stacked, gates)
    kernels = tuple(kernel_numbers(one, "kernel" if gates == 1 else f"gate {i}") for i, one in enumerate(blocks))
    forward = gradient = None
    read, assumes = [tensor], [f"It stacks {gates} gates of a cell that is not known: its memory is not known either."]
    if gates == 1:
        reach = min(settings.reach, MOST_STEPS)
        rows, columns = (_matrix(site, name, axis, len(W)) for axis, name in enumerate("BC"))
        gradient = power_energy(W.T, reach, None if columns is None else columns.numbers().T)
        forward = (
            gradient if rows is columns is None else power_energy(W, reach, None if rows is None else rows.numbers())
        )
        read += [one for one in (rows, columns) if one is not None]
        linear = columns is not None
        assumes = [] if linear else ["The recurrence is linear, h <- W h: what a nonlinearity does is left out."]
    last = tensor.name.rpartition(".")[2]
    return [
        LayerReport(
            name=site.name if last in ("W", "weight", "kernel") else tensor.name,
            adapter="dense",
            about=f"dense kernel of {len(blocks[0])} units"
            if gates == 1
            else f"{gates} gates of {len(blocks[0])} units",
            parameters=tuple(one.name for one in read),
            storage=tensor.storage,
            forward=forward,
            gradient=gradient,
            kernels=kernels,
            laws=(kernel_law(tensor, stacked, kernels),),
            assumes=tuple(assumes),
        )
    ]


def _matrix(site: Site, name: str, axis: int, units: int) -> Stored | None:
    """B or C of a linear layer, where it has as many rows or columns as there are units."""
    found = site.beside(name) if site.parameters["W"].name.rpartition(".")[2] == "W" else None
    return found if found is not None and len(found.shape) == 2 and found.shape[axis] == units else None


DENSE = Adapter(about="square kernels that are called like a recurrence", find=_find, look=_look, cites="gaussian")
