"""Energy paths of a recurrence, head by head: closed forms per mode, sums over powers for stored matrices."""

from __future__ import annotations

import numpy as np

from signalprop.recurrences.arguments import (
    CORRELATED_MODE_SECONDS,
    MODE_SECONDS,
    MULTIPLICATION_SECONDS,
    STEP_SECONDS,
    check_numbers,
    check_path,
)
from signalprop.recurrences.dense_operators import Array, Dense, ScaledUnitary
from signalprop.recurrences.operators import Diagonal, Operator, Rotations
from signalprop.recurrences.power_sums import (
    BLOCK,
    Floats,
    energy_increments,
    geometric_sum,
    lagged_power,
)


def energy_path(A: Operator, B: Array, first: Array | None, heads: int, steps: int, rho: float) -> Floats:
    """``E||x_t||^2`` for t = 0 .. steps, (steps + 1, heads), for unit inputs through B (`first` at step 1)."""
    check_numbers((steps + 1) * heads, "the path")
    if isinstance(A, ScaledUnitary) and heads == 1 and rho == 0.0:
        return _unitary_path(A, B, first, steps)
    check_path("a path", steps, step_seconds(A, B.shape[1], rho))
    if isinstance(A, Dense):
        return _dense_path(A, B, first, heads, steps, rho)
    return _modal_path(A, B, first, heads, steps, rho)


def step_seconds(A: Operator, inputs: int, rho: float = 0.0) -> float:
    """What one step of `energy_path` takes."""
    if isinstance(A, Dense):
        return STEP_SECONDS + MULTIPLICATION_SECONDS * 2.0 * A.size**2 * inputs
    return A.size * (MODE_SECONDS if rho == 0.0 else CORRELATED_MODE_SECONDS)


def _unitary_path(A: ScaledUnitary, B: Array, first: Array | None, steps: int) -> Floats:
    """A unitary matrix keeps lengths, so only gamma counts."""
    brought = float(np.sum(np.abs(B) ** 2))
    start = brought if first is None else float(np.sum(np.abs(first) ** 2))
    k = np.arange(steps, dtype=np.float64)
    path = brought * geometric_sum(A.log_gamma, k) + start * np.exp(2.0 * A.log_gamma * k)
    return np.concatenate([[0.0], path])[:, None]


def _dense_path(A: Dense, B: Array, first: Array | None, heads: int, steps: int, rho: float) -> Floats:
    """Sums of ``||A^k B||^2`` and of their overlaps with what the inputs remember, head by head."""
    total = np.zeros((steps + 1, heads))
    start = B if first is None else first
    power, remembered = B, np.zeros_like(B)
    driven = np.zeros(heads)

    def by_head(left: Array, right: Array) -> Floats:
        products = np.real(left.conj() * right).sum(axis=1)
        return np.asarray(products.reshape(heads, -1).sum(axis=1))

    for step in range(steps):
        # x_{step+1} = A^step start u_1 + sum_{k<step} A^k B u_{step+1-k}; `remembered` = sum_{k<step} rho^{step-k} A^k B.
        total[step + 1] = driven + by_head(start, start) + 2.0 * by_head(start, remembered)
        merged = power + remembered
        driven = driven + 2.0 * by_head(power, merged) - by_head(power, power)
        remembered = rho * merged
        start, power = A.apply(start), A.apply(power)
    return total


def _modal_path(A: Diagonal | Rotations, B: Array, first: Array | None, heads: int, steps: int, rho: float) -> Floats:
    modes = A.modes
    rows = A.to_modes(B)
    power = np.sum(np.abs(rows) ** 2, axis=1)
    starts = rows if first is None else A.to_modes(first)
    first_power = np.sum(np.abs(starts) ** 2, axis=1)
    overlap = np.sum(starts.conj() * rows, axis=1)
    log_modulus, phase = modes.log_modulus, modes.phase
    total = np.zeros((steps + 1, heads))
    summed = np.zeros(heads)  # energy of inputs 2 .. k+1 at the start of the block
    size = max(1, BLOCK // len(power))

    def to_heads(by_mode: Floats) -> Floats:
        return np.asarray(by_mode.reshape(len(by_mode), heads, -1).sum(axis=2))

    for low in range(0, steps, size):
        k = np.arange(low, min(low + size, steps), dtype=np.float64)[:, None]  # step k + 1
        from_first = first_power * np.exp(2.0 * k * log_modulus)
        if rho == 0.0:
            total[low + 1 : low + 1 + len(k)] = to_heads(power * geometric_sum(log_modulus, k) + from_first)
            continue
        rises = to_heads(power * energy_increments(log_modulus, phase, rho, k))
        before = summed + np.cumsum(rises, axis=0)
        # conj(lambda)^k sum_{j<k} rho^{k-j} lambda^j: the first input meets the later ones.
        meeting = lagged_power(log_modulus, phase, rho, k) - np.exp(2.0 * k * log_modulus)
        total[low + 1 : low + 1 + len(k)] = before - rises + to_heads(from_first + 2.0 * np.real(overlap * meeting))
        summed = before[-1]
    return total
