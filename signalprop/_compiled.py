"""The energy kernels compiled by numba: same source, same names.

Importing numba and loading a cached kernel takes about a second, so `signalprop.energy` imports this module only
for work that plain Python would not finish in a few hundredths of one. numba's cache on disk is keyed by the file of the
compiled function alone, so a kernel and all that it calls live in one file.
"""

from __future__ import annotations

from numba import njit
from numba.extending import register_jitable

from signalprop import _complex_energy, _zonal_energy

for _helper in (
    _complex_energy.stirling_tail_kernel,
    _complex_energy.log_sinhc_kernel,
    _complex_energy.log_q_small_kernel,
    _complex_energy.log_q_kernel,
    _complex_energy.log_s_kernel,
    _zonal_energy.prefix_kernel,
    _zonal_energy.zonal_log_q_kernel,
):
    register_jitable(_helper)
# All terms are positive: the order of summation is free.
register_jitable(fastmath={"reassoc", "contract"})(_zonal_energy.two_sums_kernel)

log_q_many_kernel = njit(nogil=True, cache=True)(_complex_energy.log_q_many_kernel)
log_s_many_kernel = njit(nogil=True, cache=True)(_complex_energy.log_s_many_kernel)
log_sum_path_kernel = njit(nogil=True, cache=True)(_complex_energy.log_sum_path_kernel)
prefix_logs_kernel = njit(nogil=True, cache=True)(_zonal_energy.prefix_logs_kernel)
zonal_log_q_many_kernel = njit(nogil=True, cache=True)(_zonal_energy.zonal_log_q_many_kernel)
