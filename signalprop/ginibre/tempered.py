r"""Rare-event sampler: unbiased estimates of E||W^k x||^2 and S_{n,t} where plain draws never see what carries the mean.

Sequential Monte Carlo on the Hessenberg law of `krylov` through the laws pi_j, (law of H) * ||H^j e_1||^2, j = 0..k: the
temperature is the number of steps. The normaliser of pi_j is Q_{n,j} itself, and only the first j columns of H count in it.
Particles carry the weight ||H^{j+1} e_1||^2/||H^j e_1||^2, are resampled when their weights are uneven, and are moved by
Hamiltonian trajectories of a quarter turn (`_tilted`), which leave pi_j invariant and nearly forget where they started.
The mean weights estimate Q_{n,j} without bias for every j at once (Del Moral, Feynman-Kac Formulae, 2004, section 7.4), and
so their sum S_{n,t}. Status P. That the error is small is an observation (benchmarks/rare_events.py), not a theorem.

Between c = 2 and 3 real weights change from many singular directions to one outlying real eigenvalue. Few particles have one
then, so there are more particles at the early steps, where each costs least.

A pilot with a random stream of its own decides at which steps to move, how often, and into how many pieces a trajectory is
cut; then these stay fixed. The particles themselves decide when to resample; that keeps the estimate unbiased, since the copies
stand for the same weighted mean on average. Repetitions are independent and their spread gives the error.

The moves cost O(k^4) flops per particle for k < n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import INT64_LIMIT, function_or_none, listed, shown, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop._streams import cell_key, generator
from signalprop._threads import cores, go_on, stop_flag, thread_map
from signalprop.fields import Field, as_field
from signalprop.ginibre import _tilted
from signalprop.ginibre._arguments import generator_of, sizes
from signalprop.ginibre._normals import fill_normal

Floats = NDArray[np.float64]
_SQUARE = 2.0  # the exponent of the norm in an energy
_PILOT = 64  # particles of the pilot
_EVEN = 0.5  # resample below this effective share of the particles
_SPREAD = 0.02  # move once the variance of the log-weights since the last move is past this
_ACCEPT = 0.85
_TURN = 0.5 * math.pi
_LARGEST_ANGLE = 1.2
_BATCH = 16  # particles moved at once
_MORE = 4  # times as many particles up to the crossing of real weights
_LARGEST_BYTES = 1 << 31
_LONGEST = 86400.0  # seconds of work allowed by default


class Move(NamedTuple):
    """What is done after a step: `times` trajectories of `pieces` rotations by `angle`."""

    times: int
    angle: float
    pieces: int


class _Particles:
    """Hessenberg matrices with the columns that their step has seen, and ``log ||Z^step e_1||``, Z = sqrt(beta n) H."""

    def __init__(self, n: int, k: int, field: Field, count: int, rng: np.random.Generator) -> None:
        self.beta, self.columns, self.rng, self.step = field.beta, min(k, n), rng, 0
        self.freedom = field.beta * (n - 1.0 - np.arange(self.columns))
        self.log_unit = 0.5 * math.log(field.beta * n)
        self.room = min(self.columns, 16)
        self.z = np.zeros((count, self.beta * self._width**2))
        self.x = np.zeros((count, self.columns))
        self.norms = np.zeros(count)

    @property
    def _width(self) -> int:
        return self.room + _tilted.PAD

    def log_energies(self) -> Floats:
        """``log ||H^step e_1||^2`` of each."""
        energies: Floats = _SQUARE * (self.norms - self.step * self.log_unit)
        return energies

    def advance(self) -> None:
        """Draw the next column, if there is one, and take the step."""
        self.step += 1
        count = len(self.norms)
        if self.step <= self.columns:
            if self.step > self.room:
                self._grow()
            normals = fill_normal(self.rng, np.empty((count, self.beta, self.step)))
            below = np.sqrt(2.0 * self.rng.standard_gamma(0.5 * self.freedom[self.step - 1], count))
            _tilted.append_kernel(self.z, self.x, normals, below, self.step, self.room, self.beta, self.freedom)
        _tilted.norms_kernel(self.z, self.step, self.room, self.beta, self.norms, stop_flag())
        go_on()

    def _grow(self) -> None:
        before = self._width
        small = self.z.reshape(-1, self.beta, before, before)
        self.room = min(self.columns, self.room + self.room // 4)
        large = np.zeros((len(small), self.beta, self._width, self._width))
        large[:, :, :before, :before] = small
        self.z = large.reshape(len(small), -1)

    def move(self, move: Move) -> float:
        """Move every particle, target pi_step; the mean acceptance probability (1 if there is no move)."""
        active = min(self.step, self.columns)
        numbers = active + self.beta * active * (active + 1) // 2
        total = 0.0
        for _ in range(move.times):
            for start in range(0, len(self.norms), _BATCH):
                part = slice(start, start + _BATCH)
                count = len(self.norms[part])
                momenta = fill_normal(self.rng, np.empty((count, numbers)))
                uniforms = self.rng.random(count)
                total += count * _tilted.moves_kernel(
                    self.z[part], self.x[part], momenta, uniforms, self.freedom, _SQUARE, move.angle, move.pieces,
                    self.step, self.room, self.beta, self.norms[part], stop_flag(),
                )  # fmt: skip
                go_on()
        return total / (move.times * len(self.norms)) if move.times else 1.0

    def resample(self, weights: Floats, count: int) -> None:
        """Keep `count` particles in proportion to their weights (systematic resampling)."""
        ends = np.cumsum(weights)
        places = (self.rng.random() + np.arange(count)) / count * ends[-1]
        kept = np.minimum(np.searchsorted(ends, places, side="right"), len(ends) - 1)
        self.z, self.x, self.norms = self.z[kept], self.x[kept], self.norms[kept]


def schedule(n: int, k: int, field: Field, rng: np.random.Generator) -> list[Move]:
    """The moves after steps 1..k (none after the last), from one run of a small pilot that adapts as it goes."""
    n, k, field = sizes(n, k, field)
    generator_of(rng)
    particles = _Particles(n, k, field, _PILOT, rng)
    weights = np.zeros(_PILOT)  # logs
    since = np.zeros(_PILOT)  # growth of each particle since the last move
    angle, moves = 1.0, []
    for _ in range(1, k):
        before = particles.log_energies()
        particles.advance()
        growth = particles.log_energies() - before
        weights += growth
        since += growth
        shares = np.exp(weights - weights.max())
        shares /= shares.sum()
        variance = float(shares @ (since - shares @ since) ** 2)
        move = Move(0, angle, 1)
        if variance > _SPREAD:
            # Where a single step spreads the weights far, several moves follow it.
            move = Move(max(1, min(8, round(0.25 * variance / _SPREAD))), angle, max(1, round(_TURN / angle)))
        moves.append(move)
        if move.times:
            particles.resample(shares, _PILOT)
            weights[:] = since[:] = 0.0
            accepted = particles.move(move)
            angle = min(_LARGEST_ANGLE, max(0.01, angle * math.exp(accepted - _ACCEPT)))
    return [*moves, Move(0, angle, 1)] if k else []


def _crossing(n: int, field: Field) -> float:
    """Number of steps past which outlying real eigenvalues carry the mean of real weights; 0 for the other fields.

    The two terms of the law of real weights (`regimes.real`) are equal at k = c sqrt(n), c^2 = log n + 2 log(2/c); by then
    the outlier should have been found, and a quarter further on it has been.
    """
    match field:
        case Field.COMPLEX | Field.QUATERNION:
            return 0.0
        case Field.REAL:
            c = 2.0
            for _ in range(50):
                c = math.sqrt(max(1.0, math.log(n) + 2.0 * math.log(2.0 / c)))
            return 1.25 * c * math.sqrt(n)
        case _:
            assert_never(field)


def repetition(n: int, k: int, field: Field, particles: int, moves: list[Move], rng: np.random.Generator) -> Floats:
    """Logs of unbiased estimates of Q_{n,0}, .., Q_{n,k} from one run with `particles` particles at the last step."""
    n, k, field = sizes(n, k, field)
    particles = whole_number(particles, "particles", 1)
    generator_of(rng)
    check_room(n, k, field, particles)
    planned = listed(moves, "moves", "moves of schedule")
    if len(planned) != k or not all(isinstance(move, Move) for move in planned):
        raise ValueError(f"moves must be the {k} moves that schedule gives for these sizes, got {shown(moves)}.")
    crossing = _crossing(n, field)

    def wanted(step: int) -> int:
        return particles * (_MORE if step <= crossing < k else 1)

    out = np.zeros(k + 1)
    swarm = _Particles(n, k, field, wanted(1) if k else particles, rng)
    weights = np.zeros(len(swarm.norms))  # logs
    log_normaliser = 0.0
    for step in range(1, k + 1):
        before = swarm.log_energies()
        swarm.advance()
        weights += swarm.log_energies() - before
        top = float(weights.max())
        shares = np.exp(weights - top)
        out[step] = log_normaliser + top + math.log(float(shares.mean()))
        effective = float(shares.sum()) ** 2 / float(shares @ shares)
        if effective < _EVEN * len(shares) or wanted(step) < 0.75 * len(shares):
            swarm.resample(shares, wanted(step))
            weights = np.zeros(len(swarm.norms))
            log_normaliser = out[step]
        swarm.move(planned[step - 1])
    return out


def seconds(n: int, k: int, field: Field, particles: int) -> float:
    """Rough time of one repetition, without the pilot."""
    crossing = _crossing(n, field)
    early = (_MORE - 1) * _particle_seconds(n, int(crossing), field) if 0.0 < crossing < k else 0.0
    return particles * (early + _particle_seconds(n, k, field))


def pilot_seconds(n: int, k: int, field: Field) -> float:
    """Rough time of the pilot, which all repetitions share."""
    return _PILOT * _particle_seconds(n, k, field)


def _particle_seconds(n: int, k: int, field: Field) -> float:
    """Rough time in which one particle takes k steps and is moved after each.

    A trajectory after step j is a few products of j matrices, and each of its pieces has a cost of its own. The number of pieces
    follows the spread of the weights, about 2/n per step: measured, within a factor of three for n = 1 to 1000.
    """
    pieces = 0.4 + min(3.0, k / (4.5 * math.sqrt(n)) + 20.0 / n)
    columns, half = float(min(k, n)), 0.5 * float(k) ** 2
    # Sums over j of j, j m and j m^2, m = min(j, n).
    linear, square = columns * (half - columns**2 / 6.0), columns**2 * (half - 0.25 * columns**2)
    return field.beta * pieces * (4e-6 * k + 4e-7 * half + 6e-8 * linear + 5e-10 * square)


def room(n: int, k: int, field: Field, particles: int) -> float:
    """Bytes that one repetition takes: the particles, twice while they are resampled, and the vectors of one trajectory."""
    width = min(n, k) + _tilted.PAD
    particle = 8.0 * field.beta * width**2
    return 2.0 * _more(n, k, field) * particles * particle + 16.0 * field.beta * (k + 1.0) * width + 16.0 * (k + 1.0)


def check_room(n: int, k: int, field: Field, particles: int) -> None:
    """Refuse particles that do not fit into the memory of a thread."""
    n, k, field = sizes(n, k, field)
    particles = whole_number(particles, "particles", 1, INT64_LIMIT)
    size = 8 * particles * field.beta * (min(n, k) + _tilted.PAD) ** 2
    if size > _LARGEST_BYTES:
        raise ValueError(
            f"{particles} particles of {min(n, k)} columns fill {size / 2**30:.1f} GiB per thread, more than "
            f"{_LARGEST_BYTES / 2**30:.0f} GiB; use at most "
            f"{max(1, particles * _LARGEST_BYTES // size)} particles and more repetitions."
        )


def _more(n: int, k: int, field: Field) -> int:
    """The factor by which the early steps have more particles than the last."""
    return _MORE if 0.0 < _crossing(n, field) < k else 1


def log_path(n: int, k: int, field: Field, particles: int, seed: int, index: int) -> Floats:
    """Row `index` of `log_paths`."""
    n, k, field = sizes(n, k, field)
    particles, seed, index = (
        whole_number(value, name, smallest)
        for value, name, smallest in ((particles, "particles", 1), (seed, "seed", 0), (index, "index", 0))
    )
    check_room(n, k, field, particles)
    cell = cell_key(n, k, field.value, "tempered", particles)
    return repetition(n, k, field, particles, _moves(n, k, field, particles, seed), generator(seed, cell, 1 + index))


@lru_cache(maxsize=64)
def _moves(n: int, k: int, field: Field, particles: int, seed: int) -> list[Move]:
    cell = cell_key(n, k, field.value, "tempered", particles)
    return schedule(n, k, field, generator(seed, cell, 0))


def log_paths(
    n: int,
    k: int,
    field: str = "real",
    *,
    particles: int = 256,
    repetitions: int = 16,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Floats:
    """Logs of independent unbiased estimates of Q_{n,0}, .., Q_{n,k}.

    Parameters
    ----------
    n, k
        Width, and number of steps.
    field
        ``"complex"``, ``"real"`` or ``"quaternion"`` Gaussian weights, E|w_ij|^2 = 1/n.
    particles
        Particles of one repetition at the last step (four times as many at the early ones of real weights), at least 8.
    repetitions
        Independent repetitions, at least 2.
    seed
        Root seed. The digits depend on it and on (n, k, field, particles), not on the number of threads; a run of more
        repetitions begins with those of a shorter one.
    workers
        Threads (default: all cores).
    progress
        Called as ``progress(repetitions_done, repetitions)``.

    Returns
    -------
    float64
        Shape (repetitions, k+1). Within a row the estimates come from the same particles; rows are independent.
    """
    kind = as_field(field)
    width = whole_number(n, "n", 1, 10**18, "Use a width up to 1e18.")
    depth = whole_number(k, "k", 0)
    count = whole_number(particles, "particles", 8)
    times = whole_number(repetitions, "repetitions", 2, INT64_LIMIT)
    root = whole_number(seed, "seed", 0)
    threads = None if workers is None else whole_number(workers, "workers", 1, INT64_LIMIT)
    function_or_none(progress, "progress")
    check_room(width, depth, kind, count)
    workers_used = min(threads or cores(), times)
    refuse_beyond_bounds(
        f"{times} repetitions of {count} particles at width {shown(width)} and depth {shown(depth)}",
        seconds=pilot_seconds(width, depth, kind) + seconds(width, depth, kind, count) * times / workers_used,
        memory=workers_used * room(width, depth, kind, count) + 16.0 * times * (depth + 1.0),
        instead="energy.rnn_energy has the exact mean.",
        default_seconds=_LONGEST,
    )
    paths = []
    for path in thread_map(
        lambda index: log_path(width, depth, kind, count, root, index), range(times), threads, inline=False
    ):
        paths.append(path)
        if progress is not None:
            progress(len(paths), times)
    return np.array(paths)


def __getattr__(name: str) -> Any:
    if name == "estimate":  # its former place; estimates live with those of the other samplers
        return import_module("signalprop.montecarlo.rare_events").estimate
    raise AttributeError(f"module 'signalprop.ginibre.tempered' has no attribute {name!r}")
