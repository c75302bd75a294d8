"""Write every figure as PNG and SVG, with a CSV of the numbers drawn and a JSON that says where they come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib

from signalprop._checks import function_or_none, seed_of
from signalprop._house_style import house_style
from signalprop._provenance import provenance
from signalprop.fields import one_of
from signalprop.figures.base import FIGURES, QUALITIES
from signalprop.figures.drawn import Drawn, write
from signalprop.figures.gallery import in_order, index


def reproduce(
    directory: str | os.PathLike[str] = "figures",
    quality: str = "default",
    *,
    seed: int = 0,
    only: str | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> list[Path]:
    """Compute and write all figures, and an index page ``README.md``; returns the paths of the PNG files.

    Parameters
    ----------
    directory
        Where to write; made if missing. For each figure ``NAME.png``, ``.svg``, ``.csv`` (``.csv.gz`` if large) and
        ``.json``; what is there already and differs by rounding only is left as it is (see `signalprop.figures.drawn`).
    quality
        ``"quick"`` (a look, under a minute), ``"default"`` (about two minutes on two cores) or ``"full"`` (ten times the
        draws). The figures of trainings are the same in all of them: they show trainings that come with the package.
    seed
        Root seed of all draws.
    only
        Name of the one figure to draw, of those in `signalprop.figures.FIGURES`.
    progress
        Called as ``progress(figure, share)`` with the share of that figure that is done.

    Raises
    ------
    ValueError
        An unknown quality, or an unknown figure.
    """
    names = figures_of(quality, only)
    seed_of(seed)
    function_or_none(progress, "progress")
    target = Path(directory)
    target.mkdir(parents=True, exist_ok=True)
    facts = provenance()  # before a figure that git knows is replaced
    with _drawing():
        for name in names:
            _draw(name, target, quality, seed, facts, progress)
    write(target / "README.md", index(target).encode())
    return [target / f"{name}.png" for name in names]


def figures_of(quality: str, only: str | None = None) -> tuple[str, ...]:
    """Names of the figures that are drawn, in order, or the one of them that is asked for."""
    one_of(quality, QUALITIES, "quality")
    if only is None:
        return tuple(in_order(list(FIGURES)))
    return (FIGURES.named(only, "only"),)


def _draw(
    name: str,
    target: Path,
    quality: str,
    seed: int,
    facts: dict[str, Any],
    progress: Callable[[str, float], None] | None,
) -> None:
    """Compute and write one figure."""

    def report(share: float) -> None:
        if progress is not None:
            progress(name, share)

    report(0.0)
    figure = FIGURES[name]
    size = figure.sizes[quality]
    drawn = Drawn(target, name, figure.noise)
    picture = figure.draw(drawn.numbers(figure.data(seed=seed, progress=report, **size)))
    drawn.picture(picture)
    matplotlib.pyplot.close(picture)
    about: dict[str, Any] = {
        "figure": name,
        "title": figure.title,
        "parameters": {"quality": quality, "seed": seed, **size},
        "columns": dict(figure.columns),
    }
    if figure.trainings is not None:
        about["trainings"] = figure.trainings()
    drawn.origin(about, facts)
    report(1.0)


@contextmanager
def _drawing() -> Iterator[None]:
    """A file-only backend and the house style, restored afterwards."""
    import matplotlib.pyplot as plt

    backend = matplotlib.get_backend()
    plt.switch_backend("agg")
    try:
        with house_style():
            yield
    finally:
        plt.switch_backend(backend)
