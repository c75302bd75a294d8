"""The three number systems of the weights and their one variance convention.

Every entry of W is independent with mean zero and ``E|w_ij|^2 = 1/n``; ``G = sqrt(n) W`` has ``E|g_ij|^2 = 1``.

============  ======================  ==========================================
field         Dyson index beta        variance of each real part of ``w_ij``
============  ======================  ==========================================
real          1                       1/n
complex       2                       1/(2n)  (proper: re and im independent)
quaternion    4                       1/(4n)  (four independent parts)
============  ======================  ==========================================
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeVar, assert_never

from signalprop._checks import listed, shown
from signalprop._topics import Topic

T = TypeVar("T")
Member = TypeVar("Member", bound=StrEnum)


class Field(StrEnum):
    """Number system of the weights; a `str`, so ``Field.REAL == "real"``.

    Examples
    --------
    >>> Field("complex").beta
    2
    """

    REAL = "real"
    COMPLEX = "complex"
    QUATERNION = "quaternion"

    @property
    def cites(self) -> Topic:
        """What to cite for energies of these weights."""
        return by_field(
            self,
            real=Topic("real weights: closed form of this software, verified and not proved", ("signalprop",)),
            complex=Topic(
                "complex weights: proved; the coefficients are Hultman numbers", ("seleznova2026",), ("hultman",)
            ),
            quaternion=Topic("quaternion weights: the energies of real ones at width -2n", ("mulase2003", "bryc2009")),
        )

    @property
    def beta(self) -> int:
        """Dyson index: the number of real parts of one entry (1, 2 or 4)."""
        return by_field(self, real=1, complex=2, quaternion=4)


PROVED_FIRST = tuple(sorted(Field, key=lambda field: field is not Field.COMPLEX))
"""Every field, the one whose energies are proved first."""


def as_field(field: str) -> Field:
    """Return the `Field` named `field`.

    Raises
    ------
    ValueError
        If `field` is not one of the three names; the message lists them.

    Examples
    --------
    >>> as_field("real")
    <Field.REAL: 'real'>
    """
    return member(Field, field, "field")


def by_field(field: Field, *, real: T, complex: T, quaternion: T) -> T:
    """Choose by field, given as a `Field` or its name, with a value for every one of them.

    All choices between fields go through here (or through a `match` with `assert_never`), so that a new field is a
    type error wherever it has no answer yet, and never gets another field's answer.

    Examples
    --------
    >>> by_field(Field.QUATERNION, real="O(n)", complex="U(n)", quaternion="Sp(n)")
    'Sp(n)'
    """
    match as_field(field):
        case Field.REAL:
            return real
        case Field.COMPLEX:
            return complex
        case Field.QUATERNION:
            return quaternion
        case never:
            assert_never(never)


def member(options: type[Member], value: str, name: str) -> Member:
    """The member of an enumeration that `value` names, or is.

    Raises
    ------
    ValueError
        If it is none; the message lists them.
    """
    if isinstance(value, str):
        try:
            return options(value)
        except ValueError:
            pass
    raise ValueError(f"{name} must be one of {choices(options)}, got {shown(value)}.")


def one_of(value: str, options: Iterable[str], name: str) -> str:
    """Return `value` if it is one of `options`.

    Raises
    ------
    ValueError
        If it is not; the message lists them.
    """
    names: list[str] = listed(options, "options", "names")
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{name} must be one of {choices(names)}, got {shown(value)}.")
    return names[names.index(value)]


def choices(options: Iterable[str]) -> str:
    """Spell out a list of names for an error message: ``'a', 'b' or 'c'``.

    Raises
    ------
    ValueError
        Not a list, or an empty one.
    """
    names = [repr(str(option)) for option in listed(options, "options", "names")]
    if not names:
        raise ValueError("options must have at least one name, got none.")
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]
