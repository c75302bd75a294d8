"""The style of every figure, whatever the user's matplotlibrc says."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path


def house_style() -> AbstractContextManager[None]:
    """Matplotlib's own defaults with ``style.mplstyle`` on top, inside the context."""
    import matplotlib.pyplot as plt

    return plt.style.context(["default", str(Path(__file__).parent / "figures" / "style.mplstyle")])
