"""Names of the figures, which a command line can complete without loading what draws them."""

from __future__ import annotations

FIGURES = ("critical_rnn", "critical_lru", "activations", "regime_map", "law_errors", "scale_512", "recurrences")
FULL_FIGURES = ("training", "stability")
QUALITIES = ("quick", "default", "full")
