"""`assert_horizon`: a line for a test suite that holds the memory of a model between bounds."""

from __future__ import annotations

import math
from typing import Any

from signalprop._checks import whole_number
from signalprop._numbers import counted, rounded
from signalprop.fields import one_of
from signalprop.inspection.chosen import patterns_of
from signalprop.inspection.look import LONGEST, checked_std
from signalprop.inspection.page import short
from signalprop.inspection.paths import EnergyPath
from signalprop.inspection.quick import Quick
from signalprop.inspection.record import LayerReport, Settings

_OF = ("gradient", "input")
# The gate whose bias keeps the state, in PyTorch's conventions, and m for which a bias of log(m T) leaves 1/e of an energy after
# T steps: 2 (1 - f) T = 1. Half of a gradient of an LSTM is in h, which is made anew: 2 (1 - f) T = 1 - log 2.
_GATES = {"lstm": ("forget gate", 7), "gru": ("update gate", 2)}
_WHERE = {
    "dense": ("give its kernel a larger scale", "give its kernel a smaller scale"),
    "decays": ("start its decays nearer to 1", "start its decays further from 1"),
}


def assert_horizon(
    model: Any,
    *,
    at_least: int | None = None,
    at_most: int | None = None,
    layers: Any = None,
    of: str = "gradient",
    input_std: float | None = None,
    adapter: str | None = None,
) -> None:
    """Assert that recurrences remember for so many steps: nothing happens, or an AssertionError says which layer does not.

    The horizon of a layer is the number of steps after which 1/e of an energy, a squared length, is left:
    `EnergyPath.by_e` of `LayerReport.gradient` or `LayerReport.forward`.

    Parameters
    ----------
    model
        As for `inspect`.
    at_least, at_most
        Bounds in steps, 1 to 1e6; one of them or both. A layer that explodes (its energy grows a hundredfold) within
        `at_least` steps misses that bound; a layer that never forgets, or explodes, misses `at_most`.
    layers
        Name of a layer as `inspect` has it, or several; ``*`` and ``?`` stand for any letters: ``"blocks.*"``. Left out: all.
    of
        ``"gradient"``, carried back, or ``"input"``, carried forward.
    input_std, adapter
        As for `inspect`.

    Raises
    ------
    AssertionError
        A layer whose horizon lies outside of the bounds: one sentence with its name, its horizon, the bound and what to do.
    ValueError
        As for `inspect`; no bound, or `at_least` above `at_most`; a layer that the model does not have; one of which no horizon
        is known.

    Notes
    -----
    Status and cost as for `inspect`, without eigenvalues.

    Examples
    --------
    >>> import numpy as np
    >>> mixer = {"A_log": np.log(np.arange(1.0, 5.0)), "dt_bias": np.full(4, -4.6), "D": np.ones(4)}
    >>> assert_horizon({"mixer": mixer}, at_least=20, at_most=100)
    >>> assert_horizon({"mixer": mixer}, at_least=50)
    Traceback (most recent call last):
    AssertionError: mixer holds a gradient for 23 steps, fewer than at_least=50; start its decays nearer to 1.
    """
    low, high = (
        None if bound is None else whole_number(bound, name, 1, LONGEST)
        for bound, name in ((at_least, "at_least"), (at_most, "at_most"))
    )
    if low is None and high is None:
        raise ValueError("at_least or at_most is needed, a number of steps; got neither.")
    if low is not None and high is not None and low > high:
        raise ValueError(f"at_least must not be above at_most, got at_least={low} and at_most={high}.")
    which, patterns = one_of(of, _OF, "of"), patterns_of(layers)
    settings = Settings(max(low or 1, high or 1), checked_std(input_std), eigenvalues=False)
    found = [one for one in Quick(settings, adapter, patterns).look(model) if isinstance(one, LayerReport)]
    misses = [sentence for layer in found if (sentence := _miss(layer, which, low, high)) is not None]
    if misses:
        more = f"; {len(misses) - 1} more miss their bounds" if len(misses) > 1 else ""
        raise AssertionError(f"{misses[0]}{more}.")


def _miss(layer: LayerReport, which: str, low: int | None, high: int | None) -> str | None:
    """The sentence for a layer outside of the bounds, without its full stop."""
    path = layer.gradient if which == "gradient" else layer.forward
    if path is None:
        raise ValueError(
            f"of={which!r} asks for a horizon that is not known of {short(layer)}, {layer.about}; leave it out with layers=, or "
            "ask for the other one."
        )
    what, name = "a gradient" if which == "gradient" else "an input", short(layer)
    if low is not None and path.grown is not None and path.grown <= low:
        grown = counted(path.grown, "step")
        return f"{name} lets {what} grow a hundredfold within {grown}, before at_least={low}; {_other(layer, None)}"
    if low is not None and path.by_e is not None and path.by_e < low:
        held = counted(path.by_e, "step")
        return f"{name} holds {what} for {held}, fewer than at_least={low}; {_other(layer, low)}"
    if high is not None and (path.by_e is None or path.by_e > high):
        return f"{name} {_long(path, what)}, more than at_most={high}; {_other(layer, None)}"
    return None


def _long(path: EnergyPath, what: str) -> str:
    if path.by_e is not None:
        return f"holds {what} for {counted(path.by_e, 'step')}"
    return f"lets {what} grow" if path.grown is not None else f"holds {what} for more than {rounded(path.reach)} steps"


def _other(layer: LayerReport, longer: int | None) -> str:
    """What to do for a memory of at least so many steps, or for a shorter one."""
    if layer.adapter in _GATES:
        gate, times = _GATES[layer.adapter]
        if longer is None:
            return f"start the bias of its {gate} lower"
        return f"start the bias of its {gate} above log({times}*{longer}) = {math.log(times * longer):.2g}"
    return _WHERE["dense" if layer.units is None else "decays"][0 if longer else 1]
