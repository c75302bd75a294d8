"""Every route to a number against every other: what `signalprop verify` runs.

A check compares two routes that share no formula on a stated grid and reports the worst deviation.
"""

from __future__ import annotations

from signalprop._checks import flag
from signalprop.verify import cells, counting, draws, laws, meanfield, recurrences, scales, values
from signalprop.verify.check import Check, Outcome, run

__all__ = ["Check", "Outcome", "all_checks", "run"]


def all_checks(thorough: bool = False) -> list[Check]:
    """The checks of this version, part by part; `thorough` takes minutes instead of one."""
    wanted = flag(thorough, "thorough")
    return [
        check
        for part in (counting, values, laws, draws, scales, recurrences, meanfield, cells)
        for check in part.checks(wanted)
    ]
