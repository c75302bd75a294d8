"""The figures, one file each; `reproduce` writes them all, `base` says what one is and registers more."""

from signalprop.figures.base import FIGURES, QUALITIES, FigureRecord

__all__ = ["FIGURES", "QUALITIES", "FigureRecord"]
