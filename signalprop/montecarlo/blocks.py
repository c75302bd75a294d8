"""Blocks: the pieces a plan is cut into. One block is one task for a worker and one file on disk.

A piece is one chunk of one cell. Small pieces share a block, so that the cost of a task and of a file is spread over many
cells; the cut depends on the plan alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from signalprop._blas import one_blas_thread_if
from signalprop._provenance import installed_version
from signalprop._threads import go_on
from signalprop.methods import Method
from signalprop.models import Model, as_model, by_model
from signalprop.montecarlo.cell import Cell
from signalprop.montecarlo.plan import Plan
from signalprop.montecarlo.sampling import peaks

Piece = tuple[int, int]  # cell number, chunk number
_START_SECONDS = 1e-4  # of one piece: its random stream
_SHORTEST, _LONGEST = 0.05, 20.0  # seconds of one block, roughly
_FILES = 2000
_MOST_ROWS = 1 << 17
_MOST_PIECES = 2048


@dataclass(frozen=True)
class Block:
    """Consecutive pieces, and the number of draws (or repetitions) in them."""

    number: int
    pieces: tuple[Piece, ...]
    rows: int
    seconds: float


def cut(plan: Plan) -> list[Block]:
    """The blocks of a plan, in the order of its cells and chunks: a few thousand, or one per chunk if chunks are long."""
    whole = sum(cell.rows * cell.row_seconds + cell.chunks * _START_SECONDS for cell in plan.cells)
    target = min(max(whole / _FILES, _SHORTEST), _LONGEST)
    blocks: list[Block] = []
    pieces: list[Piece] = []
    rows, seconds = 0, 0.0
    for number, cell in enumerate(plan.cells):
        each = cell.row_seconds
        for chunk in range(cell.chunks):
            size = cell.chunk_rows(chunk)
            cost = size * each + _START_SECONDS
            full = seconds + cost > target or rows + size > _MOST_ROWS or len(pieces) == _MOST_PIECES
            if pieces and full:
                blocks.append(Block(len(blocks), tuple(pieces), rows, seconds))
                pieces, rows, seconds = [], 0, 0.0
            pieces.append((number, chunk))
            rows += size
            seconds += cost
    blocks.append(Block(len(blocks), tuple(pieces), rows, seconds))
    return blocks


def draw_block(
    work: Sequence[tuple[Cell, Sequence[int]]], models: Sequence[str], versions: dict[str, str | None]
) -> NDArray[np.float64]:
    """Draw chunks of cells: one row per draw, for each model its log-energy at the end of the path and its highest.

    This is all that a worker is sent: no plan, no file name, no state.

    Raises
    ------
    ValueError
        The worker has other versions than the process that began the run.
    """
    for name, wanted in versions.items():
        if _version(name) != wanted:
            raise ValueError(f"a worker has {name} {_version(name)}, the run needs {wanted}: digits may differ.")
    parts = []
    with one_blas_thread_if(any(cell.method is Method.DENSE for cell, _ in work)):
        for cell, chunks in work:
            for chunk in chunks:
                go_on()
                rnn_logs, lru_logs = cell.draw(chunk, Model.DRIVEN in models)
                columns = []
                for model in models:
                    logs = by_model(as_model(model), rnn=rnn_logs, driven=lru_logs)
                    assert logs is not None
                    energies = 2.0 * logs
                    columns += [energies[:, -1], peaks(energies)]
                parts.append(np.stack(columns, axis=1))
    return np.concatenate(parts)


_version = lru_cache(installed_version)


def work_of(plan: Plan, block: Block) -> list[tuple[Cell, list[int]]]:
    """The arguments of `draw_block`: cells with their chunks."""
    work: list[tuple[Cell, list[int]]] = []
    last = -1
    for number, chunk in block.pieces:
        if number != last:
            work.append((plan.cells[number], []))
            last = number
        work[-1][1].append(chunk)
    return work
