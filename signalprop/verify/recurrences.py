"""RotRNN, LRU, S4, S4D, S5 and the others: closed forms against their definitions step by step, and against draws.

The second route of each check is written from the definition of the layer with plain matrices: it takes the parameters that
were drawn and none of the formulas of `signalprop.recurrences`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from signalprop import recurrences
from signalprop.recurrences.catalogue import build
from signalprop.verify.check import Check

Array = NDArray[Any]
ROUNDING = 1e-10
LARGEST_Z = 5.0  # of about a hundred scores
_RHOS = (0.0, 0.5, -0.7, 0.95)


def checks(thorough: bool) -> list[Check]:
    """Two routes for each layer, the identities between them, and draws; the thorough ones on longer paths and more draws."""
    steps, samples = (2000, 20_000) if thorough else (200, 1500)
    colours = f"T = {steps}, white and AR(1)"

    def exact(name: str, grid: str, deviation: Callable[[], float], allowed: float = ROUNDING) -> Check:
        return Check(name, grid, "relative error", allowed, deviation)

    return [
        exact("RotRNN: 1 - gamma^2t from zero (P) = covariances", f"1 to 4 heads, T = {steps}", partial(_transient, steps)),
        exact("RotRNN: first-step rule stays at one (P)", f"1 to 4 heads, T = {steps}", partial(_first_step, steps)),
        exact("RotRNN: energy by modes (P) = covariances", colours, partial(_by_covariances, _rotrnn_definition, steps)),
        exact("LRU: energy by modes (P) = covariances", colours, partial(_by_covariances, _lru_definition, steps)),
        exact("RotRNN as an LRU and back (P): the same outputs", f"T = {steps}", partial(_equivalence, steps)),
        exact("S4: bilinear LegS (P) = SciPy's discretisation", f"n = 16, {colours}", partial(_s4, steps)),
        exact("S4: spectral radius (P) = max |1 - D i/2|/(1 + D i/2)", "n to 256, D in 1e-3..3", _s4_radius, 1e-13),
        exact("S4D: zero-order hold (P) = matrix exponential", f"n = 8, {colours}", partial(_s4d, steps)),
        exact("S5: kept half (P) = half of the real system", f"n = 8, {colours}", partial(_s5, steps)),
        exact("every kind: energy by its own route (P) = covariances", f"n = 8, {colours}", partial(_kinds, min(steps, 300))),
        exact("stationary energy (P) = end of a long path", "all layers, rho in -0.7..0.95", _stationary, 1e-8),
        Check("orthogonal W (P): no draw has a limit", "100 draws, n <= 40", "draws with one", 0, _no_limit),
        exact("AR(1): Poisson kernel (P) = double sum over inputs", "r to 0.95, 6 angles, 3 correlations", _poisson, 1e-9),
        exact("AR(1): mean over angles (P) = quadrature", "r to 0.99, angles below 0.03..2 pi", _poisson_mean),
        exact("LRU: mean over the ring (P) = quadrature", f"4 rings, T = {min(steps, 400)}", partial(_ring, min(steps, 400))),
        Check(
            "drawn inputs: mean energies = exact", "all layers, white and AR(1), t in 1, 5, 30", "largest |z|", LARGEST_Z,
            partial(_drawn, samples),
        ),
        Check(
            "Gaussian W: mean over draws of the exact path = S", "real and complex, n = 12, t <= 7", "largest |z|", LARGEST_Z,
            partial(_over_weights, 400 if not thorough else 4000),
        ),
    ]  # fmt: skip


def _kinds(steps: int) -> float:
    """All that can be named, with the parameters that it has by default."""
    worst = 0.0
    for kind in recurrences.KINDS:
        layer = build(kind, 8, {}, 1).layer
        for rho in _RHOS:
            wanted = _paths(layer.A.dense(), layer.B, layer.B, steps, rho)
            worst = max(worst, _apart(layer.energy(steps, correlation=rho), wanted))
    return worst


# Definitions: state matrix, input matrix and first step's matrix of a layer, from its drawn parameters alone.


def _rotrnn_definition() -> tuple[recurrences.RotRNN, Array, Array, Array]:
    return _rotrnn(15, 3, first_step=True)


def _rotrnn(size: int, heads: int, first_step: bool) -> tuple[recurrences.RotRNN, Array, Array, Array]:
    """Gamma P Theta P^T and xi B head by head, with rotation matrices written out."""
    layer = recurrences.rotrnn(size, 4, heads=heads, max_phase=1.5, first_step=first_step, seed=2)
    state, part = layer.rotations, size // heads
    assert state.basis is not None
    A, B = np.zeros((size, size)), np.zeros((size, 4))
    for head in range(heads):
        block = slice(head * part, (head + 1) * part)
        turn = np.eye(part)
        for plane, angle in enumerate(state.angles[head]):
            c, s = math.cos(angle), math.sin(angle)
            turn[2 * plane : 2 * plane + 2, 2 * plane : 2 * plane + 2] = [[c, -s], [s, c]]
        gamma, P, raw = float(layer.gamma[head]), state.basis[head], layer.B[block]
        A[block, block] = gamma * P @ turn @ P.T
        B[block] = raw * math.sqrt((1.0 - gamma**2) / np.trace(raw @ raw.T))
    first = np.concatenate([b / np.linalg.norm(b) for b in np.split(B, heads)]) if first_step else B
    return layer, A, B, first


def _lru_definition() -> tuple[recurrences.LRU, Array, Array, Array]:
    layer = recurrences.lru(9, 4, r_min=0.4, r_max=0.97, first_step=True, seed=3)
    values = np.exp(layer.diagonal.log_modulus) * np.exp(1j * layer.diagonal.phase)
    raw = layer.B / layer.normalizer[:, None]
    return layer, np.diag(values), np.sqrt(1.0 - np.abs(values) ** 2)[:, None] * raw, raw


def _paths(A: Array, B: Array, first: Array, steps: int, rho: float) -> Array:
    """E||x_t||^2 for t = 0 .. steps by covariances of the stacked (x_t, u_t), which is driven by white noise."""
    n, d = B.shape
    stacked = np.block([[A, rho * B], [np.zeros((d, n)), rho * np.eye(d)]])
    push = np.vstack([B, np.eye(d)])
    start = np.vstack([first, np.eye(d)])
    P, noise = start @ start.conj().T, (1.0 - rho**2) * push @ push.conj().T
    path = [0.0]
    for _ in range(steps):
        path.append(float(np.trace(P[:n, :n]).real))
        P = stacked @ P @ stacked.conj().T + noise
    return np.array(path)


def _apart(got: Array, want: Array) -> float:
    """Largest relative error after step 0."""
    return float(np.max(np.abs(np.asarray(got)[1:] - np.asarray(want)[1:]) / np.abs(np.asarray(want)[1:])))


def _by_covariances(definition: Callable[[], tuple[Any, Array, Array, Array]], steps: int) -> float:
    layer, A, B, first = definition()
    return max(_apart(layer.energy(steps, correlation=rho), _paths(A, B, first, steps, rho)) for rho in _RHOS)


def _transient(steps: int) -> float:
    worst, t = 0.0, np.arange(steps + 1)
    for size, heads in ((8, 1), (9, 3), (8, 4)):
        layer, A, B, first = _rotrnn(size, heads, first_step=False)
        gamma = np.asarray(layer.gamma)
        want = np.sum(1.0 - gamma ** (2 * t[:, None]), axis=1)
        worst = max(worst, _apart(layer.energy(steps), want), _apart(_paths(A, B, first, steps, 0.0), want))
    return worst


def _first_step(steps: int) -> float:
    worst = 0.0
    for size, heads in ((8, 1), (9, 3), (8, 4)):
        layer, A, B, first = _rotrnn(size, heads, first_step=True)
        want = np.full(steps + 1, float(heads))
        worst = max(worst, _apart(layer.energy(steps), want), _apart(_paths(A, B, first, steps, 0.0), want))
    return worst


def _equivalence(steps: int) -> float:
    """Outputs for one sequence of inputs, by the definition of RotRNN, by the layer as an LRU, and back."""
    inputs = np.cos(np.outer(np.arange(1, steps + 1), [0.3, 1.1, 2.0, 2.9]))
    layer, A, B, first = _rotrnn(12, 3, first_step=True)
    C = np.sin(np.outer([1.0, 2.0], np.arange(1, 13)))
    with_readout = recurrences.RotRNN(
        layer.rotations.angles,
        layer.B.reshape(3, 4, 4),
        C,
        gamma=layer.gamma,
        basis=layer.rotations.basis,
        first_step=True,
    )
    x, wanted = np.zeros(12), []
    for step, u in enumerate(inputs):
        x = A @ x + (first if step == 0 else B) @ u
        wanted.append(C @ x)
    diagonal = with_readout.to_lru()
    turned = [diagonal.outputs(inputs), diagonal.to_rotrnn(heads=3).outputs(inputs), with_readout.outputs(inputs)]
    size = np.abs(wanted).max()
    return float(max(np.abs(each - wanted).max() / size for each in turned))


def _legs(n: int) -> tuple[Array, Array]:
    A = np.array(
        [[-math.sqrt((2 * i + 1) * (2 * j + 1)) * (i > j) - (i + 1) * (i == j) for j in range(n)] for i in range(n)]
    )
    return A, np.array([[math.sqrt(2 * i + 1)] for i in range(n)])


def _s4(steps: int) -> float:
    from scipy.signal import cont2discrete

    worst = 0.0
    for dt in (0.01, 0.1):
        A, B = _legs(16)
        Ad, Bd, *_ = cont2discrete((A, B, np.eye(16), np.zeros((16, 1))), dt, method="bilinear")
        layer = recurrences.s4(16, dt=dt)
        for rho in _RHOS:
            worst = max(worst, _apart(layer.energy(steps, correlation=rho), _paths(Ad, Bd, Bd, steps, rho)))
    return worst


def _s4_radius() -> float:
    worst = 0.0
    for n in (1, 16, 128, 256):
        for dt in (0.001, 0.1, 3.0):
            want = max(abs(1.0 - dt * i / 2.0) / (1.0 + dt * i / 2.0) for i in range(1, n + 1))
            worst = max(worst, abs(recurrences.s4(n, dt=dt).A.spectral_radius() / want - 1.0))
    return worst


def _held(A: Array, B: Array, dt: float) -> tuple[Array, Array]:
    """Zero-order hold by the exponential of [[A, B], [0, 0]] dt."""
    from scipy.linalg import expm

    n, d = B.shape
    whole = expm(dt * np.block([[A, B], [np.zeros((d, n)), np.zeros((d, d))]]))
    return whole[:n, :n], whole[:n, n:]


def _s4d(steps: int) -> float:
    worst = 0.0
    for dt in (0.01, 0.3):
        values = -0.5 + 1j * math.pi * np.arange(4)
        A, B = _held(np.diag(values), np.ones((4, 1), complex), dt)
        layer = recurrences.s4d_lin(8, dt=dt)
        for rho in _RHOS:
            worst = max(worst, _apart(layer.energy(steps, correlation=rho), _paths(A, B, B, steps, rho)))
    return worst


def _s5(steps: int) -> float:
    """HiPPO-N as a real matrix; its B is put together from the kept half of the modes and their conjugates."""
    dt, n = 0.05, 8
    layer = recurrences.s5(n, 3, dt=dt, seed=4)
    A, B = _legs(n)
    normal = A + B @ B.T / 2.0  # p = sqrt(i + 1/2)
    values, vectors = np.linalg.eig(normal)
    kept = np.argsort(values.imag)[n // 2 :]
    rows = layer.B / ((np.exp(dt * values[kept]) - 1.0) / values[kept])[:, None]
    # Phases of eigenvectors are free: take the energy in modes, which does not see them, from the real system's own modes.
    modes = np.linalg.inv(vectors)[kept]
    real_B = np.real(np.linalg.pinv(np.vstack([modes, modes.conj()])) @ np.vstack([rows, rows.conj()]))
    Ad, Bd = _held(normal, real_B, dt)
    lengths = np.linalg.norm(vectors[:, kept], axis=0)
    return max(
        abs(float(lengths.max()) - 1.0),
        *(_apart(2.0 * layer.energy(steps, correlation=rho), _paths(Ad, Bd, Bd, steps, rho)) for rho in _RHOS),
    )


def _layers() -> dict[str, recurrences.LinearRecurrence]:
    return {
        "rotrnn": recurrences.rotrnn(9, 4, heads=3, gamma=0.95, max_phase=0.5, first_step=True, seed=1),
        "lru": recurrences.lru(6, 4, r_min=0.3, r_max=0.95, max_phase=1.0, seed=1),
        "s4": recurrences.s4(8, dt=0.2),
        "s4d_lin": recurrences.s4d_lin(8, channels=2, dt=[0.1, 0.3], seed=1),
        "s5": recurrences.s5(8, 4, dt=0.2, seed=1),
        "gaussian": recurrences.gaussian(8, "real", scale=0.6, seed=1),
        "orthogonal": recurrences.orthogonal(8, gamma=0.9, seed=1),
    }


def _stationary() -> float:
    worst = 0.0
    for layer in _layers().values():
        for rho in _RHOS:
            path = layer.energy(1500, correlation=rho)
            worst = max(worst, abs(layer.stationary_energy(correlation=rho) / float(path[-1]) - 1.0))
    return worst


def _no_limit() -> float:
    found = 0
    for seed in range(100):
        try:
            recurrences.orthogonal(1 + seed % 40, seed=seed).stationary_energy()
        except ValueError:
            continue
        found += 1
    return found


def _poisson() -> float:
    """A mode under AR(1) inputs by the sum over pairs of inputs, over the same under white ones."""
    worst, k = 0.0, np.arange(700)
    for modulus in (0.5, 0.95):
        for theta in (0.0, 0.01, 0.5, 1.5, 3.0, math.pi):
            powers = modulus**k * np.exp(1j * theta * k)
            for rho in (0.3, 0.9, -0.8):
                pairs = float(rho) ** np.abs(k[:, None] - k)
                want = float(np.real(powers.conj() @ pairs @ powers)) * (1.0 - modulus**2)
                worst = max(worst, abs(float(recurrences.poisson_kernel(rho * modulus, theta)) / want - 1.0))
    return worst


def _poisson_mean() -> float:
    from scipy.integrate import quad

    worst = 0.0
    for r in (0.0, 0.5, -0.9, 0.99):
        for phase in (0.03, 1.0, math.pi, 2.0 * math.pi):
            marks = [1.0 - abs(r), math.pi, 2.0 * math.pi - (1.0 - abs(r))]
            total = quad(
                lambda x, r=r: (1.0 - r * r) / (1.0 - 2.0 * r * math.cos(x) + r * r), 0.0, phase, limit=200,
                epsabs=0.0, epsrel=1e-12, points=[mark for mark in marks if 0.0 < mark < phase] or None,
            )[0]  # fmt: skip
            worst = max(worst, abs(float(recurrences.poisson_mean(r, phase)) / (total / phase) - 1.0))
    return worst


def _ring(steps: int) -> float:
    """Units on a Gauss-Legendre rule in ``|lambda|^2``, each by its geometric series."""
    worst = 0.0
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    for low, high in ((0.0, 0.9), (0.5, 0.99), (0.9, 0.999), (0.0, 1.0)):
        square = low**2 + (high**2 - low**2) * (1.0 + nodes) / 2.0
        terms = square ** np.arange(steps)[:, None] @ weights / 2.0
        plain = np.concatenate([[0.0], np.cumsum(terms)])
        normal = np.concatenate([[0.0], 1.0 - square ** np.arange(1, steps + 1)[:, None] @ weights / 2.0])
        for normalized, want in ((False, plain), (True, normal)):
            found = recurrences.lru_average(steps, r_min=low, r_max=high, normalized=normalized).energy
            worst = max(worst, _apart(found, want))
    return worst


def _drawn(samples: int) -> float:
    worst = 0.0
    for number, layer in enumerate(_layers().values()):
        for rho in (0.0, 0.8):
            draw = layer.sample(30, samples=samples, seed=number, correlation=rho)
            worst = max(worst, float(np.abs(draw.z[[1, 5, 30]]).max()))
    return worst


def _over_weights(draws: int) -> float:
    from signalprop.energy import lru_energy

    def one(field: str, seed: int) -> recurrences.LinearRecurrence:
        return recurrences.gaussian(12, field, scale=0.9, seed=seed)

    worst = 0.0
    for field in ("real", "complex"):
        mean = recurrences.drawn_average(partial(one, field), 8, draws=draws, seed=4)
        exact = lru_energy(12, np.arange(8), field, scale=0.9)
        worst = max(worst, float(np.abs((mean.energy[2:] - exact[1:]) / mean.error[2:]).max()))
    return worst
