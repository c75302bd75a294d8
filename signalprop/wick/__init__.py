"""What an expectation *is*: Wick's theorem carried out pairing by pairing.

Slow on purpose where it must be, and sharing no formula with `signalprop.moments`, which it checks.
"""

from __future__ import annotations

from importlib import import_module
from typing import assert_never

from signalprop._checks import whole_number
from signalprop.fields import Field, as_field
from signalprop.wick.words import second_moments, trace_moment


def cycle_counts(k: int, field: str = "real") -> tuple[int, ...]:
    r"""Coefficients of :math:`M_k(n) = E\,\mathrm{tr}[G^k (G^k)^*]` by enumeration of all Wick pairings.

    Entry V is the number of pairings that leave V indices free, so
    :math:`M_k(n) = \sum_V \mathrm{counts}[V]\, n^V`. Entries of G have :math:`E|g_{ij}|^2 = 1`.

    Parameters
    ----------
    k
        Depth, 0 <= k <= 12 for complex weights (k! permutations), 0 <= k <= 10 for real weights ((2k-1)!! matchings).
    field
        ``"complex"`` or ``"real"``. Quaternion pairings carry signs and are not enumerated.

    Returns
    -------
    tuple of int
        k + 2 coefficients, ascending powers of n.

    Raises
    ------
    ValueError
        For `k` outside the range, or a field that is not enumerated; the message names the closed form to use.

    Notes
    -----
    Cost about 5 ns per permutation and 2 ns per matching on one core; all cores are used.
    Status P, being the definition (Wick's theorem). The complex row is a row of Hultman numbers.

    Examples
    --------
    >>> cycle_counts(4, "complex")
    (0, 8, 0, 15, 0, 1)
    >>> cycle_counts(4, "real")
    (0, 48, 28, 28, 0, 1)
    """
    kind = as_field(field)
    module = import_module(f"signalprop.wick.{_pairings(kind)}")
    instead = f"Enumeration grows factorially; use moments.trace_polynomial(k, {str(kind)!r}) instead."
    counts: tuple[int, ...] = module.count_cycles(whole_number(k, "k", 0, module.MAX_K, instead))
    return counts


def _pairings(field: Field) -> str:
    """The module that enumerates the pairings of `field`."""
    match field:
        case Field.REAL:
            return "matchings"
        case Field.COMPLEX:
            return "permutations"
        case Field.QUATERNION:
            raise ValueError(
                "field='quaternion' has no enumeration here, because its pairings carry signs; "
                "use moments.trace_polynomial(k, 'quaternion')."
            )
        case _:
            assert_never(field)


__all__ = ["cycle_counts", "second_moments", "trace_moment"]
