"""Linear recurrent layers for PyTorch, which is not among the requirements of this package (extra ``torch``).

Loaded on first use of ``signalprop.nn``, or by ``import signalprop.nn``.
"""

from signalprop._extras import required

with required("signalprop.nn", "torch"):
    import torch  # noqa: F401

from signalprop.nn import scan
from signalprop.nn.bidirectional import Bidirectional
from signalprop.nn.classifier import ResidualBlock, SequenceClassifier
from signalprop.nn.dense import DenseLinearRNN
from signalprop.nn.gated import GatedRecurrence
from signalprop.nn.lru import LRU
from signalprop.nn.parameter_groups import parameter_groups
from signalprop.nn.recurrence import Gates, Recurrence, State, System
from signalprop.nn.rotrnn import RotRNN
from signalprop.nn.state_energies import state_energies

__all__ = [
    "LRU",
    "Bidirectional",
    "DenseLinearRNN",
    "GatedRecurrence",
    "Gates",
    "Recurrence",
    "ResidualBlock",
    "RotRNN",
    "SequenceClassifier",
    "State",
    "System",
    "parameter_groups",
    "scan",
    "state_energies",
]
