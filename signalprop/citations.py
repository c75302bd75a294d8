"""What to cite for a computation: topics, and the entries of ``references.bib`` (beside this file) that each of them needs.

A topic is a command, a public function, or a thing such as a method, a layer or a task. Options of a function or command pick
further topics: ``field="real"`` adds the topic ``real``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

from signalprop._catalogue import LAYERS, TASKS
from signalprop._checks import listed, shown
from signalprop._files import our_own
from signalprop.fields import one_of

FIELDS = ("complex", "real", "quaternion")
KINDS = ("rotrnn", "lru", "s4", "s4d_lin", "s5", "gaussian", "orthogonal")
# Values of an option, each with the topic it picks.
CHOICES: dict[str, dict[str, str]] = {
    "field": {name: name for name in FIELDS},
    "method": {name: name for name in ("krylov", "dense", "tempered")},
    "activation": {"linear": "linear", "relu": "relu", "leaky_relu": "relu"},
    "criterion": {name: name for name in ("quantile", "bounded", "minimax", "edge", "glorot")},
    "kind": {name: name for name in KINDS},
    "layer": {name: entry.cites for name, entry in LAYERS.items()},
    "task": {name.replace("-", "_"): entry.cites for name, entry in TASKS.items()},
}


@dataclass(frozen=True)
class Topic:
    """What it is in words, keys of its references, the topics it takes along, and its options with their defaults."""

    about: str
    keys: tuple[str, ...] = ()
    along: tuple[str, ...] = ()
    options: Mapping[str, str | None] = field(default_factory=dict)


ENSEMBLE = ("seleznova2026", "ginibre1965")
EDGE = ("bar2025", "kostlan1992", "rider2003", "rider2014")
DRAWN = {"field": "complex", "method": "krylov", "activation": "linear"}
ROUTES = ("exact", "precise", "symbolic", "cycle_counts", "trace_moment", "krylov", "tempered")
VERIFIED = (*FIELDS, *ROUTES, "relu", "edge", "tail")
TOPICS: dict[str, Topic] = {
    "software": Topic("this software", ("signalprop",)),
    "paper": Topic("the formulas that it implements", ("seleznova2026",)),
    # Commands and functions.
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
    "recurrence": Topic("second moments of a linear recurrence", options={"kind": None}),
    "train": Topic("training of a layer on a task", ("loshchilov2019",), (), {"layer": "rotrnn", "task": "listops"}),
    "configs": Topic("settings of trainings, near the published ones", (), ("lru", "rotrnn", "listops")),
    "verify": Topic("every formula by every route", ENSEMBLE, VERIFIED),
    "reproduce": Topic("all figures", ENSEMBLE, ("complex", "real", "sample", "krylov", "relu", "advise", *KINDS)),
    # Number systems of the weights.
    "complex": Topic("complex weights: proved; the coefficients are Hultman numbers", ("seleznova2026",), ("hultman",)),
    "real": Topic("real weights: closed form of this software, verified and not proved", ("signalprop",)),
    "quaternion": Topic("quaternion weights: those of real ones at width -2n", ("mulase2003", "bryc2009")),
    "hultman": Topic("Hultman numbers", ("doignon2007", "alexeev2011", "stanley1999")),
    "flint": Topic("whole numbers and polynomials by FLINT", ("flint",)),
    # Sampling.
    "krylov": Topic("width-free sampler: Householder's reflections", ("householder1958", "dumitriu2002"), ("tail",)),
    "dense": Topic("the matrix itself", ("ginibre1965",), ("tail",)),
    "tempered": Topic(
        "rare-event sampler: sequential Monte Carlo with Hamiltonian moves",
        ("householder1958", "delmoral2004", "delmoral2006", "duane1987"),
    ),
    "tail": Topic("Hill's index of the tail, with as many draws as in Pareto smoothing", ("hill1975", "vehtari2024")),
    "linear": Topic("no activation"),
    "relu": Topic("rectifiers with the gain that keeps the mean energy", ("he2015",)),
    # Scales and starts.
    "quantile": Topic("what one draw does", (*ENSEMBLE, "householder1958")),
    "bounded": Topic("what the average does", ENSEMBLE),
    "minimax": Topic("what the average does", ENSEMBLE),
    "edge": Topic("spectral radius of W", (*EDGE, "ginibre1965")),
    "glorot": Topic("Glorot's scale", ("glorot2010",)),
    "orthogonal": Topic("orthogonal W, by Haar measure", ("saxe2014", "mezzadri2007")),
    "gates": Topic("biases of LSTM and GRU for a memory", ("tallec2018",)),
    # Layers and tasks.
    "rotrnn": Topic("RotRNN", ("biegun2024",)),
    "lru": Topic("the diagonal LRU", ("orvieto2023",)),
    "s4": Topic("S4, with HiPPO-LegS", ("gu2022s4", "gu2020")),
    "s4d_lin": Topic("S4D-Lin", ("gu2022s4d",)),
    "s5": Topic("S5, with the normal part of HiPPO-LegS", ("smith2023", "gu2020")),
    "gaussian": Topic("dense Gaussian W", ENSEMBLE),
    "listops": Topic("ListOps, in the lengths of the Long Range Arena", ("nangia2018", "tay2021")),
    "digits": Topic("handwritten digits of scikit-learn", ("pedregosa2011",)),
    "copy": Topic("copy memory", ("hochreiter1997", "arjovsky2016")),
    "arrays": Topic("your own sequences"),
    "adding": Topic("the adding problem", ("hochreiter1997", "arjovsky2016")),
}
# Other names: of functions, layers, libraries.
ALIASES: dict[str, str] = {
    "rnn_energy": "energy", "lru_energy": "energy", "energy_variance": "trace_moment", "second_moments": "trace_moment",
    "moment": "trace_moment", "regime": "regimes", "chrono": "gates", "lstm": "gates", "gru": "gates",
    "trace_polynomial": "moments", "classify": "regimes", "wick": "cycle_counts", "loop_equations": "trace_moment",
    "arb": "precise", "depth_budget": "safe_scale", "width_needed": "safe_scale", "ginibre_": "safe_scale",
    "ginibre": "safe_scale", "init_recurrent_": "safe_scale", "run": "sample", "hill": "tail", "leaky_relu": "relu",
    "listops_files": "listops", "lra": "listops", "denselinearrnn": "gaussian", "hippo": "s4", "info": "software",
}  # fmt: skip


def cite(*topics: str, **options: str) -> str:
    """BibTeX of what computations used, a comment above the references of each topic.

    Parameters
    ----------
    *topics
        Names of commands, public functions, methods, layers, tasks; without any, the software and the main paper. The
        software is always among what comes back.
    **options
        ``field``, ``method``, ``activation``, ``criterion``, ``kind``, ``layer``, ``task``, as given to what was called.
        What is left out has the default of that function.

    Raises
    ------
    ValueError
        A topic or a value that is not known, or an option that none of the topics has; the message lists what there is.

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
            parts.append("\n".join([about, *(entries()[key] for key in keys if key not in seen)]))
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
            has = f"the options there are {', '.join(sorted(known))}" if known else "there are no options"
            raise ValueError(f"{' and '.join(map(repr, topics)) or 'the software'} has no option {option!r}; {has}.")
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


def fields(key: str) -> dict[str, str]:
    """Type and fields of an entry, as they stand in BibTeX."""
    key = one_of(key, entries(), "key")
    entry = entries()[key]
    pairs = re.findall(r"^\s+(\w+)\s*=\s*\{(.*)\},?$", entry, re.MULTILINE)
    return {"key": key, "type": entry[1 : entry.index("{")], **dict(pairs)}


def names() -> tuple[str, ...]:
    """All names of topics, their other names included."""
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
    return picked


def _spelled(name: str) -> str:
    return name.lower().replace("-", "_") if isinstance(name, str) else ""
