"""Exact energies as fractions: the same two names as in `signalprop.energy`, for any n."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from typing import assert_never

from flint import fmpq, fmpz

from signalprop._checks import exact_number, shown, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop._files import our_own
from signalprop.fields import Field, as_field, by_field
from signalprop.moments import zonal_coefficients

MAX_COMPLEX_K = 100_000
MAX_ZONAL_K = 2_000
MAX_PARTITION_K = 200
MAX_LOOP_K = 12
BEYOND_LOOPS = "No closed form is known for these weights and deeper loop equations take hours; use signalprop.sample."


def rnn_energy(n: int, k: int, field: str = "real", *, scale: Fraction | int = 1) -> Fraction:
    r"""Q_{n,k} = (g^{2k}/n) E||W^k x||^2 as a fraction.

    Parameters
    ----------
    n, k
        Width n >= 1 without bound; depth 0 <= k <= 100000 (complex), 0 <= k <= 2000 (real, quaternion; O(k^2) terms).
    field
        ``"complex"`` (P), ``"real"`` or ``"quaternion"`` (V).
    scale
        g as an int or `~fractions.Fraction`; a float would not be exact.

    Raises
    ------
    ValueError
        Arguments outside the ranges above.

    Notes
    -----
    Evaluated factor by factor at the given n, not from the coefficients of `signalprop.moments`.

    Examples
    --------
    >>> rnn_energy(10, 4, "complex")
    Fraction(2877, 2500)
    >>> rnn_energy(1, 5, "real")  # (2k-1)!!
    Fraction(945, 1)
    """
    kind = as_field(field)
    width = whole_number(n, "n", 1)
    depth = _depth(k, "k", kind)
    refuse_beyond_bounds(
        f"exact.rnn_energy of width {shown(width)} and depth {depth}",
        seconds=_seconds(width, depth, kind),
        instead="energy.rnn_energy gives a float at once.",
    )
    return _energy(width, depth, kind) * _factor(scale) ** (2 * depth)


def lru_energy(n: int, t: int, field: str = "real", *, scale: Fraction | int = 1) -> Fraction:
    r"""S_{n,t} = sum_{k=0}^{t} g^{2k} Q_{n,k} as a fraction: the dense recurrence with a fresh input at each step.

    For complex weights and g = 1 in summed form (P), with r_m = n(n+1)..(n+m-1)/n^m and
    f_m = n(n-1)..(n-m+1)/n^m:

    .. math:: S_{n,t} = \sum_{m=1}^{t+1}(r_m + f_m) - \frac{n}{t+2}(r_{t+2} - f_{t+2})

    Parameters and errors as for `rnn_energy`.

    Examples
    --------
    >>> lru_energy(10, 3) == sum(rnn_energy(10, k) for k in range(4))
    True
    """
    kind = as_field(field)
    width = whole_number(n, "n", 1)
    time = _depth(t, "t", kind)
    square = _factor(scale) ** 2
    summed_form = by_field(kind, real=False, complex=True, quaternion=False) and square == 1
    each = (_seconds(width, k, kind) for k in range(0, time + 1, 1 + time // 50))
    refuse_beyond_bounds(
        f"exact.lru_energy of width {shown(width)} and time {time}",
        seconds=_seconds(width, time, kind)
        if summed_form
        else sum(each) * (1 + time // 50) + _SUM_SECONDS * time**3 * (_bits(width, time) + _factor_bits(square)) ** 2,
        instead="energy.lru_energy gives a float at once.",
    )
    if not summed_form:
        return sum((_energy(width, k, kind) * square**k for k in range(time + 1)), Fraction(0))
    # Everything over the common denominator n^{t+2}.
    rising, falling, total = fmpz(1), fmpz(1), fmpz(0)
    for m in range(1, time + 2):
        rising *= width + m - 1
        falling *= width - m + 1
        total = total * width + rising + falling
    rising *= width + time + 1
    falling *= width - time - 1
    numerator = (time + 2) * total * width - width * (rising - falling)
    return _fraction(numerator, (time + 2) * fmpz(width) ** (time + 2))


def energy_variance(n: int, k: int, field: str = "real") -> Fraction:
    r"""Variance over draws of W of the energy ||W^k x||^2 of one unit vector x, as a fraction.

    With M = (G^k)* G^k, E||W^k x||^4 is [E(tr M)^2 + E tr M^2]/(n(n+1) n^{2k}) for complex weights,
    [E(tr M)^2 + 2 E tr M^2]/(n(n+2) n^{2k}) for real and [2 E(tr M)^2 + E tr M^2]/(n(2n+1) n^{2k}) for quaternion ones.
    Complex: a sum of O(k^3) non-negative terms over the partitions of 2k+2 in at most two hooks (V: equal to the loop equations
    for k <= 9 and all n). Real: loop equations (P), whose polynomials come with the package. Quaternion: by duality n -> -2n (P).

    Parameters
    ----------
    n, k
        Width n >= 1; depth 0 <= k <= 200 (complex; 2 s at k = 120, 10 s at 200) or 0 <= k <= 12 (real, quaternion).
    field
        ``"complex"``, ``"real"`` or ``"quaternion"``.

    Raises
    ------
    ValueError
        A depth out of range, an unknown field.

    Examples
    --------
    >>> energy_variance(10, 1, "real")  # chi-square: 2/n
    Fraction(1, 5)
    """
    kind = as_field(field)
    width = whole_number(n, "n", 1)
    match kind:
        case Field.COMPLEX:
            depth = whole_number(
                k, "k", 0, MAX_PARTITION_K, "signalprop.spread.relative_variance has it in floating point."
            )
            fourth = _partition_fourth(width, depth)
        case Field.REAL | Field.QUATERNION:
            depth = whole_number(k, "k", 0, MAX_LOOP_K, BEYOND_LOOPS)
            fourth = _loop_fourth(width, depth, kind)
        case _:
            assert_never(kind)
    return fourth - _energy(width, depth, kind) ** 2


def _partition_fourth(n: int, k: int) -> Fraction:
    from signalprop.energy._fourth_moment import fourth_moment

    if k == 0:
        return Fraction(1)
    fourth = fourth_moment(n, k)
    return Fraction(int(fourth.p), int(fourth.q))


def _loop_fourth(n: int, k: int, kind: Field) -> Fraction:
    """E||W^k x||^4 from the polynomials of real weights; quaternion by duality, with -1/2 for each trace and each of 2k pairs."""
    known = by_field(kind, real=(n, Fraction(1)), complex=None, quaternion=(-2 * n, Fraction(-1, 2)))
    assert known is not None, "complex weights have polynomials of their own"
    base, unit = known
    square, trace = (sum(c * base**j for j, c in enumerate(row)) * unit ** (2 * k) for row in _loop_moments(k))
    half = Fraction(kind.beta, 2)  # squared moduli of the entries of x: Dirichlet(beta/2, .., beta/2)
    fourth: Fraction = (half * square * unit**2 + trace * unit) / (n * (half * n + 1) * Fraction(n) ** (2 * k))
    return fourth


@lru_cache(maxsize=1)
def _loop_table() -> dict[str, list[list[str]]]:
    """Coefficients of E(tr M)^2 and E tr M^2 for real weights by k: `wick.second_moments`, which takes minutes at k = 12."""
    path = files("signalprop.wick").joinpath("second_moments.json")
    with our_own(path):
        table: dict[str, list[list[str]]] = json.loads(path.read_text(encoding="utf-8"))
    return table


@lru_cache(maxsize=MAX_LOOP_K + 1)
def _loop_moments(k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """E (tr M)^2 and E tr M^2 for real weights: ascending coefficients in n, which serve every width."""
    square, trace = _loop_table()[str(k)]
    return tuple(map(int, square)), tuple(map(int, trace))


# Measured on one core: seconds per term of the sum over partitions and per bit of it; per squared bit of a reduced fraction;
# per cubed step and squared bit of a sum of fractions.
_TERM_SECONDS, _TERM_BIT_SECONDS = 2e-6, 1e-9
_REDUCE_SECONDS, _SUM_SECONDS = 1.5e-12, 1e-12


def _seconds(n: int, k: int, kind: Field) -> float:
    """Estimated cost of one energy, right within a factor of about three."""
    bits = float(k + 2) * _bits(n, k)
    partitions = 0.25 * k * k * (_TERM_SECONDS + _TERM_BIT_SECONDS * bits)
    return by_field(kind, real=partitions, complex=_REDUCE_SECONDS * bits**2, quaternion=partitions)


def _bits(n: int, k: int) -> float:
    """Bits of one factor n + 2j of the products."""
    return float((n + 2 * k).bit_length())


def _factor_bits(square: Fraction) -> float:
    return float(square.numerator.bit_length() + square.denominator.bit_length() - 2)


def _energy(n: int, k: int, kind: Field) -> Fraction:
    match kind:
        case Field.COMPLEX:
            rising = _product(range(n, n + k + 2))
            falling = _product(range(n, n - k - 2, -1)) if n > k + 1 else fmpz(0)
            return _fraction(rising - falling, (k + 1) * (k + 2) * fmpz(n) ** (k + 1))
        case Field.REAL:
            return _zonal_energy(n, k)
        case Field.QUATERNION:
            return _zonal_energy(-2 * n, k)
        case _:
            assert_never(kind)


def _zonal_energy(base: int, k: int) -> Fraction:
    """The sum over partitions at width `base`: n for real weights, -2n for quaternion ones."""
    size = k + 1
    p, q, s = ([fmpz(1)] for _ in range(3))
    for j in range(size):
        p.append(p[-1] * (base + 2 * j))
        q.append(q[-1] * (base - 1 + 2 * j))
        s.append(s[-1] * (base - 2 - j))
    total = fmpq(p[size], 2 * k + 1)
    for a, b, c, d in zonal_coefficients(k):
        total += fmpq(p[a] * q[b] * s[c] * d.numerator, d.denominator)
    return _fraction(total.p, total.q * fmpz(base) ** size)


def _fraction(numerator: fmpz, denominator: fmpz) -> Fraction:
    """Reduced by FLINT, whose greatest common divisor is fast for long integers."""
    ratio = fmpq(numerator, denominator)
    return Fraction(int(ratio.p), int(ratio.q))


def _product(factors: Iterable[int]) -> fmpz:
    """Product by halves, so that the long multiplications are balanced."""
    level = [fmpz(value) for value in factors]
    while len(level) > 1:
        level = [level[i] * level[i + 1] for i in range(0, len(level) - 1, 2)] + ([level[-1]] if len(level) % 2 else [])
    return level[0]


def _depth(value: int, name: str, kind: Field) -> int:
    return whole_number(
        value,
        name,
        0,
        by_field(kind, real=MAX_ZONAL_K, complex=MAX_COMPLEX_K, quaternion=MAX_ZONAL_K),
        "Use signalprop.energy for more.",
    )


def _factor(scale: Fraction | int) -> Fraction:
    return exact_number(scale, "scale", floats=False)
