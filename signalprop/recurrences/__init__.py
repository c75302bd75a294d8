"""Exact second moments of other recurrences, ``x_t = A x_{t-1} + B u_t``: RotRNN, LRU, S4, S4D, S5, Gaussian, orthogonal.

Two things are called LRU in the literature. `signalprop.lru_energy` is the energy of a *dense* Gaussian W with a fresh
input at each step; `recurrences.lru` is the *diagonal* layer of Orvieto et al. (arXiv:2303.06349).
"""

from signalprop.recurrences.averages import (
    Average,
    drawn_average,
    lru_average,
    lru_average_limit,
    rotrnn_average,
    state_space_average,
)
from signalprop.recurrences.catalogue import KINDS, Built, Kind, Parameter
from signalprop.recurrences.dense_draws import gaussian, orthogonal
from signalprop.recurrences.dense_operators import Dense, ScaledUnitary, Triangular
from signalprop.recurrences.lru_draws import lru
from signalprop.recurrences.lti import LinearRecurrence
from signalprop.recurrences.operators import Diagonal, Rotations
from signalprop.recurrences.planes import LRU, RotRNN
from signalprop.recurrences.power_sums import poisson_kernel, poisson_mean
from signalprop.recurrences.report import Report, report, report_on
from signalprop.recurrences.rotrnn_draws import rotrnn
from signalprop.recurrences.sampled import SampledEnergies
from signalprop.recurrences.state_space import hippo_legs, hippo_normal, hippo_normal_modes, s4, s4d_lin, s5

__all__ = [
    "KINDS",
    "LRU",
    "Average",
    "Built",
    "Dense",
    "Diagonal",
    "Kind",
    "LinearRecurrence",
    "Parameter",
    "Report",
    "RotRNN",
    "Rotations",
    "SampledEnergies",
    "ScaledUnitary",
    "Triangular",
    "drawn_average",
    "gaussian",
    "hippo_legs",
    "hippo_normal",
    "hippo_normal_modes",
    "lru",
    "lru_average",
    "lru_average_limit",
    "orthogonal",
    "poisson_kernel",
    "poisson_mean",
    "report",
    "report_on",
    "rotrnn",
    "rotrnn_average",
    "s4",
    "s4d_lin",
    "s5",
    "state_space_average",
]
