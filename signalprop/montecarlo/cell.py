"""One cell of a Monte Carlo run: what is drawn, in which chunks, from which random streams, and what is known exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from signalprop._checks import INT64_LIMIT, flag, positive_float, real_number, shown, whole_number
from signalprop._cost import refuse_beyond_bounds
from signalprop._streams import cell_key, generator
from signalprop.activations import SampledActivation
from signalprop.fields import Field, as_field, member
from signalprop.ginibre import dense, krylov, tempered
from signalprop.ginibre.dense import Layer
from signalprop.methods import Method
from signalprop.montecarlo import known
from signalprop.montecarlo.estimate import QUANTILES, Estimate

Floats = NDArray[np.float64]
REPETITIONS = 16  # of method="tempered"
_DEFAULT_SLOPE = 0.01
_LARGEST_SLOPE = 1e6
_LARGEST_ARRAY = 1 << 27
_CHUNK_STEPS = 1 << 24


@dataclass(frozen=True)
class Cell:
    """`samples` draws of the path of one recurrence; checked by `as_cell`.

    The digits of chunk i are a function of the cell, without its number of samples, of the root seed, and of i. With
    ``method="tempered"`` the samples are particles, spread over 16 repetitions; a chunk is one repetition and has one row.
    """

    n: int
    k: int
    field: Field
    method: Method
    layer: Layer
    samples: int
    seed: int

    @cached_property
    def per_chunk(self) -> int:
        """Rows of every chunk but the last."""
        match self.method:
            case Method.TEMPERED:
                return 1
            case Method.KRYLOV:
                return krylov.samples_per_chunk(self.n, self.k, self.field)
            case Method.DENSE:
                most = max(1, _CHUNK_STEPS // (self.k + 1))
                if self.layer.tied:
                    return min(dense.samples_per_chunk(self.n, self.field), most)
                return max(1, min(256, (1 << 22) // (self.field.beta * self.n), most))  # n numbers per layer and sample
            case _:
                assert_never(self.method)

    @property
    def particles(self) -> int:
        """Samples behind each row: 1, or the particles of a repetition of ``method="tempered"``."""
        return self.samples // REPETITIONS if self.method is Method.TEMPERED else 1

    @property
    def rows(self) -> int:
        """Number of paths: of draws, or of repetitions."""
        return REPETITIONS if self.method is Method.TEMPERED else self.samples

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return -(-self.rows // self.per_chunk)

    def chunk_rows(self, chunk: int) -> int:
        """Number of rows of one chunk."""
        return min(self.per_chunk, self.rows - chunk * self.per_chunk)

    @cached_property
    def key(self) -> int:
        """Key of the random streams."""
        layer = (self.layer.activation.value, self.layer.negative_slope, self.layer.tied)
        return cell_key(self.n, self.k, self.field.value, self.method.value, *layer)

    def draw(self, chunk: int, driven: bool = True) -> tuple[Floats, Floats | None]:
        """Log-norms of the paths of one chunk, shape (rows, k+1), and those of the driven recurrence (linear layers).

        Without `driven` the second may be left out.
        """
        match self.method:
            case Method.DENSE:
                rng = generator(self.seed, self.key, chunk)
                return dense.draw_chunk(self.n, self.k, self.field, self.layer, self.chunk_rows(chunk), rng, driven)
            case Method.TEMPERED:
                logs = 0.5 * tempered.log_path(self.n, self.k, self.field, self.particles, self.seed, chunk)[None, :]
            case Method.KRYLOV:
                rng = generator(self.seed, self.key, chunk)
                logs = krylov.draw_chunk(self.n, self.k, self.field, self.chunk_rows(chunk), rng)
            case _:
                assert_never(self.method)
        return logs, 0.5 * np.logaddexp.accumulate(2.0 * logs, axis=1) if driven else None

    @property
    def row_seconds(self) -> float:
        """Rough time of one row, for cutting work into pieces; no digit depends on it."""
        beta, path, columns = self.field.beta, 4e-8 * (self.k + 1), min(self.k, self.n)
        match self.method:
            case Method.TEMPERED:
                pilot = tempered.pilot_seconds(self.n, self.k, self.field) / self.rows
                return path + pilot + tempered.seconds(self.n, self.k, self.field, self.particles)
            case Method.KRYLOV:
                return path + beta * columns**2 * (4e-9 + 1e-10 * beta * self.k)
            case Method.DENSE:
                if self.layer.tied:
                    return path + beta * self.n**2 * (1e-8 + 1e-9 * self.k)
                return path + 2e-8 * beta * self.n * (self.k + 1)
            case _:
                assert_never(self.method)

    @property
    def room(self) -> float:
        """Bytes that drawing one chunk takes, roughly."""
        match self.method:
            case Method.TEMPERED:
                return tempered.room(self.n, self.k, self.field, self.particles)
            case Method.KRYLOV:
                return krylov.room(self.n, self.k, self.field)
            case Method.DENSE:
                return dense.room(self.n, self.k, self.field, self.per_chunk, self.layer.tied)
            case _:
                assert_never(self.method)

    @property
    def linear(self) -> bool:
        """Whether the activation is the identity."""
        return self.layer.activation is SampledActivation.LINEAR

    @property
    def temperable(self) -> bool:
        """Whether the rare-event sampler covers this recurrence."""
        return self.linear and self.layer.tied

    @property
    def draws_inputs(self) -> bool:
        """Whether the driven recurrence is drawn with a fresh input at each step, not read off the path."""
        return self.method is Method.DENSE

    def estimate(self, model: str, logs: Floats, k: int, quantiles: Sequence[float] = QUANTILES) -> Estimate:
        """What log-energies of this cell after k steps say about their mean."""
        return self.judged(logs, model, k, known.log_exact(self, model, k), quantiles)

    def judged(
        self, logs: Floats, model: str, k: int, log_exact: float | None, quantiles: Sequence[float] = QUANTILES
    ) -> Estimate:
        """The same for an exact mean that is given."""
        if self.method is Method.TEMPERED:
            return Estimate.from_repetitions(logs, log_exact)
        return Estimate.from_logs(
            logs, log_exact, quantiles, log_second_moment=known.log_second_moment(self, model, k),
            tempered=self.temperable, tail_law=known.tail_law(self, model, k),
        )  # fmt: skip


def as_cell(
    n: int,
    k: int,
    field: str,
    *,
    samples: int,
    seed: int,
    method: str,
    activation: str = "linear",
    negative_slope: float = _DEFAULT_SLOPE,
    tied: bool = True,
) -> Cell:
    """Check the arguments of `signalprop.sample` and return the cell they name.

    Raises
    ------
    ValueError
        Unknown names, counts out of range, an activation that the field or the method does not have.
    """
    kind = as_field(field)
    width = whole_number(n, "n", 1, 10**18, "Use a width up to 1e18.")
    depth = whole_number(k, "k", 0, INT64_LIMIT)
    count = whole_number(samples, "samples", 2)
    root = whole_number(seed, "seed", 0)
    how = member(Method, method, "method")
    layer = Layer(member(SampledActivation, activation, "activation"), _slope(negative_slope), flag(tied, "tied"))
    if layer.activation is not SampledActivation.LEAKY_RELU and layer.negative_slope not in (0.0, _DEFAULT_SLOPE):
        raise ValueError(
            f"negative_slope belongs to activation='leaky_relu'; activation={activation!r} does not read it, leave it out."
        )
    if layer.activation is not SampledActivation.LINEAR and kind is not Field.REAL:
        raise ValueError(
            f"activation={activation!r} needs field='real', because it compares with zero; got field={str(kind)!r}."
        )
    if how is not Method.DENSE and (layer.activation is not SampledActivation.LINEAR or not layer.tied):
        raise ValueError(
            f"method={how.value!r} covers linear tied weights only; use method='dense' for activations or tied=False."
        )
    match how:
        case Method.TEMPERED:
            count = whole_number(samples, "samples", 8 * REPETITIONS)  # eight particles in each
            tempered.check_room(width, depth, kind, count // REPETITIONS)
        case Method.KRYLOV:
            krylov.samples_per_chunk(width, depth, kind)  # refuses a path that does not fit
        case Method.DENSE:
            if layer.tied:
                dense.samples_per_chunk(width, kind)
            else:  # n numbers per layer and sample
                limit = _LARGEST_ARRAY // kind.beta
                whole_number(n, "n", 1, limit, "That many numbers per layer do not fit; the mean is exactly 1.")
        case _:
            assert_never(how)
    cell = Cell(width, depth, kind, how, layer, count, root)
    refuse_beyond_bounds(
        f"One draw of width {shown(width)} and {shown(depth)} steps",
        memory=cell.room,
        instead="signalprop.energy has the exact mean.",
    )
    return cell


def _slope(value: float) -> float:
    slope = real_number(value, "negative_slope")
    if slope == 0.0:
        return 0.0
    positive_float(slope, "negative_slope")
    if slope > _LARGEST_SLOPE:
        raise ValueError(f"negative_slope must be at most {_LARGEST_SLOPE:g}, got {shown(value)}.")
    return slope
