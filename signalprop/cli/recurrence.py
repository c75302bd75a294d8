"""The command ``signalprop recurrence``: the exact energy path of one recurrence as text, JSON or a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from signalprop._numbers import counted, number, percent, show_value
from signalprop._text import columns as terminal_columns
from signalprop._text import lines_of
from signalprop.cli._terminal import print_json, print_text, save_figure, sentences
from signalprop.fields import Field
from signalprop.recurrences.catalogue import Kind, entry, kinds_in_words, owners

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from signalprop.recurrences import LinearRecurrence, SampledEnergies


_HINT_CORRELATION = 0.9
_FILLED = 0.95
_CURVE = 200  # points of the curve in JSON and in the figure


@dataclass(frozen=True)
class Report:
    """What the command found.

    Attributes
    ----------
    about
        The recurrence in words.
    steps
        Steps that are shown.
    energy, from_first_step, average
        Exact E||x_t||^2 from x_0 = 0, by the first-step rule (rotrnn, lru), averaged over draws of W (gaussian).
    left, gradient_left
        Share of the energy of one input, and of an isotropic gradient, that is left after the horizon.
    stationary, hinted
        Limit of the energy, and what it is at a correlation of 0.9; None without a limit.
    no_limit
        Why there is no limit, or none that float64 can tell; empty where there is one.
    rule
        The first-step rule in words; empty where there is none.
    filled
        Step at which the energy first has 95 % of its limit; None where that lies beyond the horizon.
    """

    about: str
    recurrence: LinearRecurrence
    correlation: float
    steps: NDArray[np.int64]
    energy: NDArray[np.float64]
    from_first_step: NDArray[np.float64] | None
    average: NDArray[np.float64] | None
    left: float
    gradient_left: float
    stationary: float | None
    no_limit: str
    rule: str
    filled: int | None
    hinted: float | None
    sampled: SampledEnergies | None


def recurrence(
    kind: Annotated[
        Kind,
        typer.Argument(
            help=kinds_in_words(),
            show_default=False,
        ),
    ],
    horizon: Annotated[int, typer.Option("-T", "--horizon", "-k", "--depth", help="Number of steps.")] = 1000,
    states: Annotated[int, typer.Option("-n", "--width", "--states", help="State size.")] = 64,
    inputs: Annotated[int | None, typer.Option("-d", "--inputs", help="Inputs; channels of s4d-lin.")] = None,
    heads: Annotated[int | None, typer.Option("--heads", help="rotrnn: heads, each of norm one.")] = None,
    gamma: Annotated[float | None, typer.Option("--gamma", help="rotrnn, orthogonal: factor on a step.")] = None,
    max_phase: Annotated[float | None, typer.Option("--max-phase", help="rotrnn, lru: largest angle.")] = None,
    r_min: Annotated[float | None, typer.Option("--r-min", help="lru: inner radius of the ring.")] = None,
    r_max: Annotated[float | None, typer.Option("--r-max", help="lru: outer radius of the ring.")] = None,
    dt: Annotated[float | None, typer.Option("--dt", help="s4, s4d-lin, s5: time step; drawn if left out.")] = None,
    field: Annotated[Field | None, typer.Option("--field", help="gaussian: number system.")] = None,
    scale: Annotated[float | None, typer.Option("--scale", help="gaussian: factor g on every weight.")] = None,
    correlation: Annotated[float, typer.Option("--correlation", help="Of inputs one step apart (AR(1)).")] = 0.0,
    samples: Annotated[int | None, typer.Option("--samples", help="Also draw this many input sequences.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of parameters and inputs.")] = 0,
    plot: Annotated[str | None, typer.Option("--plot", help="Write the figure here (.png, .svg or .pdf).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Exact energy path of RotRNN, LRU, S4, S5 and others.

    x_t = A x_{t-1} + B u_t from x_0 = 0, parameters drawn from their published initial law.
    """
    given = {
        "--inputs": inputs, "--heads": heads, "--gamma": gamma, "--max-phase": max_phase, "--r-min": r_min,
        "--r-max": r_max, "--dt": dt, "--field": field, "--scale": scale,
    }  # fmt: skip
    with sentences():
        chosen = {name: value for name, value in given.items() if value is not None}
        found = report(kind, states, horizon, chosen, correlation=correlation, samples=samples, seed=seed)
        if plot is not None:
            from signalprop.figures.recurrence_path import path_figure

            save_figure(path_figure(found), plot)
    if as_json:
        print_json(_as_dict(kind, horizon, seed, found))
        return
    print(_text(found))
    if plot is not None:
        print()
        print_text(f"wrote {plot}")


def report(
    kind: Kind,
    states: int,
    horizon: int,
    options: dict[str, Any],
    *,
    correlation: float = 0.0,
    samples: int | None = None,
    seed: int = 0,
) -> Report:
    """Build the recurrence and compute what the command shows.

    Raises
    ------
    ValueError
        An option that belongs to another kind; whatever the constructor refuses.
    """
    import numpy as np

    from signalprop._checks import whole_number

    known = entry(kind)
    for name in options:
        if name not in known.options:
            raise ValueError(f"{name} has no meaning for {kind.value}; it belongs to {', '.join(owners(name))}.")
    last = whole_number(horizon, "horizon", 1)
    about, layer, first, rule = known.build(states, options, seed)
    path = layer.energy(last, correlation=correlation)
    curve = np.round(np.geomspace(1, last, min(last, _CURVE))).astype(np.int64)
    steps = np.unique(np.concatenate([curve, _decades(last)]))
    stationary, no_limit = _limit(layer, correlation)
    return Report(
        about=f"{about}, seed {seed}",
        recurrence=layer,
        correlation=correlation,
        steps=steps,
        energy=path[steps],
        from_first_step=None if first is None else first.energy(last, correlation=correlation)[steps],
        average=_average_over_draws(states, steps, options) if kind is Kind.GAUSSIAN and not correlation else None,
        left=float(layer.forward_energy(last, layer.B)[-1]),
        gradient_left=float(layer.gradient_energy(last)[-1]),
        stationary=stationary,
        no_limit=no_limit,
        rule=rule,
        filled=None if stationary is None else _filled_at(layer, path, stationary, correlation),
        hinted=None if stationary is None or correlation else _limit(layer, _HINT_CORRELATION)[0],
        sampled=None if samples is None else layer.sample(last, samples=samples, seed=seed, correlation=correlation),
    )


def _limit(layer: LinearRecurrence, correlation: float) -> tuple[float | None, str]:
    """The stationary energy, or why there is none."""
    try:
        return layer.stationary_energy(correlation=correlation), ""
    except (ValueError, OverflowError) as error:
        if layer.A.radius(only_side_of_one=True).below_one is False:
            return None, f"The spectral radius is {_radius(layer)}, not below one: the energy has no limit."
        return None, f"{str(error)[0].upper()}{str(error)[1:]}"


def _radius(layer: LinearRecurrence) -> str:
    try:
        return f"{layer.A.spectral_radius():.6g}"
    except ValueError:  # not known to six digits
        return str(layer.A.radius())


def _decades(last: int) -> NDArray[np.int64]:
    """1, 3, 10, 30, .. and the last step."""
    import numpy as np

    marks = [mark * 10**power for power in range(len(str(last))) for mark in (1, 3)]
    return np.array([*(mark for mark in marks if mark < last), last])


def _filled_at(layer: LinearRecurrence, path: NDArray[np.float64], stationary: float, correlation: float) -> int | None:
    import numpy as np

    from signalprop.recurrences import Rotations

    reached = np.flatnonzero(path >= _FILLED * stationary)
    if reached.size:
        return int(reached[0])
    if isinstance(layer.A, Rotations) and len(layer.A.log_gamma) == 1 and not correlation:
        return math.ceil(math.log(1.0 - _FILLED) / (2.0 * float(layer.A.log_gamma[0])))
    return None


def _average_over_draws(states: int, steps: NDArray[np.int64], options: dict[str, Any]) -> NDArray[np.float64] | None:
    from signalprop.energy import lru_energy

    try:
        exact: NDArray[np.float64] = lru_energy(
            states, steps - 1, options.get("--field", Field.REAL), scale=options.get("--scale", 1.0)
        )
    except (ValueError, OverflowError):  # beyond the reach of the exact sum, or of float64
        return None
    return exact


def _as_dict(kind: Kind, horizon: int, seed: int, found: Report) -> dict[str, Any]:
    def listed(values: NDArray[np.float64] | None) -> list[float] | None:
        return None if values is None else values.tolist()

    radius = found.recurrence.A.radius()
    content = {
        "kind": kind.value,
        "about": found.about,
        "horizon": horizon,
        "seed": seed,
        "correlation": found.correlation,
        "spectral_radius": radius.value if radius.known else None,
        "spectral_radius_interval": [math.exp(radius.log_low), math.exp(radius.log_high)],
        "steps": found.steps.tolist(),
        "energy": listed(found.energy),
        "energy_with_first_step_rule": listed(found.from_first_step),
        "energy_averaged_over_weights": listed(found.average),
        "stationary_energy": found.stationary,
        "step_at_95_percent": found.filled,
        "share_of_an_input_left_at_horizon": found.left,
        "share_of_a_gradient_left_at_horizon": found.gradient_left,
    }
    if found.sampled is not None:
        content |= {
            "samples": len(found.sampled.by_head),
            "sampled_mean": listed(found.sampled.mean[found.steps]),
            "sampled_stderr": listed(found.sampled.stderr[found.steps]),
            "z": listed(found.sampled.z[found.steps]),
        }
    return content


def _text(found: Report) -> str:
    import numpy as np

    kept = np.searchsorted(found.steps, _decades(int(found.steps[-1])))
    columns: list[tuple[str, Any]] = [("from x_0 = 0", found.energy[kept])]
    if found.from_first_step is not None:
        columns.append(("first-step rule", found.from_first_step[kept]))
    if found.average is not None:
        columns.append(("average over W", found.average[kept]))
    if found.sampled is not None:
        at = found.steps[kept]
        columns += [("drawn", found.sampled.mean[at]), ("+-", found.sampled.stderr[at]), ("z", found.sampled.z[at])]
    colour = "white" if found.correlation == 0.0 else f"AR(1), correlation {found.correlation:.6g} from step to step"
    width = terminal_columns()
    lines = lines_of(f"recurrence    {found.about}", width, rest=" " * 14)
    lines += [*lines_of(f"inputs        {colour}, unit variance", width, rest=" " * 14), "", "mean energy E||x_t||^2"]
    lines += _table(found.steps[kept], columns, width)
    limit = "none" if found.stationary is None else show_value(found.stationary)
    lines += ["stationary".ljust(_STEP) + limit.rjust(_COLUMN), "", "What it means"]
    for sentence in _meaning(found):
        lines += lines_of(sentence, width, "- ", "  ")
    return "\n".join(lines)


_STEP, _COLUMN = 10, 12


def _table(steps: NDArray[np.int64], columns: list[tuple[str, Any]], width: int) -> list[str]:
    """Values against steps; columns that do not fit go into a second table below."""
    sizes = [max(_COLUMN, len(name) + 2) for name, _ in columns]
    shown = next((i for i in range(len(columns), 1, -1) if _STEP + sum(sizes[:i]) <= width), 1)
    lines = [
        "step".ljust(_STEP) + "".join(name.rjust(size) for (name, _), size in zip(columns[:shown], sizes, strict=False))
    ]
    for row, step in enumerate(steps):
        cells = [
            f"{values[row]:.2f}" if name == "z" else show_value(float(values[row])) for name, values in columns[:shown]
        ]
        lines.append(str(step).ljust(_STEP) + "".join(c.rjust(w) for c, w in zip(cells, sizes, strict=False)))
    return lines if shown == len(columns) else [*lines, "", *_table(steps, columns[shown:], width)]


def _meaning(found: Report) -> list[str]:
    last = int(found.steps[-1])
    said = []
    if found.stationary is None:
        said.append(found.no_limit)
    else:
        share = _percent(float(found.energy[-1]) / found.stationary)
        if found.filled is not None and found.filled <= last:
            said.append(f"Started from zero the state has 95 % of its stationary energy from step {found.filled} on.")
        else:
            later = "" if found.filled is None else f", and 95 % from step {found.filled} on"
            said.append(f"Started from zero the state has {share} of its stationary energy at step {last}{later}.")
    if found.from_first_step is not None:
        if found.correlation == 0.0:
            said.append(f"The first-step rule ({found.rule}) starts at the stationary energy and stays there.")
        else:
            said.append(
                f"The first-step rule ({found.rule}) starts at the stationary energy of white inputs, not of these."
            )
    said.append(f"Of the energy one input brings in, {_percent(found.left)} is left {counted(last, 'step')} later.")
    said.append(f"Of the energy of a gradient, {_percent(found.gradient_left)} is left {counted(last, 'step')} back.")
    if found.stationary is not None and found.hinted is not None:
        said.append(
            f"Inputs are taken as white. Correlated by {_HINT_CORRELATION:g} from step to step they would lead to "
            f"{found.hinted:.4g} instead of {found.stationary:.4g}: --correlation {_HINT_CORRELATION:g}."
        )
    if found.average is not None:
        said.append(
            "W is one draw. The average over W is that over all draws; far past sqrt(n) steps rare draws carry it."
        )
    return said


def _percent(share: float) -> str:
    """A share as a percentage of three digits."""
    if share > 1.005:
        return f"{number(share)} times as much"
    hundred = 100.0 * share
    if 99.95 <= hundred < 100.0:
        return "more than 99.9 %"
    return f"{hundred:.3g} %" if hundred >= 1e-3 else percent(share)
