"""Recurrent cells at finite width, simulated: energies of gradients over draws of the weights."""

from signalprop.cells.catalogue import CELLS, Cell
from signalprop.cells.energies import GradientEnergies, QuantilePath, gradient_energies

__all__ = ["CELLS", "Cell", "GradientEnergies", "QuantilePath", "gradient_energies"]
