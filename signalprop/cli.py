"""The command line: parse, call, print. Commands import what they need, so that ``--help`` answers at once."""

from __future__ import annotations

import math
import os
import shlex
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from signalprop._recurrence_command import recurrence
from signalprop._terminal import bar, finite, plain, print_json, show
from signalprop._terminal import save_figure as _save
from signalprop._terminal import sentences as _sentences
from signalprop._train_command import train
from signalprop.fields import Field

if TYPE_CHECKING:
    from signalprop.initialization import SafeScale

app = typer.Typer(
    name="signalprop",
    help="Signal propagation in finite-width recurrences: exact energies, sampling, verification, figures.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Model(StrEnum):
    """Which recurrence."""

    RNN = "rnn"
    LRU = "lru"


class MethodName(StrEnum):
    """Sampling methods, as on the command line."""

    KRYLOV = "krylov"
    DENSE = "dense"
    TEMPERED = "tempered"


class ActivationName(StrEnum):
    """Activations, as on the command line."""

    LINEAR = "linear"
    RELU = "relu"
    LEAKY_RELU = "leaky_relu"


class CriterionName(StrEnum):
    """Criteria of `safe_scale`, as on the command line."""

    QUANTILE = "quantile"
    BOUNDED = "bounded"
    MINIMAX = "minimax"
    EDGE = "edge"
    GLOROT = "glorot"


_LARGEST_HINT = 3000  # steps that `sample` draws in a minute

Width = Annotated[int, typer.Option("-n", "--width", help="Width of the layer: W is n x n.")]
Depth = Annotated[int, typer.Option("-k", "--depth", help="Number of recurrent steps.")]
FieldOption = Annotated[Field, typer.Option("--field", help="Number system of the Gaussian weights.")]
ModelOption = Annotated[
    Model, typer.Option("--model", help="rnn: h <- W h.  lru: h <- W h + x, a fresh input each step.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Seed = Annotated[int, typer.Option("--seed", help="Root seed of the random draws.")]


@app.command()
def energy(
    n: Width,
    k: Depth,
    field: FieldOption = Field.COMPLEX,
    model: ModelOption = Model.RNN,
    scale: Annotated[float, typer.Option("--scale", help="Factor g on every weight.")] = 1.0,
    as_json: Json = False,
) -> None:
    """Exact mean signal energy after k steps."""
    with _sentences():
        from signalprop.energy import lru_energy, rnn_energy

        compute = rnn_energy if model is Model.RNN else lru_energy
        log_value = float(compute(n, k, field, scale=scale, log=True))
        infinite_log = _infinite_width_log(model, k, scale)
    c = k / math.sqrt(n)
    symbol = "Q" if model is Model.RNN else "S"
    value, infinite = plain(log_value), plain(infinite_log)
    if as_json:
        print_json(
            {
                "n": n,
                "k": k,
                "c": c,
                "field": field.value,
                "model": model.value,
                "scale": scale,
                symbol: value,
                f"log_{symbol}": log_value,
                "infinite_width": infinite,
                "log_infinite_width": infinite_log,
            }
        )
        return
    recurrence = "h <- W h" if model is Model.RNN else "h <- W h + x"
    what = f"E||W^k x||^2/n, k = {k}" if model is Model.RNN else f"E||h(t)||^2/n, t = {k}"
    scaled = "" if scale == 1.0 else f", scaled by g = {scale:.10g}"
    rows = [
        ("recurrence", f"{recurrence}, {field.value} Gaussian weights{scaled}"),
        ("width", f"n = {n}"),
        ("steps", f"{k}, which is c = {c:.4g} times sqrt(n)"),
        (f"mean energy {symbol}", f"{show(log_value)}   ({what})"),
        ("infinite width", f"{show(infinite_log)}"),
        ("ratio", f"{show(log_value - infinite_log)}"),
    ]
    for name, text in rows:
        print(f"{name:<15} {text}")
    if abs(log_value - infinite_log) > 1.0:
        print("\nThis is the average over draws of W; far past sqrt(n) steps it is carried by rare draws.")
        if scale == 1.0 and k <= _LARGEST_HINT:
            option = "" if model is Model.RNN else " --model lru"
            print(f"What one draw does: signalprop sample -n {n} -k {k} --field {field.value}{option}")


@app.command()
def scale(
    n: Width,
    horizon: Annotated[int, typer.Option("-T", "--horizon", help="Number of steps the signal should survive.")],
    field: FieldOption = Field.REAL,
    criterion: Annotated[
        CriterionName | None, typer.Option("--criterion", help="Only the scale by this criterion, not the whole page.")
    ] = None,
    model: ModelOption = Model.RNN,
    tolerance: Annotated[float, typer.Option("--tolerance", help="For bounded: how far the average may rise.")] = 0.1,
    quantile: Annotated[float, typer.Option("--quantile", help="For quantile, edge: share of draws to keep.")] = 0.95,
    bound: Annotated[float, typer.Option("--bound", help="For quantile: energy not to pass.")] = 10.0,
    samples: Annotated[
        int | None, typer.Option("--samples", help="For quantile: draw this many instead of reading the table.")
    ] = None,
    seed: Seed = 0,
    plot: Annotated[
        str | None, typer.Option("--plot", help="Write the figure to this file (.png, .svg or .pdf).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Which scale for recurrent weights? Advice for your model.

    Without --criterion: the whole page. With it: that one scale.
    """
    with _sentences():
        from signalprop.initialization import advise, safe_scale

        if criterion is None:
            given = {"--model": model is not Model.RNN, "--tolerance": tolerance != 0.1, "--quantile": quantile != 0.95,
                     "--bound": bound != 10.0, "--samples": samples is not None}  # fmt: skip
            for option, changed in given.items():
                if changed:
                    raise ValueError(f"{option} belongs to one criterion; add --criterion quantile (or bounded, ..).")
            answer = advise(n, horizon, field)
            if plot is not None:
                _save(answer.plot(), plot)
            if as_json:
                print_json(answer.as_dict())
            else:
                print(answer)
        else:
            with bar(f"sampling n={n}, T={horizon}") as report:
                found = safe_scale(
                    n, horizon, field, model=model, criterion=criterion, tolerance=tolerance, quantile=quantile, bound=bound,
                    samples=samples, seed=seed, progress=lambda done, total: report(done / total),
                )  # fmt: skip
            if plot is not None:
                _save(found.plot(), plot)
            if as_json:
                print_json(found.as_dict())
            else:
                _print_scale(found)
    if plot is not None and not as_json:
        print(f"\nwrote {plot}")


@app.command()
def sample(
    n: Width,
    k: Depth,
    field: FieldOption = Field.COMPLEX,
    samples: Annotated[
        int, typer.Option("--samples", help="Number of independent draws (tempered: particles).")
    ] = 1000,
    model: ModelOption = Model.RNN,
    method: Annotated[
        MethodName,
        typer.Option("--method", help="krylov: cost independent of n.  dense: W itself.  tempered: the mean far out."),
    ] = MethodName.KRYLOV,
    activation: Annotated[
        ActivationName, typer.Option("--activation", help="Applied after W, with the gain that keeps the mean energy.")
    ] = ActivationName.LINEAR,
    negative_slope: Annotated[float, typer.Option("--negative-slope", help="Slope of leaky_relu below zero.")] = 0.01,
    untied: Annotated[bool, typer.Option("--untied", help="Fresh weights at every layer (feed-forward).")] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw random recurrences: median, mean, tail."""
    with _sentences():
        from signalprop.montecarlo.sampling import sample as draw

        with bar(f"sampling n={n}, k={k}") as report:
            result = draw(
                n, k, field, samples=samples, seed=seed, method=method, activation=activation,
                negative_slope=negative_slope, tied=not untied, progress=lambda done, total: report(done / total),
            )  # fmt: skip
        estimate = result.rnn() if model is Model.RNN else result.lru()
    about = {
        "n": n,
        "k": k,
        "c": k / math.sqrt(n),
        "field": field.value,
        "model": model.value,
        "method": method.value,
        "activation": activation.value,
        "tied": not untied,
        "seed": seed,
    }
    if as_json:
        print_json({**about, **estimate.as_dict()})
        return
    energy_name = "||h(k)||^2/||x||^2" if model is Model.RNN else "||h(t)||^2/n"
    layer = activation.value + (f" (slope {negative_slope:g})" if activation is ActivationName.LEAKY_RELU else "")
    kind = f"{'feed-forward' if untied else 'recurrent'} {layer} network with {field.value} weights"
    drawn = f"{samples} draws" if method is not MethodName.TEMPERED else f"{result.samples} repetitions"
    print(f"{drawn} of a {kind}, method {method.value}, seed {seed}")
    print(f"width n = {n}, k = {k} steps = {k / math.sqrt(n):.4g} sqrt(n); energy {energy_name}\n")
    exact = "not known" if estimate.log_exact is None else show(estimate.log_exact)
    if estimate.repeated:
        for name, text in (
            ("mean", f"{show(estimate.log_mean)} +- {100 * estimate.relative_stderr:.2g} %"),
            ("95 % interval", " .. ".join(map(show, estimate.log_interval))),
            ("exact mean", exact),
            ("verdict", estimate.verdict),
        ):
            print(f"{name:<15} {text}")
        return
    quantiles = dict(estimate.log_quantiles)
    error = f"{100 * estimate.relative_stderr:.2g} %" + ("" if estimate.trusted else ", not to be trusted: see verdict")
    if estimate.predicted_relative_stderr is not None:
        error += f" (exactly known: {100 * estimate.predicted_relative_stderr:.2g} %)"
    tail = "not known from so few draws"
    if estimate.tail_index is not None:
        tail = f"{estimate.tail_index:.2g} +- {estimate.tail_index_stderr:.2g}   (variance looks infinite below 2, mean below 1)"
    low, high = next((show(low), show(high)) for q, low, high in estimate.log_intervals if q == 0.5)
    rows = [
        ("median draw", f"{show(estimate.log_median)}   (95 % interval {low} .. {high})"),
        ("90 % of draws", f"{show(quantiles[0.05])} .. {show(quantiles[0.95])}"),
        ("mean", f"{show(estimate.log_mean)} +- {error}"),
        ("exact mean", exact),
        ("top 1 % carry", f"{100 * estimate.tail_share:.1f} % of the sum"),
        ("effective size", f"{estimate.ess:.0f} of {samples} draws"),
        ("tail index", tail),
        ("verdict", estimate.verdict),
    ]
    for name, text in rows:
        print(f"{name:<15} {text}")
    if model is Model.LRU and method is MethodName.KRYLOV:
        print("\nEnergy given one input direction reused at every step; its mean is the same.")
        print("For ||h(t)||^2/n itself: --method dense")


app.command()(recurrence)


@app.command()
def run(
    plan: Annotated[str, typer.Argument(metavar="PLAN.toml", help="What to draw: fields, n, k or c, samples, ..")],
    directory: Annotated[str, typer.Option("--directory", help="Where draws and table are kept.")],
    executor: Annotated[
        str, typer.Option("--executor", help="threads, processes or dask://HOST:PORT (a running scheduler).")
    ] = "threads",
    workers: Annotated[int | None, typer.Option("--workers", help="Threads or processes (default: all cores).")] = None,
    as_json: Json = False,
) -> None:
    """Draw a plan of many cells; survives being killed.

    The same command in the same directory goes on where it was.
    """
    with _sentences():
        from signalprop.montecarlo.plan import Plan
        from signalprop.montecarlo.run import run as draw

        wanted = Plan.load(plan)
        try:
            frame = draw(wanted, directory, executor, workers=workers)
        except KeyboardInterrupt:
            command = f"signalprop run {shlex.quote(plan)} --directory {shlex.quote(directory)}"
            typer.echo(f"\nstopped; what was drawn is safe in {directory}. To go on: {command}", err=True)
            raise typer.Exit(130) from None
    if as_json:
        rows = [{name: finite(value) for name, value in row.items()} for row in frame.to_dict("records")]
        print_json({"directory": directory, "rows": rows})
        return
    print(f"{'field':<10} {'n':>8} {'k':>6} {'model':<5} {'median draw':>24} {'mean':>24}   what the mean is worth")
    for row in frame.itertuples():
        print(
            f"{row.field:<10} {row.n:>8} {row.k:>6} {row.model:<5} {show(row.log_median):>24} {show(row.log_mean):>24}   "
            f"{row.verdict}"
        )
    print(f"\n{len(frame)} rows with quantiles and intervals: {os.path.join(directory, 'table.csv')}")


@app.command()
def verify(
    only: Annotated[str, typer.Option("--only", help="Run the checks whose name contains this text.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Larger grids: minutes instead of half a minute.")] = False,
    as_json: Json = False,
) -> None:
    """Check every formula against every other route.

    Prints one line a check; exit code 1 if any fails.
    """
    from signalprop.verify import all_checks, run

    with _sentences():
        checks = [check for check in all_checks(everything) if only in f"{check.name}: {check.grid}"]
        if not checks:
            raise ValueError(f"--only {only!r} names no check; run 'signalprop verify' to see the names.")
    outcomes = []
    if not as_json:
        print(f"{'':4} {'worst':>10} {'allowed':>10} {'':<16} check")
    with bar("verifying") as report:
        for outcome in run(checks):
            outcomes.append(outcome)
            report(len(outcomes) / len(checks))
            if not as_json:
                mark = "ok" if outcome.passed else "FAIL"
                print(
                    f"{mark:4} {outcome.worst:10.3g} {outcome.allowed:10.3g} {outcome.unit:<16} {outcome.name}: {outcome.grid}"
                )
    failed = [one for one in outcomes if not one.passed]
    if as_json:
        print_json(
            {
                "passed": not failed,
                "checks": [
                    {
                        "name": o.name,
                        "grid": o.grid,
                        "unit": o.unit,
                        "worst": finite(o.worst),
                        "allowed": o.allowed,
                        "passed": o.passed,
                        "seconds": o.seconds,
                    }
                    for o in outcomes
                ],
            }
        )
    else:
        print(
            f"\n{len(outcomes) - len(failed)} of {len(outcomes)} checks passed in {sum(o.seconds for o in outcomes):.1f} s"
        )
    if failed:
        raise typer.Exit(1)


@app.command()
def reproduce(
    directory: Annotated[str, typer.Option("--directory", help="Where to write the figures.")] = "figures",
    quick: Annotated[bool, typer.Option("--quick", help="A look: few draws, under a minute.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Ten times the draws, and in a checkout the figures of trainings.")
    ] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Redraw every figure.

    Writes each as PNG and SVG, its numbers as CSV and their origin as JSON.
    """
    with _sentences():
        if quick and full:
            raise ValueError("--quick and --full exclude each other; give one of them.")
        from signalprop._checks import whole_number
        from signalprop.figures.reproduce import figures_of
        from signalprop.figures.reproduce import reproduce as write

        whole_number(seed, "seed", 0)
        quality = "quick" if quick else "full" if full else "default"
        names = figures_of(quality)
        with bar("drawing") as report:

            def progress(name: str, share: float) -> None:
                report((names.index(name) + share) / len(names), f"drawing {name}")

            paths = write(directory, quality, seed=seed, progress=progress)
    if as_json:
        print_json({"quality": quality, "figures": [str(path) for path in paths]})
        return
    for path in paths:
        print(f"wrote {path} (and .svg, .csv, .json beside it)")


app.command()(_sentences()(train))


@app.command()
def info(as_json: Json = False) -> None:
    """Versions, machine, git revision: for reports."""
    from signalprop._provenance import provenance

    facts = provenance()
    if as_json:
        print_json(facts)
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            for library, version in value.items():
                print(f"{library:<15} {version or 'not installed'}")
        else:
            print(f"{name.replace('_', ' '):<15} {value if value is not None else 'unknown'}")


def main() -> None:
    """Entry point of the `signalprop` command."""
    try:
        app()
    except BrokenPipeError:  # the reader (head, less) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(141) from None


def _print_scale(found: SafeScale) -> None:
    """One scale as a few lines."""
    from signalprop.initialization.advice_text import share_text

    low, high = found.interval
    interval = f"   (95 % interval {low:.6g} .. {high:.6g})" if low < high else ""
    recurrence = "h <- W h" if found.model == "rnn" else "h <- W h + x, energy per step"
    rows = [
        ("recurrence", f"{recurrence}; width {found.n}, {found.horizon} steps, {found.field.value} Gaussian weights"),
        ("criterion", f"{found.criterion} (from {found.source})"),
        ("scale g", f"{found.scale:.8g}{interval}"),
        ("std of an entry", f"{found.std:.8g}"),
    ]
    if found.has_mean:
        (top, peak), (bottom, dip) = found.peak, found.dip
        rows.append(("mean energy", f"at most {show(peak)} (step {top}), at least {show(dip)} (step {bottom})"))
    rows.append((f"draws past {found.bound:g}x", share_text(found)))
    for name, text in rows:
        print(f"{name:<16} {text}")


def _infinite_width_log(model: Model, k: int, scale: float) -> float:
    """Log of g^{2k} (rnn) or of sum_{j<=k} g^{2j} (lru)."""
    rate = 2.0 * math.log(scale)
    if model is Model.RNN:
        return rate * k
    if rate == 0.0:
        return math.log(k + 1.0)
    # Geometric sum from its largest term.
    largest = max(0.0, rate * k)
    return largest + math.log(math.expm1(-abs(rate) * (k + 1)) / math.expm1(-abs(rate)))


if __name__ == "__main__":
    main()
