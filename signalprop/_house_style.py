"""The style of every figure, whatever a matplotlibrc of the user says."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path


def house_style() -> AbstractContextManager[None]:
    """Matplotlib's own defaults and ``style.mplstyle`` on top, for as long as the context lasts."""
    import matplotlib.pyplot as plt

    return plt.style.context(["default", str(Path(__file__).with_name("style.mplstyle"))])
