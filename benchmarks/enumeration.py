"""Enumeration of Wick pairings: compiled tree walk against the definition in plain Python."""

import math

from benchmarks._timing import nice, seconds
from signalprop._threads import cores
from signalprop.wick import matchings, permutations, reference


def rows():
    for label, module, slow, slow_k, depths, count in (
        ("permutation", permutations, reference.permutation_counts, 8, (10, 11, 12), math.factorial),
        ("matching", matchings, reference.matching_counts, 6, (9, 10), lambda k: math.prod(range(1, 2 * k, 2))),
    ):
        per_slow = seconds(lambda slow=slow, k=slow_k: slow(k), 1) / count(slow_k)
        yield f"{label}, definition in Python, k = {slow_k}", nice(per_slow), f"per {label}"
        for k in depths:
            one = seconds(lambda module=module, k=k: module.count_cycles(k, workers=1), 3) / count(k)
            all_cores = seconds(lambda module=module, k=k: module.count_cycles(k), 3) / count(k)
            yield f"{label}, kernel, k = {k}, one core", nice(one), f"per {label}, {per_slow / one:.0f}x the definition"
            yield f"{label}, kernel, k = {k}, {cores()} cores", nice(all_cores), f"{one / all_cores:.2f}x one core"
