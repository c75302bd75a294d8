"""The recurrences that ``signalprop recurrence`` knows: one entry each, with its options and how it is made from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from signalprop._numbers import counted
from signalprop.fields import Field, one_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from signalprop.recurrences.lti import LinearRecurrence


class Kind(StrEnum):
    """Recurrences, as on the command line."""

    ROTRNN = "rotrnn"
    LRU = "lru"
    S4 = "s4"
    S4D_LIN = "s4d-lin"
    S5 = "s5"
    GAUSSIAN = "gaussian"
    ORTHOGONAL = "orthogonal"


class Built(NamedTuple):
    """A recurrence, in words and ready to run."""

    about: str
    layer: LinearRecurrence
    first_step: LinearRecurrence | None = None
    """The same by the first-step rule, where there is one."""
    rule: str = ""
    """That rule in words."""
    average: Callable[[NDArray[np.int64]], NDArray[np.float64] | None] | None = None
    """The energy at given steps averaged over draws of the weights, where it is known; None beyond the reach of its formula."""


@dataclass(frozen=True)
class Entry:
    """What the command needs to know of one kind."""

    help: str
    options: frozenset[str]
    build: Callable[[int, Mapping[str, Any], int], Built]


def entry(kind: Kind) -> Entry:
    """The entry of a kind."""
    match kind:
        case Kind.ROTRNN:
            return Entry("rotations", frozenset({"input_size", "heads", "gamma", "max_phase"}), _rotrnn)
        case Kind.LRU:
            options = frozenset({"input_size", "r_min", "r_max", "max_phase"})
            return Entry("the diagonal layer of Orvieto et al.", options, _lru)
        case Kind.S4:
            return Entry("state space, HiPPO-LegS", frozenset({"dt"}), _s4)
        case Kind.S4D_LIN:
            return Entry("state space, diagonal", frozenset({"input_size", "dt"}), _s4d_lin)
        case Kind.S5:
            return Entry("state space, many inputs", frozenset({"input_size", "dt"}), _s5)
        case Kind.GAUSSIAN:
            return Entry("one dense Gaussian W", frozenset({"field", "scale"}), _gaussian)
        case Kind.ORTHOGONAL:
            return Entry("one Haar orthogonal W", frozenset({"gamma"}), _orthogonal)
        case _:
            assert_never(kind)


def kinds_in_words() -> str:
    """All kinds with their help, for the help of the command."""
    return ".  ".join(f"{kind.value}: {entry(kind).help.rstrip('.')}" for kind in Kind) + "."


def owners(option: str) -> list[str]:
    """The kinds that have an option."""
    return [kind.value for kind in Kind if option in entry(kind).options]


def build(kind: str, states: int, parameters: Mapping[str, Any], seed: int) -> Built:
    """The recurrence of a kind with these parameters.

    Raises
    ------
    ValueError
        An unknown kind, a parameter of another kind, whatever the constructor refuses.
    """
    known = entry(Kind(one_of(kind, tuple(Kind), "kind")))
    for name in parameters:
        if name not in known.options:
            whose = owners(name)
            belongs = f"it belongs to {', '.join(whose)}" if whose else f"it has {', '.join(sorted(known.options))}"
            raise ValueError(f"{name} has no meaning for {kind}; {belongs}.")
    return known.build(states, parameters, seed)


def _angles(phase: float) -> str:
    from signalprop.recurrences import laws

    return f"angles up to {'2 pi' if phase == laws.MAX_PHASE else f'{phase:.6g}'}"


def _dt(options: Mapping[str, Any]) -> str:
    from signalprop.recurrences import laws

    low, high = laws.TIME_STEPS
    return f"time step {options['dt']:.10g}" if "dt" in options else f"time steps drawn in {low:g} .. {high:g}"


def _rotrnn(states: int, options: Mapping[str, Any], seed: int) -> Built:
    from signalprop.recurrences import laws
    from signalprop.recurrences.rotrnn_draws import rotrnn

    inputs, heads, gamma = options.get("input_size", states), options.get("heads", 1), options.get("gamma")
    phase = options.get("max_phase", laws.MAX_PHASE)
    plain, first = (
        rotrnn(states, inputs, heads=heads, gamma=gamma, max_phase=phase, seed=seed, first_step=rule)
        for rule in (False, True)
    )
    drawn = f"gamma drawn in {laws.GAMMAS[0]:g} .. {laws.GAMMAS[1]:g}"
    moduli = drawn if gamma is None else f"gamma {gamma:.10g}"
    size = f"{counted(states, 'state')} in {counted(heads, 'head')}, {counted(inputs, 'input')}"
    about = f"RotRNN: {size}, {moduli}, {_angles(phase)}"
    return Built(about, plain, first, "x_1 = B u_1/sqrt(tr B B^T)")


def _lru(states: int, options: Mapping[str, Any], seed: int) -> Built:
    from signalprop.recurrences import laws
    from signalprop.recurrences.lru_draws import lru

    inputs, phase = options.get("input_size", states), options.get("max_phase", laws.MAX_PHASE)
    r_min, r_max = options.get("r_min", laws.MODULI[0]), options.get("r_max", laws.MODULI[1])
    plain, first = (
        lru(states, inputs, r_min=r_min, r_max=r_max, max_phase=phase, seed=seed, first_step=rule)
        for rule in (False, True)
    )
    size = f"{counted(states, 'unit')}, {counted(inputs, 'input')}"
    about = f"diagonal LRU: {size}, moduli {r_min:.10g} .. {r_max:.10g}, {_angles(phase)}"
    return Built(about, plain, first, "no sqrt(1 - |lambda|^2) on u_1")


def _s4(states: int, options: Mapping[str, Any], seed: int) -> Built:
    from signalprop.recurrences.state_space import s4

    layer = s4(states, dt=options.get("dt"), seed=seed)
    return Built(f"S4: HiPPO-LegS of size {states}, bilinear, {_dt(options)}", layer)


def _s4d_lin(states: int, options: Mapping[str, Any], seed: int) -> Built:
    from signalprop.recurrences.state_space import s4d_lin

    channels = options.get("input_size", 1)
    layer = s4d_lin(states, channels=channels, dt=options.get("dt"), seed=seed)
    kept = f"{states} states kept as {states // 2} complex ones"
    return Built(f"S4D-Lin: {counted(channels, 'channel')} of {kept}, {_dt(options)}", layer)


def _s5(states: int, options: Mapping[str, Any], seed: int) -> Built:
    from signalprop.recurrences.state_space import s5

    inputs = options.get("input_size", states)
    layer = s5(states, inputs, dt=options.get("dt"), seed=seed)
    return Built(
        f"S5: {states} states kept as {states // 2} complex ones, {counted(inputs, 'input')}, {_dt(options)}", layer
    )


def _gaussian(states: int, options: Mapping[str, Any], seed: int) -> Built:
    from signalprop.recurrences.dense_draws import gaussian

    field, scale = options.get("field", Field.REAL), options.get("scale", 1.0)
    layer = gaussian(states, field, scale=scale, seed=seed)

    def average(steps: NDArray[np.int64]) -> NDArray[np.float64] | None:
        from signalprop.energy import lru_energy

        try:
            exact: NDArray[np.float64] = lru_energy(states, steps - 1, field, scale=scale)
        except (ValueError, OverflowError):  # beyond the reach of the exact sum, or of float64
            return None
        return exact

    return Built(f"one {field} Gaussian W of width {states}, scale g = {scale:.10g}", layer, average=average)


def _orthogonal(states: int, options: Mapping[str, Any], seed: int) -> Built:
    from signalprop.recurrences.dense_draws import orthogonal

    gamma = options.get("gamma", 1.0)
    times = "" if gamma == 1.0 else f"gamma = {gamma:.10g} times "
    return Built(f"{times}one Haar orthogonal W of width {states}", orthogonal(states, gamma=gamma, seed=seed))
