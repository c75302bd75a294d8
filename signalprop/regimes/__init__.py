"""Limit laws of the energies, regime by regime, each with its domain, its status and its measured error.

c is k/sqrt(n) (critical) or k/n (linear); every law takes ``log=True`` where its value can overflow.
"""

from signalprop.regimes.classify import LAWS, Law, Regime, classify
from signalprop.regimes.critical import critical_lru, critical_rnn
from signalprop.regimes.exponential import (
    linear_lru,
    linear_rnn,
    supercritical_lru,
    superlinear_lru,
    superlinear_rnn,
    uniform_rnn,
)
from signalprop.regimes.polynomial import infinite_width_lru, infinite_width_rnn, subcritical_lru, subcritical_rnn
from signalprop.regimes.real import (
    corrected_critical_rnn,
    dominant_lru,
    dominant_rnn,
    real_excess,
    second_threshold,
    two_term_lru,
    two_term_rnn,
)

__all__ = [
    "LAWS",
    "Law",
    "Regime",
    "classify",
    "corrected_critical_rnn",
    "critical_lru",
    "critical_rnn",
    "dominant_lru",
    "dominant_rnn",
    "infinite_width_lru",
    "infinite_width_rnn",
    "linear_lru",
    "linear_rnn",
    "real_excess",
    "second_threshold",
    "subcritical_lru",
    "subcritical_rnn",
    "supercritical_lru",
    "superlinear_lru",
    "superlinear_rnn",
    "two_term_lru",
    "two_term_rnn",
    "uniform_rnn",
]
