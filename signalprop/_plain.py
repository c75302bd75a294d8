"""The energy kernels as plain Python, under the names of `signalprop._compiled`: nothing to load, slower per value."""

from __future__ import annotations

from signalprop._complex_energy import log_q_many_kernel, log_s_many_kernel, log_sum_path_kernel
from signalprop._zonal_energy import prefix_logs_kernel, zonal_log_q_many_kernel

__all__ = [
    "log_q_many_kernel",
    "log_s_many_kernel",
    "log_sum_path_kernel",
    "prefix_logs_kernel",
    "zonal_log_q_many_kernel",
]
