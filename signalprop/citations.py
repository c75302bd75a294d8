"""What to cite for a computation: topics, and the entries of ``references.bib`` (beside this file) that each of them needs.

A topic is a command, a public function, or a thing such as a method, a layer or a task. Options of a function or command pick
further topics: ``field="real"`` adds the topic ``real``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from signalprop._catalogue import LAYERS, TASKS
from signalprop._checks import listed, shown
from signalprop._files import our_own
from signalprop._registry import Gathered
from signalprop._topics import ENSEMBLE, Cites, Topic, spelled
from signalprop.activations import SampledActivation
from signalprop.fields import PROVED_FIRST, Field, one_of
from signalprop.initialization.criteria import CRITERIA
from signalprop.inspection.adapters import ADAPTERS
from signalprop.methods import Method
from signalprop.recurrences.catalogue import KINDS

FIELDS = tuple(field.value for field in PROVED_FIRST)
_DRAWN_KINDS = tuple(map(spelled, KINDS))  # of the figures: those that come with the package
DRAWN = {"field": "complex", "method": "krylov", "activation": "linear"}
ROUTES = ("exact", "precise", "symbolic", "cycle_counts", "trace_moment", "krylov", "tempered")
VERIFIED = (*FIELDS, *ROUTES, "relu", "edge", "tail")
# Commands and functions; what they rest on stands in `_AFTER`, and what an option can be in registries and enumerations.
_COMMANDS: dict[str, Topic] = {
    "software": Topic("this software", ("signalprop",)),
    "paper": Topic("the formulas that it implements", ("seleznova2026",)),
    "energy": Topic("mean energies of recurrences with Gaussian weights", ENSEMBLE, options={"field": "complex"}),
    "exact": Topic("mean energies as fractions", ENSEMBLE, ("flint",), {"field": "complex"}),
    "moments": Topic(
        "trace polynomials in closed form", (*ENSEMBLE, "macdonald1995"), ("flint",), {"field": "complex"}
    ),
    "precise": Topic(
        "mean energies in ball arithmetic", (*ENSEMBLE, "johansson2017"), ("flint",), {"field": "complex"}
    ),
    "symbolic": Topic("mean energies as symbols", (*ENSEMBLE, "meurer2017"), options={"field": "complex"}),
    "regimes": Topic("limit laws", ("seleznova2026",), options={"field": "complex"}),
    "cycle_counts": Topic("Wick's theorem, pairing by pairing", ("isserlis1918",), options={"field": "complex"}),
    "trace_moment": Topic("loop equations: Gaussian integration by parts", ("migdal1983",)),
    "scale": Topic("advice for a width and a horizon", options={"field": "real", "criterion": "advise"}),
    "advise": Topic(
        "advice for a width and a horizon",
        ENSEMBLE,
        ("quantile", "edge", "glorot", "orthogonal", "gates", "rotrnn", "lru"),
    ),
    "safe_scale": Topic("a scale for Gaussian weights", options={"field": "real", "criterion": "quantile"}),
    "sample": Topic("draws, and what their mean is worth", ENSEMBLE, (), DRAWN),
    "inspect": Topic("what the recurrences of a model remember", ("henrici1962",), (), {"adapter": None}),
    "recurrence": Topic("second moments of a linear recurrence", options={"kind": None}),
    "meanfield": Topic("nonlinear layers: edge of chaos, finite width", ("poole2016", "schoenholz2017", "chen2018")),
    "gated": Topic("second moments of gradients through GRU and LSTM", ("chen2018", "gilboa2019"), ("gates",)),
    "cells": Topic("energies of gradients through drawn cells", ("poole2016", "chen2018"), ("gates",)),
    "init_recurrent": Topic(
        "starts of tanh, relu, GRU and LSTM layers", ("saxe2014", "le2015", "chen2018"), ("gates",)
    ),
    "lyapunov": Topic("Lyapunov exponents of a recurrent network by QR", ("vogt2022",), ("ginibre_exponents",)),
    "ginibre_exponents": Topic("Lyapunov exponents of products of Gaussian matrices", ("newman1986",)),
    "train": Topic("training of a layer on a task", ("loshchilov2019",), (), {"layer": "rotrnn", "task": "listops"}),
    "configs": Topic("settings of trainings, near the published ones", (), ("lru", "rotrnn", "listops")),
    "verify": Topic("every formula by every route", ENSEMBLE, VERIFIED),
    "reproduce": Topic(
        "all figures", ENSEMBLE, ("complex", "real", "sample", "krylov", "relu", "advise", *_DRAWN_KINDS)
    ),
}
# What belongs to no record: each after the topics of the option that stands before it here.
_AFTER: dict[str, dict[str, Topic]] = {
    "field": {
        "hultman": Topic("Hultman numbers", ("doignon2007", "alexeev2011", "stanley1999")),
        "flint": Topic("whole numbers and polynomials by FLINT", ("flint",)),
    },
    "method": {
        "tail": Topic(
            "Hill's index of the tail, with as many draws as in Pareto smoothing", ("hill1975", "vehtari2024")
        ),
    },
    "criterion": {
        "orthogonal": Topic("orthogonal W, by Haar measure", ("saxe2014", "mezzadri2007")),
        "gates": Topic("biases of LSTM and GRU for a memory", ("tallec2018",)),
    },
    "layer": {"gated_recurrence": Topic("linear recurrences with gates, the RG-LRU among them", ("de2024",))},
}
# Other names: of functions, layers, libraries.
_OTHER_NAMES = {
    "rnn_energy": "energy", "lru_energy": "energy", "energy_variance": "trace_moment", "second_moments": "trace_moment",
    "moment": "trace_moment", "regime": "regimes", "chrono": "gates", "lstm": "gates", "gru": "gates",
    "trace_polynomial": "moments", "classify": "regimes", "wick": "cycle_counts", "loop_equations": "trace_moment",
    "arb": "precise", "depth_budget": "safe_scale", "width_needed": "safe_scale", "ginibre_": "safe_scale",
    "ginibre": "safe_scale", "init_recurrent_": "init_recurrent", "run": "sample", "hill": "tail",
    "critical_scale": "meanfield", "gradient_law": "meanfield", "lstm_gradient": "gated", "gru_gradient": "gated",
    "edge_of_chaos": "meanfield", "spread_ratio": "meanfield", "crossover_horizon": "meanfield", "chrono_biases": "gates",
    "keeping_bias": "gates",
    "gradient_energies": "cells",
    "lra": "listops", "denselinearrnn": "gaussian", "gatedrecurrence": "gated_recurrence",
    "rglru": "gated_recurrence", "hippo": "s4", "info": "software",
}  # fmt: skip


def _vocabularies() -> dict[str, dict[str, Cites]]:
    """What each option can be, with what to cite for it, as registries and enumerations have it at this moment."""
    return {
        "field": {name: Field(name).cites for name in FIELDS},
        "method": {method.value: method.cites for method in Method},
        "activation": {activation.value: activation.cites for activation in SampledActivation},
        "criterion": {name: criterion.cites for name, criterion in CRITERIA.items()},
        "kind": {name: kind.cites for name, kind in KINDS.items()},
        "adapter": {name: adapter.cites for name, adapter in ADAPTERS.items()},
        "layer": {name: layer.cites for name, layer in LAYERS.items()},
        "task": {name: task.cites for name, task in TASKS.items()},
    }


def _gathered() -> tuple[dict[str, Topic], dict[str, dict[str, str]]]:
    """The topics by name, and the topic that each value of an option picks."""
    topics = dict(_COMMANDS)
    picked: dict[str, dict[str, str]] = {}
    for option, values in _vocabularies().items():
        chosen = picked[option] = {}
        for value, cites in values.items():
            name = spelled(value)
            if isinstance(cites, Topic):
                chosen[name] = name if name not in topics else f"{option}_{name}"
                topics[chosen[name]] = cites
            else:
                chosen[name] = cites
        topics |= _AFTER.get(option, {})
    return topics, picked


def _aliases() -> dict[str, str]:
    topics, picked = _gathered()
    shared = {value: topic for values in picked.values() for value, topic in values.items() if value not in topics}
    return _OTHER_NAMES | shared


TOPICS: Mapping[str, Topic] = Gathered(lambda: _gathered()[0])
"""Every topic by name."""
CHOICES: Mapping[str, dict[str, str]] = Gathered(lambda: _gathered()[1])
"""Values of an option, each with the topic it picks."""
ALIASES: Mapping[str, str] = Gathered(_aliases)
"""Other names of topics."""


def cite(*topics: str, **options: str) -> str:
    """BibTeX for what computations used, with a comment above the references of each topic.

    Parameters
    ----------
    *topics
        Names of commands, public functions, methods, layers, tasks; without any, the software and the main paper. The
        software is always included.
    **options
        ``field``, ``method``, ``activation``, ``criterion``, ``kind``, ``layer``, ``task``, as given to what was called.
        An option left out has the default of that function.

    Raises
    ------
    ValueError
        A topic or a value that is not known, or an option that none of the topics has; the message lists those that exist.

    Examples
    --------
    >>> cite("sample", method="tempered").splitlines()[:2]
    ['% this software', '@misc{signalprop,']
    >>> references("safe_scale", field="real", criterion="glorot")
    ('signalprop', 'glorot2010')
    """
    return bibtex(resolve(*topics, **options))


def bibtex(topics: Iterable[str]) -> str:
    """The entries of `topics`, as `resolve` gives them, each entry once."""
    seen: set[str] = set()
    parts = []
    for name in map(canonical, listed(topics, "topics", "names of topics")):
        keys = TOPICS[name].keys
        above = [key for key in keys if key in seen]
        about = f"% {TOPICS[name].about}" + (f" ({', '.join(above)} above)" if above else "")
        if keys:
            parts.append("\n".join([about, *(_entry(key) for key in keys if key not in seen)]))
        seen.update(keys)
    return "\n\n".join(parts)


def references(*topics: str, **options: str) -> tuple[str, ...]:
    """Keys of the references, arguments as for `cite`."""
    return tuple(dict.fromkeys(key for name in resolve(*topics, **options) for key in TOPICS[name].keys))


def resolve(*topics: str, **options: str) -> tuple[str, ...]:
    """All topics that the given ones and their options stand for, the software first; arguments as for `cite`."""
    given = [canonical(name) for name in topics] or ["paper"]
    chosen = {option: _chosen(option, value) for option, value in options.items()}
    known = {option for name in given for option in TOPICS[name].options}
    for option in chosen:
        if option not in known:
            has = f"the options are {', '.join(sorted(known))}" if known else "there are no options"
            named = " and ".join(map(repr, topics)) or "the software"
            raise ValueError(f"{named} {'have' if len(topics) > 1 else 'has'} no option {option!r}; {has}.")
    found = ["software"]
    for name in given:
        found.append(name)
        for option, default in TOPICS[name].options.items():
            # A topic named beside this one may be the choice: cite("energy", "real").
            beside = [other for other in given if other in CHOICES[option].values()]
            found += [chosen[option]] if option in chosen else beside or ([default] if default else [])
    for name in found:  # grows as it goes
        found += [each for each in TOPICS[name].along if each not in found]
    return tuple(dict.fromkeys(found))


@cache
def entries() -> dict[str, str]:
    """The text of each entry of ``references.bib``, by key."""
    from importlib import resources

    path = resources.files("signalprop") / "references.bib"
    with our_own(path):
        text = path.read_text(encoding="utf-8")
    return {entry[entry.index("{") + 1 : entry.index(",")]: entry.strip() for entry in re.split(r"\n(?=@)", text)}


def _entry(key: str) -> str:
    return entries()[one_of(key, entries(), "key")]


def fields(key: str) -> dict[str, str]:
    """Type and fields of an entry, as they stand in BibTeX."""
    key = one_of(key, entries(), "key")
    entry = entries()[key]
    pairs = re.findall(r"^\s+(\w+)\s*=\s*\{(.*)\},?$", entry, re.MULTILINE)
    return {"key": key, "type": entry[1 : entry.index("{")], **dict(pairs)}


def names() -> tuple[str, ...]:
    """All names of topics, aliases included."""
    return tuple(sorted({*TOPICS, *ALIASES}))


def is_topic(name: str) -> bool:
    """Whether `name` is one of `names`, in any spelling."""
    return _spelled(name) in names()


def canonical(name: str) -> str:
    """A topic by any of its names, spelled as in `TOPICS`.

    Raises
    ------
    ValueError
        A name that is not known.

    Examples
    --------
    >>> canonical("RotRNN"), canonical("s4d-lin"), canonical("lru_energy")
    ('rotrnn', 's4d_lin', 'energy')
    """
    found = ALIASES.get(_spelled(name), _spelled(name))
    if found not in TOPICS:
        raise ValueError(f"a topic must be one of {', '.join(names())}, got {shown(name)}.")
    return found


def _chosen(option: str, value: str) -> str:
    if option not in CHOICES:
        raise ValueError(f"an option must be one of {', '.join(CHOICES)}, got {shown(option)}.")
    picked = CHOICES[option].get(_spelled(value))
    if picked is None:
        raise ValueError(f"{option} must be one of {', '.join(CHOICES[option])}, got {shown(value)}.")
    if picked not in TOPICS:
        raise ValueError(f"{option}={value!r} was registered to be cited as {picked!r}, which is not a topic.")
    return picked


def _spelled(name: str) -> str:
    return spelled(name) if isinstance(name, str) else ""
