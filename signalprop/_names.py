"""Names of choices that parts of the package which need PyTorch have, for those that do not load it."""

from __future__ import annotations

NORMALIZERS = ("recomputed", "learned")
"""Of `signalprop.nn.LRU`."""
POOLINGS = ("mean", "last")
"""Of `signalprop.nn.SequenceClassifier`."""
