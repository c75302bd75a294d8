"""What a figure is, and the list of all of them.

A figure is a file of this folder that ends in ``FIGURE = FigureRecord(...)``: it is found by that line and loaded when it is
drawn, so the command line completes its name without Matplotlib. Figures from elsewhere join by ``FIGURES.register``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any

from signalprop._registry import Later, Registry

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

QUALITIES = ("quick", "default", "full")


def _one_size() -> dict[str, dict[str, Any]]:
    return {quality: {} for quality in QUALITIES}


@dataclass(frozen=True)
class FigureRecord:
    """A figure: what it says, the numbers it draws, and how.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import pandas as pd
    >>> def data(*, seed=0, progress=None):
    ...     return pd.DataFrame({"n": [1, 2, 3], "energy": [1.0, 2.0, 4.0]})
    >>> def draw(frame):
    ...     figure, axes = plt.subplots()
    ...     axes.plot(frame["n"], frame["energy"])
    ...     return figure
    >>> record = FigureRecord("Doubling", "It doubles.", {"n": "width", "energy": "2^n"}, data, draw)
    >>> with FIGURES.with_record("doubling", record):
    ...     "doubling" in FIGURES
    True
    """

    title: str
    caption: str
    """What the index page says below the picture: what is drawn, what each mark means, how sure it is."""
    columns: Mapping[str, str]
    """Of the table of numbers, each with its meaning."""
    data: Callable[..., pd.DataFrame]
    """``data(*, seed, progress, **size)``: the table; ``progress(share)`` may be None."""
    draw: Callable[[pd.DataFrame], Figure]
    """Draws the table as it stands in the file, and nothing else."""
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=_one_size)
    """The keyword arguments of `data` in each of `QUALITIES`."""
    noise: Mapping[str, float] = field(default_factory=dict)
    """Of columns of differences, which are rounding noise where they are nearly 0: what is less than this is noise."""
    trainings: Callable[[], dict[str, Any]] | None = None
    """Where the trainings come from that the figure shows, if it shows any."""
    place: int = 1000
    """On the index page: small numbers first."""


def _found() -> dict[str, Later]:
    """The figures of this folder, by the line that makes one."""
    files = resources.files(__package__).iterdir()
    texts = {
        file.name.removesuffix(".py"): file.read_text(encoding="utf-8") for file in files if file.name.endswith(".py")
    }
    return {
        name: Later(f"{__package__}.{name}:FIGURE") for name, text in sorted(texts.items()) if "\nFIGURE = " in text
    }


FIGURES: Registry[FigureRecord] = Registry("figure", FigureRecord, _found())
