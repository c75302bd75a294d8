"""The data of the explorer: ``python docs/explorer/make_data.py`` writes ``data.js`` beside the page.

It holds the shipped quantiles of one draw (`signalprop.initialization.one_draw_table`, linear recurrence) and of gradients of
cells (`signalprop.initialization._cell_table`), the nodes of the quadrature of `spectral_edge` and the sentences of the advice,
as one global of plain JavaScript, so that the page works from file:// too. It is written when the documentation is built rather
than committed: half a megabyte that could only repeat or contradict the package.
"""

import base64
import json
import shutil
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop import __version__
from signalprop._status import mean_status
from signalprop.energy import MAX_ZONAL_K
from signalprop.fields import Field
from signalprop.initialization import (
    _cell_advice,
    _cell_evidence,
    _cell_table,
    _cell_text,
    _cell_words,
    advice_text,
    advice_words,
    one_draw_table,
)
from signalprop.initialization.advice import criteria_in_order
from signalprop.initialization.criteria import CRITERIA

HERE = Path(__file__).parent
PAGE = ("*.html", "*.css", "*.js")
CELL_VALUES = ("low", "median", "high", "error")
SIZES = ("n", "draws", "reach", "near_draws", "near_reach")


def assemble(target: Path) -> Path:
    """The whole page with its data in the folder `target`; returns its index.html."""
    target.mkdir(parents=True, exist_ok=True)
    for path in (path for pattern in PAGE for path in HERE.glob(pattern)):
        shutil.copy(path, target)
    write_data(target / "data.js")
    return target / "index.html"


def write_data(path: Path = HERE / "data.js") -> None:
    """Write the data as a script."""
    text = json.dumps(data(), separators=(",", ":"))
    path.write_text(f'"use strict";\n/* Written by docs/explorer/make_data.py. */\nconst TABLE = {text};\n')


def data() -> dict[str, Any]:
    """What the page knows of the package."""
    gauss = np.polynomial.legendre.leggauss(80)  # as in spectral_edge
    return {
        "version": __version__,
        "levels": one_draw_table.LEVELS,
        "scores": [NormalDist().inv_cdf(level) for level in one_draw_table.LEVELS],
        "at_default": one_draw_table.AT_DEFAULT,
        "bound": one_draw_table.BOUND,
        "dense_to": one_draw_table.DENSE_TO,
        "horizons": one_draw_table.HORIZONS.tolist(),
        "mean_reach": MAX_ZONAL_K,
        "words": {
            "sentences": advice_words.SENTENCES,
            "code": advice_words.CODE,
            "guarantees": {name: CRITERIA[name].guarantee for name in criteria_in_order()},
            "mean_status": {field.value: mean_status(field) for field in Field},
            "trained": advice_text.TRAINED,
            "far": advice_text.FAR,
            "most_heads": advice_text.MOST_HEADS,
        },
        "gauss": [part.tolist() for part in gauss],
        "fields": {field.value: rows(field) for field in Field},
        "cells": cells(),
    }


def cells() -> dict[str, Any]:
    """The table of gradients, and the words of its pages."""
    return {
        "widths": _cell_table.WIDTHS,
        "input_stds": _cell_table.INPUT_STDS,
        "horizons": _cell_table.HORIZONS,
        "values": CELL_VALUES,
        "advised": _cell_advice.ADVISED,
        "tables": {
            cell: {start: of_start(cell, start) for start in starts} for cell, starts in _cell_table.TABLED.items()
        },
        "words": {
            "sentences": _cell_words.SENTENCES,
            "code": _cell_words.CODE,
            "alone": _cell_words.ALONE,
            "names": _cell_words.NAMES,
            "start_names": _cell_words.START_NAMES,
            "titles": _cell_words.TITLES,
            "gates": _cell_words.GATES,
            "trained": {cell: trained(cell) for cell in _cell_words.NAMES},
            "near_one": _cell_text.NEAR_ONE,
            "faded": _cell_text.FADED,
            "weak": _cell_text.WEAK,
        },
    }


def trained(cell: str) -> list[dict[str, Any]]:
    """What the trainings of each group showed, for inputs below and from "near_one", and near which widths and horizons."""
    found = []
    for group in _cell_evidence.evidence(cell):
        widths, horizons = _cell_text.around(group)
        below, above = (_cell_text.told_of(group, std) for std in (0.0, _cell_text.NEAR_ONE))
        found.append({"widths": widths, "horizons": horizons, "below": below, "above": above})
    return found


def of_start(cell: str, start: str) -> str:
    """CELL_VALUES of one start at all widths, inputs and horizons: float32, base64."""
    levels = [_cell_table.LEVELS.index(level) for level in (0.05, 0.5, 0.95)]
    with np.load(_cell_table.DATA, allow_pickle=False) as archive:
        quantiles, errors = (archive[f"{cell} {start}{end}"] for end in ("", " error"))
    values = np.concatenate([quantiles[..., levels], errors[..., None]], axis=-1)
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def rows(field: Field) -> dict[str, Any]:
    """The rows of one field, those of the driven recurrence left out."""
    linear = one_draw_table.MODELS.index("rnn")
    with np.load(one_draw_table.DATA, allow_pickle=False) as archive:
        found = {name: archive[f"{field.value}_{name}"] for name in (*SIZES, *one_draw_table.NAMES)}
    for name in ("log_scale", "log_scale_error"):
        found[name] = found[name][:, linear]
    return {
        **{name: found[name].tolist() for name in SIZES},
        **{name: packed(found[name]) for name in one_draw_table.NAMES},
    }


def packed(values: NDArray[np.float32]) -> str:
    """Base64 of the first three bytes of each number; the table was rounded so that the fourth is zero.

    Raises
    ------
    ValueError
        It is not.
    """
    parts = np.ascontiguousarray(values, dtype=">f4").view(np.uint8).reshape(-1, 4)
    if parts[:, 3].any():
        raise ValueError("one_draw.npz holds numbers of more than three bytes; pack all four here and in draws.js.")
    return base64.b64encode(parts[:, 2::-1].tobytes()).decode()


if __name__ == "__main__":
    write_data()
