"""The energy kernels compiled by numba: same names, and the same source except for one inner loop.

Importing numba and loading a cached kernel takes about a second, so `signalprop.energy` imports this module only
for work that plain Python would not finish in a few hundredths of one. numba's cache on disk is keyed by the file of the
compiled function alone, so a kernel and all that it calls live in one file.
"""

from __future__ import annotations

from collections.abc import Callable

from numba.extending import overload, register_jitable

from signalprop._numba import kernel
from signalprop.energy import _complex as _complex_energy
from signalprop.energy import _zonal as _zonal_energy
from signalprop.energy._zonal import Floats

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
@overload(_zonal_energy.two_sums_kernel, jit_options={"fastmath": {"reassoc", "contract"}})
def _two_sums(p: Floats, q: Floats, s: Floats, count: int) -> Callable[..., tuple[float, float]]:
    return _zonal_energy.two_sums_loop_kernel


log_q_many_kernel = kernel(_complex_energy.log_q_many_kernel)
log_s_many_kernel = kernel(_complex_energy.log_s_many_kernel)
log_sum_path_kernel = kernel(_complex_energy.log_sum_path_kernel)
prefix_logs_kernel = kernel(_zonal_energy.prefix_logs_kernel)
zonal_log_q_many_kernel = kernel(_zonal_energy.zonal_log_q_many_kernel)
