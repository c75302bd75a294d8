r"""Exact second moments of any linear recurrence ``x_t = A x_{t-1} + B u_t``, and draws of it to check them by.

Convention: ``x_0 = 0``, so x_t holds the inputs u_1 .. u_t. Inputs are real, stationary, E u_t = 0, E u_t u_t^T = R, and
white or AR(1): E u_t u_s^T = rho^|t-s| R. With ``first`` given, the first step is ``x_1 = first u_1``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from signalprop._checks import whole_number
from signalprop._streams import stream
from signalprop.recurrences.decay import decay, one_thread_if_small
from signalprop.recurrences.operators import Array, Dense, Diagonal, Rotations, as_operator, finite_array
from signalprop.recurrences.power_sums import (
    BLOCK,
    Floats,
    energy_increments,
    geometric_sum,
    lagged_power,
    poisson_kernel,
)
from signalprop.recurrences.sampled import SampledEnergies

MAX_HORIZON = 10**7


class LinearRecurrence:
    r"""``x_t = A x_{t-1} + B u_t``, y_t = Re(C x_t).

    Parameters
    ----------
    A
        (N, N) matrix, (N,) diagonal, or an operator of `signalprop.recurrences.operators` (scaled rotations).
    B
        (N, d) input matrix.
    C
        (p, N) readout, or None.
    first
        (N, d) matrix of the first step in place of B, so that a recurrence can start at its stationary energy.
    heads
        Equal parts of the state, in order, whose energies are also told apart.

    Raises
    ------
    ValueError
        Shapes that do not fit, values that are not finite (named), N not divisible by `heads`.

    Notes
    -----
    Status P: the recursion of second moments is exact for any linear time-invariant system. Cost of a path of T steps:
    O(T N) for a diagonal A and for rotations (closed forms in t), O(T N^2 d) for a dense one.

    Examples
    --------
    >>> half = LinearRecurrence([[0.5]], [[1.0]])
    >>> half.energy(2)
    array([0.  , 1.  , 1.25])
    >>> round(half.stationary_energy(), 12)
    1.333333333333
    """

    def __init__(
        self, A: Any, B: ArrayLike, C: ArrayLike | None = None, *, first: ArrayLike | None = None, heads: int = 1
    ) -> None:
        self.A = as_operator(A)
        self.B = finite_array(B, "B", 2)
        self.C = None if C is None else finite_array(C, "C", 2)
        self.first = None if first is None else finite_array(first, "first", 2)
        if len(self.B) != self.A.size:
            raise ValueError(f"B must have one row for each of the {self.A.size} states, got shape {self.B.shape}.")
        if self.C is not None and self.C.shape[1] != self.A.size:
            raise ValueError(f"C must have one column for each of the {self.A.size} states, got shape {self.C.shape}.")
        if self.first is not None and self.first.shape != self.B.shape:
            raise ValueError(f"first must have the shape of B, {self.B.shape}, got {self.first.shape}.")
        self.heads = whole_number(heads, "heads", 1)
        if self.A.size % self.heads:
            raise ValueError(f"the state size must be divisible by heads, got {self.A.size} states and {heads} heads.")
        if isinstance(self.A, Rotations):
            if self.heads != len(self.A.log_gamma):
                raise ValueError(f"heads must be the {len(self.A.log_gamma)} of the rotations, got {heads}.")
            if any(m is not None and np.iscomplexobj(m) for m in (self.B, self.first)):
                raise ValueError("rotations act on a real state, so B and first must be real.")

    @property
    def state_size(self) -> int:
        """Number N of states."""
        return self.A.size

    @property
    def input_size(self) -> int:
        """Number d of inputs."""
        return int(self.B.shape[1])

    def energy(self, horizon: int, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> Floats:
        r"""Exact ``E||x_t||^2`` for t = 0 .. horizon, shape (horizon + 1,).

        Parameters
        ----------
        horizon
            Last step, at most 10^7.
        covariance
            R, (d, d) symmetric and positive semi-definite; the identity if None.
        correlation
            rho of AR(1) inputs, -1 < rho < 1; 0 is white.

        Raises
        ------
        ValueError
            A covariance that is not one, a correlation or horizon out of range.
        OverflowError
            The energy leaves float64.
        """
        return np.asarray(
            self.energy_by_head(horizon, covariance=covariance, correlation=correlation).sum(axis=1), np.float64
        )

    def energy_by_head(self, horizon: int, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> Floats:
        """`energy` of each head, shape (horizon + 1, heads)."""
        steps = whole_number(horizon, "horizon", 0, MAX_HORIZON)
        rho = checked_correlation(correlation)
        root = self._root(covariance)
        with np.errstate(over="ignore", invalid="ignore"), one_thread_if_small(self.state_size):
            dense = isinstance(self.A, Dense)
            path = self._dense_path(steps, rho, root) if dense else self._modal_path(steps, rho, root)
        bad = np.flatnonzero(~np.isfinite(path).all(axis=1))
        if bad.size:
            raise OverflowError(
                f"the energy leaves float64 at step {bad[0]}: A has spectral radius {self.A.spectral_radius():.6g}; "
                "shorten the horizon or scale A."
            )
        return path

    def stationary_energy(self, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> float:
        r"""Limit of ``E||x_t||^2``: the trace of the solution of the Lyapunov equation ``P = A P A* + B R B*``.

        Diagonal and rotations: ``sum_i (B R B*)_ii / (1 - |lambda_i|^2)``, for AR(1) inputs times the Poisson kernel at
        ``rho lambda_i``. Dense: `scipy.linalg.solve_discrete_lyapunov`, N^3.

        Raises
        ------
        ValueError
            The spectral radius of A is not below one, so that there is no limit.
        """
        return float(self.stationary_by_head(covariance=covariance, correlation=correlation).sum())

    def stationary_by_head(self, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> Floats:
        """`stationary_energy` of each head, shape (heads,)."""
        rho = checked_correlation(correlation)
        root = self._root(covariance)
        if not self._stable():
            raise ValueError(
                f"a stationary value needs a spectral radius below 1, got {self.A.spectral_radius():.12g}: "
                "the energy does not settle; ask for energy(horizon) instead."
            )
        if isinstance(self.A, Dense):
            from scipy.linalg import solve_discrete_lyapunov

            matrix, source = self.A.matrix, self.B @ root
            forcing = source @ source.conj().T
            if rho:
                lagged = np.linalg.solve(np.eye(len(matrix)) - rho * matrix, source) @ source.conj().T
                cross = rho * (matrix @ lagged)
                forcing = forcing + cross + cross.conj().T
            diagonal = np.real(np.diag(solve_discrete_lyapunov(matrix, forcing)))
            return np.asarray(diagonal.reshape(self.heads, -1).sum(axis=1))
        modes = self.A.modes
        power = np.sum(np.abs(self.A.to_modes(self.B @ root)) ** 2, axis=1)
        power = power * poisson_kernel(rho * np.exp(modes.log_modulus), modes.phase)
        return np.asarray((power / -np.expm1(2.0 * modes.log_modulus)).reshape(self.heads, -1).sum(axis=1))

    def forward_energy(self, horizon: int, source: ArrayLike | None = None) -> Floats:
        r"""``E||A^k M v||^2 / E||M v||^2`` for k = 0 .. horizon and isotropic v: what is left of a state after k steps.

        `source` is M, (N, m): B for what is left of an input, the identity (None) for an isotropic state.
        """
        return decay(self.A, self._weights(source, "source"), whole_number(horizon, "horizon", 0, MAX_HORIZON))

    def gradient_energy(self, horizon: int, readout: ArrayLike | None = None) -> Floats:
        r"""``E||(A*)^k C* v||^2 / E||C* v||^2`` for k = 0 .. horizon: what is left of a gradient k steps back.

        `readout` is C, (p, N). For an isotropic gradient (None) it equals `forward_energy`, because A and A* have the
        same Frobenius norm at every power.
        """
        matrix = None if readout is None else np.conj(np.swapaxes(finite_array(readout, "readout", 2), 0, 1))
        steps = whole_number(horizon, "horizon", 0, MAX_HORIZON)
        return decay(self.A.adjoint(), self._weights(matrix, "the transposed readout"), steps)

    def energy_variance(self, horizon: int, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> Floats:
        r"""Exact variance of ``||x_t||^2`` over Gaussian inputs, t = 0 .. horizon.

        .. math:: \mathrm{Var}\lVert x_t\rVert^2 = \lVert P_t\rVert_F^2 + \lVert K_t\rVert_F^2,\quad
                  P_t = E x_t x_t^*,\; K_t = E x_t x_t^T

        (2 tr P_t^2 for a real state), both carried along by their own recursion: O(N^2) a step for a diagonal A and for
        rotations, O(N^3) for a dense one. The traces of P_t give `energy` by a route that shares nothing with it.
        """
        steps = whole_number(horizon, "horizon", 0, MAX_HORIZON)
        with one_thread_if_small(self.state_size):
            pairs = self._covariances(steps, covariance, correlation)
            return np.array([(abs(P) ** 2).sum() + (abs(K) ** 2).sum() for P, K in pairs])

    def covariance_path(self, horizon: int, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> Floats:
        """``E||x_t||^2`` as the trace of the recursion of covariances, the definition that `energy` is tested against."""
        steps = whole_number(horizon, "horizon", 0, MAX_HORIZON)
        with one_thread_if_small(self.state_size):
            return np.array([np.trace(P).real for P, _ in self._covariances(steps, covariance, correlation)])

    def run(self, inputs: ArrayLike) -> Array:
        """States x_1 .. x_T for given inputs u_1 .. u_T, shape (T, d) or (batch, T, d); the same with N in place of d."""
        given = np.asarray(inputs)
        driven = finite_array(given, "inputs", 3) if given.ndim == 3 else finite_array(given, "inputs", 2)[None]
        if driven.shape[-1] != self.input_size:
            raise ValueError(f"inputs must end in the {self.input_size} columns of B, got shape {given.shape}.")
        state = np.zeros((self.state_size, len(driven)))
        states = []
        for step in range(driven.shape[1]):
            state = self._step(state, driven[:, step].T, step)
            states.append(state.T)
        out = np.stack(states, axis=1)
        return out if given.ndim == 3 else out[0]

    def outputs(self, inputs: ArrayLike) -> Floats:
        """``y_t = Re(C x_t)`` for given inputs, as in `run`; a feed-through D u_t would be added unchanged.

        Raises
        ------
        ValueError
            There is no readout C.
        """
        if self.C is None:
            raise ValueError("this recurrence has no readout; give C to compute outputs.")
        return np.real(self.run(inputs) @ self.C.T)

    def sample(
        self,
        horizon: int,
        *,
        samples: int,
        seed: int = 0,
        covariance: ArrayLike | None = None,
        correlation: float = 0.0,
    ) -> SampledEnergies:
        """Draw Gaussian inputs, run the recurrence step by step, and keep ``||x_t||^2`` of each head.

        The z-scores of the answer compare its means with `energy` by the exact variance of the mean.
        """
        steps = whole_number(horizon, "horizon", 0, MAX_HORIZON)
        count = whole_number(samples, "samples", 2)
        rho, root = checked_correlation(correlation), self._root(covariance)
        rng = stream(whole_number(seed, "seed", 0), "inputs", self.input_size)
        energies = np.zeros((count, steps + 1, self.heads))
        state = np.zeros((self.state_size, count))
        noise = np.zeros((self.input_size, count))
        with one_thread_if_small(self.state_size):
            for step in range(steps):
                fresh = rng.standard_normal((self.input_size, count))
                noise = fresh if step == 0 or rho == 0.0 else rho * noise + math.sqrt((1.0 - rho) * (1.0 + rho)) * fresh
                state = self._step(state, noise if covariance is None else root @ noise, step)
                energies[:, step + 1] = np.sum(np.abs(state.reshape(self.heads, -1, count)) ** 2, axis=1).T
        given: dict[str, Any] = {"covariance": covariance, "correlation": rho}
        return SampledEnergies(
            energies, self.energy_by_head(steps, **given), lambda: self.energy_variance(steps, **given)
        )

    def _step(self, state: Array, inputs: Array, step: int) -> Array:
        entry = self.first if step == 0 and self.first is not None else self.B
        new: Array = self.A.apply(state) + entry @ inputs
        return new

    def _stable(self) -> bool:
        if isinstance(self.A, Dense):
            return self.A.spectral_radius() < 1.0
        return bool(self.A.modes.log_modulus.max() < 0.0)

    def _root(self, covariance: ArrayLike | None) -> Floats:
        """A square root of R."""
        if covariance is None:
            return np.eye(self.input_size)
        matrix = finite_array(covariance, "covariance", 2)
        shape = (self.input_size, self.input_size)
        if matrix.shape != shape or np.iscomplexobj(matrix):
            raise ValueError(f"covariance must be a real {shape} matrix, one row an input, got shape {matrix.shape}.")
        if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12 * abs(matrix).max()):
            raise ValueError("covariance must be symmetric, got a matrix that is not.")
        values, vectors = np.linalg.eigh(matrix)
        if values[0] < -1e-10 * max(1.0, values[-1]):
            raise ValueError(f"covariance must be positive semi-definite, got an eigenvalue of {values[0]:.6g}.")
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def _dense_path(self, steps: int, rho: float, root: Floats) -> Floats:
        """Sums of ``||A^k B||^2`` and of their overlaps with what the inputs remember, head by head."""
        total = np.zeros((steps + 1, self.heads))
        start = (self.B if self.first is None else self.first) @ root
        power, remembered = self.B @ root, np.zeros_like(self.B @ root)
        driven = np.zeros(self.heads)
        for step in range(steps):
            # x_{step+1} = A^step start u_1 + sum_{k<step} A^k B u_{step+1-k}; `remembered` = sum_{k<step} rho^{step-k} A^k B.
            total[step + 1] = driven + self._by_head(start, start) + 2.0 * self._by_head(start, remembered)
            merged = power + remembered
            driven = driven + 2.0 * self._by_head(power, merged) - self._by_head(power, power)
            remembered = rho * merged
            start, power = self.A.apply(start), self.A.apply(power)
        return total

    def _by_head(self, left: Array, right: Array) -> Floats:
        products = np.real(left.conj() * right).sum(axis=1)
        return np.asarray(products.reshape(self.heads, -1).sum(axis=1))

    def _modal_path(self, steps: int, rho: float, root: Floats) -> Floats:
        A = self.A
        assert not isinstance(A, Dense)
        modes = A.modes
        rows = A.to_modes(self.B @ root)
        power = np.sum(np.abs(rows) ** 2, axis=1)
        starts = rows if self.first is None else A.to_modes(self.first @ root)
        first_power = np.sum(np.abs(starts) ** 2, axis=1)
        overlap = np.sum(starts.conj() * rows, axis=1)
        log_modulus, phase = modes.log_modulus, modes.phase
        total = np.zeros((steps + 1, self.heads))
        summed = np.zeros(self.heads)  # energy of inputs 2 .. k+1 at the start of the block
        size = max(1, BLOCK // len(power))
        for low in range(0, steps, size):
            k = np.arange(low, min(low + size, steps), dtype=np.float64)[:, None]  # step k + 1
            first = first_power * np.exp(2.0 * k * log_modulus)
            if rho == 0.0:
                total[low + 1 : low + 1 + len(k)] = self._sum(power * geometric_sum(log_modulus, k) + first)
                continue
            rises = self._sum(power * energy_increments(log_modulus, phase, rho, k))
            before = summed + np.cumsum(rises, axis=0)
            # conj(lambda)^k sum_{j<k} rho^{k-j} lambda^j: the first input meets the later ones.
            meeting = lagged_power(log_modulus, phase, rho, k) - np.exp(2.0 * k * log_modulus)
            total[low + 1 : low + 1 + len(k)] = before - rises + self._sum(first + 2.0 * np.real(overlap * meeting))
            summed = before[-1]
        return total

    def _sum(self, by_mode: Floats) -> Floats:
        """Modes to heads."""
        return np.asarray(by_mode.reshape(len(by_mode), self.heads, -1).sum(axis=2))

    def _weights(self, matrix: ArrayLike | None, name: str) -> Array:
        """What `decay` starts from: a matrix for a dense A, weights of the modes otherwise."""
        if matrix is None:
            return np.eye(self.state_size) if isinstance(self.A, Dense) else self.A.multiplicity
        columns = finite_array(matrix, name, 2)
        if len(columns) != self.state_size:
            raise ValueError(f"{name} must have {self.state_size} rows, got shape {columns.shape}.")
        if isinstance(self.A, Dense):
            return columns
        return np.asarray(np.sum(np.abs(self.A.to_modes(columns)) ** 2, axis=1))

    def _covariances(self, steps: int, covariance: ArrayLike | None, correlation: float) -> Any:
        """Pairs ``E x_t x_t^*``, ``E x_t x_t^T`` in the coordinates of the modes, t = 0 .. steps."""
        rho, root = checked_correlation(correlation), self._root(covariance)
        if isinstance(self.A, Dense):
            A: Dense | Diagonal = self.A
            B, first = self.B @ root, (self.B if self.first is None else self.first) @ root
        else:
            A, B = self.A.modes, self.A.to_modes(self.B @ root)
            first = B if self.first is None else self.A.to_modes(self.first @ root)
        zero = np.zeros((A.size, A.size))
        yield zero, zero
        P, K, with_input = first @ first.conj().T, first @ first.T, first
        entering, entering_twice = B @ B.conj().T, B @ B.T
        for step in range(steps):
            if step:
                moved = rho * A.apply(with_input)
                P = A.apply(A.apply(P).conj().T).conj().T + moved @ B.conj().T + B @ moved.conj().T + entering
                K = A.apply(A.apply(K).T).T + moved @ B.T + B @ moved.T + entering_twice
                with_input = moved + B
            yield P, K


def checked_correlation(correlation: Any) -> float:
    """`correlation` as a float strictly between -1 and 1.

    Raises
    ------
    ValueError
        Outside, or NaN.
    """
    rho = float(correlation)
    if not -1.0 < rho < 1.0:
        raise ValueError(f"correlation must lie strictly between -1 and 1, got {correlation}.")
    return rho if abs(rho) > 1e-100 else 0.0  # below, no digit of an energy changes, and ratios would overflow
