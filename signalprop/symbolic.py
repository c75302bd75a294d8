"""The energies as SymPy expressions: symbolic width, symbolic depth where a closed form allows it, large-n expansions.

Everything is derived when called, from `signalprop.moments` or from the closed forms; nothing is typed in. ``latex(expression)``
is SymPy's, re-exported.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import comb, isfinite
from numbers import Rational
from typing import Any

import sympy
from sympy import latex

from signalprop import moments
from signalprop._checks import INT64_LIMIT, exact_number, real_number, scalar, shown, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop.fields import Field, as_field, by_field

__all__ = [
    "expansion",
    "hultman_row",
    "latex",
    "lru_energy",
    "lru_summed_form_residual",
    "rnn_energy",
    "symbol",
    "trace_polynomial",
]

MAX_ORDER = 12
CONFIRMATIONS = 10


def symbol(name: str) -> sympy.Symbol:
    """The symbol that a name stands for here: n and N are positive integers, all others (k, t) non-negative ones.

    Examples
    --------
    >>> symbol("n").is_positive, symbol("k").is_nonnegative
    (True, True)
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"a symbol needs a name like 'n' or 'k', got {shown(name)}.")
    return sympy.Symbol(name, integer=True, **{"positive" if name in ("n", "N") else "nonnegative": True})


def trace_polynomial(n: Any, k: Any, field: str = "real") -> sympy.Expr:
    """M_k(n) = E tr[G^k (G^k)*] as an expression; arguments as for `rnn_energy`.

    Examples
    --------
    >>> trace_polynomial("n", 4, "real")
    n**5 + 28*n**3 + 28*n**2 + 48*n
    """
    kind = as_field(field)
    width, depth = _pair(n, k, "k")
    if depth.is_Integer:
        coefficients = moments.trace_polynomial(whole_number(int(depth), "k", 0), kind)
        terms = (c * width**j for j, c in enumerate(coefficients))
        return sympy.Add(*terms) / moments.trace_denominator(int(depth), kind)
    _only_complex(kind, depth)
    rising, falling = sympy.rf(width, depth + 2), sympy.ff(width, depth + 2)
    return (rising - falling) / ((depth + 1) * (depth + 2))


def rnn_energy(n: Any, k: Any, field: str = "real", *, scale: Any = 1) -> sympy.Expr:
    r"""Q_{n,k} as an expression in n, k.

    Parameters
    ----------
    n
        A symbol, an integer, or a name like ``"n"`` (made into a positive integer symbol).
    k
        The same; a symbolic depth needs complex weights, whose closed form has rising and falling factorials
        (``expression.rewrite(sympy.gamma)`` turns them into gamma functions).
    field
        ``"complex"`` (P), ``"real"`` or ``"quaternion"`` (V).
    scale
        g, a number or a symbol: the energy is multiplied by g^{2k}.

    Returns
    -------
    sympy.Expr

    Raises
    ------
    ValueError
        A symbolic depth for real or quaternion weights, or numbers out of range.

    Examples
    --------
    >>> rnn_energy("n", 3, "real")
    1 + 10/n**2 + 4/n**3
    >>> rnn_energy("n", "k", "complex")
    n**(-k - 1)*(-FallingFactorial(n, k + 2) + RisingFactorial(n, k + 2))/((k + 1)*(k + 2))
    >>> rnn_energy(10, 4, "complex")
    2877/2500
    """
    width, depth = _pair(n, k, "k")
    g = _factor(scale)
    trace = trace_polynomial(width, depth, field)  # first, as it refuses a depth whose powers would never end
    if depth.is_Integer:
        return sympy.expand(g ** (2 * depth) * trace / width ** (depth + 1))
    return g ** (2 * depth) * sympy.powsimp(trace / width ** (depth + 1))


def lru_energy(n: Any, t: Any, field: str = "real", *, scale: Any = 1, form: str = "sum") -> sympy.Expr:
    r"""S_{n,t} as an expression.

    Parameters
    ----------
    n, t, field, scale
        As for `rnn_energy`; a symbolic time needs complex weights.
    form
        ``"sum"``: sum over k of Q_{n,k}. ``"summed"`` (complex): sum over m <= t+1 of r_m + f_m less n (r_{t+2} - f_{t+2})/(t+2),
        with r_m, f_m the rising and falling factorials over n^m. `lru_summed_form_residual` proves the two equal.

    Examples
    --------
    >>> lru_energy("n", 3, "real")
    4 + 12/n**2 + 4/n**3
    >>> lru_energy("n", 3, "complex", form="summed")
    4 + 6/n**2
    """
    kind = as_field(field)
    width, time = _pair(n, t, "t")
    if not isinstance(form, str) or form not in ("sum", "summed"):
        raise ValueError(f"form must be 'sum' or 'summed', got {shown(form)}.")
    if time.is_Integer:
        last = whole_number(int(time), "t", 0, INT64_LIMIT)
        refuse_beyond_bounds(
            f"symbolic.lru_energy of time {last}",
            seconds=1e-5 * float(last) ** 3,
            instead="exact.lru_energy has it at a given n.",
        )
    if form == "sum":
        if time.is_Integer:
            steps = range(int(time) + 1)
            return sympy.expand(sympy.Add(*(rnn_energy(width, j, kind, scale=scale) for j in steps)))
        _only_complex(kind, time)
        k = _index("k", width, time, _factor(scale))
        return sympy.Sum(rnn_energy(width, k, kind, scale=scale), (k, 0, time))
    if kind is not Field.COMPLEX:
        raise ValueError(f"form='summed' is known for complex weights only, got field={str(kind)!r}; use form='sum'.")
    if _factor(scale) != 1:
        raise ValueError(f"form='summed' is known for scale 1 only, got {shown(scale)}; use form='sum'.")
    m = _index("m", width, time)

    def over_power(factorial: Any, size: Any) -> sympy.Expr:
        return factorial(width, size) / width**size

    body = over_power(sympy.rf, m) + over_power(sympy.ff, m)
    edge = width / (time + 2) * (over_power(sympy.rf, time + 2) - over_power(sympy.ff, time + 2))
    if time.is_Integer:
        total = sum((body.subs(m, j) for j in range(1, int(time) + 2)), sympy.Integer(0)) - edge
        return sympy.expand(sympy.expand_func(total))
    return sympy.Sum(body, (m, 1, time + 1)) - edge


def lru_summed_form_residual() -> sympy.Expr:
    r"""What is left of [summed form at t] - [summed form at t-1] - Q_{n,t}, with t and n symbolic: zero.

    With r, f the values at t+1, the next ones are r (1 + (t+1)/n) and f (1 - (t+1)/n). Together with S_{n,0} = Q_{n,0} = 1
    (both forms) this is a proof by induction that the two forms of S are equal.

    Examples
    --------
    >>> lru_summed_form_residual()
    0
    """
    n, t, r, f = sympy.symbols("n t r f")
    r_next, f_next = r * (1 + (t + 1) / n), f * (1 - (t + 1) / n)
    growth = r + f - n / (t + 2) * (r_next - f_next) + n / (t + 1) * (r - f)
    q = n * (r_next - f_next) / ((t + 1) * (t + 2))
    return sympy.simplify(growth - q)


def expansion(field: str = "real", order: int = 4) -> list[sympy.Expr]:
    r"""Coefficients q_0(k), .., q_order(k) of :math:`Q_{n,k} = \sum_m q_m(k)\, n^{-m}`, as expressions in k.

    Polynomials of degree <= 2m (complex) or quasi-polynomials of period 2 (real, quaternion), found by exact interpolation of
    the coefficients of M_k at k = 0, 1, 2, .. and then confirmed on ten further k of each parity (V; P for complex,
    whose coefficients are Stirling numbers).

    Parameters
    ----------
    field
        Number system of the weights.
    order
        Largest power of 1/n, 0 <= order <= 12.

    Raises
    ------
    ArithmeticError
        If a confirmation fails (it does not).

    Examples
    --------
    >>> [sympy.factor(q) for q in expansion("complex", 2)]
    [1, 0, k*(k - 1)*(k + 1)*(k + 2)/24]
    """
    kind = as_field(field)
    largest = whole_number(
        order, "order", 0, MAX_ORDER, "Higher orders need M_k beyond k = 70; use moments.trace_polynomial."
    )
    return [_expansion_coefficient(kind, m) for m in range(largest + 1)]


def hultman_row(k: int) -> tuple[int, ...]:
    """Hultman numbers H(k, V), V = 0..k+1: permutations of k whose commutator with the long cycle has V cycles.

    H(k, V) = c(k+2, V)/binom(k+2, 2) for k - V odd, else 0, with c the unsigned Stirling numbers of the first kind by their
    recursion (P; independent of `moments`).

    Examples
    --------
    >>> hultman_row(4)
    (0, 8, 0, 15, 0, 1)
    """
    depth = whole_number(k, "k", 0, 2000, "Use moments.trace_polynomial.")
    row = [1]
    for m in range(depth + 2):
        row = [left + m * here for left, here in zip([0, *row], [*row, 0], strict=True)]
    pairs = comb(depth + 2, 2)
    return tuple(row[v] // pairs if (depth - v) % 2 else 0 for v in range(depth + 2))


@cache
def _row(k: int, kind: Field) -> tuple[int, ...]:
    return moments.trace_polynomial(k, kind)


def _expansion_coefficient(kind: Field, m: int) -> sympy.Expr:
    """q_m(k) by interpolation: coefficient of n^{k+1-m} in M_k."""

    def value(k: int) -> sympy.Rational:
        j = k + 1 - m
        return sympy.Rational(_row(k, kind)[j] if j >= 0 else 0, moments.trace_denominator(k, kind))

    k = symbol("k")
    period = by_field(kind, real=2, complex=1, quaternion=2)
    pieces = []
    for first in range(period):
        points = [first + period * i for i in range(2 * m + 1 + CONFIRMATIONS)]
        fit = sympy.interpolate([(point, value(point)) for point in points[: 2 * m + 1]], k)
        for point in points[2 * m + 1 :]:
            if fit.subs(k, point) != value(point):
                raise ArithmeticError(
                    f"q_{m} is not a polynomial of degree {2 * m} at k = {point} ({kind.value}); please report this."
                )
        pieces.append(sympy.Poly(fit, k))
    if period == 1 or pieces[0] == pieces[1]:
        return pieces[0].as_expr()
    even, odd = (piece.as_expr() for piece in pieces)
    return sympy.expand((even + odd) / 2) + (-1) ** k * sympy.expand((even - odd) / 2)


def _symbol(value: Any, name: str) -> sympy.Expr:
    """An integer >= 1 (n) or >= 0 (k, t), or a symbol."""
    if isinstance(value, str):
        if not value.isidentifier():
            raise ValueError(f"{name} must be a symbol, a whole number or a name, got {shown(value)}.")
        return symbol(value)
    if isinstance(value, sympy.Expr) and not value.is_number:
        return value
    number = int(value) if isinstance(value, sympy.Integer) else value
    return sympy.Integer(whole_number(number, name, 1 if name == "n" else 0))


def _pair(n: Any, k: Any, name: str) -> tuple[sympy.Expr, sympy.Expr]:
    width, depth = _symbol(n, "n"), _symbol(k, name)
    shared = {s.name for s in width.free_symbols} & {s.name for s in depth.free_symbols}
    if shared:
        raise ValueError(f"n and {name} must be different symbols, got {width} and {depth}.")
    return width, depth


def _factor(scale: Any) -> sympy.Expr:
    if isinstance(scale, sympy.Expr) and (not scale.is_number or (scale.is_real and scale > 0)):
        return scale
    if isinstance(scale, str) and scale.isidentifier():
        return sympy.Symbol(scale)
    value = real_number(scale, "scale")
    if not value > 0.0:
        raise ValueError(f"scale must be positive, got {shown(scale)}.")
    exact = exact_number(scale, "scale", floats=True)
    if (
        isinstance(scalar(scale), Rational) or not isfinite(value) or Fraction(value) != exact
    ):  # more digits than a double has
        return sympy.Rational(exact.numerator, exact.denominator)
    return sympy.Float(value)


def _index(name: str, *expressions: sympy.Expr) -> sympy.Symbol:
    """A summation index called `name`, or `name`_1, .. if the expressions use that name."""
    taken = {s.name for expression in expressions for s in expression.free_symbols}
    free = next(candidate for candidate in (name, *(f"{name}_{i}" for i in range(1, 10))) if candidate not in taken)
    return sympy.Symbol(free, integer=True, nonnegative=True)


def _only_complex(kind: Field, symbol: sympy.Expr) -> None:
    if kind is not Field.COMPLEX:
        raise ValueError(
            f"a symbolic depth {symbol} needs field='complex'; the {kind.value} energy is a double sum over partitions: "
            "give an integer depth, or use symbolic.expansion."
        )
