"""The kinds of recurrences that are known by name, a record of each: what it is, its parameters, how it is drawn, what to cite.

`signalprop.recurrences.report`, the command ``signalprop recurrence`` with its options, the citations and `verify` read them; to
add a kind is to register a record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from signalprop._numbers import counted
from signalprop._registry import Registry
from signalprop._topics import ENSEMBLE, Cites, Topic
from signalprop.fields import Field

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from signalprop.recurrences.lti import LinearRecurrence


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


_OF_ALL = (
    "kind",
    "state_size",
    "states",
    "horizon",
    "correlation",
    "samples",
    "seed",
    "plot",
    "as_json",
    "json",
    "help",
)


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kind, under one name for all kinds that have it.

    Attributes
    ----------
    name
        In Python; ``heads`` is ``--heads`` on the command line, unless `options` says otherwise.
    type
        ``int``, ``float``, ``str``, or an enumeration.
    help
        A few words that end a sentence: what it sets.
    options
        Spellings on the command line.
    """

    name: str
    type: type
    help: str
    options: tuple[str, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        """Its options on the command line."""
        return self.options or (f"--{self.name.replace('_', '-')}",)


@dataclass(frozen=True)
class Kind:
    """What a recurrence is, its parameters, and how it is drawn.

    Attributes
    ----------
    about
        What it is, in a few words.
    build
        From the state size, given parameters by name, and a seed. Parameters that are left out are not in the mapping.
    parameters
        Those that it takes. One that other kinds have too is the same object.
    cites
        What to cite for it: a topic, or the name of one that something else carries.

    Examples
    --------
    >>> from signalprop.recurrences import KINDS, LinearRecurrence
    >>> def leaky(states, given, seed):
    ...     leak = given.get("leak", 0.1)
    ...     return Built(f"{states} leaky integrators", LinearRecurrence([1 - leak] * states, [[leak]] * states))
    >>> leak = Parameter("leak", float, "what is lost per step.")
    >>> with KINDS.with_record("leaky", Kind("leaky integrators", leaky, (leak,), Topic("leaky integrators"))):
    ...     build("leaky", 3, {"leak": 0.5}, 0).layer.stationary_energy()
    1.0
    """

    about: str
    build: Callable[[int, Mapping[str, Any], int], Built]
    parameters: tuple[Parameter, ...]
    cites: Cites

    def __post_init__(self) -> None:
        for each in self.parameters:
            if each.name in _OF_ALL:
                raise ValueError(f"a parameter of a kind must not be called {each.name!r}, which every report has.")


def build(kind: str, states: int, given: Mapping[str, Any], seed: int) -> Built:
    """The recurrence of a kind with these parameters.

    Raises
    ------
    ValueError
        An unknown kind, a parameter of another kind, whatever the constructor refuses.
    """
    known = KINDS.find(kind)
    names = [each.name for each in known.parameters]
    for name in given:
        if name not in names:
            whose = owners(name)
            belongs = f"it belongs to {', '.join(whose)}" if whose else f"it has {', '.join(names) or 'no parameters'}"
            raise ValueError(f"{name} has no meaning for {kind}; {belongs}.")
    return known.build(states, given, seed)


def owners(parameter: str) -> list[str]:
    """The kinds that have a parameter."""
    return [name for name, kind in KINDS.items() if any(each.name == parameter for each in kind.parameters)]


def parameters() -> dict[str, Parameter]:
    """The parameters of all kinds by name, in the order of the kinds.

    Raises
    ------
    ValueError
        Two kinds that mean different things by one name.
    """
    found: dict[str, Parameter] = {}
    for name, kind in KINDS.items():
        for each in kind.parameters:
            if found.setdefault(each.name, each) != each:
                raise ValueError(
                    f"the parameter {each.name} of {name} is another one for {owners(each.name)[0]}; give it a name of its own."
                )
    return found


def _angles(phase: float) -> str:
    from signalprop.recurrences import laws

    return f"angles up to {'2 pi' if phase == laws.MAX_PHASE else f'{phase:.6g}'}"


def _dt(options: Mapping[str, Any]) -> str:
    from signalprop.recurrences import laws

    low, high = laws.TIME_STEPS
    given = options.get("dt")
    return f"time steps drawn in {low:g} .. {high:g}" if given is None else f"time step {_in_words(given)}"


def _in_words(given: Any) -> str:
    """A number, or the ends of many."""
    import numpy as np

    values = np.asarray(given, dtype=np.float64)
    return f"{float(values):.10g}" if values.ndim == 0 else f"{values.min():.10g} .. {values.max():.10g}"


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
    moduli = drawn if gamma is None else f"gamma {_in_words(gamma)}"
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
    layer = orthogonal(states, gamma=gamma, seed=seed)
    times = "" if gamma == 1.0 else f"gamma = {gamma:.10g} times "
    return Built(f"{times}one Haar orthogonal W of width {states}", layer)


_INPUTS = Parameter("input_size", int, "number of inputs; channels of s4d-lin.", ("-d", "--inputs"))
_GAMMA = Parameter("gamma", float, "factor on a step.")
_PHASE = Parameter("max_phase", float, "largest angle.")
_STEP = Parameter("dt", float, "time step; drawn if left out.")

KINDS = Registry(
    "kind",
    Kind,
    {
        "rotrnn": Kind(
            "rotations",
            _rotrnn,
            (_INPUTS, Parameter("heads", int, "heads, each of norm one."), _GAMMA, _PHASE),
            Topic("RotRNN", ("biegun2024",)),
        ),
        "lru": Kind(
            "the diagonal layer of Orvieto et al.",
            _lru,
            (
                _INPUTS,
                Parameter("r_min", float, "inner radius of the ring."),
                Parameter("r_max", float, "outer radius of the ring."),
                _PHASE,
            ),
            Topic("the diagonal LRU", ("orvieto2023",)),
        ),
        "s4": Kind("state space, HiPPO-LegS", _s4, (_STEP,), Topic("S4, with HiPPO-LegS", ("gu2022s4", "gu2020"))),
        "s4d-lin": Kind("state space, diagonal", _s4d_lin, (_INPUTS, _STEP), Topic("S4D-Lin", ("gu2022s4d",))),
        "s5": Kind(
            "state space, many inputs",
            _s5,
            (_INPUTS, _STEP),
            Topic("S5, with the normal part of HiPPO-LegS", ("smith2023", "gu2020")),
        ),
        "gaussian": Kind(
            "one dense Gaussian W",
            _gaussian,
            (Parameter("field", Field, "number system."), Parameter("scale", float, "factor g on every weight.")),
            Topic("dense Gaussian W", ENSEMBLE),
        ),
        "orthogonal": Kind("one Haar orthogonal W", _orthogonal, (_GAMMA,), "orthogonal"),
    },
)
"""Every kind by name; ``KINDS.register(name, Kind(..))`` adds one."""
