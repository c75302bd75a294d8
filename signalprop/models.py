"""The two recurrences whose energies are known exactly, and the words for them.

========  ======================  ==============================  =====================================
model     step                    energy                          function
========  ======================  ==============================  =====================================
rnn       ``h <- W h``            Q_{n,k} = E||W^k x||^2/n        ``rnn_energy``
driven    ``h <- W h + x``        S_{n,t} = E||h(t)||^2/n         ``lru_energy``
========  ======================  ==============================  =====================================

The driven model has a dense W and a fresh input at every step. It used to be called ``"lru"`` here, and still is in the
literature (arXiv:2605.05113); that name is still accepted. It is *not* the diagonal layer of the same name
(Orvieto et al., arXiv:2303.06349), which lives in `signalprop.recurrences.lru` and `signalprop.nn.LRU`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar, assert_never

from signalprop.fields import member

T = TypeVar("T")


class Model(StrEnum):
    """Which recurrence; a `str`, so ``Model.DRIVEN == "driven"``. ``Model("lru")`` is ``Model.DRIVEN``.

    Examples
    --------
    >>> Model("driven").step, Model("rnn").symbol
    ('h <- W h + x', 'Q')
    """

    RNN = "rnn"
    DRIVEN = "driven"

    @classmethod
    def _missing_(cls, value: object) -> Model | None:
        return cls.DRIVEN if value == "lru" else None

    @property
    def step(self) -> str:
        """The recurrence, as it is written here."""
        return by_model(self, rnn="h <- W h", driven="h <- W h + x")

    @property
    def symbol(self) -> str:
        """Q or S, the name of its mean energy in the formulas."""
        return by_model(self, rnn="Q", driven="S")


def as_model(model: str, name: str = "model") -> Model:
    """Return the `Model` named `model`; the old name ``"lru"`` stands for ``"driven"``.

    Raises
    ------
    ValueError
        If `model` is neither; the message lists the names and calls the argument `name`.

    Examples
    --------
    >>> as_model("lru")
    <Model.DRIVEN: 'driven'>
    """
    return member(Model, model, name)


def by_model(model: Model, *, rnn: T, driven: T) -> T:
    """Choose by model, with a value for each: a new model is a type error wherever it has no answer yet.

    Examples
    --------
    >>> by_model(Model.RNN, rnn="k", driven="t")
    'k'
    """
    match as_model(model):
        case Model.RNN:
            return rnn
        case Model.DRIVEN:
            return driven
        case never:
            assert_never(never)


def energy_of(model: str) -> Callable[..., Any]:
    """The exact mean energy of `model` in double precision: `signalprop.rnn_energy` or `signalprop.lru_energy`.

    Raises
    ------
    ValueError
        A model that is not known.

    Examples
    --------
    >>> energy_of("driven")(100, 2, "real").round(4)
    np.float64(3.0002)
    """
    from signalprop import energy

    return by_model(as_model(model), rnn=energy.rnn_energy, driven=energy.lru_energy)
