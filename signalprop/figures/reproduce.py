"""Write every figure as PNG and SVG, with a CSV of the numbers drawn and a JSON that says where they come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import matplotlib

from signalprop._checks import function_or_none, seed_of
from signalprop._house_style import house_style
from signalprop._provenance import provenance
from signalprop.fields import one_of
from signalprop.figures.drawn import Drawn, write
from signalprop.figures.gallery import index
from signalprop.figures.names import FIGURES, FULL_FIGURES, QUALITIES


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
        Where to write; made if missing. For each figure ``NAME.png``, ``.svg``, ``.csv`` and ``.json``; what is there already
        and differs by rounding only is left as it is (see `signalprop.figures.drawn`).
    quality
        ``"quick"`` (a look, under a minute), ``"default"`` (about two minutes on two cores) or ``"full"``, which adds the
        figures of trainings where the results they are drawn from are there: in a checkout, not in an installed package.
    seed
        Root seed of all draws.
    only
        Name of the one figure to draw.
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
    written = []
    facts = provenance()  # before a figure that git knows is replaced
    with _drawing():
        for name in names:
            module = import_module(f"signalprop.figures.{name}")
            size = module.SIZES[quality]

            def report(share: float, name: str = name) -> None:
                if progress is not None:
                    progress(name, share)

            report(0.0)
            drawn = Drawn(target, name, getattr(module, "NOISE", None))
            frame = drawn.numbers(module.data(seed=seed, progress=report, **size))
            figure = module.draw(frame)
            drawn.picture(figure)
            matplotlib.pyplot.close(figure)
            about: dict[str, Any] = {
                "figure": name,
                "title": (module.__doc__ or "").strip().splitlines()[0],
                "parameters": {"quality": quality, "seed": seed, **size},
                "columns": module.COLUMNS,
            }
            if hasattr(module, "origin"):
                about["trainings"] = module.origin()
            drawn.origin(about, facts)
            written.append(target / f"{name}.png")
            report(1.0)
    write(target / "README.md", index(target).encode())
    return written


def figures_of(quality: str, only: str | None = None) -> tuple[str, ...]:
    """Names of the figures that a quality draws, in order, or the one of them that is asked for."""
    names: tuple[str, ...] = FIGURES
    if one_of(quality, QUALITIES, "quality") == "full":
        names += tuple(filter(_has_results, FULL_FIGURES))
    if only is None:
        return names
    only = one_of(only, FIGURES + FULL_FIGURES, "only")
    if only in FULL_FIGURES and not _has_results(only):
        raise ValueError(
            f"the figure {only!r} is drawn from the trainings under benchmarks/, which are in a checkout of the repository and "
            "not in an installed package; draw it in a checkout."
        )
    if only in FULL_FIGURES and quality != "full":
        raise ValueError(f"the figure {only!r} is drawn in the full quality only; add quality='full'.")
    return (only,)


def _has_results(name: str) -> bool:
    """Whether the trainings are here that a figure is drawn from."""
    return bool(import_module(f"signalprop.figures.{name}").RESULTS.exists())


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
