"""``criterion="edge"``: one over a quantile of the spectral radius of W (the proposal of Bar et al., arXiv:2505.19827)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signalprop._checks import shown
from signalprop._status import Status
from signalprop._topics import Topic
from signalprop.fields import Field, by_field
from signalprop.initialization.criteria.record import Found, ScaleCriterion

if TYPE_CHECKING:
    from signalprop.initialization.scale import SafeScale


def log_edge(n: int, field: Field, probability: float) -> float:
    """Log of the `probability`-quantile of the spectral radius of W.

    Complex and quaternion weights at any width, real ones from n = 12288 on: `spectral_edge`. Real weights below: the shipped
    table, whose long paths are ruled by the radius.

    Raises
    ------
    ValueError
        A probability below 0.01, or above 0.99 for real weights with n <= 12288.
    """
    from signalprop.initialization import one_draw_table
    from signalprop.initialization.spectral_edge import log_radius_quantile

    lowest, highest = one_draw_table.LEVELS[0], one_draw_table.LEVELS[-1]
    by_law = n > by_field(field, real=one_draw_table.DENSE_TO, complex=0, quaternion=0)
    if probability < lowest or (probability > highest and not by_law):
        raise ValueError(
            f"criterion='edge' knows quantiles from {lowest} on, for real weights up to n = {one_draw_table.DENSE_TO} those to "
            f"{highest}, got {shown(probability)}."
        )
    if by_law:
        return log_radius_quantile(n, field, probability)
    return one_draw_table.tabled_log_edge(n, field, probability)


def _how_sure(found: SafeScale) -> str:
    from signalprop.initialization.one_draw_table import DENSE_TO

    law = f"{Status.P.words} (Kostlan's product)"
    drawn = "sampled: from a table of simulated draws" if found.n <= DENSE_TO else Status.H.words
    return by_field(found.field, real=drawn, complex=law, quaternion=law)


EDGE = ScaleCriterion(
    solve=lambda asked: Found(-log_edge(asked.n, asked.field, asked.quantile), "spectral edge"),
    guarantee="largest eigenvalue below 1 in 95 % of draws",
    promise=lambda found: f"the largest eigenvalue is below 1 in {100 * found.quantile:g} % of draws",
    how_sure=_how_sure,
    cites=Topic("spectral radius of W", ("bar2025", "kostlan1992", "rider2003", "rider2014", "ginibre1965")),
    options=("quantile",),
)
