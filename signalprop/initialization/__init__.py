"""What one does with the energies: scales for the weights of a given width and horizon."""

from signalprop.initialization.budget import depth_budget, width_needed
from signalprop.initialization.scale import CRITERIA, SafeScale, safe_scale

__all__ = ["CRITERIA", "SafeScale", "depth_budget", "safe_scale", "width_needed"]
