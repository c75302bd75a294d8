"""Integers and fractions: enumeration, loop equations, polynomials, symbols and fractions against each other."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial

from signalprop import exact, moments, symbolic, wick
from signalprop.fields import as_field, by_field
from signalprop.verify.check import FIELDS, WIDTHS, Check
from signalprop.wick import matchings, permutations, reference


def checks(thorough: bool) -> list[Check]:
    """All of them; the thorough ones go to larger k."""

    def rows(name: str, grid: str, deviation: partial[float] | object) -> Check:
        return Check(name, grid, "wrong rows", 0, deviation)  # type: ignore[arg-type]

    def values(name: str, grid: str, deviation: partial[float]) -> Check:
        return Check(name, grid, "wrong values", 0, deviation)

    deepest = {"complex": 12 if thorough else 10, "real": 10 if thorough else 9}
    longest = {"complex": 25 if thorough else 14, "real": 23 if thorough else 14}
    found = [
        rows("enumeration of permutations = commutators by definition", "complex, k <= 7", _permutations_by_definition),
        rows("enumeration of matchings = index sets by definition", "real, k <= 5", _matchings_by_definition),
        rows("matchings across the two copies = permutations", "complex in real, k <= 5", _complex_within_real),
    ]
    for field in ("complex", "real"):
        found += [
            rows(
                "enumeration = closed-form polynomial",
                f"{field}, k <= {deepest[field]}",
                partial(_enumeration, field, deepest[field]),
            ),
            rows(
                "loop equations = enumeration",
                f"{field}, k <= {deepest[field] - 1}",
                partial(_loops_enumeration, field, deepest[field] - 1),
            ),
            rows(
                "loop equations = closed-form polynomial",
                f"{field}, k <= {longest[field]}",
                partial(_loops_closed_form, field, longest[field]),
            ),
            rows(
                "second moments by loop equations = Gaussian and chi-square moments",
                f"{field}, k <= {6 if thorough else 4}",
                partial(_second_moments, field, 6 if thorough else 4),
            ),
        ]
    for field in FIELDS:
        found += [
            values("polynomial = fraction", f"{field}, k <= 16, n in 1..1000", partial(_polynomials, field)),
            values(
                "fraction = moments of one Gaussian number", f"{field}, n = 1, k <= 30", partial(_one_by_one, field)
            ),
            values("S = sum of Q, as fractions", f"{field}, t <= 12, n in 1..1000", partial(_lru_sums, field)),
            values("symbolic Q, S = fraction", f"{field}, k <= 6, n in 1..1000", partial(_symbols, field)),
        ]
    found.append(rows("Hultman rows by Stirling numbers = polynomial", "complex, k <= 40", _hultman))
    found.append(values("summed form of S: induction step vanishes", "complex, symbolic n and t", partial(_induction)))
    for field in FIELDS:
        found.append(
            values(
                "expansion to order 6 = polynomial, symbols in k",
                f"{field}, k <= 5",
                partial(_expansions, field),
            )
        )
    return found


def _permutations_by_definition() -> float:
    return sum(permutations.count_cycles(k) != reference.permutation_counts(k) for k in range(4, 8))


def _matchings_by_definition() -> float:
    return sum(matchings.count_cycles(k) != reference.matching_counts(k) for k in range(4, 6))


def _enumeration(field: str, largest: int) -> float:
    return sum(wick.cycle_counts(k, field) != moments.trace_polynomial(k, field) for k in range(largest + 1))


def _complex_within_real() -> float:
    def across(k: int) -> tuple[int, ...]:
        counts = [0] * (k + 2)
        for pairing in reference.perfect_matchings(tuple(range(2 * k))):
            if all(f < k <= g for f, g in pairing):
                counts[reference.free_indices(k, pairing)] += 1
        return tuple(counts)

    return sum(across(k) != wick.cycle_counts(k, "complex") for k in range(1, 6))


def _polynomials(field: str) -> float:
    wrong = 0
    for k in range(17):
        coefficients, denominator = moments.trace_polynomial(k, field), moments.trace_denominator(k, field)
        for n in WIDTHS:
            value = Fraction(sum(c * n**j for j, c in enumerate(coefficients)), denominator * n ** (k + 1))
            wrong += value != exact.rnn_energy(n, k, field)
    return wrong


def _one_by_one(field: str) -> float:
    # At n = 1 the energy is E|g|^{2k}: (2k-1)!! real, k! complex, (k+1)!/2^k quaternion.
    def moment(k: int) -> Fraction:
        return by_field(
            as_field(field),
            real=Fraction(math.factorial(2 * k), 2**k * math.factorial(k)),
            complex=Fraction(math.factorial(k)),
            quaternion=Fraction(math.factorial(k + 1), 2**k),
        )

    return sum(exact.rnn_energy(1, k, field) != moment(k) for k in range(31))


def _lru_sums(field: str) -> float:
    return sum(
        exact.lru_energy(n, t, field) != sum(exact.rnn_energy(n, k, field) for k in range(t + 1))
        for n in WIDTHS
        for t in (0, 1, 2, 5, 12)
    )


def _loops_enumeration(field: str, largest: int) -> float:
    rows = ((wick.trace_moment([f"G^{k} G*^{k}"], field), wick.cycle_counts(k, field)) for k in range(1, largest + 1))
    return sum(loops != counts for loops, counts in rows)


def _loops_closed_form(field: str, largest: int) -> float:
    return sum(
        wick.trace_moment([f"G^{k} G*^{k}"], field) != moments.trace_polynomial(k, field) for k in range(1, largest + 1)
    )


def _second_moments(field: str, largest: int) -> float:
    # At n = 1 both second moments are E|g|^{4k}; after one step the energy is chi-square, with variance 2/(beta n). Words
    # contracted letter by letter against the sum over partitions (complex) and the table (real).
    beta = as_field(field).beta
    wrong = sum(exact.energy_variance(n, 1, field) != Fraction(2, beta * n) for n in WIDTHS)
    for k in range(1, largest + 1):
        moments_of_trace = wick.second_moments(k, field)
        want = {"real": math.prod(range(1, 4 * k, 2)), "complex": math.factorial(2 * k)}[field]
        wrong += sum(sum(row) != want for row in moments_of_trace)
        for n in WIDTHS:
            square, trace = (sum(c * n**j for j, c in enumerate(row)) for row in moments_of_trace)
            fourth = Fraction(beta * square + 2 * trace, n * (beta * n + 2) * n ** (2 * k))
            wrong += exact.energy_variance(n, k, field) != fourth - exact.rnn_energy(n, k, field) ** 2
    return wrong


def _symbols(field: str) -> float:
    n = symbolic.symbol("n")
    wrong = 0
    for k in range(7):
        q, s = symbolic.rnn_energy(n, k, field), symbolic.lru_energy(n, k, field)
        for width in WIDTHS:
            for expression, want in ((q, exact.rnn_energy(width, k, field)), (s, exact.lru_energy(width, k, field))):
                got = expression.subs(n, width)
                wrong += (int(got.p), int(got.q)) != (want.numerator, want.denominator)
    return wrong


def _hultman() -> float:
    return sum(symbolic.hultman_row(k) != moments.trace_polynomial(k, "complex") for k in range(41))


def _induction() -> float:
    return float(symbolic.lru_summed_form_residual() != 0)


def _expansions(field: str) -> float:
    n, k_symbol = symbolic.symbol("n"), symbolic.symbol("k")
    coefficients = symbolic.expansion(field, 6)
    wrong = 0
    for k in range(6):
        total = sum(q.subs(k_symbol, k) / n**m for m, q in enumerate(coefficients))
        wrong += (total - symbolic.rnn_energy(n, k, field)).expand() != 0
    return wrong
