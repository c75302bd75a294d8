"""The energy kernels as plain Python, under the names of `signalprop.energy._compiled`: nothing to load, slower per value."""

from __future__ import annotations

from signalprop.energy._complex import log_q_many_kernel, log_s_many_kernel, log_sum_path_kernel
from signalprop.energy._zonal import prefix_logs_kernel, zonal_log_q_many_kernel

__all__ = [
    "log_q_many_kernel",
    "log_s_many_kernel",
    "log_sum_path_kernel",
    "prefix_logs_kernel",
    "zonal_log_q_many_kernel",
]
