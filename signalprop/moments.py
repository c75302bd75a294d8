r"""Trace polynomials M_k(n) = E tr[G^k (G^k)*] in closed form, integer coefficients, three fields (E|g_ij|^2 = 1).

Complex (P):

.. math:: M_k(n) = \frac{n^{\overline{k+2}} - n^{\underline{k+2}}}{(k+1)(k+2)}

Real (V: equal to the loop equations as polynomials for k = 1..33):

.. math:: M_k(n) = \frac{1}{2k+1}\prod_{j=0}^{k}(n+2j)
          + \sum_{a\ge b\ge 1,\,c\ge 0,\,a+b+c=k+1} d(a,b,c)\prod_{j<a}(n+2j)\prod_{j<b}(n-1+2j)\prod_{i=1}^{c}(n-1-i)

Quaternion (duality, checked against Monte Carlo): the real polynomial at -2n, divided by (-2)^{k+1}.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import assert_never

from flint import fmpq, fmpq_poly, fmpz, fmpz_poly

from signalprop._checks import whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop.fields import Field, as_field, by_field

MAX_K = 500


def trace_polynomial(k: int, field: str = "real") -> tuple[int, ...]:
    r"""Integer coefficients of :math:`M_k(n) = E\,\mathrm{tr}[G^k (G^k)^*]`, ascending powers of n.

    .. math:: M_k(n) = \frac{1}{\mathrm{trace\_denominator}(k, field)} \sum_j \mathrm{coefficient}_j\, n^j

    The denominator is 1 for complex and real weights and 2^k for quaternion weights.

    Parameters
    ----------
    k
        Depth, 0 <= k <= 500 (real and quaternion rows cost O(k^2) polynomial products: 0.3 s at k = 100, 3 s at 200).
    field
        ``"complex"`` (P), ``"real"`` (V) or ``"quaternion"`` (V).

    Returns
    -------
    tuple of int
        k + 2 coefficients.

    Raises
    ------
    ValueError
        For `k` outside the range or an unknown field.

    Examples
    --------
    >>> trace_polynomial(5, "complex")
    (0, 0, 84, 0, 35, 0, 1)
    >>> trace_polynomial(3, "real")
    (0, 4, 10, 0, 1)
    >>> trace_polynomial(2, "quaternion"), trace_denominator(2, "quaternion")  # n^3 + n/2
    ((0, 2, 0, 4), 4)
    """
    kind = as_field(field)
    depth = whole_number(
        k, "k", 0, MAX_K, "For larger k evaluate signalprop.rnn_energy or exact.rnn_energy at a given n."
    )
    refuse_beyond_bounds(
        f"moments.trace_polynomial at k = {depth}",
        seconds=by_field(kind, real=1.0, complex=0.0, quaternion=1.0) * 0.3 * (depth / 100) ** 3.4,  # measured
        instead="energy.rnn_energy has the value at a given n.",
    )
    match kind:
        case Field.COMPLEX:
            return _padded(_complex_polynomial(depth), depth)
        case Field.REAL:
            return _padded(_real_polynomial(depth), depth)
        case Field.QUATERNION:
            real = _padded(_real_polynomial(depth), depth)
            # 2^k (real coefficient) (-2)^{j-k-1} n^j: an integer for j >= 1, and there is no constant term.
            return tuple((-1) ** (depth + 1 - j) * value << (j - 1) if j else 0 for j, value in enumerate(real))
        case _:
            assert_never(kind)


def trace_denominator(k: int, field: str = "real") -> int:
    """Common denominator of the coefficients of M_k: 1 (complex, real), 2^k (quaternion).

    Examples
    --------
    >>> trace_denominator(3, "quaternion")
    8
    """
    depth = whole_number(k, "k", 0, 10**6)
    return by_field(as_field(field), real=1, complex=1, quaternion=1 << depth)


def zonal_coefficients(k: int) -> Iterator[tuple[int, int, int, Fraction]]:
    """Iterate over (a, b, c, d(a,b,c)) for the partitions (a, b, 1^c) of k+1 with b >= 1; every d is positive.

    d = P / [(2D+3)(2D-1)(2a+c)(2a+c+1)(2b+c-1)(2b+c)] + [a=b] 2/(2a+c) with D = a-b and
    P = 16a^2 b + 16a^2 c + 16ab^2 - 16ab + 4ac^2 + 4ac + 16b^2 c + 8b^2 + 4bc^2 - 12bc - 12b - 2c^2 - 6c.
    Status V, by zonal polynomials (Jack parameter 2).

    Examples
    --------
    >>> list(zonal_coefficients(1))
    [(1, 1, 0, Fraction(2, 3))]
    """
    return _zonal_coefficients(whole_number(k, "k", 0))


def _zonal_coefficients(depth: int) -> Iterator[tuple[int, int, int, Fraction]]:
    for c in range(depth):
        for b in range(1, (depth + 1 - c) // 2 + 1):
            a = depth + 1 - b - c
            numerator = (
                16 * a * a * b + 16 * a * a * c + 16 * a * b * b - 16 * a * b + 4 * a * c * c + 4 * a * c
                + 16 * b * b * c + 8 * b * b + 4 * b * c * c - 12 * b * c - 12 * b - 2 * c * c - 6 * c
            )  # fmt: skip
            gap = 2 * (a - b)
            denominator = (gap + 3) * (gap - 1) * (2 * a + c) * (2 * a + c + 1) * (2 * b + c - 1) * (2 * b + c)
            yield a, b, c, Fraction(numerator, denominator) + (Fraction(2, 2 * a + c) if a == b else 0)


def _complex_polynomial(k: int) -> fmpz_poly:
    rising, falling = fmpz_poly([1]), fmpz_poly([1])
    for j in range(k + 2):
        rising *= fmpz_poly([j, 1])
        falling *= fmpz_poly([-j, 1])
    difference: fmpz_poly = rising - falling
    return fmpz_poly([value // fmpz((k + 1) * (k + 2)) for value in difference.coeffs()])


def _real_polynomial(k: int) -> fmpz_poly:
    size = k + 1
    p, q, s = ([fmpz_poly([1])] for _ in range(3))
    for j in range(size):
        p.append(p[-1] * fmpz_poly([2 * j, 1]))
        q.append(q[-1] * fmpz_poly([2 * j - 1, 1]))
        s.append(s[-1] * fmpz_poly([-2 - j, 1]))
    total = fmpq_poly(p[size]) / (2 * k + 1)
    inner, current = fmpq_poly([0]), 0
    for a, b, c, d in zonal_coefficients(k):
        if c != current:
            total += inner * s[current]
            inner, current = fmpq_poly([0]), c
        inner += fmpq_poly(p[a] * q[b]) * fmpq(d.numerator, d.denominator)
    total += inner * s[current]
    if total.denom() != 1:
        raise ArithmeticError(
            f"the real trace polynomial at k={k} came out with denominator {total.denom()}; please report this."
        )
    return total.numer()


def _padded(polynomial: fmpz_poly, k: int) -> tuple[int, ...]:
    values = [int(value) for value in polynomial.coeffs()]
    return tuple(values + [0] * (k + 2 - len(values)))
