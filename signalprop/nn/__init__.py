"""Linear recurrent layers for PyTorch; needs the extra ``signalprop[torch]``.

Loaded only on request: ``import signalprop.nn``.
"""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError("signalprop.nn needs PyTorch; pip install 'signalprop[torch]'.") from error

from signalprop.nn import scan
from signalprop.nn.bidirectional import Bidirectional
from signalprop.nn.classifier import ResidualBlock, SequenceClassifier
from signalprop.nn.dense import DenseLinearRNN
from signalprop.nn.lru import LRU
from signalprop.nn.parameter_groups import parameter_groups
from signalprop.nn.recurrence import Recurrence, State, System
from signalprop.nn.rotrnn import RotRNN
from signalprop.nn.state_energies import state_energies

__all__ = [
    "LRU",
    "Bidirectional",
    "DenseLinearRNN",
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
