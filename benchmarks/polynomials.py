"""Trace polynomials M_k(n) = E tr[G^k (G^k)*] with exact integer coefficients: three routes."""

from benchmarks.suite import OTHER, OURS, Comparison, Contender
from signalprop.moments import trace_polynomial
from signalprop.wick import cycle_counts, trace_moment


def by_loop_equations(k, field):
    """A fresh computation: what is remembered from smaller words is forgotten."""
    from signalprop.wick import words

    for name in dir(words):
        clear = getattr(getattr(words, name), "cache_clear", None)
        if clear is not None:
            clear()
    return trace_moment(["G" * k + "G*" * k], field)


def comparisons(quick):
    for field, largest in (("complex", 12), ("real", 10)):
        for k in (4, 6, 8) if quick else (4, 6, 8, 10, 12):
            contenders = [
                Contender("closed form", OURS, lambda k=k, field=field: trace_polynomial(k, field)),
                Contender("loop equations", OTHER, lambda k=k, field=field: by_loop_equations(k, field)),
            ]
            if k <= largest:
                contenders.append(Contender("enumeration", OTHER, lambda k=k, field=field: cycle_counts(k, field)))
            yield Comparison(f"{field} weights", "k", k, "", contenders, rounds=3)
    for k in () if quick else (25, 50, 100):
        yield Comparison(
            "real weights",
            "k",
            k,
            "",
            [Contender("closed form", OURS, lambda k=k: trace_polynomial(k, "real"))],
            rounds=3,
        )
