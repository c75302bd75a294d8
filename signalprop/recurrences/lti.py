r"""Exact second moments of any linear recurrence ``x_t = A x_{t-1} + B u_t``, and draws of it to check them by.

Convention: ``x_0 = 0``, so x_t holds the inputs u_1 .. u_t. Inputs are real, stationary, E u_t = 0, E u_t u_t^T = R, and
white or AR(1): E u_t u_s^T = rho^|t-s| R. With ``first`` given, the first step is ``x_1 = first u_1``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from signalprop._checks import finite_array, real_array, seed_of, whole_number
from signalprop._streams import stream
from signalprop.recurrences.arguments import (
    MODE_SECONDS,
    MULTIPLICATION_SECONDS,
    STEP_SECONDS,
    check_numbers,
    check_path,
    horizon_of,
)
from signalprop.recurrences.decay import decay, one_thread_if_small
from signalprop.recurrences.dense_operators import Array, Dense, ScaledUnitary, is_diagonal
from signalprop.recurrences.laws import checked_correlation
from signalprop.recurrences.operators import Diagonal, Operator, Rotations, as_operator
from signalprop.recurrences.paths import energy_path
from signalprop.recurrences.power_sums import Floats, poisson_kernel
from signalprop.recurrences.sampled import SampledEnergies
from signalprop.recurrences.spectral_radius import UNIT
from signalprop.recurrences.stationary import stationary_by_head


class LinearRecurrence:
    r"""``x_t = A x_{t-1} + B u_t``, y_t = Re(C x_t).

    Parameters
    ----------
    A
        (N, N) matrix, (N,) diagonal, or an operator that knows more about itself than its entries say: `Diagonal`,
        `Rotations`, `Triangular`, `ScaledUnitary`. A matrix with exact zeros on one side of its diagonal is triangular.
    B
        (N, d) input matrix.
    C
        (p, N) readout, or None.
    first
        (N, d) matrix of the first step in place of B, so that a recurrence can start at its stationary energy.
    heads
        Equal parts of the state, in order, whose energies are also given separately.

    Raises
    ------
    ValueError
        Shapes that do not fit, values that are not finite (the message names them), N not divisible by `heads`.

    Notes
    -----
    Status P, the recursion of second moments being exact for any linear time-invariant system. Cost of a path of T steps:
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
        self.A: Operator = as_operator(A)
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
            An invalid covariance, a correlation or horizon out of range.
        OverflowError
            The energy leaves float64.
        """
        by_head = self.energy_by_head(horizon, covariance=covariance, correlation=correlation)
        with np.errstate(over="ignore"):
            path = np.asarray(by_head.sum(axis=1))
        self._require_finite(path[:, None])
        return path

    def energy_by_head(self, horizon: int, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> Floats:
        """`energy` of each head, shape (horizon + 1, heads)."""
        steps = horizon_of(horizon)
        rho = checked_correlation(correlation)
        root = self._root(covariance)
        with np.errstate(over="ignore", invalid="ignore"), one_thread_if_small(self.state_size):
            first = None if self.first is None else self.first @ root
            path = energy_path(self.A, self.B @ root, first, self.heads, steps, rho)
        self._require_finite(path)
        return path

    def stationary_energy(self, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> float:
        r"""Limit of ``E||x_t||^2``: the trace of the solution of the Lyapunov equation ``P = A P A* + B R B*``.

        Diagonal and rotations: ``sum_i (B R B*)_ii / (1 - |lambda_i|^2)``, for AR(1) inputs times the Poisson kernel at
        ``rho lambda_i``. A multiple gamma of a unitary A: ``tr(B R B*)/(1 - gamma^2)``. Others: N^3 per doubling.

        Raises
        ------
        ValueError
            The spectral radius of A is not below one, so that there is no limit; float64 cannot decide whether it is, or
            cannot hold six digits of the value.
        """
        return float(self.stationary_by_head(covariance=covariance, correlation=correlation).sum())

    def stationary_by_head(self, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> Floats:
        """`stationary_energy` of each head, shape (heads,)."""
        rho = checked_correlation(correlation)
        root = self._root(covariance)
        self._require_limit()
        with np.errstate(over="ignore", invalid="ignore"), one_thread_if_small(self.state_size):
            source = self.B @ root
            A = self.A
            if isinstance(A, Dense) and is_diagonal(A.matrix):
                A = Diagonal.from_values(np.diag(A.matrix))
            if isinstance(A, Dense):
                limit = self._stored_limit(A, source, rho)
            else:
                modes = A.modes
                power = np.sum(np.abs(A.to_modes(source)) ** 2, axis=1)
                power = power * poisson_kernel(rho * np.exp(modes.log_modulus), modes.phase)
                limit = (power / -np.expm1(2.0 * modes.log_modulus)).reshape(self.heads, -1).sum(axis=1)
        self._require_finite(limit[None], "the stationary energy", first_step=None)
        return np.asarray(limit)

    def forward_energy(self, horizon: int, source: ArrayLike | None = None) -> Floats:
        r"""``E||A^k M v||^2 / E||M v||^2`` for k = 0 .. horizon and isotropic v: what is left of a state after k steps.

        `source` is M, (N, m): B for what is left of an input, the identity (None) for an isotropic state.
        """
        return decay(self.A, self._weights(source, "source"), horizon_of(horizon))

    def gradient_energy(self, horizon: int, readout: ArrayLike | None = None) -> Floats:
        r"""``E||(A*)^k C* v||^2 / E||C* v||^2`` for k = 0 .. horizon: what is left of a gradient k steps back.

        `readout` is C, (p, N). For an isotropic gradient (None) it equals `forward_energy`, because A and A* have the
        same Frobenius norm at every power.
        """
        matrix = None if readout is None else np.conj(np.swapaxes(finite_array(readout, "readout", 2), 0, 1))
        return decay(self.A.adjoint(), self._weights(matrix, "the transposed readout"), horizon_of(horizon))

    def energy_variance(self, horizon: int, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> Floats:
        r"""Exact variance of ``||x_t||^2`` over Gaussian inputs, t = 0 .. horizon.

        .. math:: \mathrm{Var}\lVert x_t\rVert^2 = \lVert P_t\rVert_F^2 + \lVert K_t\rVert_F^2,\quad
                  P_t = E x_t x_t^*,\; K_t = E x_t x_t^T

        (2 tr P_t^2 for a real state), each by its own recursion: O(N^2) per step for a diagonal A and for
        rotations, O(N^3) for a dense one. The traces of P_t give `energy` by a route that shares nothing with it.
        """
        steps = horizon_of(horizon)
        with np.errstate(over="ignore", invalid="ignore"), one_thread_if_small(self.state_size):
            pairs = self._covariances(steps, covariance, correlation)
            path = np.array([(abs(P) ** 2).sum() + (abs(K) ** 2).sum() for P, K in pairs])
        self._require_finite(path[:, None], "the variance of the energy")
        return path

    def covariance_path(self, horizon: int, *, covariance: ArrayLike | None = None, correlation: float = 0.0) -> Floats:
        """``E||x_t||^2`` as the trace of the recursion of covariances, the definition that `energy` is tested against."""
        steps = horizon_of(horizon)
        with np.errstate(over="ignore", invalid="ignore"), one_thread_if_small(self.state_size):
            path = np.array([np.trace(P).real for P, _ in self._covariances(steps, covariance, correlation)])
        self._require_finite(path[:, None])
        return path

    def run(self, inputs: ArrayLike) -> Array:
        """States x_1 .. x_T, (T, N) or (batch, T, N), for given inputs u_1 .. u_T, (T, d) or (batch, T, d)."""
        given = real_array(inputs, "inputs", None)
        if given.ndim not in (2, 3) or given.shape[-1] != self.input_size:
            raise ValueError(
                f"inputs must have shape (T, {self.input_size}) or (batch, T, {self.input_size}), one column of B each, "
                f"got shape {given.shape}."
            )
        driven = given if given.ndim == 3 else given[None]
        check_numbers(driven.shape[0] * driven.shape[1] * self.state_size, "the states")
        check_path("a run", driven.shape[1], self._step_seconds(len(driven)))
        state = np.zeros((self.state_size, len(driven)))
        states = []
        with np.errstate(over="ignore", invalid="ignore"):
            for step in range(driven.shape[1]):
                state = self._step(state, driven[:, step].T, step)
                states.append(state.T)
        out = np.stack(states, axis=1)
        self._require_finite(np.abs(out).max(axis=(0, 2))[:, None], "the state", first_step=1)
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
        steps, count = horizon_of(horizon), whole_number(samples, "samples", 2)
        check_numbers(count * (steps + 1) * self.heads, "the energies of all samples")
        check_numbers(count * max(self.state_size, self.input_size), "the states of all samples")
        check_path("a sample", steps, self._step_seconds(count), "energy(horizon) has the exact mean.")
        rho, root = checked_correlation(correlation), self._root(covariance)
        exact = self.energy_by_head(steps, covariance=covariance, correlation=rho)
        rng = stream(seed_of(seed), "inputs", self.input_size)
        energies = np.zeros((count, steps + 1, self.heads))
        state = np.zeros((self.state_size, count))
        noise = np.zeros((self.input_size, count))
        with one_thread_if_small(self.state_size):
            for step in range(steps):
                fresh = rng.standard_normal((self.input_size, count))
                noise = fresh if step == 0 or rho == 0.0 else rho * noise + math.sqrt((1.0 - rho) * (1.0 + rho)) * fresh
                state = self._step(state, noise if covariance is None else root @ noise, step)
                energies[:, step + 1] = np.sum(np.abs(state.reshape(self.heads, -1, count)) ** 2, axis=1).T
        return SampledEnergies(
            energies, exact, lambda: self.energy_variance(steps, covariance=covariance, correlation=rho)
        )

    def _step_seconds(self, count: int) -> float:
        """What one step of `count` paths takes: products of matrices, normal numbers, sums of squares."""
        products = (self.state_size if isinstance(self.A, Dense) else 1) + self.input_size
        numbers = 20 * (self.state_size + self.input_size)
        return STEP_SECONDS + MULTIPLICATION_SECONDS * min(count, 10**300) * (self.state_size * products + numbers)

    def _step(self, state: Array, inputs: Array, step: int) -> Array:
        entry = self.first if step == 0 and self.first is not None else self.B
        new: Array = self.A.apply(state) + entry @ inputs
        return new

    def _require_limit(self) -> None:
        """Raise unless the spectral radius is certainly below one, so that the energy settles."""
        radius = self.A.radius(only_side_of_one=True)
        below = radius.below_one
        if below:
            return
        if below is None:
            raise ValueError(
                f"a stationary value needs a spectral radius below 1, and float64 cannot decide whether A has one: it is "
                f"{radius}; if A is orthogonal or triangular by construction, give it as ScaledUnitary or "
                "Triangular; otherwise scale it, or ask for energy(horizon)."
            )
        raise ValueError(
            f"a stationary value needs a spectral radius below 1, got {radius}: the energy does not settle; "
            "ask for energy(horizon) instead."
        )

    def _require_finite(self, path: Floats, what: str = "the energy", first_step: int | None = 0) -> None:
        """Raise where a path, (steps, parts), leaves float64; a limit has no first step."""
        bad = np.flatnonzero(~np.isfinite(path).all(axis=1))
        if bad.size:
            where = "" if first_step is None else f" at step {bad[0] + first_step}"
            raise OverflowError(
                f"{what} leaves float64{where}: A has spectral radius {self.A.radius()}; shorten the "
                "horizon, or scale A, B or the covariance down."
            )

    def _stored_limit(self, A: Dense, source: Array, rho: float) -> Floats:
        """`stationary_by_head` for a matrix; AR(1) inputs add ``sum_d rho^d A^d F`` and its adjoint to the forcing F."""
        matrix = A.matrix
        forcing, off = source @ source.conj().T, 0.0
        if rho:
            solved = np.eye(len(matrix)) - rho * matrix
            cross = rho * (matrix @ np.linalg.solve(solved, forcing))
            forcing = forcing + cross + cross.conj().T
            off = 4.0 * UNIT * math.sqrt(len(matrix)) * float(np.linalg.cond(solved) * np.linalg.norm(cross))
        if isinstance(A, ScaledUnitary) and self.heads == 1:
            return np.array([np.trace(forcing).real / -math.expm1(2.0 * A.log_gamma)])
        return stationary_by_head(matrix, forcing, self.heads, off)

    def _root(self, covariance: ArrayLike | None) -> Floats:
        """A square root of R."""
        if covariance is None:
            return np.eye(self.input_size)
        matrix = real_array(covariance, "covariance", 2)
        shape = (self.input_size, self.input_size)
        if matrix.shape != shape:
            raise ValueError(f"covariance must be a real {shape} matrix, one row per input, got shape {matrix.shape}.")
        if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12 * abs(matrix).max()):
            raise ValueError("covariance must be symmetric, got a matrix that is not.")
        values, vectors = np.linalg.eigh(matrix)
        if values[0] < -1e-10 * abs(values).max():
            raise ValueError(f"covariance must be positive semi-definite, got an eigenvalue of {values[0]:.6g}.")
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))

    def _weights(self, matrix: ArrayLike | None, name: str) -> Array:
        """What `decay` starts from: a matrix for a dense A, weights of the modes otherwise."""
        if matrix is None:
            return np.eye(self.state_size) if isinstance(self.A, Dense) else self.A.multiplicity
        columns = finite_array(matrix, name, 2)
        columns = columns / (np.abs(columns).max() or 1.0)  # squares of huge or tiny entries would leave float64
        if len(columns) != self.state_size:
            raise ValueError(f"{name} must have {self.state_size} rows, got shape {columns.shape}.")
        if isinstance(self.A, Dense):
            return columns
        return np.asarray(np.sum(np.abs(self.A.to_modes(columns)) ** 2, axis=1))

    def _covariances(self, steps: int, covariance: ArrayLike | None, correlation: float) -> Any:
        """Pairs ``E x_t x_t^*``, ``E x_t x_t^T`` in the coordinates of the modes, t = 0 .. steps."""
        rho, root = checked_correlation(correlation), self._root(covariance)
        each = MULTIPLICATION_SECONDS * 4.0 * self.state_size if isinstance(self.A, Dense) else MODE_SECONDS
        instead = "energy(horizon) has the mean at a lower cost; otherwise take fewer steps."
        check_path("a recursion of covariances", steps, STEP_SECONDS + each * self.state_size**2, instead)
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
