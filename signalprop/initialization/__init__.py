"""What one does with the energies: scales for the weights of a given width and horizon."""

from signalprop.initialization.advice import Advice, advise
from signalprop.initialization.budget import depth_budget, width_needed
from signalprop.initialization.propagation import Propagation, propagate
from signalprop.initialization.scale import CRITERIA, SafeScale, safe_scale

__all__ = [
    "CRITERIA",
    "Advice",
    "Propagation",
    "SafeScale",
    "advise",
    "depth_budget",
    "propagate",
    "safe_scale",
    "width_needed",
]
