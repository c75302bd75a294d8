"""Energies to any number of digits with a rigorous error bound: ball arithmetic (Arb, through python-flint).

Every value is computed as a ball, a midpoint and a radius that is proved to contain the exact value of the formula; the
working precision is raised until the radius is below half a unit of the last digit asked for. Nothing here is shared with
`signalprop.energy`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, assert_never

import mpmath
from flint import arb, ctx, fmpq

from signalprop._checks import exact_number, whole_number
from signalprop.fields import Field, as_field, by_field

Scale = int | float | Fraction

MAX_N = 10**30
MAX_COMPLEX_K = 100_000
MAX_ZONAL_K = 3_000
MAX_ZONAL_T = 300
MAX_DIGITS = 100_000


def rnn_energy(n: int, k: int, field: str = "real", digits: int = 50, *, scale: Scale = 1) -> Any:
    r"""Q_{n,k} = E||W^k x||^2/n, correct to `digits` significant digits.

    Parameters
    ----------
    n, k
        Width 1 <= n <= 1e30; depth 0 <= k <= 100000 (complex), 0 <= k <= 3000 (real, quaternion; O(k^2) terms, 5 s at k = 3000).
    field
        ``"complex"`` (P), ``"real"`` or ``"quaternion"`` (V).
    digits
        Significant digits, 1..100000.
    scale
        g, taken exactly: an int, a `~fractions.Fraction`, or a float at its binary value.

    Returns
    -------
    mpf
        An mpmath number in a context of its own with that many digits: all of them are printed and kept in arithmetic,
        and the global precision of mpmath is left alone. ``mpmath.mpf(value)`` brings it into the global context.

    Raises
    ------
    ValueError
        Arguments outside the ranges above.

    Notes
    -----
    The radius is rigorous for the formula evaluated; for real and quaternion weights that formula is verified, not proved.

    Examples
    --------
    >>> print(rnn_energy(10, 4, "complex", digits=20))
    1.1508
    >>> print(rnn_energy(10**12, 5000, "complex", digits=30))
    1.00000000002605208229145339618
    """
    return _to_mpmath(rnn_energy_ball(n, k, field, digits, scale=scale), digits)


def lru_energy(n: int, t: int, field: str = "real", digits: int = 50, *, scale: Scale = 1) -> Any:
    r"""S_{n,t} = sum_{k<=t} Q_{n,k}, correct to `digits` significant digits; the dense driven recurrence.

    Complex weights by the summed form (P), t <= 100000; real and quaternion weights as a sum of Q, t <= 300.
    Parameters, returns and errors as for `rnn_energy`.

    Examples
    --------
    >>> print(lru_energy(10, 2, "complex", digits=20))
    3.01
    """
    return _to_mpmath(lru_energy_ball(n, t, field, digits, scale=scale), digits)


def rnn_energy_ball(n: int, k: int, field: str = "real", digits: int = 50, *, scale: Scale = 1) -> arb:
    """Q_{n,k} as a ball whose relative radius is below 10^-digits; arguments as for `rnn_energy`.

    Examples
    --------
    >>> rnn_energy_ball(10, 4, "complex", digits=10)
    [1.15080000000000 +/- ...]
    """
    kind, square = as_field(field), _square(scale)
    width = whole_number(n, "n", 1, MAX_N, "exact.rnn_energy has no bound on n.")
    depth = whole_number(
        k,
        "k",
        0,
        by_field(kind, real=MAX_ZONAL_K, complex=MAX_COMPLEX_K, quaternion=MAX_ZONAL_K),
        "energy.rnn_energy goes further.",
    )
    return _raise_precision(lambda: _energy(width, depth, kind) * arb(square) ** depth, digits)


def lru_energy_ball(n: int, t: int, field: str = "real", digits: int = 50, *, scale: Scale = 1) -> arb:
    """S_{n,t} as a ball whose relative radius is below 10^-digits; arguments as for `lru_energy`."""
    kind, square = as_field(field), _square(scale)
    width = whole_number(n, "n", 1, MAX_N, "exact.lru_energy has no bound on n.")
    time = whole_number(
        t,
        "t",
        0,
        by_field(kind, real=MAX_ZONAL_T, complex=MAX_COMPLEX_K, quaternion=MAX_ZONAL_T),
        "energy.lru_energy goes further.",
    )
    summed_form = by_field(kind, real=False, complex=True, quaternion=False)
    if summed_form and square == 1:
        return _raise_precision(lambda: _complex_sum(width, time), digits)

    def total() -> arb:
        return sum((_energy(width, k, kind) * arb(square) ** k for k in range(time + 1)), arb(0))

    return _raise_precision(total, digits)


def _energy(n: int, k: int, kind: Field) -> arb:
    match kind:
        case Field.COMPLEX:
            return _complex_energy(n, k)
        case Field.REAL:
            return _zonal_energy(k, n)
        case Field.QUATERNION:
            return _zonal_energy(k, -2 * n)
        case _:
            assert_never(kind)


def _square(scale: Scale) -> fmpq:
    exact = exact_number(scale, "scale", floats=True) ** 2
    return fmpq(exact.numerator, exact.denominator)


def _raise_precision(compute: Callable[[], arb], digits: int) -> arb:
    wanted = whole_number(digits, "digits", 1, MAX_DIGITS)
    bits = int(wanted * 3.33) + 10
    precision = bits + 64
    while True:
        with ctx.workprec(precision):
            ball = compute()
            if ball.rel_accuracy_bits() >= bits:
                return ball
        precision *= 2


def _complex_energy(n: int, k: int) -> arb:
    # Difference of the two factorials: for k^2 << n it cancels, and the precision is raised until it does not matter.
    rising = arb(n).rising(k + 2)
    falling = arb(n - k - 1).rising(k + 2) if n > k + 1 else arb(0)
    return (rising - falling) / ((k + 1) * (k + 2)) / arb(n) ** (k + 1)


def _complex_sum(n: int, t: int) -> arb:
    rising, falling, total = arb(1), arb(1), arb(0)
    for m in range(1, t + 2):
        rising *= fmpq(n + m - 1, n)
        falling *= fmpq(n - m + 1, n)
        total += rising + falling
    rising *= fmpq(n + t + 1, n)
    falling *= fmpq(n - t - 1, n)
    return total - arb(n) / (t + 2) * (rising - falling)


def _zonal_energy(k: int, base: int) -> arb:
    """The sum over partitions (a, b, 1^c) of K = k+1 with D = a - b outside: its weight is linear in b at fixed D.

    At width `base`: n for real weights, -2n for quaternion ones.
    """
    size = k + 1

    def products(first: int, step: int) -> list[arb]:
        values = [arb(1)]
        for j in range(size):
            values.append(values[-1] * fmpq(first + step * j, base))
        return values

    p, q, s = products(base, 2), products(base - 1, 2), products(base - 2, -1)
    total = p[size] / (2 * k + 1)
    for gap in range(size - 1):
        e = size - gap
        plain, weighted = arb(0), arb(0)
        for b in range(1, e // 2 + 1):
            term = p[gap + b] * q[b] * s[e - 2 * b]
            plain += term
            weighted += b * term
        if gap == 0:
            total += ((6 * size + 2) * plain - 8 * weighted) * fmpq(1, 3 * (size * size - 1))
            continue
        constant = 2 * e * (2 * gap - 1) * (4 * gap + e + 3)
        slope = 8 * (e * e + 2 * gap * e - 2 * gap * gap - 3 * gap)
        bottom = (2 * gap + 3) * (2 * gap - 1) * (size + gap) * (size + gap + 1) * (e - 1) * e
        total += (constant * plain + slope * weighted) * fmpq(1, bottom)
    return total


@cache
def _context(digits: int) -> Any:
    context = mpmath.MPContext()
    context.dps = digits
    return context


def _to_mpmath(ball: arb, digits: int) -> Any:
    """Midpoint of the ball, rounded to a number that prints and computes with all its digits."""
    mantissa, exponent = ball.mid().man_exp()
    context = _context(whole_number(digits, "digits", 1))
    return context.ldexp(context.mpf(int(mantissa)), int(exponent))
