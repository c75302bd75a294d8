"""Trainings of the layers of `signalprop.nn` on the tasks of `signalprop.tasks`, with the state energies of each layer logged.

Needs PyTorch (extra ``torch``). `train` is the loop, `Settings` what identifies a training, `LAYERS` what
it knows by name.
"""

from signalprop._extras import required

with required("signalprop.training", "torch"):
    import torch  # noqa: F401

from signalprop._catalogue import LAYERS, LayerEntry
from signalprop._configurations import configurations
from signalprop.training.energies import StateEnergies, white_energy
from signalprop.training.model import build_model
from signalprop.training.settings import Settings
from signalprop.training.trainer import Run, train

__all__ = [
    "LAYERS",
    "LayerEntry",
    "Run",
    "Settings",
    "StateEnergies",
    "build_model",
    "configurations",
    "train",
    "white_energy",
]
