r"""Diagonal linear recurrences x_t = lambda x_{t-1} + B u_t, one complex number per state: LRU, S4D, S5.

=====  ============================================================  ==================================================
LRU    \|lambda\| = exp(-exp(nu))                                      ``nu_log`` or ``nu``, beside ``theta_log`` or ``theta``
S4D    \|lambda\| = exp(-exp(log_A_real) exp(log_dt))                  ``log_A_real`` (features, states), ``log_dt`` (features)
S5     \|lambda\| = exp(Re Lambda exp(log_step))                       ``Lambda_re`` or complex ``Lambda``, ``log_step``
=====  ============================================================  ==================================================

An input brings in the energy of its row of B, a gradient that of its column of C, where these are found; else states count
alike. Nothing is assumed: these decays do not depend on inputs.

Laws and names: LRU, arXiv:2303.06349, and `signalprop.nn.LRU`; S4D, models/s4/s4d.py (state-spaces/s4, arXiv:2206.11893):
A_real = 1/2, dt log-uniform from 0.001 to 0.1; S5, s5/ssm.py (lindermanlab/S5, arXiv:2208.04933): Re Lambda = -1/2, the same
steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from signalprop.inspection.adapters._selective import one_law
from signalprop.inspection.decays import Formula, Step, coarsest, decays_of
from signalprop.inspection.laws import Law, constant, log_uniform, uniform
from signalprop.inspection.record import Adapter, LayerReport, Settings, Site, sites_of
from signalprop.inspection.tensors import Stored, Tensors

Floats = NDArray[np.float64]
_STEPS = (log_uniform(1e-3, 1e-1, "S4D and S5"),)


@dataclass(frozen=True)
class _Family:
    """What the three have of their own."""

    name: str
    words: str
    anchor: tuple[str, tuple[str, ...]]
    others: Mapping[str, tuple[str, ...]]
    formula: Formula
    laws: tuple[tuple[str, str, Callable[[Floats], Floats], tuple[Law, ...]], ...]
    """Role, quantity, its function, laws."""
    axes: tuple[str, ...] = ("state",)


def _lru(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    return -rounded(np.exp(values["nu"]))


def _s4d(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    A, step = rounded(np.exp(values["A"])), rounded(np.exp(values["step"]))
    return -rounded(A * step.reshape(-1, 1))


def _s5(values: Mapping[str, Floats], rounded: Step, shift: float = 0.0) -> Floats:
    step = rounded(np.exp(values["step"])).ravel()
    return rounded(values["real"].ravel() * step)


def _find(family: _Family) -> Callable[[Tensors, bool], Iterator[Site]]:
    def accept(site: Site) -> bool:
        needed = {family.anchor[0], *(role for role in ("theta", "step") if role in family.others)}
        return needed <= set(site.parameters) and all(len(one.shape) <= 2 for one in site.parameters.values())

    return lambda tensors, forced: sites_of(tensors, family.anchor, family.others, accept)


def _look(family: _Family) -> Callable[[Site, Settings], list[LayerReport]]:
    def look(site: Site, settings: Settings) -> list[LayerReport]:
        read = {role: _real(one) for role, one in site.parameters.items() if role in ("nu", "A", "real", "step")}
        plain = decays_of(family.formula, read, family.axes)
        weights = _weights(site, plain.rate)
        decays = decays_of(family.formula, read, family.axes, weights=weights)
        storage = coarsest(one.real_type for one in read.values())
        missing = [word for word, which in (("inputs", "forward"), ("gradients", "gradient")) if which not in weights]
        assumes = (f"All states count alike for {' and '.join(missing)}.",) if missing else ()
        return [
            LayerReport(
                name=site.name,
                adapter=family.name,
                about=f"{family.words}, {decays.rate.size} states",
                parameters=tuple(one.name for one in site.parameters.values()),
                storage=storage.name,
                forward=decays.path("forward", settings.reach),
                gradient=decays.path("gradient", settings.reach),
                units=decays,
                laws=tuple(one_law(words, read[role], function, laws) for role, words, function, laws in family.laws),
                assumes=assumes,
            )
        ]

    return look


def _real(tensor: Stored) -> Stored:
    """Real parts of complex numbers."""
    if tensor.storage not in ("complex64", "complex128"):
        return tensor
    return Stored(tensor.name, tensor.shape, tensor.real_type.name, lambda: np.real(tensor.load()))


def _weights(site: Site, rate: Floats) -> dict[str, Floats]:
    """Energy per state that an input brings in, and that a gradient has, from B and C where their shapes are known."""
    found = {}
    states = rate.size
    rows = site.beside("B")
    if rows is not None and rows.shape[0] == states and len(rows.shape) in (2, 3) and rate.ndim == 1:
        energy = _energy(rows, 0)
        if site.beside("nu") is not None or site.beside("nu_log") is not None:
            gamma = site.beside("gamma_log")
            normal = -np.expm1(-2.0 * rate) if gamma is None else np.exp(2.0 * gamma.numbers().ravel())
            energy = energy * normal
        found["forward"] = energy
    columns = site.beside("C")
    if columns is not None and len(columns.shape) in (2, 3) and columns.shape[1] == states and rate.ndim == 1:
        found["gradient"] = _energy(columns, 1)
    return {name: energy for name, energy in found.items() if energy.any()}


def _energy(tensor: Stored, kept: int) -> Floats:
    values = np.abs(tensor.numbers()) ** 2
    return np.asarray(values.sum(axis=tuple(axis for axis in range(values.ndim) if axis != kept)))


def _adapter(family: _Family, about: str, cites: str) -> Adapter:
    return Adapter(about=about, find=_find(family), look=_look(family), cites=cites)


_SQUARE = "|lambda|^2"
_LRU = _Family(
    "lru",
    "LRU",
    ("nu", ("nu_log", "nu")),
    {"theta": ("theta_log", "theta")},
    _lru,
    (
        (
            "nu",
            _SQUARE,
            lambda nu: np.exp(-2.0 * np.exp(nu)),
            (
                uniform(0.0, 1.0, "LRU with the whole disc"),
                uniform(0.81, 0.998001, "LRU with radii 0.9 to 0.999, signalprop.nn.LRU"),
                uniform(0.9801, 0.998001, "LRU with radii 0.99 to 0.999"),
            ),
        ),
    ),
)
_S4D = _Family(
    "s4d",
    "S4D",
    ("A", ("log_A_real",)),
    {"step": ("log_dt",)},
    _s4d,
    (
        ("A", "exp(log_A_real)", np.exp, (constant(0.5, "S4D"),)),
        ("step", "step size exp(log_dt)", np.exp, _STEPS),
    ),
    ("feature", "state"),
)
_S5 = _Family(
    "s5",
    "S5",
    ("real", ("Lambda_re", "Lambda")),
    {"step": ("log_step",)},
    _s5,
    (
        ("real", "Re Lambda", lambda x: x, (constant(-0.5, "S5"),)),
        ("step", "step size exp(log_step)", np.exp, _STEPS),
    ),
)
LRU = _adapter(_LRU, "linear recurrent units, those of signalprop.nn among them", "lru")
S4D = _adapter(_S4D, "S4D", "s4d_lin")
S5 = _adapter(_S5, "S5", "s5")
