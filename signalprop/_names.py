"""Names of choices in the parts of the package that need PyTorch, for the parts that do not load it."""

from __future__ import annotations

NORMALIZERS = ("recomputed", "learned")
"""Of `signalprop.nn.LRU`."""
POOLINGS = ("mean", "last")
"""Of `signalprop.nn.SequenceClassifier`."""
