"""What it takes to draw cells, estimated before the first number is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from signalprop._cost import refuse_beyond_bounds
from signalprop.methods import Method
from signalprop.montecarlo.cell import Cell

DAY = 86400.0
_PIECE_BYTES = 150.0  # of each chunk in the list of work
_PIECE_SECONDS = 2e-5


def refuse_impossible(what: str, cells: Iterable[Cell], workers: int, kept: int, longest: float) -> None:
    """Refuse cells that would take more than `longest` seconds on that many workers, or more memory than there is.

    `kept` is the number of bytes kept per row.
    """
    seconds, most, rows, chunks = 0.0, 0.0, 0, 0
    method = Method.KRYLOV
    for cell in cells:
        seconds += cell.rows * cell.row_seconds
        most = max(most, cell.room)
        rows += cell.rows
        chunks += cell.chunks
        method = cell.method
    refuse_beyond_bounds(
        what,
        seconds=seconds / workers + _PIECE_SECONDS * chunks,
        memory=workers * most + kept * rows + _PIECE_BYTES * chunks,
        instead=_instead_of(method),
        default_seconds=longest,
    )


def _instead_of(method: Method) -> str:
    match method:
        case Method.KRYLOV:
            return "Fewer samples will do for most questions, and signalprop.energy has the exact mean."
        case Method.DENSE:
            return "method='krylov' has the same law for linear tied weights at a cost that does not depend on n."
        case Method.TEMPERED:
            return "Fewer particles will do for most questions, and signalprop.energy has the exact mean."
        case _:
            assert_never(method)
