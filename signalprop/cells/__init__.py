"""Recurrent cells at finite width: energies of gradients over draws of the weights, and Lyapunov exponents of any step."""

from signalprop.cells.catalogue import CELLS, Cell
from signalprop.cells.energies import GradientEnergies, QuantilePath, gradient_energies
from signalprop.cells.lyapunov import LyapunovExponents, lyapunov

__all__ = ["CELLS", "Cell", "GradientEnergies", "LyapunovExponents", "QuantilePath", "gradient_energies", "lyapunov"]
